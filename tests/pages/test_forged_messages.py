"""Messages that a page never offered: what an editor can press, pressed by those who may not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.testing.v1 import AppTest

from ecv_core.fold.spec import make_spec
from ecv_core.records.run import RunState
from ecv_core.store.plans import SELECTION, STUDY, PlannedRun, keep_plan
from ecv_core.store.store import Store
from tests.access.test_run_actions import everything
from tests.pages.conftest import WHO, fold_result
from tests.pages.test_modes import EASE, SPEC, a_run, opened

TERMS = {
    "k": 5,
    "confidence": 0.95,
    "indifference": 0.0,
    "until": "winner",
    "higher_is_better": True,
}
STRANGER = {"is_logged_in": False}


@dataclass(frozen=True)
class Press:
    """A widget of a page that Ada sees, and what somebody says of it."""

    page: str
    button: str
    """Its label."""
    query: dict[str, str] = field(default_factory=dict)
    picked: tuple[str, ...] = ()
    """Runs that are picked in the table."""
    texts: str = ""
    """What every text of the page says."""


PRESSES = {
    "start": Press("run", "Start", {"algorithm": "Popularity"}),
    "resume": Press("run", "Resume", {"run": "cut off"}),
    "check": Press("run", "Run the remaining folds to check", {"run": "stopped"}),
    "cancel the picked": Press("runs", "Cancel", picked=("waits",)),
    "resume the picked": Press("runs", "Resume", picked=("cut off",)),
    "check the picked": Press("runs", "Run the remaining folds", picked=("stopped",)),
    "delete the picked": Press("runs", "Delete", picked=("cut off",)),
    "name and note": Press("runs", "Save", picked=("cut off",), texts="forged"),
    "start a study": Press("studies", "Start the study"),
    "resume a study": Press("studies", "Resume", {"study": "study"}),
    "forget a study": Press("studies", "Remove from the list", {"study": "study"}),
    "resume a selection": Press("best", "Resume", {"selection": "selection"}),
    "forget a selection": Press("best", "Remove from the list", {"selection": "selection"}),
}
STOPPED = make_spec(dataset="synthetic", algorithm="popular", k=5, rule="fixed", min_folds=2)


@pytest.fixture
def of_ada(store: Store) -> dict[str, str]:
    """What is Ada's: runs that wait, were cut off, and stopped; a study and a selection."""
    ada = WHO["editor"]
    (stopped,) = store.create([STOPPED], owner="test", started_by=ada)
    store.start(stopped, owner="test")
    for fold in range(2):
        store.add_fold(stopped, fold_result(fold, 0.3, "none"), stopped_at=2)
    store.finish(stopped, RunState.FINISHED)
    study = keep_plan(store, STUDY, [PlannedRun(spec=SPEC)], started_by=ada)
    contenders = [PlannedRun(name="popular", spec=SPEC), PlannedRun(name="ease", spec=EASE)]
    return {
        "waits": a_run(store, ada, RunState.QUEUED),
        "cut off": a_run(store, ada),
        "stopped": stopped,
        "study": study,
        "selection": keep_plan(store, SELECTION, contenders, TERMS, started_by=ada),
    }


def tab(become: Callable[[str], AppTest], who: str, press: Press, names: dict[str, str]) -> AppTest:
    """The page in a new tab of this kind of person."""
    app = become("viewer" if who == "nobody" else who)
    if who == "nobody":
        app.user = STRANGER
    app.session_state["runs-picked"] = [names[name] for name in press.picked]
    query = {name: names.get(value, value) for name, value in press.query.items()}
    return opened(app, press.page, **query)


def message(app: AppTest, press: Press) -> WidgetStates:
    """What Ada's browser would send."""
    states: list[WidgetState] = []
    for text in [*app.text_input, *app.text_area]:
        if press.texts and text.form_id:
            states.append(text.set_value(press.texts)._widget_state)
    (button,) = [button for button in app.button if button.label == press.button]
    states.append(button.click()._widget_state)
    return WidgetStates(widgets=states)


@pytest.mark.parametrize("press", PRESSES.values(), ids=PRESSES)
def test_what_an_editor_can_press_is_refused_to_who_may_not(
    as_one: Callable[[str], AppTest], store: Store, of_ada: dict[str, str], press: Press
) -> None:
    ada = tab(as_one, "editor", press, of_ada)
    forged = message(ada, press)
    before: Any = everything(store)
    for who in ("viewer", "nobody"):
        app = tab(as_one, who, press, of_ada)
        app._run(forged)
        assert not app.exception
        assert everything(store) == before
    as_one("editor")
    ada._run(forged)
    assert everything(store) != before
