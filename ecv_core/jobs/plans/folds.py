"""Some folds of some configurations, whatever their scores: those that share work together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from ecv_core.fold.shared import shares_with
from ecv_core.jobs.plan import ScoresKnown, Task, folds_of
from ecv_core.records.spec import RunSpec


class FoldsPlan:
    """The folds that are missing, group after group, fold after fold."""

    independent = False

    def __init__(
        self, specs: Iterable[RunSpec], folds: Collection[int], *, share: bool = True
    ) -> None:
        """Nothing is computed yet.

        Args:
            specs: with the rule 'never'; those of one group must be alike but for parameters.
            folds: which folds each is to have.
            share: whether configurations that share work are computed together.
        """
        self._folds = folds
        self._groups = groups(specs, share=share)

    def next(self, known: ScoresKnown, under_way: Collection[Task]) -> Iterator[Task]:
        """Each fold that somebody of a group lacks, of all of the group who lack it.

        Nothing any more once a run has ended without its folds.
        """
        if any(known.ended(spec) for group in self._groups for spec in group):
            return
        going = folds_of(under_way)
        for group in list(self._groups):
            lacks = {spec: _missing(spec, self._folds, known) for spec in group}
            if not any(lacks.values()):
                self._groups.remove(group)
            for index in self._folds:
                wanted = [spec for spec in group if index in lacks[spec]]
                asked = [replace(spec, only_folds=tuple(lacks[spec])) for spec in wanted]
                task = Task(specs=tuple(asked), fold=index)
                if asked and going.isdisjoint(task.folds):
                    yield task


def groups(specs: Iterable[RunSpec], *, share: bool = True) -> list[list[RunSpec]]:
    """Configurations that share work, in the order of the first of each; others by themselves.

    Args:
        specs: of configurations.
        share: False leaves each by itself.
    """
    found: dict[object, list[RunSpec]] = {}
    for place, spec in enumerate(specs):
        common = shares_with(spec) if share else None
        alike = replace(spec, params=())
        found.setdefault(place if common is None else (alike, common), []).append(spec)
    return list(found.values())


def _missing(spec: RunSpec, folds: Collection[int], known: ScoresKnown) -> list[int]:
    there = known.folds(spec)
    return [index for index in folds if index not in there]
