"""What to cite: the paper whose method this is, and this software."""

from __future__ import annotations

import re

from ecv_core._version import __version__

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
