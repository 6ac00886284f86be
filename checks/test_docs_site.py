"""The site: every public name and document is on it, notebooks say what they print."""

from __future__ import annotations

import re

from scripts.notebooks import FOLDER
from tests.documents import ROOT

SITE = (ROOT / "mkdocs.yml").read_text("utf-8")


def test_every_document_is_in_the_navigation() -> None:
    listed = set(re.findall(r": (\S+\.md)$", SITE, re.M))
    there = {path.name for path in (ROOT / "docs").glob("*.md")}
    made = {f"notebooks/{path.stem}.md" for path in FOLDER.glob("*.ipynb")}
    outside = {"index.md", "changelog.md", "contributing.md", "code-of-conduct.md", "benchmarks.md"}
    assert listed == there | made | outside
