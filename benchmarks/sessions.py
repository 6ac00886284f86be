"""A page as a browser has it open, without the browser: Streamlit's messages over a websocket."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from typing import Any

import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

WATCH = "ecv_watch"
"""The component of a part of a page that follows topics."""
LARGEST = 64 * 1024 * 1024
"""Bytes of a message."""


class Session:
    """One open page: it asks for its timed parts as a browser does, and counts what it is sent."""

    def __init__(self, url: str, page: str = "", query: str = "", visitor: str = "") -> None:
        """Open nothing yet.

        Args:
            url: of the dashboard, http://127.0.0.1:8501.
            page: its address below it.
            query: query string.
            visitor: the address that a proxy says the visitor has; empty for this machine's.
        """
        self._address = url.replace("http", "ws", 1)
        self._headers = {}
        if visitor:
            self._headers["X-Forwarded-For"] = visitor
        self._page, self._query = page, query
        self._script = ""
        self._known: set[str] = set()
        self._timers: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._parts: dict[str, dict[str, Any]] = {}
        """What the page follows: fragment -> what its listener was given."""
        self._told: dict[str, str] = {}
        self._said = ""
        self._asked: str | None = None
        """The fragment that is waited for."""
        self.messages = 0
        self.bytes = 0
        self.drawn: list[float] = []
        """When the server said that a part of the page, or all of it, is drawn; perf_counter()."""
        self.figures: list[tuple[float, str]] = []
        """Sentences of the figures, with the time at which each came."""
        self.texts: list[tuple[float, str]] = []
        """Of the bar of what runs, with the time at which each came."""
        self.errors: list[str] = []
        self.opened_at = 0.0
        self.ready = asyncio.Event()
        self.ready_seconds = float("nan")
        """From opening to the end of the first drawing of the page."""

    async def stay(self, seconds: float) -> None:
        """Open the page, and leave it after so long, or when the server goes."""
        with suppress(TimeoutError, ConnectionClosed):
            async with asyncio.timeout(seconds):
                await self._follow()

    async def _follow(self) -> None:
        self.opened_at = time.perf_counter()
        async with connect(
            f"{self._address}/_stcore/stream",
            subprotocols=[Subprotocol("streamlit")],
            max_size=LARGEST,
            open_timeout=60,
            additional_headers=self._headers,
        ) as self._socket:
            self._soon(self._listen())
            try:
                await self._ask()
                async for data in self._socket:
                    assert isinstance(data, bytes)
                    self._take(data)
            finally:
                for task in [*self._timers.values(), *self._tasks]:
                    task.cancel()

    async def _listen(self) -> None:
        """As watch.js does."""
        await self.ready.wait()
        async with connect(
            f"{self._address}/events", open_timeout=60, additional_headers=self._headers
        ) as self._events:
            self._say()
            async for said in self._events:
                self.bytes += len(said)
                told = json.loads(said)
                if "shared" in told:
                    self._show(told["entries"])
                else:
                    self._told = told
                    self._look()

    def _look(self) -> None:
        if self._asked in self._parts:  # one after the other
            return
        for fragment, data in reversed(self._parts.items()):
            if any(self._newer(data, topic) for topic in data["versions"]):
                self._asked = fragment
                self._soon(self._ask(fragment))
                return

    def _newer(self, data: dict[str, Any], topic: str) -> bool:
        moment, _, version = self._told.get(topic, "0 ").partition(" ")
        return float(moment) > data["moment"] and bool(version != data["versions"][topic])

    def _say(self) -> None:
        parts = self._parts.values()
        topics = {topic for data in parts for topic in data["versions"]}
        tokens = {f"shared {token}" for data in parts for token in data["tokens"]}
        said = "\n".join(sorted(topics | tokens))
        if hasattr(self, "_events") and said and said != self._said:
            self._said = said
            self._soon(self._events.send(said))

    async def _ask(self, fragment: str = "") -> None:
        message = BackMsg()
        state = message.rerun_script
        state.query_string = self._query
        state.context_info.timezone = "Europe/Berlin"
        state.context_info.locale = "en-US"
        state.cached_message_hashes.extend(self._known)
        if fragment:
            state.fragment_id, state.is_auto_rerun = fragment, True
        if self._script:
            state.page_script_hash = self._script
        else:
            state.page_name = self._page
        await self._socket.send(message.SerializeToString())

    def _take(self, data: bytes) -> None:
        message = ForwardMsg.FromString(data)
        self.messages += 1
        self.bytes += len(data)
        kind = message.WhichOneof("type")
        if message.metadata.cacheable:
            self._known.add(message.hash)
        if kind == "new_session":
            self._script = message.new_session.page_script_hash
            if not message.metadata.run.fragment_ids:
                self._forget_timers()
                self._parts.clear()
        elif kind == "auto_rerun":
            self._timed(message.auto_rerun.fragment_id, message.auto_rerun.interval)
        elif kind == "stop_auto_rerun":
            self._forget_timers(message.stop_auto_rerun.fragment_ids)
        elif kind == "script_finished":
            self._drawn()
        elif kind == "delta":
            self._see(message)

    def _drawn(self) -> None:
        self.drawn.append(time.perf_counter())
        if not self.ready.is_set():
            self.ready_seconds = time.perf_counter() - self.opened_at
            self.ready.set()

    def _see(self, message: ForwardMsg) -> None:
        if message.delta.WhichOneof("type") != "new_element":
            return
        element = message.delta.new_element
        kind = element.WhichOneof("type")
        if kind == "exception":
            self.errors.append(element.exception.message)
        if kind != "bidi_component" or not element.bidi_component.json:  # one without data
            return
        data = json.loads(element.bidi_component.json)
        if element.bidi_component.component_name == WATCH:
            fragment = message.delta.fragment_id
            self._parts[fragment] = data
            if fragment == self._asked:
                self._asked = None
            self._say()
            self._look()
        else:
            self._show(data)

    def _show(self, data: dict[str, Any]) -> None:
        """What a component is given, or told after that."""
        if "words" in data:
            self.texts.append((time.perf_counter(), data["words"]))
        if "alt" in data:
            self.figures.append((time.perf_counter(), data["alt"]))

    def _soon(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _forget_timers(self, fragments: Iterable[str] | None = None) -> None:
        for fragment in list(self._timers if fragments is None else fragments):
            if (task := self._timers.pop(fragment, None)) is not None:
                task.cancel()

    def _timed(self, fragment: str, seconds: float) -> None:
        if (old := self._timers.pop(fragment, None)) is not None:
            old.cancel()
        self._timers[fragment] = asyncio.create_task(self._again(fragment, seconds))

    async def _again(self, fragment: str, seconds: float) -> None:
        with suppress(ConnectionClosed):
            while True:
                await asyncio.sleep(seconds)
                await self._ask(fragment)


def used(process: psutil.Process) -> float:
    """Seconds of the processor that a process has used, its children's not among them."""
    times = process.cpu_times()
    return times.user + times.system
