"""The project's documents, and the blocks of code in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

DOCUMENTS = [ROOT / "README.md", ROOT / "benchmarks" / "README.md", *(ROOT / "docs").glob("*.md")]

EXTENDING = ROOT / "docs" / "extending.md"

LIBRARY = ROOT / "docs" / "library.md"

YOUR_DATA = ROOT / "docs" / "your-data.md"

YOUR_MODEL = ROOT / "docs" / "your-model.md"

_BLOCK = re.compile(
    r"(?:^`(?P<path>[^`\n]+)`:\n\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.M | re.S
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a document; `path` is the file that it is said to be."""

    path: str | None
    kind: str
    text: str


def blocks(document: Path) -> list[Block]:
    return [Block(**found.groupdict()) for found in _BLOCK.finditer(document.read_text("utf-8"))]


def shell_lines(document: Path) -> list[str]:
    return [line for b in blocks(document) if b.kind == "sh" for line in b.text.splitlines()]
