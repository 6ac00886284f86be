"""Names of the files that people save."""

from __future__ import annotations

import re

LONGEST = 120


def file_name(words: str) -> str:
    """A file name, without an ending, that every system takes: 'e-fold-item-knn-on-ml-100k'."""
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", words).strip("-.")
    return "-".join(["e-fold", *([plain[:LONGEST]] if plain else [])])
