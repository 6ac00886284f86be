"""Splits that hold out a part of every user's own history: at random, or its end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ecv_core.errors import FoldsError
from ecv_core.records import Interactions
from ecv_core.splits.histories import (
    Histories,
    basket_histories,
    hold_out,
    random_histories,
    share_of,
    timed_histories,
)
from ecv_core.splits.strategies import Draw, Settings

Counts = NDArray[np.int32]


def random_holdout(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """A random share of every user, drawn anew for each of k repetitions (RO_RS)."""
    sizes = _sizes(interactions)
    test = share_of(sizes, float(settings["test"]))
    validation = share_of(sizes - test, float(settings["validation"]))
    return _drawn("random-holdout", interactions, seed, settings, test, validation)


def leave_one_out(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """One random interaction of every user, drawn anew for each of k repetitions (RO_LS)."""
    test, validation = _one_each(_sizes(interactions), settings)
    return _drawn("leave-one-out", interactions, seed, settings, test, validation)


def leave_last_item(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """Every user's last interaction; fold j first takes j away from every end (TO_LS)."""
    of = timed_histories(interactions, seed)
    test, validation = _one_each(of.sizes, settings)
    return _backwards("leave-last-item", interactions, of, k, settings, test, validation)


def leave_last_basket(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """Every user's last basket; fold j first takes j baskets away from every end."""
    of = basket_histories(interactions)
    test, validation = _one_each(of.sizes, settings)
    return _backwards("leave-last-basket", interactions, of, k, settings, test, validation)


def temporal_user(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """The last share of every user; fold j holds out the share before those of folds 0 .. j-1."""
    of = timed_histories(interactions, seed)
    test = share_of(of.sizes, float(settings["test"]))
    return _backwards("temporal-user", interactions, of, k, settings, test, None)


def _drawn(
    name: str,
    interactions: Interactions,
    seed: int,
    settings: Settings,
    test: Counts,
    validation: Counts,
) -> Draw:
    sizes = _sizes(interactions)
    if not np.any((test > 0) & (sizes > test + validation)):
        raise FoldsError(_too_short(name, interactions, sizes, settings, "interactions"))

    def draw(index: int) -> NDArray[np.int8]:
        rng = np.random.default_rng([seed, index])
        return hold_out(random_histories(interactions, rng), test, validation)

    return draw


def _backwards(
    name: str,
    interactions: Interactions,
    of: Histories,
    k: int,
    settings: Settings,
    test: Counts,
    validation: Counts | None,
) -> Draw:
    """Fold j tests the j-th block from the end of every history, trained on what is before it."""

    def validated(skip: Counts) -> Counts:
        if validation is not None:
            return validation
        rest = np.maximum(of.sizes - skip - test, 0)
        return share_of(rest.astype(np.int32), float(settings["validation"]))

    skipped = ((k - 1) * test).astype(np.int32)
    if not np.any((test > 0) & (of.sizes > skipped + test + validated(skipped))):
        unit = "baskets" if name == "leave-last-basket" else "interactions"
        if k == 1:
            raise FoldsError(_too_short(name, interactions, of.sizes, settings, unit))
        raise FoldsError(
            f"nobody in {interactions.dataset} has {unit} enough for {k} steps back in the split "
            f"'{name}' (the longest history has {int(of.sizes.max(initial=0)):,}); "
            f"choose a smaller k than {k}"
        )

    def draw(index: int) -> NDArray[np.int8]:
        skip = (index * test).astype(np.int32)
        return hold_out(of, test, validated(skip), skip)

    return draw


def _sizes(interactions: Interactions) -> Counts:
    return np.bincount(interactions.users, minlength=interactions.n_users).astype(np.int32)


def _one_each(sizes: Counts, settings: Settings) -> tuple[Counts, Counts]:
    one = np.ones_like(sizes)
    return one, one if settings["validation"] else np.zeros_like(sizes)


def _too_short(
    name: str, interactions: Interactions, sizes: Counts, settings: Settings, unit: str
) -> str:
    needed = 3 if settings["validation"] else 2
    longest = int(sizes.max(initial=0))
    return (
        f"no user of {interactions.dataset} has more than {longest} {unit}, and the split '{name}' "
        f"needs {needed} of at least one user to learn from and to hold out; "
        "use 'record-k-fold', which needs no more than one of each"
    )
