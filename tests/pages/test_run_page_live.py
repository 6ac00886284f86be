"""A run on the Run page: its figure, its numbers, its sentence, what can be done with it."""

import io
import json
import re
import zipfile
from dataclasses import replace
from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest

from ecv_core.dataset.preparation import prepared
from ecv_core.figures.words import interval_allowing_for_stop
from ecv_core.fold import split_archive
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Here
from ecv_core.jobs.plan_runs import PlanRuns
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.records.run import RunState, UserScores
from ecv_core.store.ownership import active_owners, this_process
from ecv_core.store.schema import user_scores
from pages.run.answer import details_html
from pages.run.details import fold_frame
from tests.fake_folds import computing, fold_result
from tests.pages.conftest import amounts, card, progress, verdict

SCORES = [0.30, 0.31, 0.305, 0.3075]


def button(app, label):
    return next(one for one in app.button if one.label == label)


def labels(app):
    return [one.label for one in app.button]


def captions(app):
    """Behind Details, with their links."""
    return [unescape(one) for one in re.findall(r'"ecv-caption">(.*?)</p>', card(app))]


def figures(app):
    """What the figure components were given, by their key."""
    found = [one.proto for one in app.get("bidi_component")]
    return [data for data in (json.loads(proto.json) for proto in found) if "light" in data]


def open_run(app, run, *, tab=None):
    app.query_params["run"] = run.run_id
    if tab is not None:
        app.query_params["details"] = tab
    app.run()
    assert not app.exception
    return app


def test_a_stopped_run_shows_its_numbers(app, a_run):
    open_run(app, a_run(SCORES, stopped_at=4))
    kind, lines = verdict(app)
    assert (kind, lines[0]) == ("sure", "nDCG@10 0.3056")
    # 4 folds of 36 J, 20 J of them memory's; 6 folds of 16 J less 15 % to 36 J and 15 %.
    assert amounts(app) == {
        "folds": ("4 of 10", "6"),
        "energy": ("18 to 40 mWh (at most 16 mg CO2e)", "23 to 69 mWh, about 60 %"),
        "time": ("8.0 s", "about 12 s"),
    }
    assert any("estimated" in one for one in captions(app))
    assert "Why this number?" in card(app)
    assert "= 144 J, / 3600 = 0.04 Wh" in card(app)


def test_a_run_says_what_the_cheap_models_cost_that_it_is_adjusted_by(app, a_run, store):
    cheap = a_run([0.2, 0.21, 0.22], algorithm="popular", rule="never", k=3)
    with store.transaction("written") as connection:
        connection.execute(
            user_scores.insert(),
            [
                {"run_id": cheap.run_id, "fold": at, "metrics": "{}", "users": b"", "scores": b""}
                for at in range(3)
            ],
        )
    adjusted = {"rule": "precision", "tolerance": 0.05, "adjust_by": ("popular",)}
    open_run(app, a_run([0.3, 0.31, 0.305], k=3, **adjusted))
    # 3 folds of 36 J are 30 mWh; without 20 J of memory each, 13 mWh.
    (said,) = [one for one in captions(app) if one.startswith("The mean is adjusted by")]
    assert f'href="?run={cheap.run_id}"' in said
    assert said.endswith(
        ">Popularity</a> (3 folds, 13 to 30 mWh), whose energy is not counted above."
    )


def test_measured_energy_is_called_measured(app, a_run):
    open_run(app, a_run(SCORES, stopped_at=4, source="rapl"))
    (line,) = [one for one in captions(app) if ">Energy</a>" in one]
    assert "measured by the processor's power counter" in line


def test_a_run_without_a_meter_shows_no_energy_rather_than_zero(app, a_run):
    open_run(app, a_run(SCORES, stopped_at=4, source="none"))
    assert amounts(app)["energy"] == ("not metered", "-")


def test_the_figure_holds_the_stop_and_says_so_to_those_who_do_not_see_it(app, a_run):
    open_run(app, a_run(SCORES, stopped_at=4))
    (data,) = figures(app)
    light = json.loads(data["light"])
    said = [note["text"] for note in light["layout"]["annotations"]]
    assert said == ["<b>stop after 4</b>, 6 folds saved"]
    assert data["alt"].startswith("ItemKNN on Synthetic: after 4 of 10 folds the mean nDCG@10")
    assert data["dark"] != data["light"]


def test_the_interval_for_new_users_stands_before_that_of_the_folds(app, store, a_fold):
    # Two folds of three users: 0.33889 around 0.25, a tenth of what tests/test_verdict.py works
    # out, and no nDCG is below 0.
    spec = make_spec(dataset="synthetic", algorithm="popular", rule="fixed", min_folds=2)
    (run_id,) = store.create([spec], owner="test")
    store.start(run_id, owner="test")
    for index in range(2):
        values = (np.array([1, 2, 3], dtype=np.float32)[:, None] + index) / 10
        users = UserScores(users=np.arange(3, dtype=np.int32), metrics=("ndcg@10",), values=values)
        fold = replace(a_fold(index, 0.2 + index / 10, "rapl"), user_scores=users)
        store.add_fold(run_id, fold, stopped_at=2)
    store.finish(run_id, RunState.FINISHED)
    open_run(app, store.run(run_id))
    kind, lines = verdict(app)
    assert kind == "uncertain"
    assert "0.0000 to 0.5889" in lines[1]
    assert any(one.startswith("95 % interval: ± 0.6353 over these folds") for one in captions(app))


def test_a_stop_that_is_called_uncertain_is_not_called_sure(app, store, a_fold):
    # Two thousand users leave little doubt, three folds that are 0.29, 0.30 and 0.31 leave some.
    spec = make_spec(dataset="synthetic", algorithm="popular", alpha=1.0)
    (run_id,) = store.create([spec], owner="test")
    store.start(run_id, owner="test")
    of_users = np.linspace(-0.1, 0.1, 2000, dtype=np.float32)[:, None]
    for index, score in enumerate((0.29, 0.30, 0.31)):
        users = UserScores(
            users=np.arange(2000, dtype=np.int32), metrics=("ndcg@10",), values=of_users + score
        )
        fold = replace(a_fold(index, score, "rapl"), user_scores=users)
        store.add_fold(run_id, fold, stopped_at=3)
    store.finish(run_id, RunState.FINISHED)
    open_run(app, store.run(run_id))
    kind, (_, of_new_users, said) = verdict(app)
    assert of_new_users.startswith("95 % interval for new users: 0.28")  # a tenth below is 0.27
    assert said.endswith("but is uncertain.")
    assert kind == "uncertain"


def test_without_users_scores_nothing_is_guessed_of_new_users(app, a_run):
    open_run(app, a_run(SCORES, stopped_at=4))
    assert verdict(app)[1][1].startswith("No interval for new users")


def test_the_sentence_of_the_stop_is_shown(app, a_run):
    open_run(app, a_run(SCORES, stopped_at=4))
    assert verdict(app)[1][2].startswith("Stopped after 4 of 10 folds: the mean, 0.3056, has")
    assert captions(app)[0].startswith("After 4 folds: the interval is 0.0136 wide")


def test_a_broken_fold_is_a_warning_and_no_promise_is_shown(app, store):
    scores = [0.300, 0.301, 0.299, 0.3005, 0.21, 0.3]
    spec = make_spec(dataset="synthetic", algorithm="popular", rule="fixed", min_folds=5, k=6)
    (run_id,) = store.create([spec], owner=this_process())
    compute = computing(lambda spec, index: fold_result(index, scores[index]))
    drive(RunPlan(spec), PlanRuns(store, runs=[store.run(run_id)]), Here(compute))
    open_run(app, store.run(run_id))
    kind, (*_, said) = verdict(app)
    assert kind == "uncertain"
    assert "0.2821" in said
    assert "The 5th fold scores 30 % below" in said


def test_a_run_that_went_on_says_how_far_off_the_stop_was(app, a_run):
    # Means: 0.3 after two folds, 0.32 after four: d = 0.02 / 0.31 = 6.45 %.
    open_run(app, a_run([0.3, 0.3, 0.34, 0.34], stopped_at=2, k=4, full=True))
    kind, (*_, said) = verdict(app)
    assert kind == "uncertain"  # two folds that score alike have no interval
    assert "mean of all 4 folds is 0.3200" in said
    assert "6.45 %" in said
    assert amounts(app)["energy"][1] == "8.9 to 20 mWh, 50 %"
    assert amounts(app)["folds"] == ("2 of 4, and 2 to check", "2")
    assert "the stop would save" in card(app)


def test_a_stop_that_is_being_checked_saves_no_fold(app, a_run):
    open_run(app, a_run(SCORES, stopped_at=4, state=RunState.RUNNING, full=True))
    _, (*_, said) = verdict(app)
    assert said.endswith("The remaining folds are running to check this.")
    components = [one.proto.json for one in app.get("bidi_component")]
    assert any("the rule stopped here, 6 folds run to check" in one for one in components)
    assert "the stop would save" in card(app)


def test_a_running_run_shows_progress(app, a_run, store):
    run = a_run(SCORES[:2], state=RunState.RUNNING)
    store.set_progress(run.run_id, 2, "fit", 3, 20)
    open_run(app, run)
    assert progress(app)["words"] == "fold 3 of 10 · fit 3 of 20"


def test_a_run_that_ends_while_its_page_is_drawn_keeps_its_card_and_figure(app, a_run, monkeypatch):
    run = a_run(SCORES[:2], state=RunState.RUNNING)
    monkeypatch.setattr("pages.run.live_run.watch", lambda: SimpleNamespace(active_runs=list))
    open_run(app, run)
    assert verdict(app)[1][0] == "nDCG@10 0.3050"
    assert len(figures(app)) == 1


def test_a_queued_run_says_how_many_are_before_it(app, a_run):
    a_run(state=RunState.RUNNING)
    a_run(state=RunState.QUEUED)
    open_run(app, a_run(state=RunState.QUEUED))
    assert verdict(app) == ("not known yet", ["Queued behind 2 runs."])


@pytest.mark.parametrize(
    "state", [RunState.FAILED, RunState.CANCELLED, RunState.INTERRUPTED], ids=str
)
def test_a_run_that_ended_early_says_why_and_resumes(app, a_run, store, state):
    run = a_run(SCORES[:2], state=state, error="the worker process was killed")
    open_run(app, run)
    kind, (*_, said) = verdict(app)
    assert kind == ("failed" if state is RunState.FAILED else "not finished")
    assert "2 of 10 folds are finished and kept" in said
    if state is not RunState.CANCELLED:
        assert "was killed" in said
    button(app, "Resume").click().run()
    assert store.run(run.run_id).state is RunState.QUEUED


def test_a_run_that_failed_in_its_first_fold_has_neither_numbers_nor_figure(app, a_run):
    open_run(app, a_run(state=RunState.FAILED, error="the worker ran out of memory"))
    said = "Failed: the worker ran out of memory. No fold was finished."
    assert verdict(app) == ("failed", [said])
    assert amounts(app) == {}
    assert figures(app) == []


def test_what_no_stop_has_saved_has_no_column(app, a_run):
    open_run(app, a_run(SCORES, stopped_at=4, k=4, alpha=1e-9))
    assert "saved by the stop" not in card(app)


def test_a_check_that_was_cancelled_leaves_the_verdict_and_the_saving(app, a_run):
    open_run(app, a_run(SCORES, stopped_at=4, state=RunState.CANCELLED, full=True))
    _, (*_, said) = verdict(app)
    assert said.startswith("Cancelled. 4 of 10 folds are finished and kept. Stopped after 4 of 10")
    assert amounts(app)["folds"][1] == "6"


def test_the_saved_folds_can_be_run_to_check(app, a_run, store):
    run = a_run(SCORES, stopped_at=4)
    open_run(app, run)
    button(app, "Run the remaining folds to check").click().run()
    assert store.run(run.run_id).state is RunState.QUEUED
    assert list(active_owners(store)) == ["full=True"]


def test_only_what_makes_sense_is_offered(app, a_run):
    open_run(app, a_run([0.3, 0.31], stopped_at=2, k=2, min_folds=2))
    assert labels(app) == ["New run", "Present"]


def test_the_folds_are_a_table_with_all_metrics_and_exports(app, a_run):
    run = a_run(SCORES, stopped_at=4)
    open_run(app, run)
    table = app.dataframe[0].value
    assert table["score"].tolist() == SCORES
    assert table["fold"].tolist() == [1, 2, 3, 4]  # as people count
    assert fold_frame(run)["fold"].tolist() == [0, 1, 2, 3]  # as the CSV has them
    assert table["Recall@10"].tolist() == [0.15, 0.155, 0.1525, 0.15375]
    assert table["energy Wh"].tolist() == pytest.approx([0.01] * 4)
    # No file to download is made before its tab is open: the next drawing would replace it.
    assert [one.proto.label for one in app.get("download_button")] == ["CSV"]
    open_run(app, run, tab="Export")
    assert [one.proto.label for one in app.get("download_button")] == [
        "CSV",  # of figure 1
        "Report",
        "Folds as CSV",
        "Run as JSON",
    ]
    app.session_state["paper-run"] = True
    app.run()
    assert [one.proto.label for one in app.get("download_button")][4:] == [
        *("PDF", "SVG", "PGF"),  # of figure 1
        "The folds of Synthetic, seed 42",
    ]


def test_the_split_that_is_exported_has_every_interaction_once():
    spec = make_spec(dataset="synthetic", algorithm="popular", k=3)
    with zipfile.ZipFile(io.BytesIO(split_archive(spec))) as archive:
        lines = archive.read("folds.csv").decode().splitlines()
    assert lines[0].replace('"', "") == "user_id,item_id,fold"
    assert len(lines) - 1 == len(prepared("synthetic"))
    assert len({line.rsplit(",", 1)[0] for line in lines[1:]}) == len(lines) - 1
    assert {line.rsplit(",", 1)[1] for line in lines[1:]} == {"0", "1", "2"}


def test_the_command_line_repeats_the_run(app, a_run):
    open_run(app, a_run(SCORES, stopped_at=4, seed=7), tab="Repeat this run")
    assert app.code[0].value == (
        "python -m ecv_core run synthetic item-knn --alpha 0.0001 --seed 7"
    )


def test_runs_started_together_show_together_and_the_one_that_is_going_is_followed(
    app, store, a_fold
):
    specs = [make_spec(dataset="synthetic", algorithm=name) for name in ("popular", "item-knn")]
    first, second = store.create(specs, owner="test")
    store.start(first, owner="test")
    store.add_fold(first, a_fold(0, 0.2, "rapl"), stopped_at=None)
    store.finish(first, RunState.CANCELLED)
    store.start(second, owner="test")
    open_run(app, store.run(first))
    assert app.title[0].value == "ItemKNN on Synthetic"
    assert "Compare them" in [one.proto.label for one in app.get("page_link")]
    app.segmented_control(key="show").set_value("popular").run()
    assert app.title[0].value == "Popularity on Synthetic"


def test_a_run_that_is_deleted_while_someone_looks_becomes_a_sentence(app, a_run, store):
    run = a_run(SCORES, stopped_at=4)
    open_run(app, run)
    store.delete(run.run_id)
    app.run()
    assert not app.exception
    assert "no run" in app.error[0].value


def test_a_run_that_never_stopped_does_not_say_go_on(app, a_run):
    open_run(app, a_run(SCORES, stopped_at=4, k=4, alpha=1e-9))
    kind, lines = verdict(app)
    assert kind == "sure"
    assert "The stopping rule was never met." in lines[-1]
    assert not any("go on" in line for line in captions(app))


def test_the_number_and_the_band_of_the_figure_say_why_they_differ(a_run) -> None:
    stopped = a_run(SCORES, stopped_at=4)
    wide = interval_allowing_for_stop(stopped)
    assert wide is not None
    said = details_html(stopped)
    assert f"± {wide.width / 2:.4f} over these folds" in said
    band = stopped.at_stop.interval.width / 2
    assert f"The band in the figure, ± {band:.4f}, ignores the stop." in said
    going_on = a_run([0.30, 0.31], state=RunState.RUNNING)
    assert "ignores the stop" not in details_html(going_on)
