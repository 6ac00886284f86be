"""All runs on the page Runs: the table, what is found, and what can be done with picked rows."""

import pandas as pd
import pytest

from ecv_core.records.run import RunState
from ecv_core.store.listing import Label, RunList, label_runs
from ecv_core.store.schema import folds, runs
from pages.runs.actions import retagged
from pages.runs.comparison import MOST
from pages.runs.history import runs_frame, table_key
from pages.shared.widgets.tables import score_format


def open_history(app, *picked):
    """The page, with these runs picked."""
    if picked:
        app.session_state["runs-picked"] = [run.run_id for run in picked]
    app.switch_page("runs/runs.py").run()
    assert not app.exception
    return app


def table(app):
    return app.dataframe[0].value


def keys(app):
    return {one.key for one in app.button if not one.disabled}


def frame_of(store):
    return runs_frame(RunList(store).rows())


def test_without_runs_the_page_says_so_and_leads_to_the_form(app):
    open_history(app)
    assert any("No runs yet" in one.value for one in app.markdown)
    assert not app.button


def test_every_run_is_a_row_newest_first_with_its_facts(a_run, store):
    a_run([0.30, 0.31, 0.305, 0.3075, 0.4], stopped_at=4)
    a_run([0.2], state=RunState.CANCELLED, algorithm="popular", rule="never")
    newest, oldest = frame_of(store).to_dict("records")
    assert (newest["algorithm"], newest["rule"], newest["state"]) == (
        "Popularity",
        "all folds",
        "cancelled",
    )
    assert (newest["folds"], newest["k"], newest["score"]) == (1, 10, 0.2)
    assert newest["energy"] == pytest.approx(10)  # a fold is 36 J
    assert (oldest["dataset"], oldest["rule"], oldest["metric"]) == (
        "Synthetic",
        "alpha 1e-4",
        "nDCG@10",
    )
    # 1.2225 / 4: the fold that checked the stop counts as a fold and as energy, not in the score.
    assert oldest["score"] == pytest.approx(0.305625)
    assert (oldest["folds"], oldest["stop"]) == (5, 4)
    assert (oldest["seed"], oldest["time"]) == (42, pytest.approx(10))  # a fold takes 2 s
    # t(3, 0.975) = 3.1824 times 0.0042696 / 2, wider for having stopped there
    assert oldest["half width"] > 0.00679
    assert newest["parameters"] == ""
    assert oldest["energy"] == pytest.approx(50)


def test_the_energy_of_the_shown_runs_is_summed_with_what_it_is_made_up_of(a_run, app):
    a_run([0.30, 0.31])
    a_run([0.30], source="none")
    open_history(app)
    # two folds of 36 J, 16 of them by the processor and 20 by memory, which an idle machine draws
    # too; one run has no meter and counts nothing
    assert any(
        "**8.9 to 20 mWh** for all folds of 1 shown run." in one.value for one in app.markdown
    )
    assert any("processor, from its load: 44 %" in one.proto.body for one in app.get("html"))


def test_where_nothing_is_known_a_cell_is_empty(a_run, store):
    a_run([0.30, 0.31], source="none")
    a_run(state=RunState.QUEUED)
    frame = frame_of(store)
    assert frame["energy"].isna().all()
    assert frame["score"].isna().tolist() == [True, False]
    assert frame["stop"].isna().all()


def test_the_table_has_no_column_for_what_nobody_wrote(app, a_run, store):
    run = a_run([0.3])
    open_history(app)
    shown = app.dataframe[0].proto.column_order
    assert "score" in shown
    assert not {"name", "tags", "note", "from"} & set(shown)
    label_runs(store, {run.run_id: Label(name="final", tags=("paper",))})
    app.run()
    assert {"name", "tags"} <= set(app.dataframe[0].proto.column_order)


def test_nothing_can_be_done_before_a_row_is_picked(app, a_run):
    a_run([0.3])
    open_history(app)
    assert not keys(app) & {"compare-picked", "delete-picked", "cancel-picked", "resume-picked"}


def test_picked_runs_open_side_by_side(app, a_run):
    runs = [a_run([0.3, 0.31]), a_run([0.2, 0.21], algorithm="popular"), a_run([0.1])]
    open_history(app, *runs[:2])
    button = app.button(key="compare-picked")
    assert button.label == "Compare 2 runs"
    button.click().run()
    assert not app.exception
    assert app.multiselect(key="compared").value == [runs[1].run_id, runs[0].run_id]


def test_compare_has_a_run_again_that_was_taken_out_there(app, a_run):
    runs = [a_run([0.3, 0.31]), a_run([0.2, 0.21], algorithm="popular")]
    open_history(app, *runs)
    app.button(key="compare-picked").click().run()
    app.multiselect(key="compared").set_value([runs[0].run_id]).run()
    app.query_params["runs"] = runs[0].run_id  # as the browser has it then
    open_view(app, "All runs")
    app.button(key="compare-picked").click().run()
    assert compared(app) == {run.run_id for run in runs}


@pytest.fixture
def pick_rows(app, store):
    """Pick rows of the table by their numbers, as clicks do."""

    def pick(*rows):
        key = table_key(RunList(store).rows())
        app.session_state[key] = {"selection": {"rows": list(rows), "columns": [], "cells": []}}
        app.run()

    return pick


def open_view(app, view):
    app.session_state["view"] = view
    app.run()
    assert not app.exception


def compared(app):
    return set(app.multiselect(key="compared").value)


def test_compare_begins_with_the_rows_that_were_picked_last_in_the_table(app, a_run, pick_rows):
    fourth, third, second, first = [a_run([score]) for score in (0.1, 0.2, 0.3, 0.4)]
    open_history(app)
    pick_rows(0, 1)
    open_view(app, "Compare")
    assert compared(app) == {first.run_id, second.run_id}
    open_view(app, "All runs")
    pick_rows(2, 3)
    open_view(app, "Compare")
    assert compared(app) == {third.run_id, fourth.run_id}


def test_runs_that_were_chosen_in_compare_stay_while_nobody_picks_rows(app, a_run, pick_rows):
    runs = [a_run([score], rule="never") for score in (0.1, 0.2)]
    runs += [a_run([score], algorithm="popular") for score in (0.3, 0.4)]
    open_history(app)
    pick_rows(0, 1, 2)
    open_view(app, "Compare")
    chosen = [runs[0].run_id, runs[3].run_id]
    app.multiselect(key="compared").set_value(chosen).run()
    open_view(app, "All runs")
    app.text_input(key="find").set_value("popular").run()  # hides one of the picked rows
    app.run()
    open_view(app, "Compare")
    assert compared(app) == set(chosen)


def test_of_too_many_picked_rows_compare_takes_the_first_and_says_so(app, a_run, pick_rows):
    for _ in range(MOST + 1):
        a_run([0.3])
    open_history(app)
    pick_rows(*range(MOST + 1))
    open_view(app, "Compare")
    assert len(compared(app)) == MOST
    said = app.warning[0].value
    assert said == f"{MOST + 1} runs are picked. Only the first {MOST} are shown."


def test_a_pick_in_the_table_is_known_by_its_run_not_by_its_place(app, a_run, store):
    first, second = a_run([0.3]), a_run([0.2])
    open_history(app)
    key = table_key(RunList(store).rows())
    app.session_state[key] = {"selection": {"rows": [1], "columns": [], "cells": []}}
    app.run()
    assert app.session_state["runs-picked"] == [first.run_id]
    a_run([0.1])  # now it is the third row
    app.run()
    assert app.session_state["runs-picked"] == [first.run_id]
    app.button(key="delete-picked").click().run()
    assert {run.run_id for run in store.runs()} >= {second.run_id}
    assert first.run_id not in {run.run_id for run in store.runs()}


def test_filters_narrow_the_table_and_say_when_nothing_is_left(app, a_run, store):
    a_run([0.3], state=RunState.CANCELLED)
    popular = a_run(algorithm="popular", state=RunState.FAILED, error="out of memory")
    label_runs(store, {popular.run_id: Label(tags=("paper",), note="as in Table 2")})
    open_history(app)
    for words in ("POP", "table 2", "paper failed"[:5], popular.run_id[:8]):
        app.text_input(key="find").set_value(words).run()
        assert table(app)["algorithm"].tolist() == ["Popularity"]
    app.text_input(key="find").set_value("").run()
    app.multiselect(key="tag").set_value(["paper"]).run()
    assert table(app)["algorithm"].tolist() == ["Popularity"]
    app.multiselect(key="state").set_value([RunState.CANCELLED]).run()
    assert any("No run matches" in one.value for one in app.info)


def test_runs_are_read_by_title_and_found_by_title_or_id(app, a_run):
    a_run([0.3], dataset="ml-100k")
    a_run([0.2], algorithm="popular")
    open_history(app)
    assert table(app)["dataset"].tolist() == ["Synthetic", "MovieLens 100K"]
    assert table(app)["algorithm"].tolist() == ["Popularity", "ItemKNN"]
    for words in ("itemknn", "item-knn", "MovieLens 100k", "ml-100k"):
        app.text_input(key="find").set_value(words).run()
        assert table(app)["dataset"].tolist() == ["MovieLens 100K"]


@pytest.mark.parametrize("named", ["ml-100k", "MovieLens 100K"])
def test_a_link_names_a_dataset_by_id_or_by_title(app, a_run, named):
    a_run([0.3], dataset="ml-100k")
    a_run([0.2])
    app.query_params["of_dataset"] = named
    open_history(app)
    assert table(app)["dataset"].tolist() == ["MovieLens 100K"]


def test_deleted_runs_come_back_by_an_undo(app, a_run, store):
    runs = [a_run([0.3]), a_run([0.2]), a_run([0.1])]
    open_history(app, *runs[:2])
    app.button(key="delete-picked").click().run()
    assert [run.run_id for run in store.runs()] == [runs[2].run_id]
    button = app.button(key="undo-delete")
    assert button.label == "Undo"
    button.click().run()
    assert len(store.runs()) == 3
    assert "undo-delete" not in keys(app)


def test_the_last_run_can_be_brought_back_too(app, a_run, store):
    run = a_run([0.3])
    open_history(app, run)
    app.button(key="delete-picked").click().run()
    assert any("No runs yet" in one.value for one in app.markdown)
    app.button(key="undo-delete").click().run()
    assert [one.run_id for one in store.runs()] == [run.run_id]


def test_an_active_run_is_cancelled_not_deleted(app, a_run, store):
    running = a_run(state=RunState.RUNNING)
    open_history(app, running)
    assert not keys(app) & {"delete-picked", "resume-picked"}
    app.button(key="cancel-picked").click().run()
    assert store.cancel_requested(running.run_id)


def test_an_interrupted_run_is_resumed_not_cancelled(app, a_run, store):
    cut_off = a_run([0.3], state=RunState.INTERRUPTED, error="the program ended")
    open_history(app, cut_off)
    assert "cancel-picked" not in keys(app)
    app.button(key="resume-picked").click().run()
    assert not app.exception
    assert store.run(cut_off.run_id).state is RunState.QUEUED


def test_one_picked_run_gets_a_name_tags_and_a_note(app, a_run, store):
    run = a_run([0.3])
    open_history(app, run)
    app.text_input(key=f"name-{run.run_id}").set_value("final")
    app.multiselect(key=f"tags-{run.run_id}").set_value(["paper"])
    app.text_area(key=f"note-{run.run_id}").set_value("as in Table 2")
    app.button(key=f"save-{run.run_id}").click().run()
    assert not app.exception
    label = RunList(store).rows()[0].label
    assert label == Label(name="final", tags=("paper",), note="as in Table 2")


def test_tags_of_several_runs_leave_what_is_each_runs_own():
    label = Label(name="a", tags=("gpu", "old"), note="b")
    assert retagged(label, ["old"], ["new"]) == Label(name="a", tags=("new", "gpu"), note="b")


def test_a_damaged_run_is_said_and_can_be_deleted_and_the_others_are_shown(app, a_run, store):
    a_run([0.5, 0.4])
    bad = a_run([0.3])
    with store.transaction("written") as connection:
        connection.execute(runs.update().where(runs.c.run_id == bad.run_id).values(spec="{}"))
    open_history(app)
    assert bad.run_id in app.warning[0].value
    next(one for one in app.button if one.label == "Delete 1 damaged run").click().run()
    assert not app.warning
    assert len(store.runs()) == 1


@pytest.mark.parametrize("page", ["runs/runs.py", "run/run.py"])
def test_a_damaged_fold_is_said_and_can_be_deleted_and_the_run_goes_on_there(
    app, a_run, store, page
):
    run = a_run([0.3, 0.5, 0.4], stopped_at=3)
    with store.transaction("written") as connection:
        connection.execute(folds.update().where(folds.c.fold == 1).values(result="{"))
    app.query_params["run"] = run.run_id
    app.switch_page(page).run()
    assert not app.exception
    # The fold with the index 1 is the second.
    assert f"Fold 2 of run {run.run_id} is damaged" in app.warning[0].value
    next(one for one in app.button if one.label == "Delete fold 2").click().run()
    assert not app.exception
    assert store.run(run.run_id).state is RunState.INTERRUPTED
    assert [fold.fold for fold in store.run(run.run_id).folds] == [0, 2]
    if page == "run/run.py":
        next(one for one in app.button if one.label == "Resume").click().run()
        assert store.run(run.run_id).state is RunState.QUEUED


def test_the_remaining_folds_of_all_picked_runs_are_run_at_once(app, a_run, store):
    stopped = [a_run([0.3, 0.31, 0.305, 0.3075], stopped_at=4) for _ in range(2)]
    whole = a_run([0.2, 0.3, 0.25, 0.2, 0.3], k=5, rule="never")
    open_history(app, *stopped, whole)
    button = next(one for one in app.button if one.key == "fact_check-picked")
    assert button.label == "Run the remaining folds of 2 runs"
    button.click().run()
    assert not app.exception
    assert [store.run(run.run_id).spec.full for run in (*stopped, whole)] == [True, True, False]


def test_a_report_is_of_the_runs_that_are_shown(app, a_run):
    a_run([0.3, 0.31, 0.305], stopped_at=3)
    a_run([0.2, 0.3, 0.25], algorithm="popular", rule="never", k=3)
    open_history(app)
    assert "**2 shown runs**" in " ".join(one.value for one in app.markdown)
    app.selectbox(key="started").set_value("this quarter").run()
    assert not app.exception


def test_a_report_is_of_the_picked_runs(app, a_run):
    a_run([0.2, 0.3, 0.25], algorithm="popular", rule="never", k=3)
    open_history(app, a_run([0.3, 0.31, 0.305], stopped_at=3))
    assert "**1 picked run**" in " ".join(one.value for one in app.markdown)


@pytest.mark.parametrize(
    ("scores", "form"),
    [
        ([0.3, 0.0004, 0.0], "%.4f"),
        ([0.3, 0.00001], "%.3g"),  # 0.0000 with four decimals
        ([-0.00001, None], "%.3g"),
        ([0.3 - 0.1 - 0.2], "%.4f"),  # 0 but for rounding
    ],
)
def test_no_column_shows_a_score_as_0_that_is_not(scores, form):
    assert score_format(pd.Series(scores)) == form
