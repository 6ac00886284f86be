"""Text and tables as LaTeX, every special character escaped."""

from __future__ import annotations

from collections.abc import Sequence

_SIGNS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "\u00a0": "~",
    "±": r"$\pm$",
}


def escaped(text: str) -> str:
    """Text that LaTeX sets as it is."""
    return "".join(_SIGNS.get(sign, sign) for sign in text)


def latex_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str, label: str
) -> str:
    """A table in the style of booktabs; the first column is set left, columns of numbers right.

    Args:
        headers: one per column.
        rows: of text, each as long as `headers`.
        caption: a sentence.
        label: for \\ref; letters, digits and hyphens.
    """
    numeric = [all(_is_number(row[at]) for row in rows) for at in range(len(headers))]
    columns = "".join("r" if right and rows else "l" for right in numeric)
    lines = [" & ".join(map(escaped, row)) + r" \\" for row in rows]
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{escaped(caption)}}}",
            rf"  \label{{tab:{label}}}",
            rf"  \begin{{tabular}}{{{columns}}}",
            r"    \toprule",
            "    " + " & ".join(map(escaped, headers)) + r" \\",
            r"    \midrule",
            *(f"    {line}" for line in lines),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
    )


def _is_number(text: str) -> bool:
    plain = text.replace(",", "").replace("%", "").replace("-", "").strip()
    return not plain or plain.split()[0].replace(".", "", 1).replace("e", "", 1).isdigit()
