"""Parts of pages that follow what goes on, and what is read once for all who watch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import streamlit as st

from ecv_core.records import Run
from ecv_core.store import Going, Store, database_url, going_on
from pages.components.shared.component import component
from pages.components.shared.events import events
from pages.components.shared.state import made_once, sentences, store

_SECONDS_OF_A_LOOK = 0.3
"""A page that is drawn within this time is drawn from one look."""

_listener = component(__file__, "ecv_watch", html="<span></span>", js="watch.js")


def follow(
    draw: Callable[..., None],
    *arguments: object,
    key: str,
    of: Sequence[str],
    often: Sequence[str] = (),
) -> None:
    """Draw a part of the page, and draw it anew when what it shows has changed.

    Args:
        draw: draws it.
        arguments: of `draw`.
        key: of this part; no other on the page has it.
        of: the topics that it shows; see `events.topic`.
        often: more of them; a page in the background is not drawn anew for these.
    """

    page = True  # is drawn, and this part with it

    def part() -> None:
        nonlocal page
        moment, versions = time.monotonic(), dict.fromkeys((*of, *often), "")
        with sentences():  # a database comes and goes
            now = watch().now() if page else watch().look()
            page = False
            moment = now.moment
            versions = {topic: events.version(topic, now) for topic in versions}
            draw(*arguments)
        _listener(  # below, where it moves nothing
            key=f"told-{key}",
            data={"moment": moment, "versions": versions, "often": list(often)},
            on_changed_change=lambda: None,
        )

    st.fragment(part)()


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
    """What goes on, read once for all pages for as long as it has not changed."""

    _store: Store
    _last: Going | None = None
    _stages: object = None
    _runs: list[Run] = field(default_factory=list)

    def look(self) -> Going:
        """What goes on now. Raises: StoreError."""
        self._last = now = going_on(self._store)
        return now

    def now(self) -> Going:
        """The last look if it is of this moment, as that of a page which is being drawn.

        Raises: StoreError.
        """
        last = self._last
        if last is None or time.monotonic() - last.moment > _SECONDS_OF_A_LOOK:
            return self.look()
        return last

    def active(self) -> list[Run]:
        """As `Store.active`; runs are read again only when one has gone on.

        Raises: StoreError.
        """
        now = self.now()
        if now.stages != self._stages:
            self._runs, self._stages = (self._store.active() if now else []), now.stages
        at = {run.run_id: run.progress for run in now.runs}
        return [replace(run, progress=at.get(run.run_id)) for run in self._runs]

    def group(self, group_id: str) -> list[Run]:
        """As `Store.group`; runs that are all active are not read again. Raises: StoreError."""
        of_group = [run for run in self.now().runs if run.group == group_id]
        runs = [run for run in self.active() if run.group == group_id]
        if of_group and len(runs) == of_group[0].of_group:
            order = {run.run_id: place for place, run in enumerate(of_group)}
            return sorted(runs, key=lambda run: order[run.run_id])
        return self._store.group(group_id)
