"""Print what is read of each form of file, for docs/your-data.md: `python -m scripts.corpus_table`.

`make docs` puts the table into the page; its source is tests/dataset/corpus.csv.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

CORPUS = Path(__file__).resolve().parents[1] / "tests" / "dataset" / "corpus.csv"


def outcome(form: dict[str, str]) -> str:
    """What is read of a file: its rows, those lost, or why it is refused."""
    if form["refused"]:
        return f"refused: {form['refused']}"
    if form["lost"] == "0":
        return f"{form['rows']} rows"
    return f"{form['rows']} rows, {form['lost']} lost and counted"


def table() -> str:
    """The table in Markdown, a line for each file of the corpus."""
    lines = ["| form | file | what is read |", "|---|---|---|"]
    with CORPUS.open(encoding="utf-8", newline="") as file:
        for form in csv.DictReader(file):
            lines.append(f"| {form['source']} | `{form['file']}` | {outcome(form)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table())
