"""Complete runs on one dataset -> the largest block of splits x algorithms without a gap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ecv_core import splits
from ecv_core.errors import InputError
from ecv_core.records import Role, Run, RunSpec
from ecv_core.splits import IMPORTED, SPLITS

FEWEST = 2
"""Splits, and algorithms, that a comparison needs."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """Every algorithm under every split, on one dataset."""

    dataset: str
    splits: tuple[str, ...]
    """As `split_label` names them, in the order of the registry."""
    algorithms: tuple[str, ...]
    runs: Mapping[tuple[str, str], Run]
    """(split, algorithm) -> its run."""
    left_out: tuple[str, ...] = ()
    """Splits and algorithms that lack runs the others have."""


def split_label(spec: RunSpec) -> str:
    """The split's id, with what is not its default: 'temporal-windows, k = 3'."""
    if spec.split == IMPORTED:
        return f"{IMPORTED} {(spec.folds_sha256 or '')[:8]}".rstrip()
    known = splits.strategy(spec.split)
    usual = dict(known.resolve({}))
    words = [f"{name} = {value}" for name, value in spec.split_params if usual.get(name) != value]
    if spec.k != known.default_k:
        words.insert(0, f"k = {spec.k}")
    return ", ".join([spec.split, *words])


def block_of(runs: Iterable[Run], algorithms: Sequence[str] = ()) -> Block:
    """What of the runs can be compared.

    Args:
        runs: complete ones on one dataset; of equal ones the last counts.
        algorithms: the order in which they are to come; others after them.
    Raises: InputError if fewer than two splits share at least two algorithms, or datasets or
        protocols are mixed.
    """
    runs = list(runs)
    _check_alike(runs)
    there = {(split_label(run.spec), run.spec.algorithm): run for run in runs}
    by_split: dict[str, set[str]] = {}
    for split, algorithm in there:
        by_split.setdefault(split, set()).add(algorithm)
    kept, shared = _largest(by_split)
    order = [*algorithms, *sorted(shared - set(algorithms))]
    ordered = tuple(name for name in order if name in shared)
    missing = [name for name in by_split if name not in kept]
    everywhere = set().union(*by_split.values())
    return Block(
        dataset=runs[0].spec.dataset,
        splits=tuple(sorted(kept, key=_place)),
        algorithms=ordered,
        runs={cell: run for cell, run in there.items() if cell[0] in kept and cell[1] in shared},
        left_out=tuple([*sorted(missing, key=_place), *sorted(everywhere - shared)]),
    )


def _check_alike(runs: Sequence[Run]) -> None:
    """Refuse runs whose scores differ for another reason than split and algorithm."""
    known = {(run.spec.dataset, *_protocol(run.spec)) for run in runs}
    if len(known) > 1:
        raise InputError(
            "splits are compared on one dataset, with one list length and one way to rank, but "
            f"the runs have {len(known)} different ones; pick runs that differ in split only"
        )


def _protocol(spec: RunSpec) -> tuple[object, ...]:
    """How the held-out part is measured, whichever of the metrics is looked at."""
    apart = {"metric"} if spec.negatives else {"metric", "negative_sampling"}
    return tuple(value for name, value in spec.part(Role.MEASURE).items() if name not in apart)


def _largest(by_split: Mapping[str, set[str]]) -> tuple[list[str], set[str]]:
    """Splits and the algorithms they share, as many cells as can be."""
    ranked = sorted(by_split, key=lambda split: (-len(by_split[split]), _place(split)))
    best: tuple[list[str], set[str]] = ([], set())
    shared: set[str] | None = None
    for count, split in enumerate(ranked, start=1):
        shared = set(by_split[split]) if shared is None else shared & by_split[split]
        if (
            count >= FEWEST
            and len(shared) >= FEWEST
            and count * len(shared) >= len(best[0]) * len(best[1])
        ):
            best = (ranked[:count], shared)
    if not best[0]:
        raise InputError(
            "ranks can swap where at least two algorithms have complete runs under at least two "
            "splits; run more of them"
        )
    return best


def _place(split: str) -> tuple[int, str]:
    names = list(SPLITS)
    name = split.partition(",")[0]
    return (names.index(name) if name in names else len(names), split)
