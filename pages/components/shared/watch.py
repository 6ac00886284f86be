"""What goes on is looked up once for all who watch, and told to their pages when it changes.

A page that follows something registers what it follows while it is drawn. One look at the database
twice a second serves every page of this process; only pages whose part has changed are told, and
draw it anew. While nobody follows anything, nobody looks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from ecv_core.errors import StoreError
from ecv_core.records import Run
from ecv_core.store import Going, Store, database_url, going_on
from pages.components.shared import push
from pages.components.shared.alike import SECONDS_WITHOUT_NEWS, Alike, Part
from pages.components.shared.component import component
from pages.components.shared.drawing import Drawing
from pages.components.shared.state import made_once, sentences, store

log = logging.getLogger(__name__)

_SECONDS_BETWEEN_LOOKS = 0.5

_signal = component(__file__, "ecv_watch", html="<span></span>", js="watch.js")

_Made = TypeVar("_Made")
Update = Callable[[Going], list[ForwardMsg]]
"""What a page is sent after a look."""

_drawn_from: ContextVar[Going | None] = ContextVar("drawn_from", default=None)


def follow(
    draw: Callable[..., None],
    *arguments: object,
    key: str,
    of: Callable[[Going], Hashable],
    seconds: float | None,
    alike: Callable[[], Hashable] | None = None,
) -> None:
    """Draw a part of the page, and draw it anew when what it shows has changed.

    Args:
        draw: draws it.
        arguments: of `draw`.
        key: of this part; no other on the page has it.
        of: what it shows of all that goes on.
        seconds: where the server cannot send by itself, pages ask this often; None: never.
        alike: what `draw` depends on besides the database, such as a choice on the page; pages with
            the same, and the same drawn, share one drawing. Without it every page draws its own.
    """
    if not push.possible():
        st.fragment(draw, run_every=seconds)(*arguments)
        return

    def part() -> None:
        with sentences():  # a database comes and goes
            followed()

    first = [drawn_from()]

    def followed() -> None:
        if (seen := first.pop() if first else None) is None:
            seen = watch().look()
        page = _drawn_from.set(seen)
        try:
            with push.sent() as drawn:
                draw(*arguments)
        except BaseException:  # a rerun among them: it is drawn in another way, or not at all
            watch().given_up(key)
            raise
        finally:
            _drawn_from.reset(page)
        with push.sent() as messages:  # below, where it moves nothing
            again = SECONDS_WITHOUT_NEWS if seen else 0
            _signal(
                key=f"told-{key}",
                data={"changed": 0, "again": again},
                on_changed_change=lambda: None,
            )
        watch().drawn(
            Part(
                key=key,
                signal=messages[-1],
                of=of,
                told=of(seen),
                alike=alike and alike(),
                drawing=alike and Drawing.of(drawn),
            )
        )

    part.__qualname__ = f"follow-{key}"  # Streamlit knows a fragment by its name and place
    st.fragment(part)()


def drawn_from() -> Going | None:
    """The look with which the drawing of this page, or of this part of it, began.

    None where the server cannot send, and pages ask again as usual.
    """
    return _drawn_from.get()


def watch() -> Watch:
    """The process's one watch.

    Raises: StoreError if the database cannot be used.
    """
    return _watch(database_url())


@made_once
def _watch(url: str) -> Watch:
    return Watch(store())


@dataclass(slots=True)
class Watch:
    """The last look at what goes on, and who is to be told."""

    _store: Store
    _pages: dict[str, dict[str, Update | Part]] = field(default_factory=dict)
    """Of each session what follows something, by its key."""
    _alike: Alike = field(default_factory=Alike)
    _looking: object = None
    """The work on the server's loop, once it has begun."""
    _stages: object = None
    _runs: list[Run] = field(default_factory=list)
    _last: tuple[Going, list[Run]] | None = None
    _made: tuple[Going, dict[Hashable, object]] | None = None
    managed: bool = False
    """Whether there is a manager, which has marked what an earlier dashboard left behind."""

    def page_begins(self) -> Going:
        """The whole page is drawn anew: nothing on it is followed yet; gives what goes on now.

        Raises: StoreError.
        """
        _drawn_from.set(None)
        self._pages.pop(push.session_id(), None)
        now = self.look()
        _drawn_from.set(now if push.possible() else None)
        return now

    def look(self) -> Going:
        """What goes on now. Raises: StoreError."""
        return going_on(self._store)

    def active(self) -> list[Run]:
        """As `Store.active`; runs are read again only when one has gone on.

        Where a page or a part of it is drawn they are as they were when that began.
        Raises: StoreError.
        """
        now = drawn_from()
        return self.runs_of(self.look() if now is None else now)

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

    def group(self, group_id: str) -> list[Run]:
        """As `Store.group`; runs that are all active are not read again. Raises: StoreError."""
        if now := drawn_from():
            of_group = [run.of_group for run in now.runs if run.group == group_id]
            runs = [run for run in self.runs_of(now) if run.group == group_id]
            if of_group and len(runs) == of_group[0]:
                order = {run.run_id: place for place, run in enumerate(now.runs)}
                return sorted(runs, key=lambda run: order[run.run_id])
        return self._store.group(group_id)

    def once(self, now: Going, what: Hashable, make: Callable[[], _Made]) -> _Made:
        """What all pages share of a look: made for the first of them that asks for it."""
        if (made := self._made) is None or made[0] is not now:
            self._made = made = now, {}
        if what not in made[1]:
            made[1][what] = make()
        return cast(_Made, made[1][what])

    def add(self, key: str, update: Update | Part) -> None:
        """Tell the page that is being drawn of what follows, until it is drawn without it."""
        self._pages.setdefault(push.session_id(), {})[key] = update
        if self._looking is None:
            self._looking = push.on_the_loop(self._go_on())

    def drawn(self, part: Part) -> None:
        """The same of a part of it, as it is now; pages that wait for its drawing are sent it."""
        self.add(part.key, part)
        push.soon(self._alike.drawn, push.session_id(), part, self._pages)

    def given_up(self, key: str) -> None:
        """The page that is being drawn does not draw this part as it was."""
        push.soon(self._alike.given_up, push.session_id(), key)

    async def _go_on(self) -> None:
        while True:
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
            if not self._pages:
                continue
            try:
                now = await asyncio.to_thread(self._look_for_all)
                for session, updates in list(self._pages.items()):
                    self._tell(session, updates, now)
                self._alike.have_one_draw()
            except StoreError as error:  # a database comes and goes
                log.warning("what goes on could not be seen: %s", error)
            except Exception:  # whoever watches is told again after the next look
                log.exception("a page could not be told what goes on")

    def _look_for_all(self) -> Going:
        now = self.look()
        self.runs_of(now)  # read here, where waiting for the database keeps nobody waiting
        return now

    def _tell(self, session: str, updates: dict[str, Update | Part], now: Going) -> None:
        there = push.push(session, [])
        if there is None:
            self._pages.pop(session, None)
            self._alike.left(session)
        elif there:
            for update in list(updates.values()):
                if not isinstance(update, Part):
                    push.push(session, update(now))
                elif update.changed(now):
                    self._alike.ask(session, update, now)
