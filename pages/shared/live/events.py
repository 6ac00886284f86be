"""What open pages are told: that something which they show has changed, and nothing of what.

A part of a page follows topics, such as `runs 1a2b3c`, and has of each the version that it shows:
a hash of what goes on, with a key of this process. Every page has one WebSocket on which it says
its topics, and is told their versions whenever these have changed. One look at the database serves
all of them; while no page follows anything, nobody looks.

A WebSocket and no server-sent events: browsers open six connections to a server for those, and the
seventh tab would wait for ever; a server that ends waits for them; and a proxy that lets no
WebSocket through lets Streamlit not through either.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from secrets import token_bytes

from starlette.websockets import WebSocket, WebSocketDisconnect

from ecv_core.records.errors import EcvError
from ecv_core.store.going import Going, going_on
from pages.shared.live.state import manager, store

log = logging.getLogger(__name__)

ALL, RUNS, STATES, STEPS, CURVES = "all", "runs", "states", "steps", "curves"
SERVER = "server"

_BUSY_SECONDS, _SECONDS_PER_PAGE, _MOST_SECONDS = 0.5, 0.04, 1.0
"""Between two looks while something runs: at least, for each open page, and at most. Many who watch
are told less often, so that they leave the machine to the fold."""
_SECONDS_OF_STEPS_PER_PAGE = 0.15
"""The same of what changes several times a second."""
_IDLE_SECONDS, _LEAST_SECONDS = 2.0, 0.1
"""Between two looks while nothing runs, and whatever happens."""
_LONGEST, _MOST = 4000, 20
"""Characters and topics that a page may say."""

_SHOWN: dict[str, Callable[[Going, Sequence[str]], Hashable]] = {
    ALL: lambda now, ids: (now.stages, now.removed, manager().trouble if now else None),
    RUNS: lambda now, ids: (now.of(ids), now.removed),
    STATES: lambda now, ids: (
        [(run_id, state, folds > 0) for run_id, state, folds in now.of(ids)],
        now.removed,
    ),
    STEPS: lambda now, ids: (now.stages, now.steps),
    CURVES: lambda now, ids: now.curves(ids),
    SERVER: lambda now, ids: None,
}
"""Kind of a topic -> what it shows of all that goes on, or of some runs."""
_OFTEN = (STEPS, CURVES)
"""Kinds that change several times a second."""


def topic(kind: str, ids: Sequence[str] = ()) -> str:
    """What a part of a page can follow.

    Args:
        kind: ALL: beginning, folds and end of every run; RUNS: of these; STATES: of these, and of
            their folds only the first; STEPS: how far the folds are that are computed; CURVES: how
            far the curves are that trainings of these runs report; SERVER: nothing of them, and so
            another version only of another server, or after the database was away.
        ids: of the runs.
    """
    return " ".join([kind, *ids])


@dataclass(slots=True)
class _Page:
    """An open page: what it follows, and what it was told last."""

    topics: Sequence[str]
    told: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Events:
    """Who follows what, and the last look at it. All of it happens on the server's loop."""

    _pages: dict[WebSocket, _Page] = field(default_factory=dict)
    _said: asyncio.Event = field(default_factory=asyncio.Event)
    _key: bytes = field(default_factory=lambda: token_bytes(16))
    _steps: Going | None = None
    """The look that those topics are told of which change several times a second."""

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
                topics = _topics(message.get("text") or "")
                if topics is None:
                    await socket.close()
                    return
                self._pages[socket] = _Page(topics)
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
                now = await asyncio.to_thread(self._look)
                if now:
                    seconds = max(_BUSY_SECONDS, _SECONDS_PER_PAGE * len(self._pages))
                    seconds = min(seconds, _MOST_SECONDS)
                often = max(2 * _BUSY_SECONDS, _SECONDS_OF_STEPS_PER_PAGE * len(self._pages))
                await self._tell(now, every=often)
            except EcvError as error:  # a database comes and goes
                log.warning("what goes on could not be seen: %s", error)
                self._key = token_bytes(16)  # pages that show the error are drawn anew after it
            except Exception:  # whoever watches is told again after the next look
                log.exception("pages could not be told what goes on")
            await asyncio.sleep(_LEAST_SECONDS)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._said.wait(), seconds - _LEAST_SECONDS)

    def _look(self) -> Going:
        return going_on(store())

    async def _tell(self, now: Going, *, every: float) -> None:
        """Tell all pages; of what changes several times a second after so many seconds."""
        last = self._steps
        if last is None or last.stages != now.stages or now.moment - last.moment >= every - 0.2:
            self._steps = last = now
        versions: dict[str, str] = {}
        news = []
        for socket, page in self._pages.items():
            for topic in page.topics:
                if topic not in versions:
                    look = last if topic.startswith(_OFTEN) else now
                    versions[topic] = f"{look.moment} {self.version(topic, look)}"
            told = {topic: versions[topic] for topic in page.topics}
            if any(_hash(told[topic]) != _hash(page.told.get(topic, "")) for topic in told):
                page.told = told
                news.append(socket.send_text(json.dumps(told)))
        for error in await asyncio.gather(*news, return_exceptions=True):
            if error and not isinstance(error, WebSocketDisconnect | RuntimeError):
                raise error  # those are pages that have just gone


def _hash(version: str) -> str:
    return version.rpartition(" ")[2]


def _topics(said: str) -> Sequence[str] | None:
    """The topics that a page says, one a line; None where it says anything else."""
    topics = said.split("\n")
    known = all(one.partition(" ")[0] in _SHOWN for one in topics)
    return topics if known and len(topics) <= _MOST and len(said) <= _LONGEST else None


events = Events()
"""Of this process."""
