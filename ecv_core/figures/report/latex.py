"""Text, tables and BibTeX for papers: LaTeX with every special character escaped, what to cite."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ecv_core.records import __version__

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
    """Text that LaTeX sets as it is."""
    return "".join(_SIGNS.get(sign, sign) for sign in text)


def latex_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str, label: str
) -> str:
    """A table in the style of booktabs; the first column is set left, columns of numbers right.

    Args:
        rows: of text, each as long as `headers`.
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
    """The paper, this software, and what else is to be cited, such as the dataset's entry."""
    return "\n".join(entry.strip() for entry in (PAPER, software(), *more) if entry.strip())


def key_of(entry: str) -> str:
    """The key that \\cite takes: 'harper2015movielens'; empty where there is none."""
    match = re.search(r"@\w+\{\s*([^,\s]+)", entry)
    return match[1] if match else ""


def short(entry: str) -> str:
    """How text names a BibTeX entry: 'Harper and Konstan, 2015', 'Baumgart et al., 2024'."""
    names = [_surname(name) for name in re.split(r"\s+and\s+", _field(entry, "author")) if name]
    who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
    named = ", ".join(part for part in (who, _field(entry, "year")) if part)
    return named or _field(entry, "title") or key_of(entry)


def _field(entry: str, name: str) -> str:
    match = re.search(rf"\b{name}\s*=\s*\{{(.+?)\}}\s*(?:,|\}}|\n)", entry, re.DOTALL)
    return " ".join(match[1].split()) if match else ""


def _surname(name: str) -> str:
    if name.startswith("{"):
        return name.strip("{}")
    return name.partition(",")[0] if "," in name else name.split()[-1]
