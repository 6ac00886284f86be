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

    shape: Mapping[tuple[int, ...], tuple[str, str]]
    """Place -> what kind of thing is there, and which."""
    signs: Mapping[tuple[int, ...], str]
    """Place -> what is there, as a hash."""
    messages: Mapping[tuple[int, ...], ForwardMsg]
    """Place -> what put it there; shared, so never change one."""
    look: str
    """All of it as one hash: pages with the same look the same."""

    @classmethod
    def of(cls, messages: Iterable[ForwardMsg]) -> Self | None:
        """The drawing that these make; None where more than elements were sent."""
        shape: dict[tuple[int, ...], tuple[str, str]] = {}
        signs, last = {}, {}
        for message in messages:
            place = tuple(message.metadata.delta_path)
            match message.WhichOneof("type"), message.delta.WhichOneof("type"):
                case "delta", "new_element":
                    element = message.delta.new_element
                    kind = element.WhichOneof("type") or ""
                    id_ = getattr(getattr(element, kind), "id", "") if kind else ""
                    signs[place] = _sign(message, kind)
                    shape[place] = kind, id_
                case "delta", "add_block":
                    signs[place] = message.hash
                    shape[place] = "block", message.hash
                case _:
                    return None
            last[place] = message
        look = sha256(repr(sorted(signs.items())).encode()).hexdigest()
        return cls(shape, signs, last, look)

    def changes(self, before: Drawing) -> tuple[list[ForwardMsg], bool]:
        """What turns that drawing into this one.

        Returns: what is now written in the same places; and whether this is all, for where
        anything else has changed (a button has come), only drawing the part anew shows that.
        """
        places = [
            place
            for place, thing in self.shape.items()
            if thing == before.shape.get(place) and self.signs[place] != before.signs[place]
        ]
        sent = [place for place in places if self.shape[place][0] not in _OF_ONE_PAGE]
        messages = [self.messages[place] for place in sent]
        return messages, self.shape == before.shape and len(sent) == len(places)


def _sign(message: ForwardMsg, kind: str) -> str:
    if (own := _OF_ONE_PAGE.get(kind)) is None:
        return message.hash
    shared = ForwardMsg()
    shared.delta.CopyFrom(message.delta)
    for name in own:
        getattr(shared.delta.new_element, kind).ClearField(name)
    return sha256(shared.SerializeToString(deterministic=True)).hexdigest()
