"""All runs on the page Runs: every run with its facts, filters, and deletion that asks first."""

from streamlit.testing.v1 import AppTest

from ecv_core.records import RunState


def open_history(app):
    app.switch_page("pages/runs.py").run()
    assert not app.exception
    return app


def rows(app):
    return [one.value for one in app.markdown if one.value.startswith("**")]


def facts(app):
    return [one.value for one in app.markdown if " · " in one.value]


def test_without_runs_the_page_says_so_and_leads_to_the_form(app):
    open_history(app)
    assert any("No runs yet" in one.value for one in app.markdown)
    assert not app.button


def test_every_run_is_a_row_newest_first_with_its_facts(app, a_run):
    a_run([0.30, 0.31, 0.305, 0.3075], stopped_at=4)
    a_run([0.2], state=RunState.CANCELLED, algorithm="popular", rule="never")
    open_history(app)
    assert rows(app) == ["**popular on synthetic**", "**item-knn on synthetic**"]
    newest, oldest = facts(app)
    assert newest == "never · **1** of 10 folds · nDCG@10 **0.2000** · 10 mWh · just now"
    assert oldest == (
        "alpha 1e-4 · stop **4** of 10 · nDCG@10 **0.3056** · 40 mWh, saved **60 mWh** (60 %) · "
        "just now"
    )


def test_a_stop_that_was_checked_saved_nothing_and_without_a_meter_nothing_is_claimed(app, a_run):
    a_run([0.30, 0.31, 0.305, 0.31, 0.31], stopped_at=4, k=5)
    a_run([0.30, 0.31, 0.305, 0.31], stopped_at=4, source="none")
    open_history(app)
    unmetered, checked = facts(app)
    assert "50 mWh, **10 mWh** (20 %) given up to check" in checked
    assert "energy not measured" in unmetered


def test_ticked_runs_open_side_by_side(app, a_run):
    runs = [a_run([0.3, 0.31]), a_run([0.2, 0.21], algorithm="popular"), a_run([0.1])]
    open_history(app)
    assert not [one for one in app.button if one.key == "compare-ticked"]
    for run in runs[:2]:
        app.checkbox(key=f"pick-{run.run_id}").check().run()
    button = app.button(key="compare-ticked")
    assert button.label == "Compare 2 runs"
    button.click().run()
    assert not app.exception
    assert app.multiselect(key="compared").value == [runs[1].run_id, runs[0].run_id]


def test_filters_narrow_the_list_and_say_when_nothing_is_left(app, a_run):
    a_run([0.3], state=RunState.CANCELLED)
    a_run(algorithm="popular", state=RunState.FAILED, error="out of memory")
    open_history(app)
    app.text_input(key="find").set_value("POP").run()
    assert rows(app) == ["**popular on synthetic**"]
    app.multiselect(key="state").set_value([RunState.CANCELLED]).run()
    assert any("No run matches" in one.value for one in app.info)


def test_deleting_asks_first_and_keeping_keeps(app, a_run, store):
    run = a_run([0.3], state=RunState.CANCELLED)
    open_history(app)
    app.button(key=f"delete-{run.run_id}").click().run()
    assert store.run(run.run_id)
    assert any("its 1 fold will be gone" in one.value for one in app.markdown)
    app.button(key="keep").click().run()
    assert store.run(run.run_id)


def only_the_dialog():
    from pages.components.shared.runs import confirm_delete
    from pages.components.shared.state import store

    for run in store().runs():
        confirm_delete(run)


def test_deleting_deletes_once_confirmed(a_run, store):
    # A click inside a dialog draws the dialog alone, but AppTest runs the whole page.
    a_run([0.3], state=RunState.CANCELLED)
    dialog = AppTest.from_function(only_the_dialog).run()
    dialog.button(key="confirm-delete").click().run()
    assert not dialog.exception
    assert store.runs() == []


def test_an_active_run_cannot_be_deleted_and_a_stopped_one_cannot_be_resumed(app, a_run):
    a_run(state=RunState.RUNNING)
    open_history(app)
    assert not [one for one in app.button if one.label in ("Delete", "Resume")]


def test_an_interrupted_run_resumes_from_here(app, a_run, store):
    run = a_run([0.3], state=RunState.INTERRUPTED, error="the program ended")
    open_history(app)
    app.button(key=f"resume-{run.run_id}").click().run()
    assert not app.exception
    assert store.run(run.run_id).state is RunState.QUEUED


def test_long_histories_come_a_page_at_a_time(app, a_run):
    for _ in range(23):
        a_run(state=RunState.CANCELLED)
    open_history(app)
    assert len(rows(app)) == 20
    app.button(key="more").click().run()
    assert len(rows(app)) == 23
