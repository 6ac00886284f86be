"""Complete runs on one dataset -> the largest block of splits and algorithms without a gap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ecv_core.records.errors import InputError
from ecv_core.records.parameters import changed
from ecv_core.records.run import RunRecord
from ecv_core.records.spec import Role, RunSpec
from ecv_core.splits import IMPORTED, SPLITS

FEWEST = 2
"""A comparison needs at least so many splits, and so many algorithms."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Every algorithm under every split, on one dataset."""

    dataset: str
    splits: tuple[str, ...]
    """As `split_label` names them, in the order of the registry."""
    algorithms: tuple[str, ...]
    runs: Mapping[tuple[str, str], RunRecord]
    """(split, algorithm) -> its run."""
    left_out: tuple[str, ...] = ()
    """Splits and algorithms that lack runs which the others have."""


def split_label(spec: RunSpec) -> str:
    """Name a run's split by its id and by every setting that is not the split's default.

    Returns:
        For instance 'temporal-windows, k = 3'.
    """
    if spec.split == IMPORTED:
        digest = spec.folds_sha256 or ""
        return f"{IMPORTED} {digest[:8]}".rstrip()
    strategy = SPLITS.get(spec.split)
    if strategy is None:
        # The split is that of a plug-in which is not installed here.
        return spec.split
    words = [spec.split]
    if spec.k != strategy.default_k:
        words.append(f"k = {spec.k}")
    for name, value in changed(spec.split_params, dict(strategy.resolve({}))).items():
        words.append(f"{name} = {value}")
    return ", ".join(words)


def largest_block(runs: Iterable[RunRecord], algorithms: Sequence[str] = ()) -> Block:
    """Choose from the runs the largest block in which every algorithm ran under every split.

    Args:
        runs: Complete runs on one dataset; of several with the same split and algorithm the last
            one counts.
        algorithms: The order of the algorithms; those that are not named come after them.

    Raises:
        InputError: If fewer than two splits share at least two algorithms, or if the runs differ in
            dataset or protocol.
    """
    runs = list(runs)
    _refuse_mixed_protocols(runs)
    every_run: dict[tuple[str, str], RunRecord] = {}
    algorithms_by_split: dict[str, set[str]] = {}
    for run in runs:
        split = split_label(run.spec)
        every_run[split, run.spec.algorithm] = run  # A later run takes the place of an earlier one.
        algorithms_by_split.setdefault(split, set()).add(run.spec.algorithm)
    largest = _largest_without_gap(algorithms_by_split)
    kept_runs = {}
    for (split, algorithm), run in every_run.items():
        if split in largest.splits and algorithm in largest.algorithms:
            kept_runs[split, algorithm] = run
    left_out_splits = algorithms_by_split.keys() - largest.splits
    every_algorithm = set[str]().union(*algorithms_by_split.values())
    left_out_algorithms = every_algorithm - largest.algorithms
    # The algorithms whose place is given, and after them the others.
    algorithm_order = [*algorithms, *sorted(largest.algorithms.difference(algorithms))]
    left_out = sorted(left_out_splits, key=_registry_order) + sorted(left_out_algorithms)
    return Block(
        dataset=runs[0].spec.dataset,
        splits=tuple(sorted(largest.splits, key=_registry_order)),
        algorithms=tuple(name for name in algorithm_order if name in largest.algorithms),
        runs=kept_runs,
        left_out=tuple(left_out),
    )


def _refuse_mixed_protocols(runs: Sequence[RunRecord]) -> None:
    """Refuse runs whose scores differ for another reason than split and algorithm."""
    protocols = set()
    for run in runs:
        measured = run.spec.settings_with_roles(Role.MEASURE)
        # The block is compared by any of its metrics, so that the run's own one does not matter.
        measured.pop("metric", None)
        protocols.add((run.spec.dataset, *measured.values()))
    if len(protocols) > 1:
        raise InputError(
            "splits can be compared only for the same dataset, list length and way to rank, but "
            f"the runs have {len(protocols)} different combinations; choose runs that differ "
            "only in their split"
        )


class _SplitsAndAlgorithms(NamedTuple):
    """Splits, and algorithms that ran under all of them."""

    splits: list[str]
    algorithms: frozenset[str]


def _largest_without_gap(algorithms_by_split: Mapping[str, set[str]]) -> _SplitsAndAlgorithms:
    """Choose splits and the algorithms they share, so that the block has the most runs."""
    # The algorithms of a largest block are those of one split, or what several splits share.
    shared_algorithms: set[frozenset[str]] = set()
    for names in algorithms_by_split.values():
        algorithms = frozenset(names)
        shared_algorithms |= {algorithms & others for others in shared_algorithms}
        shared_algorithms.add(algorithms)
    candidates = []
    for algorithms in shared_algorithms:
        splits = [split for split, names in algorithms_by_split.items() if algorithms <= names]
        if len(splits) >= FEWEST and len(algorithms) >= FEWEST:
            candidates.append(_SplitsAndAlgorithms(splits, algorithms))
    if not candidates:
        raise InputError(
            "ranks can be compared once at least two algorithms have complete runs under at "
            "least two splits; compute more runs"
        )
    return max(candidates, key=_preference)


def _preference(candidate: _SplitsAndAlgorithms) -> tuple[int, int, list[str]]:
    """More runs are better, then more splits; the names settle what is still equal."""
    splits = len(candidate.splits)
    return splits * len(candidate.algorithms), splits, sorted(candidate.algorithms)


def _registry_order(label: str) -> tuple[int, str]:
    """Sort splits, by their labels, in the order of the registry; unknown ones come last."""
    registered = list(SPLITS)
    split = label.partition(",")[0]
    if split in registered:
        return registered.index(split), label
    return len(registered), label
