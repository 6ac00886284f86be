"""Messages to open pages without running a script: the only place that knows Streamlit's inside.

Streamlit itself only answers: to show what changed it has every page ask again, which costs 3 ms of
the server a time though nothing changed. What is sent from here costs a tenth of that, and nothing
while nothing changes. What is used is of the pinned version; where it is not there, `possible`
says so, and pages ask again as usual.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from streamlit import runtime
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.forward_msg_cache import populate_hash_if_needed
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.session_manager import SessionManager


def possible() -> bool:
    """Whether there is a server, with pages that can be sent something."""
    return runtime.exists() and _sessions() is not None and hasattr(AppSession, _ENQUEUE)


def session_id() -> str:
    """Of the page that is being drawn; empty outside of one."""
    context = get_script_run_ctx()
    return "" if context is None else context.session_id


@contextmanager
def sent() -> Iterator[list[ForwardMsg]]:
    """What the block puts on the page, as the messages that put it there; never change one."""
    context, found = get_script_run_ctx(), list[ForwardMsg]()
    if context is None:
        yield found
        return
    outer = vars(context).get(_PUT)
    usual: Callable[[ForwardMsg], None] = getattr(context, _PUT)

    def keep(message: ForwardMsg) -> None:
        usual(message)
        found.append(message)

    setattr(context, _PUT, keep)
    try:
        yield found
    finally:
        if outer is None:
            delattr(context, _PUT)
        else:
            setattr(context, _PUT, outer)


def like(message: ForwardMsg) -> ForwardMsg:
    """A copy to be changed and pushed: it takes the place of what that message put on the page."""
    copy = ForwardMsg()
    copy.CopyFrom(message)
    copy.hash = ""
    return copy


def push(to: str, messages: Sequence[ForwardMsg]) -> bool | None:
    """Send messages to one page; call it on the server's loop.

    A page that is being drawn is sent nothing: where things are on it is known when it is done, and
    a message for a place that is not there any more would end the page.

    Returns: whether it is there now, and drawn; None if it will not be again.
    """
    if (sessions := _sessions()) is None or (found := sessions.get_session_info(to)) is None:
        return None
    if not sessions.is_active_session(to):
        return False  # its connection is interrupted; it may come back
    if getattr(found.session, _STATE) is AppSessionState.APP_IS_RUNNING:
        return False
    for message in messages:
        populate_hash_if_needed(message)
        getattr(found.session, _ENQUEUE)(message)
    return True


def on_the_loop(work: Coroutine[Any, Any, None]) -> object:
    """Have the server's loop do this; from any thread. Keep what it gives, or it may be dropped."""
    return asyncio.run_coroutine_threadsafe(work, _loop())


def soon(call: Callable[..., None], *arguments: object) -> None:
    """Have the server's loop call this; from any thread. Nothing happens once the server ends."""
    with suppress(RuntimeError):  # the loop is closed
        _loop().call_soon_threadsafe(call, *arguments)


class _LeftMeanwhile(logging.Filter):
    """Leaves out the traceback of a browser that goes while something is being sent to it.

    Streamlit takes what Starlette then says to its next look for a message as a text frame, closes
    a connection that is closed already, and fails at that.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return type(error).__name__ != "WebSocketDisconnected"  # not in every Starlette


logging.getLogger("uvicorn.error").addFilter(_LeftMeanwhile("left-meanwhile"))


def _loop() -> asyncio.AbstractEventLoop:
    return runtime.get_instance()._get_async_objs().eventloop


_ENQUEUE = "_enqueue_forward_msg"
_PUT = "enqueue"
_STATE = "_state"


def _sessions() -> SessionManager | None:
    return getattr(runtime.get_instance(), "_session_mgr", None)
