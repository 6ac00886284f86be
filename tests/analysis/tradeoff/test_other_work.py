"""Runs recorded beside other work weigh nothing in sums of joules, by hand."""

from dataclasses import replace

import numpy as np

from ecv_core.analysis.tradeoff.curves import joules_of
from ecv_core.records.run import Scores


def system(joules, *, other_work=False):
    return Scores(
        name="a on b",
        dataset="b",
        metric="ndcg@10",
        folds=np.array([0.1, 0.2]),
        joules=np.array(joules, dtype=float),
        source="cpu-load",
        other_work=other_work,
    )


def test_a_disturbed_run_weighs_nothing():
    systems = [system([1, 2]), system([30, 40], other_work=True), system([5, 6])]
    assert joules_of(systems).tolist() == [3, 0, 11]


def test_where_all_are_disturbed_their_joules_are_all_there_is():
    systems = [replace(system([1, 2]), other_work=True), system([5, 6], other_work=True)]
    assert joules_of(systems).tolist() == [3, 11]
