"""A part of a page as the messages that draw it, and what another drawing of it changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Self

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

_OF_ONE_PAGE = {"download_button": ("deferred_file_id", "url")}
"""Elements with something that is another for every page, and what: they are never sent on."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """What the part shows, place by place."""

    shape: tuple[tuple[object, ...], ...]
    """Where what is: another shape needs the part drawn anew, with its buttons and fields."""
    signs: Mapping[tuple[int, ...], str]
    """Place -> what is there, as a hash."""
    messages: Mapping[tuple[int, ...], ForwardMsg]
    """Place -> what put it there; shared, so never change one."""
    look: str
    """All of it as one hash: pages with the same look the same."""

    @classmethod
    def of(cls, messages: Iterable[ForwardMsg]) -> Self | None:
        """The drawing that these make; None where more than elements were sent."""
        shape: dict[tuple[int, ...], tuple[object, ...]] = {}
        signs, last = {}, {}
        for message in messages:
            place = tuple(message.metadata.delta_path)
            match message.WhichOneof("type"), message.delta.WhichOneof("type"):
                case "delta", "new_element":
                    element = message.delta.new_element
                    kind = element.WhichOneof("type") or ""
                    id_ = getattr(getattr(element, kind), "id", "") if kind else ""
                    signs[place] = _sign(message, kind)
                    shape[place] = (place, kind, id_)
                case "delta", "add_block":
                    signs[place] = message.hash
                    shape[place] = (place, "block", message.hash)
                case _:
                    return None
            last[place] = message
        look = sha256(repr(sorted(signs.items())).encode()).hexdigest()
        return cls(tuple(shape.values()), signs, last, look)

    def changes(self, before: Drawing) -> list[ForwardMsg] | None:
        """What turns that drawing into this one; None if only drawing it anew does."""
        if self.shape != before.shape:
            return None
        places = [place for place, sign in self.signs.items() if sign != before.signs[place]]
        changed = [self.messages[place] for place in places]
        if any(one.delta.new_element.WhichOneof("type") in _OF_ONE_PAGE for one in changed):
            return None
        return changed


def _sign(message: ForwardMsg, kind: str) -> str:
    if (own := _OF_ONE_PAGE.get(kind)) is None:
        return message.hash
    shared = ForwardMsg()
    shared.delta.CopyFrom(message.delta)
    for name in own:
        getattr(shared.delta.new_element, kind).ClearField(name)
    return sha256(shared.SerializeToString(deterministic=True)).hexdigest()
