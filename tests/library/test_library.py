"""What `import ecv_core as ecv` offers: names, runs, data, metrics."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import ecv_core as ecv
from ecv_core.fold import folds_of
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import DatasetError, InputError, RunError, UnknownName
from ecv_core.store.recorded import recorded_environment, recorded_runs

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ecv.__all__)
def test_every_name_is_there_and_listed(name):
    assert getattr(ecv, name) is not None
    assert name in dir(ecv)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="evalute"):
        ecv.evalute  # noqa: B018


def test_datasets_and_runs_are_listed_whatever_was_imported_before():
    import ecv_core.dataset as datasets

    assert datasets.entry("synthetic").generated
    assert ecv.datasets().loc["ml-100k", "interactions"] == 99_287
    assert list(ecv.runs()) == []


MYPY = """
[mypy]
strict = True
mypy_path = {stubs}
explicit_package_bases = True
follow_imports = skip
[mypy-ecv_core.*]
follow_imports = silent
[mypy-numpy.*,scipy.*,torch.*]
follow_imports = skip
follow_imports_for_stubs = True
"""
PANDAS = """
from typing import Any

class DataFrame: ...

def __getattr__(name: str) -> Any: ...
"""
"""What is asked about is the notebook; the packages that the library uses are not read."""


@pytest.mark.slow
def test_type_checkers_know_what_is_offered(tmp_path: Path):
    (tmp_path / "stubs" / "pandas").mkdir(parents=True)
    (tmp_path / "stubs" / "pandas" / "__init__.pyi").write_text(PANDAS, encoding="utf-8")
    (tmp_path / "mypy.ini").write_text(MYPY.format(stubs=tmp_path / "stubs"), encoding="utf-8")
    code = tmp_path / "notebook.py"
    code.write_text(
        "import ecv_core as ecv\n"
        "run: ecv.Run = ecv.evaluate('synthetic', 'popular', rule=ecv.EFold(alpha=1e-4))\n"
        "reveal_type(ecv.datasets())\nreveal_type(ecv.runs()[0].mean)\n"
        "reveal_type(ecv.orders([0.1, 0.2], ecv.Never()).mean_stop)\n",
        encoding="utf-8",
    )
    settings = (f"--config-file={tmp_path / 'mypy.ini'}", f"--cache-dir={tmp_path / 'cache'}")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *settings, str(code)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    for revealed in ("DataFrame", "float | None", '"float"'):
        assert revealed in done.stdout, done.stdout
    assert "error" not in done.stdout


def test_a_run_stops_where_the_rule_says_and_is_kept():
    told = []
    run = ecv.evaluate(
        "synthetic", "popular", rule=ecv.Fixed(folds=3), k=5, seed=7, on_fold=told.append
    )
    assert (run.stopped_at, run.k, len(run.scores)) == (3, 5, 3)
    assert run.mean == pytest.approx(np.mean(run.scores))
    assert [len(one.scores) for one in told] == [1, 2, 3]
    assert (run.spec.rule, run.spec.min_folds, run.spec.seed) == ("fixed", 3, 7)
    assert run.reason == "After 3 of the 3 folds that the rule runs: stop."
    assert [one.run_id for one in ecv.runs()] == [run.run_id]
    assert ecv.runs().frame().loc[run.run_id, "folds_used"] == 3
    later = ecv.evaluate("synthetic", "popular", rule=ecv.Fixed(folds=1), k=5, seed=7)
    assert [one.run_id for one in ecv.runs()] == [run.run_id, later.run_id]  # the oldest first


def test_a_rules_settings_become_the_runs():
    rule = ecv.Precision(tolerance=0.4, confidence=0.9, min_folds=2)
    run = ecv.evaluate("synthetic", "popular", rule=rule, k=4, keep=False)
    spec = run.spec
    assert (spec.rule, spec.confidence, spec.min_folds) == ("precision", 0.9, 2)
    assert dict(spec.rule_params) == {"adjust_by": "", "tolerance": 0.4}
    assert list(ecv.runs()) == []  # not kept


def test_a_rule_that_is_not_registered_stops_a_run_that_is_not_kept(range_of_two):
    run = ecv.evaluate("synthetic", "popular", rule=range_of_two, k=5)
    by_hand = [
        n
        for n in range(2, 6)
        if run.record.folds[n - 1 :] and run.scores[n - 1] - min(run.scores[: n - 1]) <= 0.015
    ]
    assert run.stopped_at == by_hand[0]
    assert run.spec.rule == "range-of-two"
    assert list(ecv.runs()) == []
    assert run.document()["spec"]["rule"] == "range-of-two"


def test_a_run_shows_itself(tmp_path: Path):
    run = ecv.evaluate("synthetic", "popular", rule=ecv.Fixed(folds=2), k=3, full=True)
    assert run.run_id in repr(run)
    assert f"{run.mean:.4f}" in run._repr_html_()
    assert "2 of 3, finished" in run._repr_html_()
    assert f"{run.difference_percent:.2f} %" in run._repr_html_()
    frame = run.frame()
    assert list(frame["used"]) == [True, True, False]
    assert frame["ndcg@10"].tolist() == pytest.approx(list(run.scores))
    assert {trace.name for trace in run.figure().data} >= {"mean so far"}
    assert run.run_id in ecv.runs()._repr_html_()


def test_a_setting_that_is_not_known_names_the_nearest():
    with pytest.raises(UnknownName, match="no setting is called 'metrc'; did you mean 'metric'"):
        ecv.evaluate("synthetic", "popular", metrc="ndcg")


def test_what_is_an_argument_of_its_own_is_no_setting():
    with pytest.raises(UnknownName, match="no setting is called 'algorithm'"):
        ecv.track("mine", dataset="synthetic", algorithm="ease", k=3)


def test_a_setting_that_the_rule_says_too_is_refused():
    with pytest.raises(InputError, match="alpha is said twice"):
        ecv.evaluate("synthetic", "popular", rule=ecv.EFold(alpha=1e-3), alpha=1e-4)


def test_a_rule_that_breaks_fails_the_run_in_one_sentence():
    class Broken:
        def decide(self, results):
            raise ZeroDivisionError("float division by zero")

    with pytest.raises(RunError, match="ZeroDivisionError: float division by zero"):
        ecv.evaluate("synthetic", "popular", rule=Broken(), k=3)


def test_recorded_runs_are_offered_and_their_orders_are_known():
    run = next(one for one in ecv.runs(recorded=True) if one.spec.dataset == "ml-100k")
    assert run.run_id in {one.run_id for one in recorded_runs()}
    at = ecv.orders(run, ecv.Fixed(folds=5))
    joules = [fold.energy.joules for fold in run.record.folds]
    assert at.cost_percent == pytest.approx(50)  # every fold is in half of the sets of five
    assert at.orders is None
    assert len(set(joules)) > 1
    # after one fold the rule knows nothing of what folds do beyond users
    assert ecv.orders(run, ecv.Precision(tolerance=0.5)).mean_stop == pytest.approx(2)


def test_orders_need_every_fold_of_a_run():
    run = ecv.evaluate("synthetic", "popular", rule=ecv.Fixed(folds=2), k=3)
    with pytest.raises(InputError, match="has 2 of 3 folds"):
        ecv.orders(run, ecv.Never())


def test_orders_of_folds_that_have_one_are_refused():
    run = ecv.evaluate("synthetic", "popular", split="temporal-windows")
    assert run.spec.rule == "never"
    with pytest.raises(InputError, match=r"order of time and their scores may drift.*own order"):
        ecv.orders(run, ecv.Never())


def test_a_split_is_that_of_a_run_with_the_same_settings():
    data = ecv.load("synthetic")
    folds = ecv.split(data, k=4, seed=3)
    spec = make_spec(dataset="synthetic", algorithm="popular", k=4, seed=3)
    assert np.array_equal(folds.assignment, folds_of(spec).assignment)
    assert np.array_equal(ecv.split("synthetic", k=4, seed=3).assignment, folds.assignment)


def test_a_dataset_that_is_not_here_says_how_to_get_it(monkeypatch, tmp_path: Path):
    monkeypatch.setenv("ECV_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("ECV_DATA_PATH", raising=False)
    with pytest.raises(DatasetError, match="is not on this machine"):
        ecv.load("ml-100k")


def test_metrics_of_a_table_of_scores_are_those_by_hand():
    train = csr_array(np.array([[1, 0, 0, 0], [0, 1, 0, 0]], dtype=np.float32))
    held_out = csr_array(np.array([[0, 1, 0, 0], [0, 0, 0, 1]], dtype=np.float32))
    scores = np.array([[9.0, 3.0, 2.0, 1.0], [3.0, 9.0, 2.0, 1.0]])
    found = ecv.metrics(scores, train, held_out, cutoffs=(1, 3), names=("ndcg", "recall"))
    # User 0: the hit is first. User 1: third of the three candidates, 1 / log2(4).
    assert found == pytest.approx({"ndcg@1": 0.5, "recall@1": 0.5, "ndcg@3": 0.75, "recall@3": 1.0})
    with pytest.raises(InputError, match="give one row per user"):
        ecv.metrics(scores[:, :3], train, held_out)
    # Arrays and series ended in an error of NumPy's or pandas'.
    for cutoffs, names in (
        (np.array([1, 3]), np.array(["ndcg", "recall"])),
        (pd.Series([3, 1], index=[7, 8]), pd.Series(["recall", "ndcg"], index=[7, 8])),
    ):
        assert ecv.metrics(scores, train, held_out, cutoffs=cutoffs, names=names) == found
    with pytest.raises(InputError, match="no cut-off is given"):
        ecv.metrics(scores, train, held_out, cutoffs=np.array([], int))


def test_the_settings_that_editors_complete_are_those_that_runs_have():
    from ecv_core.library.settings import Settings
    from ecv_core.records.spec import SETTINGS
    from ecv_core.stopping import RULES

    rules = [RULES[name] for name in ("e-fold", "precision")]
    params = {param.name for rule in rules for param in rule.parameters if param.flag}
    elsewhere = {"dataset", "algorithm", "rule", "tracked", "data_sha256", "own_metric", "cutoffs"}
    elsewhere |= {"overlap", "clustered", "in_time"}  # of a splitter of one's own, which tells them
    assert {*SETTINGS, *params} - elsewhere == {*Settings.__annotations__}


def test_algorithms_are_listed_with_their_parameters():
    table = ecv.algorithms()
    assert table.loc["item-knn", "parameters"]["neighbours"] == 100
    assert table.loc["biased-als", "task"] == "ratings"


def test_a_study_is_kept_and_takes_what_is_there():
    first = ecv.evaluate("synthetic", "popular", rule=ecv.Fixed(folds=2), k=3)
    ran = []
    runs = ecv.study(["synthetic"], ["popular", "item-knn"], k=3, on_fold=ran.append)
    assert [(run.spec.algorithm, len(run.scores)) for run in runs] == [
        ("popular", 3),
        ("item-knn", 3),
    ]
    assert runs[0].scores[:2] == first.scores
    again = ecv.study(["synthetic"], ["popular", "item-knn"], k=3, on_fold=lambda run: 1 / 0)
    assert [run.run_id for run in again] == [run.run_id for run in runs]
    assert len(ecv.runs(algorithm="item-knn")) == 1
    assert list(ecv.runs(dataset="ml-100k")) == []
    with pytest.raises(UnknownName):
        ecv.study(["synthetic"], ["populer"])


def test_a_tuning_says_what_it_found():
    tuned = ecv.tune("synthetic", "item-knn", {"neighbours": [2, 50]}, k=3, keep=False)
    assert tuned.params == {"neighbours": 50}
    assert tuned.sentence.startswith("item-knn:neighbours=50 is best on synthetic")
    assert tuned.document()["best"]["params"] == {"neighbours": 50}
    with pytest.raises(InputError, match="neighbour"):
        ecv.tune("synthetic", "item-knn", {"neighbour": [2, 50]})


def test_a_report_is_written_and_given(tmp_path: Path):
    run = ecv.evaluate("synthetic", "popular", rule=ecv.Fixed(folds=2))
    text = ecv.report(run, tmp_path / "run.html")
    assert (tmp_path / "run.html").read_text("utf-8") == text
    assert run.run_id in text
    assert ecv.report(run.run_id)[:100] == text[:100]


def test_a_report_of_a_recorded_run_names_the_machine_that_recorded_it(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("os.cpu_count", lambda: 77)
    recorded = recorded_environment("ml-100k--ease")
    assert recorded is not None
    runs = ecv.runs(recorded=True, dataset="ml-100k", algorithm="ease")
    for reported in ("ml-100k--ease", runs[:1]):
        text = ecv.report(reported)
        assert f"{recorded['cores']} cores" in text
        assert "77 cores" not in text
