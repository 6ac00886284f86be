"""What open pages are told: that what they show has changed, and nothing else."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, asynccontextmanager

import pytest
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.testclient import TestClient, WebSocketTestSession
from starlette.websockets import WebSocketDisconnect

import pages.shared.live.events as module
from ecv_core.records.errors import StoreError
from ecv_core.records.run import RunState
from ecv_core.store.activity import current_activity
from pages.shared.live.events import ALL, FOLDS, RUNS, SERVER, STATES, STEPS, Events, Feed, topic
from tests.fake_folds import fold_result


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
def server(events: Events, store) -> Iterator[TestClient]:
    @asynccontextmanager
    async def lifespan(_app):
        telling = asyncio.create_task(events.tell_pages_of_changes())
        yield
        telling.cancel()

    app = Starlette(routes=[WebSocketRoute("/events", events.serve_page)], lifespan=lifespan)
    with TestClient(app) as client:
        yield client


def told(page: WebSocketTestSession) -> dict[str, str]:
    """Topic -> version, as the page is told next."""
    said = json.loads(page.receive_text())
    return {topic: version.split()[1] for topic, version in said.items()}


def test_a_version_differs_with_what_its_topic_shows_and_with_nothing_else(events, store, a_run):
    mine, other = (a_run(state=RunState.RUNNING).run_id for _ in range(2))
    topics = [ALL, topic(RUNS, [mine]), topic(STATES, [mine]), STEPS]
    before: list[str] = [""] * 4

    def changed() -> list[bool]:
        now = current_activity(store)
        versions = [events.version(topic, now) for topic in topics]
        differ = [one != last for one, last in zip(versions, before, strict=True)]
        before[:] = versions
        return differ

    assert changed() == [True] * 4
    assert changed() == [False] * 4
    store.add_fold(other, fold_result(0, 0.3), stopped_at=None)
    assert changed() == [True, False, False, True]
    store.add_fold(mine, fold_result(0, 0.3), stopped_at=None)
    assert changed() == [True, True, True, True]  # its first fold
    store.add_fold(mine, fold_result(1, 0.3), stopped_at=None)
    assert changed() == [True, True, False, True]
    store.set_progress(mine, 2, "fit", 1, 9)
    assert changed() == [False, False, False, True]
    store.finish(mine, RunState.FINISHED)
    assert changed() == [True] * 4


def test_a_page_is_told_versions_at_once_and_again_when_they_have_changed(server, store, a_run):
    run_id = a_run([0.3], state=RunState.RUNNING).run_id
    mine = topic(RUNS, [run_id])
    with server.websocket_connect("/events") as page, server.websocket_connect("/events") as other:
        page.send_text(mine)
        first = told(page)
        assert list(first) == [mine]
        other.send_text("\n".join([ALL, mine]))
        assert told(other)[mine] == first[mine]
        store.add_fold(run_id, fold_result(1, 0.4), stopped_at=None)
        second = told(page)
        assert second[mine] != first[mine]
        assert told(other)[mine] == second[mine]


def test_a_stranger_is_told_no_word_of_what_changed(server, a_run):
    run = a_run([0.3], state=RunState.RUNNING)
    with server.websocket_connect("/events") as page:
        page.send_text("\n".join([ALL, STEPS]))
        said = page.receive_text()
    assert set(json.loads(said)) == {ALL, STEPS}
    assert not any(word in said for word in (run.run_id, "synthetic", "item-knn", "running"))


@pytest.fixture
def content(made) -> Feed:
    """How many folds the runs have, of which every making is noted in `made`."""

    def make(now):
        folds = [run.folds for run in now.runs]
        made.append(folds)
        return {"folds": folds} if folds else None

    return Feed("folds", (ALL,), make)


@pytest.fixture
def made() -> list[list[int]]:
    return []


def test_what_all_are_shown_is_made_once_for_each_change(
    events, server, store, a_run, content, made
):
    run_id = a_run([0.3], state=RunState.RUNNING).run_id
    grants = [events.grant(content) for _ in range(3)]
    with ExitStack() as open_pages:
        pages = [open_pages.enter_context(server.websocket_connect("/events")) for _ in grants]
        for page, grant in zip(pages, grants, strict=True):
            page.send_text(f"shared {grant.token}")
            assert json.loads(page.receive_text())["entries"] == {"folds": [1]}
        store.set_progress(run_id, 1, "fit", 1, 9)  # is nothing that it shows
        store.add_fold(run_id, fold_result(1, 0.4), stopped_at=None)
        for page in pages:
            said = json.loads(page.receive_text())
            assert (said["shared"], said["entries"]) == ("folds", {"folds": [2]})
    assert made == [[1], [2]]


def test_without_a_token_or_after_its_session_nothing_is_shown(events, server, a_run, content):
    a_run([0.3], state=RunState.RUNNING)
    ended = events.grant(content).token  # which nobody keeps
    kept = events.grant(content)
    lines = [ALL, "shared", "shared folds", f"shared {ended}", f"shared {kept.token[:-1]}"]
    with server.websocket_connect("/events") as page:
        page.send_text("\n".join(lines))
        assert list(told(page)) == [ALL]
        page.send_text(f"{ALL}\nshared {kept.token}")
        assert json.loads(page.receive_text())["entries"] == {"folds": [1]}
    assert ended != kept.token
    assert len(ended) >= 22  # 16 bytes by chance: nobody guesses them


def test_a_grant_ends_at_its_time_whoever_keeps_it(events, server, store, a_run, content, made):
    a_run([0.3], state=RunState.RUNNING)
    over = events.grant(content, until=time.time() - 1)
    with server.websocket_connect("/events") as page:
        page.send_text(f"{SERVER}\nshared {over.token}")
        assert told(page)[SERVER] == "ended"
    assert made == []


def test_a_page_whose_session_has_ended_is_drawn_anew(events, server, a_run, content):
    a_run([0.3], state=RunState.RUNNING)
    kept, ended = events.grant(content), events.grant(content).token
    with server.websocket_connect("/events") as page:
        page.send_text(f"{SERVER}\nshared {kept.token}")
        assert json.loads(page.receive_text())["entries"] == {"folds": [1]}
        same = told(page)[SERVER]
        page.send_text(f"{SERVER}\nshared {ended}")
        said = json.loads(page.receive_text())
        assert said[SERVER].split(" ")[1] != same


def test_one_content_that_fails_keeps_nobody_from_the_others(events, server, a_run, content):
    def fail(now):
        raise ValueError("a rule from outside")

    a_run([0.3], state=RunState.RUNNING)
    bad, good = events.grant(Feed("bad", (ALL,), fail)), events.grant(content)
    with server.websocket_connect("/events") as page:
        page.send_text(f"{ALL}\nshared {bad.token}\nshared {good.token}")
        assert json.loads(page.receive_text())["entries"] == {"folds": [1]}
        assert list(told(page)) == [ALL]


def tokens(app) -> set[str]:
    """What a page was given."""
    components = [json.loads(one.proto.json or "{}") for one in app.get("bidi_component")]
    return {token for data in components for token in data.get("tokens", ())}


def test_the_session_of_somebody_who_may_see_a_run_has_its_tokens(app, a_run):
    run = a_run([0.3], state=RunState.RUNNING)
    app.query_params["run"] = run.run_id
    app.run()
    assert len(tokens(app)) == 3  # bar, sentence with numbers, figure


def test_somebody_of_no_team_is_given_no_token(app, a_run, monkeypatch):
    monkeypatch.setenv("ECV_MODE", "team")
    app.query_params["run"] = a_run([0.3], state=RunState.RUNNING).run_id
    app.run()
    assert not app.exception
    assert tokens(app) == set()


def test_parts_that_may_wait_are_told_later(server, store, a_run, monkeypatch):
    run_id = a_run([0.3], state=RunState.RUNNING).run_id
    at_once, later = topic(RUNS, [run_id]), topic(FOLDS, [run_id])
    monkeypatch.setattr(module, "_SECONDS_OF_WAIT", 1000)
    with server.websocket_connect("/events") as page:
        page.send_text(f"{at_once}\n{later}")
        before = told(page)
        store.add_fold(run_id, fold_result(1, 0.4), stopped_at=None)
        news = told(page)
        assert news[at_once] != before[at_once]
        assert news[later] == before[later]
        monkeypatch.setattr(module, "_SECONDS_OF_WAIT", 0)
        assert told(page)[later] != before[later]


def test_versions_of_two_servers_differ_so_that_nobody_computes_them(store, a_run):
    a_run([0.3], state=RunState.RUNNING)
    now = current_activity(store)
    assert Events().version(ALL, now) != Events().version(ALL, now)


@pytest.mark.parametrize(
    "said", ["", "secrets", "all\n" * 21, "runs " + "x" * 4000], ids=["", "unknown", "many", "long"]
)
def test_who_says_anything_else_is_sent_away(server, said):
    with server.websocket_connect("/events") as page:
        page.send_text(said)
        with pytest.raises(WebSocketDisconnect):
            page.receive_text()


def test_bytes_are_nothing_that_is_followed(server):
    with server.websocket_connect("/events") as page:
        page.send_bytes(b"all")
        with pytest.raises(WebSocketDisconnect):
            page.receive_text()


def test_nobody_looks_while_no_page_follows_anything(server, store, monkeypatch):
    looks = []
    monkeypatch.setattr(
        module, "current_activity", lambda store: looks.append(1) or current_activity(store)
    )
    with server.websocket_connect("/events"):
        assert looks == []
    with server.websocket_connect("/events") as page:
        page.send_text(ALL)
        page.receive_text()
        assert looks


def test_after_a_database_was_away_pages_are_told_though_nothing_has_changed(
    server, store, monkeypatch
):
    away = [False]

    def look(store):
        if away[0]:
            away[0] = False
            raise StoreError("it is away")
        return current_activity(store)

    monkeypatch.setattr(module, "current_activity", look)
    monkeypatch.setattr(module, "_IDLE_SECONDS", 0.2)
    with server.websocket_connect("/events") as page:
        page.send_text(ALL)
        before = told(page)
        away[0] = True
        assert told(page)[ALL] != before[ALL]
