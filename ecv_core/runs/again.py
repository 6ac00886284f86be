"""A run whose moments were not recorded, as before version 0.1 -> what its rule said then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import overload

from ecv_core.records import Decision, FoldResult, IntervalKind, Moment, RunSpec


def usual_kind(spec: RunSpec) -> IntervalKind:
    """What the intervals of a run hold where that was not written beside them."""
    from ecv_core.stopping import RULES

    return RULES[spec.rule].interval if spec.rule in RULES else IntervalKind.MEAN


class MomentsAgain(Sequence[Moment]):
    """Where a run stood after each of its folds, worked out when it is first looked at.

    Of a rule that looks at every user's score no more is known than whether it said stop; its
    intervals are those of the fold scores. Looking raises InputError where the rule is not known,
    or a setting or score of the run cannot be.
    """

    def __init__(self, spec: RunSpec, folds: Sequence[FoldResult], stopped_at: int | None) -> None:
        """Of a run of this spec, its folds in the order in which they came, and its stop."""
        self._spec, self._folds, self._stopped_at = spec, folds, stopped_at
        self._found: tuple[Moment, ...] | None = None

    def __len__(self) -> int:
        return len(self._folds)

    @overload
    def __getitem__(self, at: int) -> Moment: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Moment]: ...
    def __getitem__(self, at: int | slice) -> Moment | Sequence[Moment]:
        if self._found is None:
            self._found = self._worked_out()
        return self._found[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # like a list

    def _worked_out(self) -> tuple[Moment, ...]:
        from ecv_core import stopping

        spec, folds = self._spec, self._folds
        if not stopping.rule(spec.rule).needs_user_scores:
            return tuple(stopping.moments(stopping.rule_for(spec), folds, spec.confidence))
        plain = stopping.moments(stopping.Never(), folds, spec.confidence)
        return tuple(map(self._of_users, plain))

    def _of_users(self, moment: Moment) -> Moment:
        at_stop = moment.n == self._stopped_at
        said = f"the rule said {'stop' if at_stop else 'go on'}, where the run was made."
        decision = Decision(
            stop=at_stop and moment.n < self._spec.max_folds,
            reason=f"After {moment.n} folds: {said}",
        )
        return replace(moment, decision=decision)
