"""Which is best?: recorded selections, one's own with made-up folds, scores files, and mistakes."""

import re
from collections.abc import Callable
from types import FunctionType

import pytest
from streamlit.testing.v1 import AppTest

from ecv_core.jobs.plans.select import SelectionState, SelectPlan, begin, go_on
from ecv_core.selection.rounds import Terms
from ecv_core.store.ownership import interrupt, this_process
from ecv_core.store.plans import SELECTION, stored_plans
from ecv_core.store.recorded import recorded_runs
from ecv_core.store.results import Results
from ecv_core.store.store import Store
from pages.shared.live.events import events
from pages.shared.live.watch import watch
from tests.jobs.plans.test_select import go, specs
from tests.pages.conftest import amounts, card_text
from tests.pages.conftest import verdict as answer


def open_best(app: AppTest, selection: str = "", **settings: str) -> AppTest:
    app.run()
    app.switch_page("best/best.py")
    if selection:
        app.query_params["selection"] = selection
    for name, value in settings.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def texts(app: AppTest) -> str:
    said = "\n".join(
        str(one.value) for one in [*app.markdown, *app.caption, *app.error, *app.warning]
    )
    return f"{said}\n{card_text(app)}".replace("\\", "")


def address(app: AppTest) -> str:
    """The selection that it names; a list once a test has set it."""
    found = app.query_params["selection"]
    return found if isinstance(found, str) else found[0]


def verdict(app: AppTest) -> str:
    """The lines of the card, as they are read."""
    return "\n".join(answer(app)[1])


def test_it_opens_on_a_recorded_selection_with_its_verdict_first(app: AppTest) -> None:
    open_best(app)
    assert [one.value for one in app.title] == ["Which is best?"]
    assert app.selectbox(key="selection-choice").value == "ml-100k"
    assert "selection" not in app.query_params  # Back is one step
    said = verdict(app)
    assert said.startswith("Use EASE on MovieLens 100K\nThe mean of EASE over 2 folds is 0.3478.")
    assert "\nIt has the best mean so far." in said
    assert answer(app)[0] == "close"  # NMF may be as good
    assert "(allowed: 0.1 %)" in said
    assert "% of the energy. NMF, the second, is " in said
    assert "nDCG@10, seed 42, up to 10 folds each. All of the" in texts(app)
    app.session_state["paper-best"] = True
    app.run()
    assert "it allows for the choice of the best of" in texts(app)
    text, _, table, references = (one.value for one in app.code[:4])
    assert "MovieLens 100K (Harper and Konstan, 2015)" in text
    assert "We chose EASE." in text
    assert r"Contender & nDCG@10 & Folds & Verdict \\" in table
    assert "harper2015movielens" in references
    assert not app.error


def test_the_card_has_folds_energy_and_time_of_all_contenders(app: AppTest) -> None:
    open_best(app)
    runs = [run for run in recorded_runs() if run.spec.dataset == "ml-100k"]
    seconds = sum(fold.total_seconds for run in runs for fold in run.folds)
    rows = amounts(app)
    assert rows["folds"] == ("15 of 120", "105")
    (used, over), (saved, left) = (re.findall(r"\d+", words) for words in rows["time"])
    told = 60 * (int(used) + int(saved)) + int(over) + int(left)
    assert told == pytest.approx(seconds, abs=1)
    # As on Run, energy is a range: at least all but the memory's, at most all of it.
    used_low, used_high, saved_low, saved_high, share = (
        float(number) for number in re.findall(r"[\d.]+", " ".join(rows["energy"]))
    )
    energies = [fold.energy for run in runs for fold in run.folds]
    most = sum(energy.joules for energy in energies) / 3600
    least = most - sum(energy.ram_joules for energy in energies) / 3600
    assert used_low + saved_low == pytest.approx(least, rel=0.05)  # each has two digits
    assert used_high + saved_high == pytest.approx(most, rel=0.05)
    assert share == pytest.approx(100 * saved_high / most, abs=2)


def test_one_that_is_finished_leads_to_what_may_be_claimed(app: AppTest, store: Store) -> None:
    record = begin(store, specs("popular", "ease"), Terms(k=10, expected_loss=0.5))
    go(store, record, most=2)
    runs = len(store.runs())
    open_best(app, record)
    assert verdict(app).startswith("Use EASE on Synthetic")
    app.button(key="claim").click().run()
    assert not app.exception
    assert address(app) != record
    assert verdict(app).startswith("EASE is best on Synthetic")
    assert len(store.runs()) == runs  # its folds were enough, and are used again


def test_the_question_stands_beside_no_selection_that_keeps_its_own(
    app: AppTest, store: Store
) -> None:
    record = begin(store, specs("popular", "ease"), Terms(k=10, confidence=0.95))
    go(store, record, most=2)
    open_best(app, record)
    (box,) = [box for box in app.expander if box.label == "Start one of your own"]
    assert [switch.key for switch in box.segmented_control] == ["question"]
    app.segmented_control(key="question").set_value("What may I claim?").run()
    app.selectbox(key="selection-choice").set_value("ml-100k").run()
    assert not app.exception
    assert app.segmented_control(key="question").value == "What may I claim?"
    assert verdict(app).startswith("EASE is best")
    (box,) = [box for box in app.expander if box.label == "Start one of your own"]
    assert not box.segmented_control


def test_grids_and_the_hard_dataset_are_there_too(app: AppTest) -> None:
    open_best(app, "hetrec-lastfm--item-knn--neighbours")
    assert "on new data" in texts(app)
    options = app.selectbox(key="selection-choice").options
    assert "Recorded: neighbours of ItemKNN on MovieLens 100K" in options
    app.selectbox(key="selection-choice").set_value("ml-100k--ease--regularization").run()
    assert not app.exception
    assert address(app) == "ml-100k--ease--regularization"
    assert "Use EASE, regularization 350" in verdict(app)
    app.segmented_control(key="question").set_value("What may I claim?").run()
    assert "EASE, regularization 350 is best" in verdict(app)


def test_a_budget_is_kept_and_one_that_cannot_be_is_said(app: AppTest) -> None:
    open_best(app)
    app.text_input(key="budget").set_value("20 folds").run()
    assert "within 20 folds" in verdict(app)
    app.text_input(key="budget").set_value("20 apples").run()
    assert "'20 apples' is not a budget" in texts(app)
    assert verdict(app).startswith("Use EASE")


def test_settings_change_what_is_asked_of_a_recorded_selection(app: AppTest) -> None:
    open_best(app, "hetrec-lastfm")
    app.segmented_control(key="question").set_value("What may I claim?").run()
    app.number_input(key="indifference").set_value(5.0).run()
    # Three folds show that nobody is ahead by 5 %, but not that anybody is as close to it.
    assert "loses at most 5 % of its mean" in verdict(app)
    assert "or as good as it" not in verdict(app)


def test_a_selection_that_is_not_here_is_said_and_the_recorded_one_opens(app: AppTest) -> None:
    open_best(app, "0123456789ab")
    assert "there is no selection '0123456789ab' here" in texts(app)
    assert verdict(app).startswith("Use EASE")


def test_back_to_the_bare_address_shows_the_usual_selection_again(app: AppTest) -> None:
    open_best(app)
    app.selectbox(key="selection-choice").set_value("hetrec-lastfm").run()
    assert address(app) == "hetrec-lastfm"
    del app.query_params["selection"]
    app.run()
    assert app.selectbox(key="selection-choice").value == "ml-100k"


def test_without_anything_recorded_there_is_a_file_and_the_form(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.best.choice.recorded_runs", list)
    monkeypatch.setattr("pages.best.choice.configuration_names", lambda folder: [])
    open_best(app)
    assert app.selectbox(key="selection-choice").value == "file"
    assert any("one row per contender" in one.value.lower() for one in app.caption)


def test_a_list_of_algorithms_is_started_and_its_first_fold_queued(
    app: AppTest, store: Store
) -> None:
    open_best(app)
    app.session_state["best-start-0"] = True
    app.run()
    app.button(key="begin").click().run()
    assert not app.exception
    (record,) = stored_plans(store, SELECTION)
    assert [one.name for one in record.content.runs] == [
        "popular",
        "item-knn",
        "implicit-mf",
        "ease",
        "rp3beta",
    ]
    (run,) = store.runs()
    assert run.spec.only_folds == (0,)
    assert address(app) == record.plan_id
    assert "**Popularity**, fold 1 of 10" in texts(app)


@pytest.fixture
def begun(store: Store) -> Callable[[int], str]:
    """A selection of one's own after so many folds; gives its id."""

    def put(folds: int) -> str:
        selection_id = begin(store, specs("popular", "item-knn", "ease"), Terms(k=10))
        go(store, selection_id, most=folds)
        return selection_id

    return put


def test_one_that_is_decided_gives_its_verdict(app: AppTest, begun: Callable[[int], str]) -> None:
    open_best(app, begun(3))
    assert answer(app)[0] == "sure"
    assert verdict(app).startswith("EASE is best on Synthetic\n")
    assert "\nDecided after 1 fold each, with 10 % of" in verdict(app)
    assert "forget-selection" in [one.key for one in app.button]
    assert "resume-selection" not in [one.key for one in app.button]


def test_one_that_goes_on_can_be_cancelled_and_resumed(
    app: AppTest, begun: Callable[[int], str], store: Store
) -> None:
    selection_id = begun(1)
    (run_id,) = go_on(store, selection_id)
    open_best(app, selection_id)
    assert "1 of 3 ran" in texts(app)
    app.button(key="cancel-selection").click().run()
    assert store.run(run_id).state.value == "cancelled"
    assert "whose run is cancelled. Finished folds are kept." in texts(app)
    app.button(key="resume-selection").click().run()
    assert not app.exception
    assert store.run(run_id).state.value == "queued"
    assert "cancel-selection" in [one.key for one in app.button]


def test_a_page_that_folds_overtake_is_drawn_once_and_then_told(
    app: AppTest, begun: Callable[[int], str], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folds of a tenth of a second end while the page is drawn, and all before the next look."""
    selection_id = begun(1)
    state = SelectPlan.state_after
    drawn: list[str] = []
    shown: list[str] = []

    def overtaken(plan: SelectPlan, scores: Results) -> SelectionState:
        found = state(plan, scores)
        if not drawn:
            drawn.append("the page")
            go(store, selection_id, most=2)
        return found

    def told(
        part: FunctionType, *arguments: object, key: str, topics: list[str], **_: object
    ) -> None:
        """As `draw_live`, and then as the browser, which asks again where a version is another."""
        before = [events.version(topic, watch().drawn_activity()) for topic in topics]
        part(*arguments)
        shown.append(key)
        now = watch().newest_activity()
        if before != [events.version(topic, now) for topic in topics]:
            watch().begin_page()
            part(*arguments)

    monkeypatch.setattr(SelectPlan, "state_after", overtaken)
    monkeypatch.setattr("pages.best.live.draw_live", told)
    open_best(app, selection_id)
    assert "selection" in shown
    assert "Decided after 1 fold each" in verdict(app)


def test_after_a_restart_it_can_be_resumed(
    app: AppTest, begun: Callable[[int], str], store: Store
) -> None:
    selection_id = begun(1)
    go_on(store, selection_id)
    interrupt(store, [this_process()])
    open_best(app, selection_id)
    assert "whose run is interrupted" in texts(app)
    app.button(key="resume-selection").click().run()
    assert any(run.state.active for run in store.runs())


def test_one_can_be_removed_and_its_runs_stay(
    app: AppTest, begun: Callable[[int], str], store: Store
) -> None:
    open_best(app, begun(3))
    app.button(key="forget-selection").click().run()
    assert stored_plans(store, SELECTION) == []
    assert len(store.runs()) == 3
    assert address(app) == "ml-100k"


def test_runs_that_are_there_become_contenders_and_are_not_run_again(
    app: AppTest, begun: Callable[[int], str], store: Store
) -> None:
    begun(3)
    open_best(app)
    app.session_state["best-start-0"] = True
    app.session_state["contenders_from"] = "existing runs"
    app.run()
    runs = {run.spec.algorithm: run.run_id for run in store.runs()}
    app.multiselect(key="contender_runs").set_value([runs["ease"], runs["popular"]]).run()
    app.button(key="begin").click().run()
    assert not app.exception
    assert verdict(app).startswith("Use EASE on Synthetic")
    assert len(store.runs()) == 3  # nothing was queued


def test_it_is_said_what_a_selection_lacks_before_it_can_start(app: AppTest) -> None:
    open_best(app)
    app.session_state["best-start-0"] = True
    app.session_state["contenders_from"] = "existing runs"
    app.run()
    assert app.button(key="begin").disabled
    assert "Pick at least two contenders first." in texts(app)


def test_runs_that_share_no_folds_are_refused(
    app: AppTest, begun: Callable[[int], str], store: Store
) -> None:
    begun(1)
    (own,) = store.runs()
    open_best(app)
    app.session_state["best-start-0"] = True
    app.session_state["contenders_from"] = "existing runs"
    app.run()
    recorded = next(run.run_id for run in recorded_runs() if run.spec.dataset == "ml-100k")
    app.multiselect(key="contender_runs").set_value([own.run_id, recorded]).run()
    app.button(key="begin").click().run()
    (error,) = app.error
    assert "do not share dataset, split, folds, metric and protocol" in error.value


def test_after_each_run_the_manager_goes_on_with_its_selection(
    app: AppTest, begun: Callable[[int], str], store: Store
) -> None:
    selection_id = begun(0)
    go(store, selection_id, most=1)
    open_best(app, selection_id)
    assert "Choosing the next fold" in texts(app)
    assert go_on(store, selection_id)
    app.run()
    assert "**ItemKNN**, fold 1 of 10" in texts(app)


def test_a_decided_race_can_be_saved(app: AppTest) -> None:
    open_best(app)
    labels = {button.proto.label for button in app.get("download_button")}
    assert {"Web page, with play and pause", "Animated WebP", "Animated GIF"} <= labels
