"""Interactions into folds, and a fold into what is learnt from and what is held out."""

from __future__ import annotations

from collections.abc import Mapping

from ecv_core.records.errors import FoldsError, InputError, UnknownName
from ecv_core.records.interactions import LACKS, Folds, Interactions
from ecv_core.records.parameters import ParamValue
from ecv_core.records.tasks import Task
from ecv_core.splits.parts import FoldMatrices as FoldMatrices
from ecv_core.splits.parts import FoldParts as FoldParts
from ecv_core.splits.parts import Leakage as Leakage
from ecv_core.splits.parts import PartCounts as PartCounts
from ecv_core.splits.parts import fold_matrices as fold_matrices
from ecv_core.splits.parts import fold_parts as fold_parts
from ecv_core.splits.parts import leakage as leakage
from ecv_core.splits.parts import usable_parts as usable_parts
from ecv_core.splits.registry import SPLITS as SPLITS
from ecv_core.splits.registry import register_split as register_split
from ecv_core.splits.strategies import IMPORTED as IMPORTED
from ecv_core.splits.strategies import Past as Past
from ecv_core.splits.strategies import Strategy as Strategy
from ecv_core.splits.strategies import check_count


def strategy(split_id: str) -> Strategy:
    """The way to split with this id. Raises: UnknownName."""
    if split_id not in SPLITS:
        raise UnknownName("split", split_id, SPLITS)
    return SPLITS[split_id]


def serving(task: Task) -> list[str]:
    """Ids of the ways to split for a task, in the registry's order."""
    return [split_id for split_id, strategy in SPLITS.items() if task in strategy.tasks]


def check_serves(strategy: Strategy, task: Task) -> None:
    """Refuse to split samples as interactions, or the other way round. Raises: FoldsError."""
    if task not in strategy.tasks:
        served = " or ".join(served_task.outputs for served_task in strategy.tasks)
        raise FoldsError(
            f"the split '{strategy.id}' is for {served}, but the "
            f"model {task.words}; choose one of: {', '.join(serving(task))}"
        )


def check_exchangeable(split_id: str, why: str) -> None:
    """Refuse a split whose folds come in an order; folds from a file are taken as drawn by chance.

    Args:
        split_id: An id in SPLITS, or IMPORTED.
        why: End of the sentence: what needs chance, and the way out.

    Raises:
        InputError.
    """
    if not exchangeable(split_id):
        word = f"{strategy(split_id).fold_word}s".replace("step backs", "steps back")
        raise InputError(
            f"the {word} of the split '{split_id}' come in the order of time and their scores may "
            f"drift, so that the first do not stand for all; {why}"
        )


def exchangeable(split_id: str) -> bool:
    """Whether the folds of a split are drawn by chance, as far as it is known here."""
    return split_id == IMPORTED or (split_id in SPLITS and SPLITS[split_id].exchangeable)


def of_k_parts(split_id: str) -> bool:
    """Whether each fold tests on one of k parts; folds from a file are taken for such."""
    return split_id == IMPORTED or (split_id in SPLITS and SPLITS[split_id].of_k_parts)


def split(
    interactions: Interactions,
    split_id: str,
    k: int,
    seed: int,
    params: Mapping[str, ParamValue] | None = None,
) -> Folds:
    """Split the interactions into k folds, repetitions or windows.

    Args:
        interactions: What is split.
        split_id: An id in SPLITS.
        k: Number of folds; the strategy says how many make sense.
        seed: Fixes every random choice; same interactions, k, seed and params, same folds.
        params: Parameters of the strategy by name; others have their default.

    Raises:
        InputError: For the id or a parameter.
        FoldsError: If the data cannot be split so.
    """
    chosen = strategy(split_id)
    settings = dict(chosen.resolve(params or {}))
    check_count(interactions)
    if not chosen.needs.met(interactions):
        others = [name for name in serving(chosen.tasks[0]) if SPLITS[name].needs.met(interactions)]
        raise FoldsError(
            f"{interactions.dataset} has {LACKS[chosen.needs]}, which the split '{chosen.id}' "
            f"needs; it can be split by {', '.join(others)}"
        )
    # A strategy of at least 2 folds refuses a wrong k itself, by what these interactions allow.
    if chosen.least_k < 2:
        chosen.check_k(k)
    return chosen.folds(interactions, k, seed, settings)


def obstacle(
    interactions: Interactions,
    split_id: str,
    k: int | None = None,
    params: Mapping[str, ParamValue] | None = None,
) -> str | None:
    """Why a dataset cannot be split so, with what would work instead; None if it can.

    Args:
        interactions, split_id, params: as for `split`.
        k: By default the strategy's.
    """
    try:
        if k is None:
            k = strategy(split_id).default_k
        folds = split(interactions, split_id, k, 0, params)
        # If folds differ in size, the first or the last has the least to learn from or to test.
        for index in (0, folds.k - 1):
            fold_matrices(interactions, folds, index)
    except InputError as error:
        return str(error)
    return None
