"""What goes on is looked up once for all who watch, and told to their pages when it changes.

A page that follows something registers what it follows while it is drawn. One look at the database
twice a second serves every page of this process; only pages whose part has changed are told, and
draw it anew. While nobody follows anything, nobody looks.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from itertools import count

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from ecv_core.errors import StoreError
from ecv_core.records import Run
from ecv_core.store import Going, Store, database_url, going_on
from pages.components.shared import push
from pages.components.shared.component import component
from pages.components.shared.state import store

log = logging.getLogger(__name__)

_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_WITHOUT_NEWS = 20
"""After which a page asks by itself while something goes on: a message may have been lost."""

_signal = component(__file__, "ecv_watch", html="<span></span>", js="watch.js")

Update = Callable[[Going], list[ForwardMsg]]
"""What a page is sent after a look."""


def follow(
    draw: Callable[..., None],
    *arguments: object,
    key: str,
    of: Callable[[Going], Hashable],
    seconds: float | None,
) -> None:
    """Draw a part of the page, and draw it anew when what it shows has changed.

    Args:
        draw: draws it.
        arguments: of `draw`.
        key: of this part; no other on the page has it.
        of: what it shows of all that goes on.
        seconds: where the server cannot send by itself, pages ask this often; None: never.
    """
    if not push.possible():
        st.fragment(draw, run_every=seconds)(*arguments)
        return

    def part() -> None:
        seen = watch().look()
        draw(*arguments)
        with push.sent() as messages:  # below, where it moves nothing
            again = _SECONDS_WITHOUT_NEWS if seen else 0
            _signal(
                key=f"told-{key}",
                data={"changed": 0, "again": again},
                on_changed_change=lambda: None,
            )
        watch().add(key, _Changed(messages[-1], of, of(seen)))

    part.__qualname__ = f"follow-{key}"  # Streamlit knows a fragment by its name and place
    st.fragment(part)()


def watch() -> Watch:
    """The process's one watch.

    Raises: StoreError if the database cannot be used.
    """
    return _watch(database_url())


@st.cache_resource(show_spinner=False)
def _watch(url: str) -> Watch:
    return Watch(store())


@dataclass(slots=True)
class _Changed:
    """Tells a part of a page once that what it shows is not so any more."""

    message: ForwardMsg
    of: Callable[[Going], Hashable]
    told: Hashable

    def __call__(self, now: Going) -> list[ForwardMsg]:
        if (value := self.of(now)) == self.told:
            return []
        self.told = value
        message = push.like(self.message)
        told = {"changed": next(_numbers), "again": _SECONDS_WITHOUT_NEWS}
        message.delta.new_element.bidi_component.json = json.dumps(told)
        return [message]


_numbers = count(1)


@dataclass(slots=True)
class Watch:
    """The last look at what goes on, and who is to be told."""

    _store: Store
    _pages: dict[str, dict[str, Update]] = field(default_factory=dict)
    """Of each session what follows something, by its key."""
    _looking: object = None
    """The work on the server's loop, once it has begun."""
    _stages: object = None
    _runs: list[Run] = field(default_factory=list)
    _last: tuple[Going, list[Run]] | None = None

    def look(self) -> Going:
        """What goes on now. Raises: StoreError."""
        return going_on(self._store)

    def active(self) -> list[Run]:
        """As `Store.active`; runs are read again only when one has gone on. Raises: StoreError."""
        return self.runs_of(self.look())

    def runs_of(self, now: Going) -> list[Run]:
        """The runs of a look, as `Store.active` gives them. Raises: StoreError."""
        if (last := self._last) is not None and last[0] is now:
            return last[1]
        if now.stages != self._stages:
            self._runs, self._stages = (self._store.active() if now else []), now.stages
        at = {run.run_id: run.progress for run in now.runs}
        found = [replace(run, progress=at.get(run.run_id)) for run in self._runs]
        self._last = now, found
        return found

    def add(self, key: str, update: Update) -> None:
        """Tell the page that is being drawn of what follows, until it is drawn without it."""
        self._pages.setdefault(push.session_id(), {})[key] = update
        if self._looking is None:
            self._looking = push.on_the_loop(self._go_on())

    def forget_page(self) -> None:
        """Nothing on the page that is being drawn is followed any more, or not yet."""
        self._pages.pop(push.session_id(), None)

    async def _go_on(self) -> None:
        while True:
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
            if not self._pages:
                continue
            try:
                now = await asyncio.to_thread(self._look_for_all)
                for session, updates in list(self._pages.items()):
                    self._tell(session, updates, now)
            except StoreError as error:  # a database comes and goes
                log.warning("what goes on could not be seen: %s", error)
            except Exception:  # whoever watches is told again after the next look
                log.exception("a page could not be told what goes on")

    def _look_for_all(self) -> Going:
        now = self.look()
        self.runs_of(now)  # read here, where waiting for the database keeps nobody waiting
        return now

    def _tell(self, session: str, updates: dict[str, Update], now: Going) -> None:
        there = push.push(session, [])
        if there is None:
            self._pages.pop(session, None)
        elif there:
            push.push(session, [one for update in list(updates.values()) for one in update(now)])
