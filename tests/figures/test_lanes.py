"""Folds on nodes as lanes: what is where, by hand."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ecv_core.figures.lanes import FINISHED_AFTER_STOP, lanes_figure, lanes_frame, lanes_sentence
from ecv_core.records.run import Node, RunRecord, RunState
from ecv_core.records.spec import RunSpec
from tests.fake_folds import fold_result

BEGIN = datetime(2026, 11, 23, 8, tzinfo=UTC)


def fold(index, host, began, seconds):
    node = Node(host=host, hardware="4 cores", began_at=BEGIN + timedelta(seconds=began))
    return replace(fold_result(index, 0.3), total_seconds=seconds, node=node)


def a_run(unit):
    """Two nodes: 0 to 10 and 10 to 30 on the one, 0 to 20 on the other, in this unit."""
    times = [("a", 0, 10), ("b", 0, 20), ("a", 10, 20)]
    return RunRecord(
        run_id="0123456789ab",
        spec=RunSpec(dataset="synthetic", algorithm="ease"),
        state=RunState.FINISHED,
        folds=tuple(fold(at, host, unit * t, unit * s) for at, (host, t, s) in enumerate(times)),
        created_at=BEGIN,
        stopped_at=2,
    )


@pytest.mark.parametrize(("unit", "word"), [(1, "seconds"), (60, "minutes")])
def test_each_fold_lies_where_and_when_it_was_computed(unit, word):
    frame = lanes_frame([a_run(unit)])
    assert list(frame["node"]) == ["a", "a", "b"]
    assert list(frame["kind"]) == ["fold", FINISHED_AFTER_STOP, "fold"]
    (bars,) = lanes_figure(frame).data
    assert list(zip(bars.y, bars.base, bars.x, bars.text, strict=True)) == [
        ("a", 0, 10, "1"),
        ("a", 10, 20, "3"),
        ("b", 0, 20, "2"),
    ]
    assert list(bars.marker.pattern.shape) == ["", "/", ""]
    assert lanes_figure(frame).layout.xaxis.title.text == f"{word} since the first fold began"


def test_the_sentence_says_how_much_time_the_nodes_have_saved():
    assert lanes_sentence(lanes_frame([a_run(1)])) == (
        "3 folds on 2 nodes took 30 s; one after another, they would have taken 50 s. 1 fold of "
        "them finished after the stop."
    )


def test_folds_of_no_node_have_no_lane():
    run = replace(a_run(1), folds=(fold_result(0, 0.3),))
    assert lanes_frame([run]).empty
