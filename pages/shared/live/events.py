"""What open pages are told: that something has changed, and what all who watch are shown alike.

A part of a page follows topics, such as `runs 1a2b3c`, and has of each the version that it shows:
a hash of what goes on, with a key of this process. Every page has one WebSocket on which it says
its topics, and is told their versions whenever these have changed. One look at the database serves
all of them; while no page follows anything, nobody looks.

What looks the same to all, such as a run's figure, is made once for each change and sent to those
who hold a token of it. A session is given one when a page is drawn for somebody who may see it, and
it ends with the session. Whoever has none is told versions, which say nothing of what has changed.

A WebSocket and no server-sent events: browsers open six connections to a server for those, and the
seventh tab would wait for ever; a server that ends waits for them; and a proxy that lets no
WebSocket through lets Streamlit not through either.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from secrets import token_bytes, token_urlsafe
from weakref import WeakValueDictionary

from starlette.websockets import WebSocket, WebSocketDisconnect

from ecv_core.records.errors import EcvError
from ecv_core.store.activity import Going, going_on
from pages.shared.live.state import manager, store

log = logging.getLogger(__name__)

ALL, QUEUE, RUNS, STATES, FOLDS = "all", "queue", "runs", "states", "folds"
STEPS, SERVER = "steps", "server"
_SHARED = "shared"

_BUSY_SECONDS, _IDLE_SECONDS, _LEAST_SECONDS = 0.5, 2.0, 0.1
"""Between two looks: while something runs, while nothing does, and whatever happens."""
_SELDOM_SECONDS, _SELDOM_SECONDS_PER_PAGE = 1.0, 0.3
"""Between two times that pages draw a part anew which may wait: at least, and for each page. So the
more watch the less often each draws, and together they leave the machine to the fold."""
_PATIENCE_SECONDS = 2.0
"""For a page that does not take what it is told: it is told nothing more."""
_LONGEST, _MOST = 4000, 20
"""Characters and lines that a page may say."""

_SHOWN: dict[str, Callable[[Going, Sequence[str]], Hashable]] = {
    ALL: lambda now, ids: (
        now.stages,
        now.removed,
        now.newest_fold,
        manager().trouble if now else None,
    ),
    QUEUE: lambda now, ids: (
        [(run.run_id, run.state, run.queued_at) for run in now.runs],
        manager().trouble if now else None,
    ),
    RUNS: lambda now, ids: (now.of(ids), now.removed),
    FOLDS: lambda now, ids: now.of(ids),
    STATES: lambda now, ids: (
        [(run_id, state, folds > 0) for run_id, state, folds in now.of(ids)],
        now.removed,
    ),
    STEPS: lambda now, ids: (now.stages, now.steps),
    SERVER: lambda now, ids: None,
}
"""Kind of a topic -> what it shows of all that goes on, or of some runs."""
_SELDOM = (FOLDS, STEPS)
"""Kinds of topics whose parts may wait."""


def topic(kind: str, ids: Sequence[str] = ()) -> str:
    """What a part of a page can follow.

    Args:
        kind: ALL: beginning, folds and end of every run; QUEUE: which run, which wait, and why
            none can; RUNS: beginning, folds and end of these; FOLDS: the same, told less often the
            more watch; STATES: of these, and of their folds only the first; STEPS: how far the
            folds are that are computed; SERVER: nothing of them, and so another version only of
            another server, or after the database was away.
        ids: of the runs.
    """
    return " ".join([kind, *ids])


@dataclass(frozen=True, slots=True)
class Feed:
    """What all who watch are shown alike."""

    name: str
    """No other content has it."""
    topics: tuple[str, ...]
    """What it shows; it is made anew when one of them has another version."""
    make: Callable[[Going], Mapping[str, object] | None] = field(compare=False)
    """A function of what goes on alone; None where it has nothing to show any more."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Grant:
    """That a session is told a content. The session alone keeps it, so that it ends with that."""

    content: Feed
    token: str = field(default_factory=lambda: token_urlsafe(16))


@dataclass(frozen=True, slots=True, eq=False)
class _Made:
    """A content, made."""

    versions: Sequence[str]
    """Of its topics."""
    message: str | None


@dataclass(slots=True)
class _Page:
    """An open page: what it follows, and what it was told last."""

    topics: Sequence[str]
    tokens: Sequence[str]
    told: Mapping[str, str] = field(default_factory=dict)
    shown: Sequence[_Made] = ()


@dataclass(slots=True)
class Events:
    """Who follows what, and the last look at it. All of it happens on the server's loop."""

    _pages: dict[WebSocket, _Page] = field(default_factory=dict)
    _said: asyncio.Event = field(default_factory=asyncio.Event)
    _key: bytes = field(default_factory=lambda: token_bytes(16))
    _seldom: Going | None = None
    """The look that those topics are told of which may wait."""
    _grants: WeakValueDictionary[str, Grant] = field(default_factory=WeakValueDictionary)
    _made: Mapping[Feed, _Made] = field(default_factory=dict)

    def grant(self, content: Feed) -> Grant:
        """A token of the content, for the session of somebody who may see it."""
        grant = Grant(content)
        self._grants[grant.token] = grant
        return grant

    def version(self, topic: str, now: Going) -> str:
        """Differs once what the topic shows does. Raises: EcvError."""
        kind, *ids = topic.split()
        shown = repr(_SHOWN[kind](now, ids)).encode()
        return blake2b(shown, digest_size=8, key=self._key).hexdigest()

    async def page(self, socket: WebSocket) -> None:
        """Tell a page for as long as it is open: the route's endpoint."""
        await socket.accept()
        try:
            while (message := await socket.receive())["type"] == "websocket.receive":
                page = _page(message.get("text") or "")
                if page is None:
                    await socket.close()
                    return
                self._pages[socket] = page
                self._said.set()
        finally:
            self._pages.pop(socket, None)

    async def look_and_tell(self) -> None:
        """Look, and tell; until it is cancelled."""
        while True:
            if not self._pages:
                await self._said.wait()
            self._said.clear()
            seconds = _IDLE_SECONDS
            try:
                grants = [grant for page in self._pages.values() for grant in self._of(page)]
                contents = {grant.content for grant in grants}
                now, self._made = await asyncio.to_thread(self._look, contents)
                await self._tell(now)
                if now:
                    seconds = _BUSY_SECONDS
            except EcvError as error:  # a database comes and goes
                log.warning("what goes on could not be seen: %s", error)
                self._key = token_bytes(16)  # pages that show the error are drawn anew after it
            except Exception:  # whoever watches is told again after the next look
                log.exception("pages could not be told what goes on")
            await asyncio.sleep(_LEAST_SECONDS)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._said.wait(), seconds - _LEAST_SECONDS)

    def _of(self, page: _Page) -> list[Grant]:
        """Its tokens that have not ended."""
        return [grant for one in page.tokens if (grant := self._grants.get(one)) is not None]

    def _look(self, contents: Collection[Feed]) -> tuple[Going, dict[Feed, _Made]]:
        now = going_on(store())
        return now, {content: self._make(content, now) for content in contents}

    def _make(self, content: Feed, now: Going) -> _Made:
        last = self._made.get(content)
        versions = [self.version(topic, now) for topic in content.topics]
        if last is not None and last.versions == versions:
            return last
        try:
            entries = content.make(now)
        except EcvError:
            raise
        except Exception:  # the others are told theirs
            log.exception("%s could not be shown", content.name)
            entries = None
        message = {_SHARED: content.name, "moment": now.moment, "entries": entries}
        return _Made(versions, json.dumps(message) if entries else None)

    async def _tell(self, now: Going) -> None:
        """Tell all pages; of what may wait only after so many seconds."""
        last = self._seldom
        every = max(_SELDOM_SECONDS, _SELDOM_SECONDS_PER_PAGE * len(self._pages))
        if last is None or now.moment - last.moment >= every - 0.2:
            self._seldom = last = now
        versions: dict[str, str] = {}
        sockets, news = list(self._pages), []
        for socket, page in self._pages.items():
            for topic in page.topics:
                if topic not in versions:
                    look = last if topic.startswith(_SELDOM) else now
                    versions[topic] = f"{look.moment} {self.version(topic, look)}"
            grants = self._of(page)
            shown = [made for one in grants if (made := self._made.get(one.content)) is not None]
            messages = [made.message for made in shown if made not in page.shown and made.message]
            page.shown = shown
            told = {topic: versions[topic] for topic in page.topics}
            if SERVER in told and len(grants) < len(page.tokens):
                told[SERVER] = f"{now.moment} ended"  # to be drawn anew, with tokens of its session
            if any(_hash(told[topic]) != _hash(page.told.get(topic, "")) for topic in told):
                page.told = told
                messages.append(json.dumps(told))
            news.append(_send(socket, messages))
        errors = await asyncio.gather(*news, return_exceptions=True)
        for socket, error in zip(sockets, errors, strict=True):
            if isinstance(error, TimeoutError):  # the others do not wait for it again
                self._pages.pop(socket, None)
            elif error and not isinstance(error, WebSocketDisconnect | RuntimeError):
                raise error  # those are pages that have just gone


async def _send(socket: WebSocket, messages: Sequence[str]) -> None:
    async with asyncio.timeout(_PATIENCE_SECONDS):
        for message in messages:
            await socket.send_text(message)


def _hash(version: str) -> str:
    return version.rpartition(" ")[2]


def _page(said: str) -> _Page | None:
    """The topics and tokens that a page says, one a line; None where it says anything else."""
    lines = said.split("\n")
    kinds = {line.partition(" ")[0] for line in lines}
    if not kinds <= {*_SHOWN, _SHARED} or len(lines) > _MOST or len(said) > _LONGEST:
        return None
    tokens = [line.partition(" ")[2] for line in lines if line.startswith(_SHARED)]
    return _Page([line for line in lines if not line.startswith(_SHARED)], tokens)


events = Events()
"""Of this process."""
