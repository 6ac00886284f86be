"""Text, tables and BibTeX for papers: LaTeX with every special character escaped, what to cite."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ecv_core.records import __version__
from ecv_core.records.errors import InputError, shown
from ecv_core.untrusted.texts import blank_hidden_characters

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
    "·": r"\textperiodcentered{}",
}


def escaped(text: str) -> str:
    """Text that LaTeX sets as it is, in one line: an empty one would end a caption or a cell."""
    line = blank_hidden_characters(" ".join(text.splitlines()))
    return "".join(_SIGNS.get(sign, sign) for sign in line)


def as_label(text: str) -> str:
    """A text as a label of LaTeX, whose other signs are hyphens: 'run-0123ab'."""
    return re.sub(r"[^A-Za-z0-9:._-]+", "-", text)


def latex_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str,
    label: str,
    bold: Collection[tuple[int, int]] = (),
) -> str:
    """A table in the style of booktabs; the first column is set left, columns of numbers right.

    Args:
        headers: The headers of the columns.
        rows: The rows of text, each as long as `headers`.
        caption: The caption of the table.
        label: For \\ref; letters, digits and hyphens.
        bold: Row and column, from 0, of each cell that is bold.

    Raises:
        InputError: If the label has other signs.
    """
    if re.fullmatch(r"[A-Za-z0-9:._-]+", label) is None:
        raise InputError(
            f"'{shown(label)}' cannot be a LaTeX label; use letters, digits and hyphens"
        )
    columns = ""
    for column in range(len(headers)):
        if rows and all(_is_number(row[column]) for row in rows):
            columns += "r"
        else:
            columns += "l"
    body = []
    for row_number, row in enumerate(rows):
        cells = []
        for column, text in enumerate(row):
            cell = escaped(text)
            if (row_number, column) in bold:
                cell = rf"\textbf{{{cell}}}"
            cells.append(cell)
        body.append(_row(cells))
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{escaped(caption)}}}",
        rf"  \label{{tab:{label}}}",
        rf"  \begin{{tabular}}{{{columns}}}",
        r"    \toprule",
        _row([escaped(header) for header in headers]),
        r"    \midrule",
        *body,
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return rf"    {' & '.join(cells)} \\"


def _is_number(text: str) -> bool:
    """Whether a cell is set as a number: '0.31', '1,230', '4 of 10', '1e-4', '-', or nothing."""
    # Without commas, percent and minus signs, the first word of '1,234.5 %' is '1234.5', and '1e-4'
    # is '1e4'.
    words = re.sub("[,%-]", "", text).split()
    return not words or re.fullmatch(r"\d*\.?\d+e?\d*|\d+\.", words[0]) is not None


PAPER = """@inproceedings{baumgart2024efold,
  author    = {Baumgart, Moritz and Wegmeth, Lukas and Vente, Tobias and Beel, Joeran},
  title     = {e-Fold Cross-Validation for Recommender-System Evaluation},
  booktitle = {First International Workshop on Recommender Systems for Sustainability and
               Social Good (RecSoGood)},
  year      = {2024},
  eprint    = {2412.01011},
  archivePrefix = {arXiv}
}"""
"""Baumgart, Wegmeth, Vente and Beel (2024), as BibTeX."""
PAPER_NAMES = "Baumgart, Wegmeth, Vente and Beel (2024)"
PAPER_URL = "https://arxiv.org/abs/2412.01011"


def software() -> str:
    """This software in the version that is installed, as BibTeX."""
    return f"""@misc{{efold,
  author = {{{{the e-fold maintainers}}}},
  title  = {{e-fold: a dashboard for e-fold cross-validation of recommender systems}},
  year   = {{2026}},
  note   = {{Version {__version__}}}
}}"""


def bibtex(*more: str) -> str:
    """The paper, this software, and what else is to be cited, each once; `more` are entries."""
    entries = dict.fromkeys(entry.strip() for entry in (PAPER, software(), *more))
    return "\n".join(filter(None, entries))


def key_of(entry: str) -> str:
    """The key that \\cite takes: 'harper2015movielens'; empty where there is none."""
    match = re.search(r"@\w+\{\s*([^,\s]+)", entry)
    if match is None:
        return ""
    return match[1]


def short_citation(entry: str) -> str:
    """How text names a BibTeX entry: 'Harper and Konstan, 2015', 'Baumgart et al., 2024'."""
    authors = re.split(r"\s+and\s+", _field(entry, "author"))
    names = [_surname(author) for author in authors if author]
    authors_words = " and ".join(names)
    if len(names) > 2:
        authors_words = f"{names[0]} et al."
    year = _field(entry, "year")
    if authors_words and year:
        return f"{authors_words}, {year}"
    return authors_words or year or _field(entry, "title") or key_of(entry)


def _field(entry: str, name: str) -> str:
    """The text of a field on one line; empty where the entry does not have it."""
    match = re.search(rf"\b{name}\s*=\s*\{{(.+?)\}}\s*(?:,|\}}|\n)", entry, re.DOTALL)
    if match is None:
        return ""
    return " ".join(match[1].split())


def _surname(name: str) -> str:
    """Of 'Konstan, Joseph', of 'Joseph Konstan', or all of '{the e-fold maintainers}'."""
    # BibTeX keeps a name in braces, such as that of an institution, in one piece.
    if name.startswith("{"):
        return name.strip("{}")
    surname, comma, _ = name.partition(",")
    if comma:
        return surname
    return name.split()[-1]
