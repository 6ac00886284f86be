"""The six datasets of the paper, as they really are, reproduce its table 1."""

import pytest

from ecv_core import dataset as datasets
from ecv_core.dataset.pruning import prepare
from ecv_core.records.tasks import Task

# Table 1 of the e-fold paper: users, items, interactions after 5-core pruning.
PAPER = {
    "amazon-cell-phones": (27_879, 10_429, 194_439),
    "amazon-apps": (87_271, 13_209, 752_937),
    "amazon-instant-video": (5_130, 1_685, 37_126),
    "hetrec-lastfm": (1_090, 3_646, 52_551),
    "ml-100k": (943, 1_349, 99_287),
    "ml-1m": (6_040, 3_416, 999_611),
}


@pytest.mark.parametrize("dataset_id", PAPER)
def test_prepared_counts_equal_the_papers_table(dataset_id: str):
    entry = datasets.entry(dataset_id)
    if not datasets.available(entry):
        pytest.skip(f"{dataset_id} is not on this machine")
    prepared = prepare(datasets.load(dataset_id))
    assert (prepared.n_users, prepared.n_items, len(prepared)) == PAPER[dataset_id]
    entry.check_counts(Task.TOP_N, prepared)
