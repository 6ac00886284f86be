"""Contenders of a selection whose folds share work: computed together, whoever computes them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from ecv_core.errors import InputError
from ecv_core.records import RunState
from ecv_core.shared_fold import shares_with
from ecv_core.store import Store, selections_with

if TYPE_CHECKING:
    from ecv_core.selection.live import Live


def sharing_places(now: Live) -> list[int]:
    """The contender that comes next, and those still in that share work with it in that fold.

    The one alone while a fold is going, or where it shares with nobody.
    """
    assert now.needed is not None
    next_one, fold = now.needed
    specs = [one.spec for one in now.record.contenders]
    common = shares_with(specs[next_one])
    if common is None or now.going:
        return [next_one]
    others = [
        place
        for place in sorted(now.left)
        if place != next_one
        and np.isnan(now.contenders[place].folds[fold])
        and shares_with(specs[place]) == common
    ]
    return [next_one, *others]


def queued_together(store: Store, run_id: str) -> list[str]:
    """A queued run, and those queued for the same selection whose folds share work with its."""
    spec = store.run(run_id).spec
    common = shares_with(spec)
    if common is None:
        return [run_id]
    found = dict.fromkeys([run_id])
    for record in selections_with(store, run_id):
        for planned in record.contenders:
            if planned.run_id is None or shares_with(planned.spec) != common:
                continue
            with suppress(InputError):  # deleted meanwhile
                other = store.run(planned.run_id)
                if (
                    other.state is RunState.QUEUED
                    and other.spec.only_folds[-1:] == spec.only_folds[-1:]
                ):
                    found[planned.run_id] = None
    return list(found)
