"""`study --splits`: every strategy is run and recorded, single splits too, and can be compared."""

import json

import pytest

from ecv_core.analysis.rank_swaps.blocks import largest_block
from ecv_core.analysis.rank_swaps.frames import ranks_frame, taus_frame
from ecv_core.analysis.rank_swaps.sentences import headline
from ecv_core.analysis.rank_swaps.swaps import rank_block
from ecv_core.cli import main
from ecv_core.records.run import RunState
from ecv_core.store.recorded import (
    recorded_document,
    recorded_runs_of_all_splits,
    recorded_user_scores,
)
from ecv_core.store.store import open_store

SPLITS = "temporal-windows,temporal-global,leave-last-item"


def study(folder, splits=SPLITS, algorithms="popular,item-knn,ease"):
    return main(
        [
            *("study", "--datasets", "synthetic", "--algorithms", algorithms),
            *("--splits", splits, "--folder", str(folder)),
        ]
    )


@pytest.mark.slow
def test_splits_are_recorded_each_with_its_own_number_of_folds_and_compared(tmp_path, capsys):
    assert study(tmp_path) == 0
    files = capsys.readouterr().out.splitlines()
    assert len(files) == 9
    name = tmp_path / "splits" / "synthetic--ease--temporal-global"
    assert str(name) in files
    document = json.loads(recorded_document(name.name, tmp_path) or "")
    assert document["spec"]["rule"] == "never"  # one score: nothing to stop early
    assert len(document["folds"]) == 1

    runs = recorded_runs_of_all_splits(tmp_path)
    assert {(run.spec.split, run.spec.k, len(run.folds)) for run in runs} == {
        ("temporal-windows", 5, 5),
        ("temporal-global", 1, 1),
        ("leave-last-item", 1, 1),
    }
    users = recorded_user_scores(runs[0], tmp_path)
    assert users[0].metrics == ("ndcg@10", "recall@10")

    def users_of(run):
        return recorded_user_scores(run, tmp_path)

    found = rank_block(largest_block(runs), "recall@10", users_of)
    assert found.without_users == ()
    ranks, taus = ranks_frame(found, "temporal-global"), taus_frame(found)
    assert len(ranks) == 9
    assert ranks[["low", "high"]].notna().all(axis=None)
    assert len(taus) == 3
    assert "temporal-global" in headline(found, "temporal-global")
    lists = rank_block(largest_block(runs), "gini@10", users_of)
    assert lists.without_users == lists.splits  # one value per fold, none per user


def test_a_second_start_runs_only_what_is_missing(tmp_path, capsys):
    assert study(tmp_path, "leave-last-item", "popular") == 0
    capsys.readouterr()
    assert study(tmp_path, "leave-last-item,temporal-global", "popular") == 0
    captured = capsys.readouterr()
    assert "2 runs, 1 to compute" in captured.err
    assert [run.state for run in open_store().runs()] == [RunState.FINISHED] * 2


def test_the_usual_split_is_recorded_among_the_splits_too(tmp_path, monkeypatch):
    from ecv_core.jobs.plans.study import planned_cells

    (usual,) = planned_cells(["synthetic"], ["ease"], ["user-k-fold"], folder=tmp_path, full=True)
    assert usual.path == tmp_path / "splits" / "synthetic--ease--user-k-fold"
    (alone,) = planned_cells(["synthetic"], ["ease"], folder=tmp_path, full=True)
    assert alone.path == tmp_path / "synthetic--ease"
    assert alone.spec == usual.spec


def test_a_split_that_the_data_cannot_serve_is_left_out_by_name(tmp_path, capsys):
    assert study(tmp_path, "leave-last-basket,leave-last-item", "popular") == 0
    captured = capsys.readouterr()
    assert "left out: synthetic has no baskets" in captured.err
    assert len(captured.out.splitlines()) == 1


def test_an_algorithm_that_the_data_cannot_serve_is_left_out_by_name(tmp_path, capsys):
    assert study(tmp_path, "leave-last-item", "popular,triple2vec") == 0
    captured = capsys.readouterr()
    assert "left out: synthetic" in captured.err
    assert "triple2vec" in captured.err
    assert [run.spec.algorithm for run in open_store().runs()] == ["popular"]


@pytest.mark.parametrize("splits", ["nope", "leave-last-item,nope"])
def test_an_unknown_split_is_refused_before_anything_runs(tmp_path, capsys, splits):
    assert study(tmp_path, splits) == 2
    assert "no split is called 'nope'" in capsys.readouterr().err
    assert open_store().runs() == []
