"""The tables of documents are what is recorded, and every metric is in docs/metrics.md."""

from pathlib import Path

import pytest

from ecv_core.evaluation.metrics import METRICS
from scripts import record_protocols

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_the_tables_of_sampled_ranking_are_what_was_recorded():
    assert f"\n\n{record_protocols.tables()}\n\n" in (DOCS / "metrics.md").read_text("utf-8")


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_named(name):
    assert f"`{name}`" in (DOCS / "metrics.md").read_text("utf-8")
