"""Search spaces under several splits: how alike they rank, and how sure that is."""

import json

import numpy as np
import pytest
from scipy.stats import kendalltau

from ecv_core.analysis.tuning.under_splits import agreement, compared
from ecv_core.cli import main
from ecv_core.fold.spec import make_spec
from ecv_core.store.configurations import specs_of
from ecv_core.store.store import open_store
from tests.fake_folds import fold_result

COMMAND = ["study", "--datasets", "synthetic", "--space", "default"]


def test_tau_its_interval_and_what_the_best_costs() -> None:
    # Pairs: of the six, only the last two configurations change places: (5 - 1) / 6.
    scores = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.2, 0.3, 0.5, 0.4])
    sure = {user: scores[0] + user / 100 for user in range(20)}
    other = {user: scores[1] + user / 50 for user in range(5, 30)}
    found = agreement(("a", "b"), scores, (sure, other))
    assert found.tau == pytest.approx(2 / 3)
    # What users differ by is the same for all configurations, so every draw ranks alike.
    assert (found.low, found.high) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert found.best_loss_percent == pytest.approx(100 * (0.5 - 0.4) / 0.5)
    lower = agreement(("a", "b"), scores, (sure, other), higher_is_better=False)
    assert lower.tau == pytest.approx(2 / 3)
    assert lower.best_loss_percent == 0.0  # the first has the least in both


def test_the_interval_is_of_all_users_that_each_split_has() -> None:
    # Tau is -1. The one user of both splits would say 1; every other user says what the splits say.
    scores = np.array([0.1, 0.2]), np.array([0.2, 0.1])
    first = {user: scores[0] for user in range(1, 40)} | {0: scores[0]}
    second = {user: scores[1] for user in range(100, 140)} | {0: scores[0]}
    found = agreement(("a", "b"), scores, (first, second))
    assert (found.tau, found.low, found.high) == (-1.0, -1.0, -1.0)


def test_a_configuration_without_all_folds_under_a_split_counts_in_no_comparison_with_it() -> None:
    store = open_store()
    config = [{"shrink": float(value)} for value in range(4)]
    planned = [
        (
            make_spec(dataset="synthetic", algorithm="item-knn", split=split, k=2, rule="never"),
            config,
        )
        for split in ("user-k-fold", "record-k-fold")
    ]
    values = {"user-k-fold": (0.1, 0.2, 0.3, 0.4), "record-k-fold": (0.2, 0.4, 0.3, None)}
    for spec, _ in planned:
        for own, score in zip(specs_of(spec, config), values[spec.split], strict=True):
            run_id = store.create([own], owner="test")[0]
            for index in range(2 if score is not None else 1):
                store.add_fold(run_id, fold_result(index, score or 0.9), stopped_at=None)
    found = compared(store, planned)
    assert found.scores["user-k-fold"].tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert np.isnan(found.scores["record-k-fold"]).tolist() == [False] * 3 + [True]
    # Of the three pairs of the three, the second and the third change places: (2 - 1) / 3.
    assert found.agreements[0].tau == pytest.approx(1 / 3)
    assert found.agreements[0].best_loss_percent == pytest.approx(100 * 0.1 / 0.4)
    assert json.loads(json.dumps(found.document(), allow_nan=False))["scores"]["record-k-fold"] == [
        0.2,
        0.4,
        0.3,
        None,
    ]


def test_splits_that_rank_all_alike_have_no_tau() -> None:
    same, up = np.array([0.1, 0.1]), np.array([0.1, 0.2])
    found = agreement(("a", "b"), (same, up), ({0: same, 1: same}, {0: up, 1: up}))
    assert np.isnan([found.tau, found.low, found.high]).all()


def test_the_command_shares_work_under_each_split_and_goes_on(
    tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "found.json"
    more = ["--algorithms", "item-knn,ease", "--splits", "leave-last-item,temporal-user"]
    command = [*COMMAND, *more, "--json", str(target)]
    assert main(command) == 0
    found = json.loads(target.read_text())
    assert len(found["configurations"]) == 12  # five numbers of neighbours, seven regularizations
    assert found["configurations"][0] == "item-knn:neighbours=20"
    one, other = found["scores"]["leave-last-item"], found["scores"]["temporal-user"]
    (known,) = found["agreements"]
    assert known["tau"] == pytest.approx(kendalltau(one, other).statistic, abs=0.02)
    assert known["interval"][0] <= known["tau"] <= known["interval"][1]
    runs = open_store().runs()
    assert len(runs) == 24
    assert {run.folds[0].shared.configurations for run in runs} == {5, 7}
    assert main(command) == 0
    assert len(open_store().runs()) == 24
    said = capsys.readouterr().out
    assert "leave-last-item and temporal-user: Kendall's tau " in said


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--algorithms", "ease", "--splits", "temporal-user"], "give at least two with --splits"),
        (["--algorithms", "popular", "--splits", "a,b"], "no split is called 'a'"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*COMMAND, *more]) == 2
    assert said in capsys.readouterr().err
