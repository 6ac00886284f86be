"""The site: every public name and document is on it, notebooks say what they print."""

from __future__ import annotations

import re

from scripts import corpus_table, metrics_reference
from scripts.notebooks import FOLDER
from tests.documents import ROOT

SITE = (ROOT / "mkdocs.yml").read_text("utf-8")


def test_every_document_is_in_the_navigation() -> None:
    listed = set(re.findall(r": (\S+\.md)$", SITE, re.M))
    there = {path.name for path in (ROOT / "docs").glob("*.md")}
    made = {f"notebooks/{path.stem}.md" for path in FOLDER.glob("*.ipynb")}
    outside = {"index.md", "changelog.md", "contributing.md", "code-of-conduct.md", "benchmarks.md"}
    assert listed == there | made | outside


def test_the_table_of_forms_says_what_is_read_lost_and_refused() -> None:
    lines = corpus_table.table().splitlines()
    assert "| MovieLens 100K README | `movielens-100k-u.data` | 24 rows |" in lines
    assert "| PostgreSQL, COPY | `postgres-copy.tsv` | 24 rows, 1 lost and counted |" in lines
    assert "| a list | `one-column.csv` | refused: one column |" in lines
    assert len(lines) == 2 + len(list((ROOT / "tests" / "dataset" / "corpus").iterdir()))


def test_the_page_of_own_data_has_a_place_for_the_table_of_forms() -> None:
    assert "\n<!-- forms -->\n" in (ROOT / "docs" / "your-data.md").read_text("utf-8")


def test_the_reference_of_metrics_has_formula_source_and_what_others_do() -> None:
    reference = metrics_reference.reference()
    recall = reference.partition("### Recall\n\n")[2].partition("\n\n###")[0]
    assert recall.startswith("`recall`. Share of the held-out items that are in the list.")
    assert r"$$\frac{1}{|H|} \sum_{r=1}^{n} rel_r$$" in recall
    assert "Source: Cleverdon (1967). LensKit" in recall
    assert "\n<!-- metrics -->\n" in (ROOT / "docs" / "metrics.md").read_text("utf-8")
