"""Pages that look alike: one of them draws what has changed, and the others are sent its drawing.

Drawing a part takes a run of the page's script, some 30 ms of the processor; sending what it drew
takes a hundredth of that. So of all pages that show the same, one is asked to draw anew, and what
it drew otherwise than before is sent to the others as it is. Where more has changed than what is
written in the same places (a button has come, a run has ended), each draws its own after that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from itertools import count
from time import monotonic

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from ecv_core.store import Going
from pages.components.shared import push
from pages.components.shared.drawing import Drawing

SECONDS_WITHOUT_NEWS = 20
"""After which a page asks by itself while something goes on: a message may have been lost."""
_SECONDS_TO_DRAW = 1.0
"""For the page that draws for the others; a tab in the background may take for ever."""
_numbers = count(1)


@dataclass(slots=True, kw_only=True, eq=False)
class Part:
    """A part of one page that follows something."""

    key: str
    signal: ForwardMsg
    """By which the page is told; it drew the component that listens."""
    of: Callable[[Going], Hashable]
    told: Hashable
    """What it shows, as `of` gave it."""
    alike: Hashable = None
    """Pages with the same, and the same on them, always show the same; None: every page its own."""
    drawing: Drawing | None = None

    def changed(self, now: Going) -> bool:
        """Whether what it shows is not so any more."""
        return self.of(now) != self.told

    def draw_anew(self) -> ForwardMsg:
        """Has the page draw the part anew."""
        return self._said(changed=next(_numbers))

    def wait_on(self) -> ForwardMsg:
        """Says that news has come: only after a while without any the page asks by itself."""
        return self._said(changed=0, sent=next(_numbers))

    def _said(self, **more: int) -> ForwardMsg:
        message = push.like(self.signal)
        data = {**more, "again": SECONDS_WITHOUT_NEWS}
        message.delta.new_element.bidi_component.json = json.dumps(data)
        return message


@dataclass(slots=True)
class _Wait:
    """For one page to draw what others are sent then."""

    before: Part
    """Of that page, as it was."""
    told: Hashable
    """What it was asked to show."""
    others: dict[str, Part]
    until: float


@dataclass(slots=True)
class Alike:
    """Who draws for whom. All of it happens on the server's loop."""

    _asked: dict[Hashable, dict[str, tuple[Part, Hashable]]] = field(default_factory=dict)
    _waits: dict[tuple[str, str], _Wait] = field(default_factory=dict)
    """By the session that draws and the key of its part."""
    _late: set[str] = field(default_factory=set)
    """Sessions that did not draw in time."""
    _told: set[str] = field(default_factory=set)
    """Those that were told to draw a part since the last look: of two at once a page loses one."""

    def ask(self, session: str, part: Part, now: Going) -> None:
        """That page's part is to show what is so now; call `have_one_draw` when all have asked."""
        if part.alike is None or part.drawing is None:
            self._draw_anew(session, part, part.of(now))
        elif not any(wait.others.get(session) is part for wait in self._waits.values()):
            alike = part.key, part.alike, part.drawing.look
            self._asked.setdefault(alike, {})[session] = part, part.of(now)

    def have_one_draw(self) -> None:
        """Of pages that are alike, have one draw."""
        for key, wait in list(self._waits.items()):
            if monotonic() > wait.until:
                self._late.add(key[0])
                self.given_up(*key)
        asked, self._asked = self._asked, {}
        for parts in asked.values():
            if not (free := [session for session in parts if session not in self._told]):
                continue  # they ask again after the next look
            first = min(free, key=self._late.__contains__)
            part, told = parts.pop(first)
            if parts:
                others = {session: other for session, (other, _) in parts.items()}
                until = monotonic() + _SECONDS_TO_DRAW
                self._waits[first, part.key] = _Wait(part, told, others, until)
            self._draw_anew(first, part, told)
        self._told.clear()

    def drawn(self, session: str, part: Part, pages: Mapping[str, Mapping[str, object]]) -> None:
        """That page has drawn this part: send it to those that wait for it.

        Args:
            session: of the page.
            part: as it is now.
            pages: session -> key -> its part, of every page as it is now.
        """
        if (wait := self._waits.pop((session, part.key), None)) is None:
            return
        self._late.discard(session)
        before, changes, whole = wait.before.drawing, list[ForwardMsg](), False
        if before and part.drawing and part.alike == wait.before.alike:
            changes, whole = part.drawing.changes(before)
        there = {
            other: one
            for other, one in wait.others.items()
            if pages.get(other, {}).get(part.key) is one  # not drawn anew by itself meanwhile
        }
        news = part.wait_on()
        for other, one in there.items():
            if push.push(other, [*changes, news] if whole else changes):
                one.drawing = part.drawing if whole else None
                if whole:
                    one.told = part.told
                else:
                    self._draw_anew(other, one, part.told)

    def given_up(self, session: str, key: str) -> None:
        """That page does not draw this part as it was: each of the others draws its own."""
        if (wait := self._waits.pop((session, key), None)) is not None:
            for other, part in wait.others.items():
                self._draw_anew(other, part, wait.told)

    def left(self, session: str) -> None:
        """That page will not be there again."""
        self._late.discard(session)

    def _draw_anew(self, session: str, part: Part, told: Hashable) -> None:
        if session not in self._told and push.push(session, [part.draw_anew()]):
            self._told.add(session)
            part.told = told
