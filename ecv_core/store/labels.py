"""What people write on their runs: a name, tags and a note."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from ecv_core.errors import InputError
from ecv_core.store.schema import labels
from ecv_core.store.store import Store

MOST_TAGS, TAG_LENGTH, NAME_LENGTH, NOTE_LENGTH = 12, 30, 80, 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What is written on one run; empty where nothing is."""

    name: str = ""
    tags: tuple[str, ...] = ()
    """Each once, in the order in which they were given."""
    note: str = ""


def checked_label(name: str = "", tags: Iterable[str] = (), note: str = "") -> Label:
    """A label as it is kept: without blanks around its texts and without a tag twice.

    Raises: InputError for a text that is too long, or too many tags.
    """
    label = Label(
        name=" ".join(name.split()),
        tags=tuple(dict.fromkeys(tag for one in tags if (tag := " ".join(one.split())))),
        note=note.strip(),
    )
    texts = [("name", label.name, NAME_LENGTH), ("note", label.note, NOTE_LENGTH)]
    for what, text, most in [*texts, *(("tag", tag, TAG_LENGTH) for tag in label.tags)]:
        if len(text) > most:
            raise InputError(
                f"the {what} '{text[:20]}...' has {len(text)} characters; at most {most} are kept"
            )
    if len(label.tags) > MOST_TAGS:
        raise InputError(f"a run has at most {MOST_TAGS} tags, but these are {len(label.tags)}")
    return label


def label_runs(store: Store, labelled: Mapping[str, Label]) -> None:
    """Write on each run its label, instead of what was on it; an empty label removes it.

    Raises: StoreError.
    """
    rows = [
        {"run_id": run_id, "name": one.name, "tags": json.dumps(one.tags), "note": one.note}
        for run_id, one in labelled.items()
        if one != Label()
    ]
    with store.transaction("written") as connection:
        connection.execute(labels.delete().where(labels.c.run_id.in_(list(labelled))))
        if rows:
            connection.execute(labels.insert(), rows)


def labels_in(connection: sa.Connection) -> dict[str, Label]:
    """What is written on each run that has a label, by run id."""
    return {
        row.run_id: Label(name=row.name, tags=tuple(json.loads(row.tags)), note=row.note)
        for row in connection.execute(labels.select()).all()
    }
