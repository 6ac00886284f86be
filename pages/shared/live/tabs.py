"""Open tabs: how many there may be, for how long each is let in, and the files that it holds.

A tab is a WebSocket of Streamlit. It gets a name in a header of its own, by which the page's script
says what the person may do; the first message that it is sent names its session, by which an upload
finds its tab.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from secrets import token_urlsafe

import streamlit as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ecv_core.access.rights import Mode, settings
from ecv_core.records.errors import EcvError
from ecv_core.untrusted.limits import MEGABYTE, max_upload_bytes

NAME = "x-ecv-tab"
"""The header with a tab's name; whatever a browser says there is dropped."""
OF_AN_ADDRESS, OF_ALL = 20, 400
"""Sockets of one kind (pages, their events) that an address may have open on a public dashboard;
and all together on any."""
SESSIONS_AT_ONCE = 4
"""So many times the largest file may be held, of all tabs together."""
_SPOKEN = b"sec-websocket-protocol"
"""The header in which a browser says which session it goes on with: streamlit, token, session."""
_LOOK_SECONDS = 5.0
_AROUND_A_FILE = MEGABYTE
"""Bytes of a form beside the file that it has; a smaller file counts as this many, too."""


@dataclass(slots=True, eq=False)
class Tab:
    """An open tab."""

    path: str
    address: str
    may_upload: bool = False
    until: float = math.inf
    """The time from which it is told nothing more."""
    names_session: bytes = b""
    """The first message that it was sent."""
    open: bool = True
    closed_at: float = 0.0
    files: dict[str, tuple[int, Scope]] = field(default_factory=dict)
    """Address of an upload -> its bytes, and the request; the oldest first."""

    @property
    def held(self) -> int:
        """That it holds, or is sending."""
        return sum(size for size, _ in self.files.values())


class Tabs:
    """All of this process. Only `admit` is called by other threads than the server's loop."""

    def __init__(self) -> None:
        """None is open."""
        self._tabs: dict[str, Tab] = {}
        self._closed: dict[str, Tab] = {}
        """Those whose sessions may be gone on with until a time."""

    def __len__(self) -> int:
        """How many are open; their sockets for events are not counted."""
        return sum(tab.path.endswith("/stream") for tab in self._tabs.values())

    @property
    def held(self) -> int:
        """Of all uploads that are held."""
        return sum(tab.held for tab in list(self._tabs.values()))

    def admit(self, name: str, *, upload: bool, until: float = math.inf) -> None:
        """Say what the person of a tab may do; a name that no open tab has is left alone.

        Args:
            name: what the header `NAME` of its socket says.
            upload: whether it may send files.
            until: the time, in Unix seconds, at which it is let in no longer.
        """
        if (tab := self._tabs.get(name)) is not None:
            tab.may_upload, tab.until = upload, until

    def guard(self, app: ASGIApp) -> ASGIApp:
        """The middleware."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "websocket":
                await self._follow(app, scope, receive, send)
            elif scope["type"] == "http" and "/_stcore/upload_file/" in scope["path"]:
                await self._take(app, scope, receive, send)
            else:
                await app(scope, receive, send)

        return guarded

    async def _follow(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        tab = Tab(path=scope["path"], address=(scope.get("client") or [""])[0])
        if self._too_many(tab):
            await receive()
            await send({"type": "websocket.close", "code": 1013})
            return
        name = token_urlsafe(16)
        headers = [pair for pair in scope["headers"] if pair[0] not in (NAME.encode(), _SPOKEN)]
        spoken = self._resumed(tab, dict(scope["headers"]).get(_SPOKEN, b""))
        headers += [(NAME.encode(), name.encode()), *([(_SPOKEN, spoken)] if spoken else [])]
        self._tabs[name] = tab
        stream = tab.path.endswith("/stream")

        async def over() -> bool:
            if tab.open and tab.until <= time.time():
                tab.open = False
                await send({"type": "websocket.close", "code": 1008})
            return not tab.open

        async def heard() -> Message:
            message = await receive()
            text = message["type"] == "websocket.receive" and message.get("bytes") is None
            if text and tab.open and stream:  # Streamlit takes bytes alone, and a text fails there
                tab.open = False
                await send({"type": "websocket.close", "code": 1003})
            return {"type": "websocket.disconnect", "code": 1008} if await over() else message

        async def told(message: Message) -> None:
            if not await over():
                if message["type"] == "websocket.send":
                    tab.names_session = tab.names_session or message.get("bytes") or b""
                await send(message)

        async def watch() -> None:
            while not await over():
                await asyncio.sleep(max(min(tab.until - time.time(), _LOOK_SECONDS), 0.1))

        watching = asyncio.create_task(watch()) if stream else None
        try:
            await app({**scope, "headers": headers}, heard, told)
        finally:
            if watching is not None:
                watching.cancel()
            tab.open, tab.closed_at = False, time.time()
            del self._tabs[name]
            if tab.until < math.inf:
                self._closed[name] = tab
            await _forget(app, tab, list(tab.files))

    def _resumed(self, tab: Tab, spoken: bytes) -> bytes:
        """What a browser says of the session to go on with, unless its person is out meanwhile.

        The parts of a page that go on by themselves ask nobody who looks, so the tab has the end of
        the one before; and once that has come, it gets a session of its own, whose script asks.
        """
        kept = time.time() - float(st.get_option("server.disconnectedSessionTTL"))
        self._closed = {
            name: other for name, other in self._closed.items() if other.closed_at > kept
        }
        *others, session = spoken.split(b",")
        before = [
            other.until
            for other in [*self._tabs.values(), *self._closed.values()]
            if len(others) == 2 and session.strip() and session.strip() in other.names_session
        ]
        tab.until = min(before, default=math.inf)
        if tab.until > time.time():
            return spoken
        tab.until = math.inf
        return b",".join(others)

    def _too_many(self, tab: Tab) -> bool:
        try:
            public = settings().mode is Mode.PUBLIC
        except EcvError:
            public = True
        like = [other for other in self._tabs.values() if other.path == tab.path]
        here = sum(other.address == tab.address for other in like)
        return len(like) >= OF_ALL or (public and here >= OF_AN_ADDRESS)

    async def _take(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Let an upload through that may be one, and keep the books."""
        request, path = Request(scope), scope["path"]
        session = path.split("/")[-2].encode()
        tabs = [tab for tab in self._tabs.values() if session in tab.names_session]
        if request.method != "PUT":
            for tab in tabs:
                tab.files.pop(path, None)
            await app(scope, receive, send)
            return
        if (refusal := _refusal(request, tabs)) is not None:
            await refusal(scope, receive, send)
            return
        tab, limit = tabs[0], max_upload_bytes() + _AROUND_A_FILE
        size = max(int(request.headers["content-length"]), _AROUND_A_FILE)
        old = list(tab.files)
        while old and tab.held + size > limit:
            await _forget(app, tab, [old.pop(0)])
        if self.held + size > SESSIONS_AT_ONCE * limit:
            refusal = PlainTextResponse("Others send files now: try again in a minute.", 503)
            await refusal(scope, receive, send)
            return
        tab.files[path] = size, dict(scope)
        kept = False

        async def answer(message: Message) -> None:
            nonlocal kept
            kept = kept or message.get("status") == 204
            await send(message)

        try:
            await app(scope, receive, answer)
        finally:
            if not kept:
                tab.files.pop(path, None)
            elif not tab.open:  # closed while the file was on its way
                tab.files.setdefault(path, (size, dict(scope)))
                await _forget(app, tab, [path])


def _refusal(request: Request, tabs: Collection[Tab]) -> Response | None:
    try:
        public, limit = settings().mode is Mode.PUBLIC, max_upload_bytes()
    except EcvError as error:
        return PlainTextResponse(str(error), 403)
    if public:
        return PlainTextResponse("This dashboard takes no files.", 403)
    if not tabs or not all(tab.may_upload for tab in tabs):
        return PlainTextResponse("Who may not upload files here cannot send any.", 403)
    length = request.headers.get("content-length", "")
    if not length.isdecimal() or "transfer-encoding" in request.headers:
        return PlainTextResponse("A file comes with its length here.", 411)
    if int(length) > limit + _AROUND_A_FILE:
        return PlainTextResponse(f"A file may have up to {limit:,} bytes here.", 413)
    return None


async def _forget(app: ASGIApp, tab: Tab, paths: Collection[str]) -> None:
    """Have Streamlit forget files, asked for as a browser would; it keeps them for minutes else."""

    async def nothing_more() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def unread(_message: Message) -> None:
        pass

    for path in paths:
        _, scope = tab.files.pop(path)
        without = (b"content-length", b"content-type")
        headers = [pair for pair in scope["headers"] if pair[0] not in without]
        await app({**scope, "method": "DELETE", "headers": headers}, nothing_more, unread)


tabs = Tabs()
"""Of this process."""
