"""The table of an answer: what runs used and saved, by values worked out by hand."""

from dataclasses import replace

from pages.shared.widgets.amounts import amounts_of
from tests.figures.report.conftest import a_run as reported_run  # noqa: F401  a fixture
from tests.figures.report.conftest import fold_result


def test_a_fold_that_two_runs_use_has_cost_its_energy_and_its_time_once(reported_run):  # noqa: F811
    first = reported_run()
    # The other run used the first one's three folds again, and computed one of its own.
    again = [replace(fold, reused=True) for fold in first.folds]
    own = replace(fold_result(3, 0.31), energy=replace(first.folds[0].energy, joules=72))
    second = replace(first, run_id="other", folds=(*again, own))
    rows = {amount.name: amount.used for amount in amounts_of([first, second])}
    # 3 folds of 16 to 36 J and one of 52 to 72 J are 100 to 180 J; 4 folds of 2 s.
    assert rows["energy"].startswith("28 to 50 mWh")
    assert rows["time"] == "8.0 s"


def test_a_fold_that_ended_after_the_stop_is_neither_a_check_nor_saved(reported_run):  # noqa: F811
    run = reported_run()
    run = replace(run, stopped_at=2, spec=replace(run.spec, k=4, full=False))
    rows = {amount.name: amount for amount in amounts_of([run])}
    assert rows["folds"].used == "2 of 4, and 1 after the stop"
    # Only the fourth fold never ran; folds take 2 s.
    assert (rows["folds"].saved, rows["time"].saved) == ("1", "about 2.0 s")
