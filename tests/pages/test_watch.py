"""What open pages are told: once for every change, from one look that serves them all."""

import asyncio
import json
import logging
from contextlib import suppress
from types import SimpleNamespace

import pytest
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext

from ecv_core.records import RunState
from ecv_core.store import Store, going_on
from ecv_core.store.schema import progress
from pages.components.shared import push
from pages.components.shared.alike import Part
from pages.components.shared.watch import Watch
from tests.fake_folds import fold_result


def test_a_part_has_changed_once_for_every_change_of_what_it_shows(store, a_run):
    shown, other = (a_run([0.3], state=RunState.RUNNING).run_id for _ in range(2))
    drawn = ForwardMsg()
    drawn.delta.new_element.bidi_component.json = '{"changed": 0}'
    drawn.metadata.delta_path[:] = [0, 3]
    part = Part(
        key="run",
        signal=drawn,
        of=lambda now: now.of([shown]),
        told=going_on(store).of([shown]),
    )
    assert not part.changed(going_on(store))
    store.add_fold(other, fold_result(1, 0.3), stopped_at=None)
    assert not part.changed(going_on(store))
    store.add_fold(shown, fold_result(1, 0.3), stopped_at=None)
    assert part.changed(going_on(store))
    part.told = going_on(store).of([shown])
    assert not part.changed(going_on(store))
    store.finish(shown, RunState.FINISHED)
    assert part.changed(going_on(store))
    message = part.draw_anew()
    assert json.loads(message.delta.new_element.bidi_component.json)["changed"] > 0
    assert list(message.metadata.delta_path) == [0, 3]  # it takes the place of what was drawn


def test_what_all_pages_share_of_a_look_is_made_once(store):
    watch, made = Watch(store), []
    now = going_on(store)
    for _ in range(25):
        assert watch.once(now, "words", lambda: made.append(1) or "fold 3 of 10") == "fold 3 of 10"
    assert len(made) == 1
    watch.once(going_on(store), "words", lambda: made.append(1))
    assert len(made) == 2


def test_runs_are_read_again_only_when_one_has_gone_on(store, a_run, monkeypatch):
    run_id = a_run([0.3], state=RunState.RUNNING).run_id
    reads = []
    active = Store.active

    def counted(self: Store):
        reads.append(1)
        return active(self)

    monkeypatch.setattr(Store, "active", counted)
    watch = Watch(store)
    for step in range(3):
        store.set_progress(run_id, 1, "fit", step, 9)
        (run,) = watch.active()
        assert run.progress is not None
        assert (run.progress.step, len(run.folds)) == (step, 1)
    assert len(reads) == 1
    store.add_fold(run_id, fold_result(1, 0.3), stopped_at=None)
    assert [len(run.folds) for run in watch.active()] == [2]
    assert len(reads) == 2


def test_progress_that_cannot_be_read_takes_no_page_down(store, a_run):
    run_id = a_run([0.3], state=RunState.RUNNING).run_id
    store.set_progress(run_id, 1, "fit", 1, 9)
    with store.transaction("written") as connection:
        connection.execute(progress.update().values(curve="{", started_at="yesterday"))
    (run,) = going_on(store).runs
    assert (run.run_id, run.folds, run.progress) == (run_id, 1, None)


def test_without_an_active_run_nothing_is_read(store, a_run, monkeypatch):
    a_run([0.3])
    monkeypatch.setattr(Store, "active", lambda self: pytest.fail("asked"))
    assert Watch(store).active() == []


def test_a_look_in_steps_differs_with_time_only_while_something_runs(store, a_run):
    idle = going_on(store)
    object.__setattr__(idle, "moment", 0.0)
    later = going_on(store)
    object.__setattr__(later, "moment", 100.0)
    assert idle.in_steps_of(2.0) == later.in_steps_of(2.0)
    a_run([0.3], state=RunState.RUNNING)
    one, two, three = (going_on(store) for _ in range(3))
    for look, moment in ((one, 100.0), (two, 101.9), (three, 102.1)):
        object.__setattr__(look, "moment", moment)
    assert one.in_steps_of(2.0) == two.in_steps_of(2.0) != three.in_steps_of(2.0)


def test_a_page_that_is_being_drawn_is_sent_nothing(monkeypatch):
    """Where things will be is not known then; a message for a place that is gone ends the page."""
    sent = []
    session = SimpleNamespace(
        _state=AppSessionState.APP_IS_RUNNING, _enqueue_forward_msg=sent.append
    )
    there = {"get_session_info": lambda _: SimpleNamespace(session=session)}
    monkeypatch.setattr(
        push, "_sessions", lambda: SimpleNamespace(is_active_session=lambda _: True, **there)
    )
    assert push.push("somebody", [ForwardMsg()]) is False
    assert not sent
    session._state = AppSessionState.APP_NOT_RUNNING
    assert push.push("somebody", [ForwardMsg()]) is True
    assert len(sent) == 1


def test_the_installed_streamlit_has_what_is_sent_through():
    assert callable(getattr(AppSession, push._ENQUEUE))
    assert push._STATE in AppSession.__init__.__code__.co_names
    assert callable(getattr(ScriptRunContext, push._PUT))
    assert not push.possible()  # there is no server in a test


def test_a_browser_that_leaves_while_something_is_sent_to_it_leaves_no_traceback(caplog):
    """Of Streamlit's own handler, with a browser that goes after a press, before the answer."""
    waiting = [
        {"type": "websocket.connect"},
        {"type": "websocket.receive", "bytes": b"a press"},
        {"type": "websocket.disconnect", "code": 1001},
    ]

    async def receive():
        return waiting.pop(0)

    async def send(message):
        if message["type"] == "websocket.send":
            raise OSError("gone")

    async def served():
        socket = WebSocket({"type": "websocket"}, receive, send)
        await socket.accept()
        await socket.receive_bytes()
        with suppress(WebSocketDisconnect):
            await socket.send_bytes(b"what was pushed")
        try:
            await socket.receive_bytes()
        except RuntimeError:  # as Streamlit's endpoint has it
            await socket.close()

    log = logging.getLogger("uvicorn.error")
    with pytest.raises(RuntimeError) as raised:
        asyncio.run(served())
    log.error("Exception in ASGI application", exc_info=raised.value)
    log.error("Exception in ASGI application", exc_info=RuntimeError("another"))
    assert [record.exc_info[1].args for record in caplog.records] == [("another",)]
