"""Notebooks print what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.notebooks import FOLDER, executed


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
