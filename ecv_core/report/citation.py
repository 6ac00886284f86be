"""What to cite: the paper whose method this is, and this software."""

from __future__ import annotations

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
