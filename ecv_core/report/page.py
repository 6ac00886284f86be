"""Parts of a report -> one HTML file: no script, nothing loaded from anywhere, A4 when printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root { --ink: #1d2730; --muted: #4e5a64; --line: #d9dcd5; --tint: #f0f1ec; --blue: #0b6a9e; }
* { box-sizing: border-box; }
html { font-size: 15px; }
body { margin: 0 auto; padding: 2rem 1.25rem; max-width: 64rem; background: #fff;
  color: var(--ink); font: 1rem/1.45 "Source Sans 3", "Segoe UI", system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.7rem; line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 1.3rem 0 0.4rem; font-size: 1.05rem; }
p { margin: 0.4rem 0; }
.under { color: var(--muted); overflow-wrap: anywhere; }
.said { margin: 0.9rem 0; padding: 0.6rem 0.8rem; background: var(--tint);
  border-left: 4px solid var(--blue); border-radius: 4px; }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.2rem, 1fr));
  gap: 0.5rem; margin: 0.9rem 0; }
.numbers div { padding: 0.45rem 0.6rem; border: 1px solid var(--line); border-radius: 6px; }
.numbers dt { color: var(--muted); font-size: 0.84rem; }
.numbers dd { margin: 0; font-size: 1.2rem; font-weight: 650; }
.numbers small { display: block; color: var(--muted); font-size: 0.8rem; font-weight: 400; }
dl.numbers { margin: 0.9rem 0; }
.two { display: grid; grid-template-columns: 1.6fr 1fr; gap: 0 1.2rem; align-items: start; }
.two.even { grid-template-columns: 1fr 1fr; }
svg { display: block; width: 100%; height: auto; }
figure { margin: 0.6rem 0; }
figcaption, .note { color: var(--muted); font-size: 0.87rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.87rem;
  font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--muted); padding-bottom: 0.2rem; }
th, td { padding: 0.16rem 0.45rem; border-bottom: 1px solid var(--line); text-align: right; }
th { color: var(--muted); font-weight: 600; }
th:first-child, td:first-child { text-align: left; }
tr.after td { color: var(--muted); }
dl.facts { display: grid; grid-template-columns: max-content 1fr max-content 1fr;
  gap: 0.1rem 0.8rem; margin: 0; font-size: 0.9rem; }
dl.facts dt { color: var(--muted); }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
pre { margin: 0.4rem 0; padding: 0.5rem 0.7rem; background: var(--tint); border-radius: 6px;
  font: 0.8rem/1.4 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; }
footer { margin-top: 1.2rem; color: var(--muted); font-size: 0.82rem; }
@media (max-width: 40rem) {
  .two, .two.even { grid-template-columns: 1fr; }
  dl.facts { grid-template-columns: max-content 1fr; }
}
@page { size: A4; margin: 11mm 14mm; }
@media print {
  p { margin: 0.2rem 0; }
  html { font-size: 8pt; }
  body { padding: 0; max-width: none; line-height: 1.34; }
  h1 { font-size: 1.75rem; }
  h2 { margin: 0.75rem 0 0.25rem; break-after: avoid; }
  .said, .numbers, dl.numbers { margin: 0.6rem 0; }
  .said { padding: 0.4rem 0.7rem; }
  .numbers { grid-template-columns: repeat(6, 1fr); }
  .numbers div { padding: 0.25rem 0.5rem; }
  .two { grid-template-columns: 1.9fr 1fr; }
  .two.even { grid-template-columns: 1fr 1fr; }
  dl.facts { grid-template-columns: max-content 1fr max-content 1fr; }
  .figure-1 svg { width: 76%; margin: 0 auto; }
  th, td { padding: 0.06rem 0.4rem; }
  pre { margin: 0.25rem 0; font-size: 0.74rem; line-height: 1.24; }
  pre.bibtex, pre.long { columns: 2; }
  figure, table, .said, .numbers, pre { break-inside: avoid; }
  pre.bibtex, pre.long { break-inside: auto; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  footer { margin-top: 0.6rem; }
}
"""


def page(title: str, parts: Iterable[str]) -> str:
    """A whole HTML document.

    Args:
        title: escaped here.
        parts: of the body, each already HTML.
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n"
        f'<title>{escape(title)}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n" + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def heading(title: str, under: str) -> str:
    """The report's title and the line below it."""
    return f'<h1>{escape(title)}</h1>\n<p class="under">{escape(under)}</p>'


def section(title: str, *parts: str) -> str:
    """A part with its title."""
    return f"<section>\n<h2>{escape(title)}</h2>\n" + "\n".join(parts) + "\n</section>"


def said(sentence: str) -> str:
    """The one sentence to remember."""
    return f'<p class="said">{escape(sentence)}</p>'


def paragraph(words: str, kind: str = "") -> str:
    """A paragraph; `kind` is 'note' for small print."""
    return f'<p class="{kind}">{escape(words)}</p>' if kind else f"<p>{escape(words)}</p>"


def numbers(entries: Iterable[tuple[str, str, str]]) -> str:
    """A row of large numbers: (what, number, small words below, which may be empty)."""
    cells = (
        f"<div><dt>{escape(what)}</dt><dd>{escape(value)}"
        + (f"<small>{escape(below)}</small>" if below else "")
        + "</dd></div>"
        for what, value, below in entries
    )
    return '<dl class="numbers">' + "".join(cells) + "</dl>"


def facts(entries: Iterable[tuple[str, str]]) -> str:
    """Names and their values."""
    pairs = (f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in entries)
    return '<dl class="facts">' + "".join(pairs) + "</dl>"


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    caption: str = "",
    muted: Iterable[int] = (),
) -> str:
    """A table; the first column is text, the others are numbers.

    Args:
        headers: of the columns.
        rows: of texts.
        caption: what it shows.
        muted: indices of rows to draw lighter.
    """
    light = set(muted)
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in headers)
    body = "".join(
        f"<tr{' class=after' if index in light else ''}>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in row)
        + "</tr>"
        for index, row in enumerate(rows)
    )
    above = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="wide"><table>{above}<thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def beside(*parts: str, even: bool = False) -> str:
    """Two parts next to each other where there is room, the first one wider unless even."""
    return f'<div class="two{" even" if even else ""}">' + "".join(parts) + "</div>"


def figure(svg: str, caption: str, kind: str = "") -> str:
    """An inline SVG with its caption."""
    return f'<figure class="{kind}">{svg}<figcaption>{escape(caption)}</figcaption></figure>'


def code(text: str, kind: str = "") -> str:
    """Text to copy as it is."""
    return f'<pre class="{kind}">{escape(text)}</pre>'
