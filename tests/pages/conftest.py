"""The pages in AppTest, with a manager that queues but never computes."""

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from ecv_core.access.settings import visitor
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.manager import Queue
from ecv_core.records.run import Energy, FoldResult, RunRecord, RunState, UserScores
from ecv_core.store.engine import database_url
from ecv_core.store.recorded import RUNS, record, recorded_path
from ecv_core.store.store import Store, open_store

APP = str(Path(__file__).resolve().parents[2] / "pages" / "main.py")


ISSUER = "https://id.example.org"
SECRET = "s" * 32
WHO = {
    "visitor": visitor(SECRET).id,
    "viewer": f"{ISSUER}#vera",
    "editor": f"{ISSUER}#ada",
    "one person": "",
}
"""Kind of person -> the id of one of them."""


class QueueOnly(Queue):
    """The run manager's face: tests write the folds themselves."""

    trouble: str | None = None
    alive = True

    def __init__(self, store: Store, *, seconds: float | None = None) -> None:
        super().__init__(store)
        self.owner = "test"

    def wake(self) -> None:
        """Nobody waits for the queue."""

    def warm_up(self) -> None:
        """There is no worker."""

    def resume(self, run_id: str, *, full: bool = False, **whose: Any) -> bool:
        """Who has it tells a test how it was asked for."""
        self.owner = f"full={full}"
        resumed = super().resume(run_id, full=full, **whose)
        self.owner = "test"
        return resumed


@pytest.fixture(scope="session", autouse=True)
def packages_are_searched_once() -> Iterator[None]:
    """Each AppTest asks every installed package for components, which takes as long as a page."""
    with pytest.MonkeyPatch.context() as patch:
        scan = cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", scan)
        yield


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder where pages look for recorded runs."""
    folder = tmp_path / "recorded"
    folder.mkdir()
    monkeypatch.setattr("ecv_core.store.recorded.FOLDER", folder)
    return folder


@pytest.fixture(autouse=True)
def queue_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.shared.live.state.RunManager", QueueOnly)
    st.cache_resource.clear()


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    """No page shows what Streamlit keeps of another test's database."""
    st.cache_data.clear()


@pytest.fixture
def store() -> Store:
    return open_store(database_url())


@pytest.fixture
def app() -> AppTest:
    """The dashboard on its page Run, before that is drawn; `switch_page` opens another one."""
    return AppTest.from_file(APP, default_timeout=30).switch_page("run/run.py")


@pytest.fixture
def as_one(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], AppTest]:
    """A new tab of this kind of person, in a dashboard of the mode that they are of."""

    def become(who: str) -> AppTest:
        app = AppTest.from_file(APP, default_timeout=30).switch_page("run/run.py")
        monkeypatch.setenv("ECV_MODE", {"visitor": "public", "one person": ""}.get(who, "team"))
        if who in ("viewer", "editor"):
            monkeypatch.setenv("ECV_EDITORS", "ada")
        if who == "visitor":
            app.session_state["visitor-secret"] = SECRET
        elif who != "one person":
            subject = WHO[who].partition("#")[2]
            who_is_it = {"iss": ISSUER, "sub": subject, "name": subject, "iat": time.time()}
            app.user = {"is_logged_in": True, **who_is_it}
        return app

    return become


@pytest.fixture
def move_to_recorded(recorded: Path, store: Store) -> Callable[..., None]:
    """Records a run, with or without users' scores, and takes it out of the database."""

    def move(
        run: RunRecord, users: dict[int, UserScores] | None = None, path: Path | None = None
    ) -> None:
        if path is None:
            path = recorded_path(recorded, run.spec.dataset, run.spec.algorithm)
        record(run, path, users)
        store.delete(run.run_id)

    return move


@pytest.fixture
def damaged_runs(recorded: Path) -> Path:
    """The file of the recorded runs, which is none."""
    path = recorded / RUNS
    path.write_text("{")
    return path


@pytest.fixture
def a_fold() -> Callable[[int, float, str], FoldResult]:
    return fold_result


@pytest.fixture
def a_run(store: Store) -> Callable[..., RunRecord]:
    """Puts a run with these fold scores into the database."""

    def put(
        scores: Sequence[float] = (),
        *,
        stopped_at: int | None = None,
        state: RunState = RunState.FINISHED,
        error: str | None = None,
        source: str = "cpu-load",
        **settings: object,
    ) -> RunRecord:
        spec = make_spec(
            **{"dataset": "synthetic", "algorithm": "item-knn", "alpha": 1e-4} | settings
        )
        run_id = store.create([spec], owner="test")[0]
        if state is not RunState.QUEUED:
            store.start(run_id, owner="test")
        for index, score in enumerate(scores):
            store.add_fold(run_id, fold_result(index, score, source), stopped_at=stopped_at)
        if not state.active:
            store.finish(run_id, state, error=error)
        return store.run(run_id)

    return put


def card(app: AppTest) -> str:
    """HTML of the answer at the top of a page; empty where there is none."""
    for component in app.get("bidi_component"):
        if component.proto.component_name == CARD:
            return str(json.loads(component.proto.json)["html"])
    return ""


CARD = "ecv_answer"


def card_text(app: AppTest) -> str:
    """The card as it is read."""
    return unescape(re.sub("<.*?>", " ", card(app)))


def verdict(app: AppTest) -> tuple[str, list[str]]:
    """The answer at the top of a page: how sure it is, and its lines."""
    words = re.findall(r'<div class="ecv-words".*?</div>', card(app))[0]
    lines = [unescape(re.sub(r"<.*?>", "", line)) for line in re.findall(r"<p.*?</p>", words)]
    return lines[0][1:].strip(), lines[1:]


def amounts(app: AppTest) -> dict[str, tuple[str, str]]:
    """What the answer's table says was used and saved, by its name."""
    rows = re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td><td>(.*?)</td>', card(app))
    return {name: (unescape(used), unescape(saved)) for name, used, saved in rows}


def steps_of(app: AppTest, key: str) -> dict[str, Any]:
    """What a component that follows the slider is given, by the end of its key."""
    for component in app.get("bidi_component"):
        if component.proto.id.endswith(f"-{key}"):
            return dict(json.loads(component.proto.json))
    raise AssertionError(f"nothing on the page is called {key}")


def progress(app: AppTest) -> dict[str, Any] | None:
    """What the bar of what runs shows; None where it is not there."""
    components = [one.proto for one in app.get("bidi_component")]
    bars = [one.json for one in components if one.component_name == "ecv_progress"]
    return json.loads(bars[0]) if bars else None


def fold_result(index: int, score: float, source: str) -> FoldResult:
    """A fold of 36 J, which is 0.01 Wh."""
    return FoldResult(
        fold=index,
        score=score,
        metrics={"ndcg@10": score, "recall@10": score / 2},
        users=943,
        fit_seconds=1.0,
        evaluate_seconds=0.5,
        total_seconds=2.0,
        energy=Energy(
            joules=36, cpu_joules=16, gpu_joules=0, ram_joules=20, grams_co2e=0.004, source=source
        ),
    )
