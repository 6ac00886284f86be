"""The site: every public name and document is on it, notebooks say what they print."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from scripts.notebooks import FOLDER, executed
from tests.documents import ROOT

SITE = (ROOT / "mkdocs.yml").read_text("utf-8")


def test_every_document_is_in_the_navigation() -> None:
    listed = set(re.findall(r": (\S+\.md)$", SITE, re.M))
    there = {path.name for path in (ROOT / "docs").glob("*.md")}
    made = {f"notebooks/{path.stem}.md" for path in FOLDER.glob("*.ipynb")}
    outside = {"index.md", "changelog.md", "contributing.md", "code-of-conduct.md", "benchmarks.md"}
    assert listed == there | made | outside


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_print_what_they_say(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    kept = json.loads(path.read_text("utf-8"))
    said = [outputs_of(cell) for cell in executed(path)["cells"]]
    assert said == [outputs_of(cell) for cell in kept["cells"]]
    assert any(said)


def outputs_of(cell: dict[str, list[dict[str, object]]]) -> list[object]:
    return [one.get("text", "a picture") for one in cell.get("outputs", [])]
