"""Rules beside each other: how far off for equal energy, how much energy for an equal difference.

A rule with a setting is a line from its cheapest setting to all folds. Between two settings next to
each other lies their mix: a share of the runs uses one, the rest the other, and what is expected of
the mix is exactly the straight line between them. So no point here is beyond what can be run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecv_core.analysis import exploration
from ecv_core.analysis.orders.outcomes import Curve, curve_of_outcomes
from ecv_core.analysis.tradeoff.curves import Tradeoff, averaged, joules_of
from ecv_core.analysis.tradeoff.recorded import recorded_curve
from ecv_core.records.errors import InputError
from ecv_core.records.frames import with_columns
from ecv_core.records.run import Scores
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import NEVER_STOPS, PAPERS_RULE, RULES, Rule, StoppingRule
from ecv_core.stopping.base import OrderRule, first_stop

CELLS, JOULES = "cells", "joules"
"""How energy is averaged: every run's percentage counts the same, or every joule does."""

RULES_COLUMNS = {
    "alpha": "of the e-fold rule, which the others are compared with",
    "weighting": "'cells': every run's energy in percent counts the same; 'joules': the sum of "
    "all runs' joules, in which large data and neural models dominate",
    "rule": "the stopping rule",
    "cells": "how many runs it could be worked out for; e-fold is compared over the same ones",
    "energy_percent": "energy that e-fold uses there at this alpha, of all k folds",
    "difference_percent": "e-fold's mean difference to the k-fold mean there",
    "equal_energy_setting": "the rule's setting with which it uses the same energy",
    "equal_energy_difference_percent": "and how far off it then is; empty where it cannot be so "
    "cheap",
    "equal_energy_error": "standard error of that; 0 where it is exact",
    "equal_difference_setting": "the rule's cheapest setting that is no further off",
    "equal_difference_energy_percent": "and the energy that it then uses",
    "equal_difference_error": "standard error of that; 0 where it is exact",
    "least_energy_percent": "the least energy that the rule can use",
}
"""The rules frame's columns and what they mean."""
_AVERAGED = ("cost_percent", "mean_difference_percent")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RuleCurve:
    """A rule over its settings, on the systems for which it could be worked out."""

    rule: str
    curves: Mapping[int, Curve]
    """By the number of the system; their settings are values of `Rule.axis`, or ONLY."""

    @property
    def average(self) -> Curve:
        """Over the systems, each counting the same."""
        return averaged(list(self.curves.values()))

    @property
    def sampled(self) -> bool:
        """Whether orders were drawn; otherwise all of them are counted."""
        return any(curve.standard_errors for curve in self.curves.values())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line:
    """A rule averaged over systems, from its cheapest setting to all folds; shape (settings,)."""

    settings: NDArray[np.float64]
    cost: NDArray[np.float64]
    """Percent of all folds, ascending."""
    difference: NDArray[np.float64]
    cost_error: NDArray[np.float64]
    """Standard errors; 0 where nothing was drawn."""
    difference_error: NDArray[np.float64]

    @classmethod
    def of(cls, rule: RuleCurve, weights: NDArray[np.float64]) -> Line:
        """The mean of the cost with these weights, and of the difference with equal ones.

        Args:
            rule: on some systems of a study.
            weights: of every system of the study; shape (systems,).
        """
        each = list(rule.curves.values())
        settings = each[0].settings
        cost, difference = (
            np.array([getattr(curve, name) for curve in each]) for name in _AVERAGED
        )
        cost_error, difference_error = (
            np.array([curve.standard_errors.get(name, np.zeros(len(settings))) for curve in each])
            for name in _AVERAGED
        )
        if RULES[rule.rule].by_sets:  # larger settings are cheaper
            order, whole = np.arange(len(settings))[::-1], False
        else:
            order = np.argsort(cost.mean(axis=0), kind="stable")
            last = order[-1]
            whole = bool((difference[:, last] == 0).all() and (cost[:, last] >= 100).all())
        # A share of all folds in the mix makes any rule as careful as k-fold.
        end = ((0, 0), (0, 0 if whole else 1))
        here = weights[list(rule.curves)] / weights[list(rule.curves)].sum()
        even = np.full(len(here), 1 / len(here))
        return cls(
            settings=np.append(settings[order], [] if whole else 0.0),
            cost=here @ np.pad(cost.take(order, axis=1), end, constant_values=100.0),
            difference=even @ np.pad(difference.take(order, axis=1), end),
            cost_error=_spread(here, np.pad(cost_error.take(order, axis=1), end)),
            difference_error=_spread(even, np.pad(difference_error.take(order, axis=1), end)),
        )

    def at_cost(self, cost: float) -> tuple[float, float, float]:
        """Setting, difference and its standard error at this cost; NaN if it cannot be so cheap."""
        if cost < self.cost[0] * (1 - 1e-9):
            return (np.nan, np.nan, np.nan)
        place = int(np.clip(np.searchsorted(self.cost, cost, side="right"), 1, len(self.cost) - 1))
        gap = self.cost[place] - self.cost[place - 1]
        share = float(np.clip((cost - self.cost[place - 1]) / gap, 0, 1)) if gap > 0 else 1.0
        return (
            _between(self.settings, place, share),
            _between(self.difference, place, share),
            _between(self.difference_error, place, share),
        )

    def at_difference(self, difference: float) -> tuple[float, float, float]:
        """Setting, cost and its standard error of the cheapest mix that is no further off."""
        place = int(np.argmax(self.difference <= difference))  # all folds are never off: there is
        if place == 0:
            return float(self.settings[0]), float(self.cost[0]), float(self.cost_error[0])
        drop = self.difference[place - 1] - self.difference[place]
        share = float((self.difference[place - 1] - difference) / drop)
        steepness = (self.cost[place] - self.cost[place - 1]) / drop
        error = _between(self.cost_error, place, share)
        error += steepness * _between(self.difference_error, place, share)
        return _between(self.settings, place, share), _between(self.cost, place, share), error


@with_columns(RULES_COLUMNS)
def rules_frame(
    explored: Tradeoff, others: Sequence[RuleCurve], alphas: Sequence[float]
) -> pd.DataFrame:
    """One row per alpha, weighting and rule, with the RULES_COLUMNS.

    Args:
        explored: the paper's rule.
        others: the rules to compare it with.
        alphas: settings of the paper's rule.
    Returns: without the weighting by joules where some system has no energy.
    """
    systems = explored.systems
    even = np.ones(len(systems))
    weightings = {CELLS: even}
    if (joules := joules_of(systems)) is not None:
        weightings[JOULES] = joules
    curves = explored.curves
    rows = explored.average.rows(alphas)
    cost = np.array([curve.cost_percent[rows] for curve in curves])
    difference = np.array([curve.mean_difference_percent[rows] for curve in curves])
    found = []
    for weighting, weights in weightings.items():
        for rule in [RuleCurve(rule=PAPERS_RULE, curves=dict(enumerate(curves))), *others]:
            cells = list(rule.curves)
            here = weights[cells] / weights[cells].sum()
            energies, offs = here @ cost[cells], difference[cells].mean(axis=0)
            line = Line.of(rule, weights)
            for alpha, energy, off in zip(alphas, energies, offs, strict=True):
                own = (alpha, off, 0.0), (alpha, energy, 0.0)
                same, equal = (
                    own
                    if rule.rule == PAPERS_RULE
                    else (line.at_cost(float(energy)), line.at_difference(float(off)))
                )
                known = (alpha, weighting, rule.rule, len(cells), energy, off)
                found.append((*known, *same, *equal, line.cost[0]))
    return pd.DataFrame(found, columns=list(RULES_COLUMNS))


def _between(values: NDArray[np.float64], place: int, share: float) -> float:
    return float((1 - share) * values[place - 1] + share * values[place])


def _spread(weights: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard error of a weighted mean of independent numbers; shape (settings,)."""
    return np.sqrt(weights**2 @ errors**2)


# The registered rules over their settings: what each does to every system.
#
# Exact where `exploration.outcome` is, sampled where it samples. Of a rule that decides by sets of
# folds one walk gives the whole curve; one that needs users' scores as well is given with its
# curves.


DRAWS = 200
"""Orders drawn per system and setting of a rule that is asked one decision at a time: the mean over
40 systems is then known to 0.05 points."""
MANY_DRAWS = 1000
"""The same in a line of a rule that decides for many orders at once: known to 0.02 points."""
ONLY = 1.0
"""The setting of a rule that has none."""


def settings_of(known: Rule, k: int) -> list[float]:
    """The values of the rule's axis that are tried with k folds, ascending."""
    if known.axis is None:
        return [ONLY]
    if known.axis.scale == "folds":
        least = known.build(RunSpec(dataset="", algorithm="", k=k, min_folds=known.least_folds))
        return [float(n) for n in range(min(first_stop(least), k), k + 1)]
    return known.axis.values()


def walked(known: Rule, scores: Scores, *, within_percent: float | None = None) -> Curve:
    """A rule that decides by sets of folds over its settings.

    Raises: InputError for scores that cannot be explored, or without users' where it needs them.
    """
    settings = settings_of(known, len(scores.folds))
    if found := recorded_curve(scores, known.id, settings, within_percent):
        return found
    walk = exploration.explore(scores, known.id, min_folds=known.default_folds)
    return walk.curve(settings, within_percent=within_percent)


def curves_of_run(scores: Scores, *, within_percent: float) -> dict[str, Curve]:
    """The curve of each rule that decides by sets of folds and needs users' scores, by its id.

    Empty where a fold came without them, where k is too large, and for a metric that has one value
    per fold and none per user.

    Args:
        scores: of a whole run.
        within_percent: the difference to count as close enough.
    """
    found = {}
    for known in RULES.values():
        if known.by_sets and known.needs_user_scores:
            with suppress(InputError):  # too many folds for it, or no users' scores
                found[known.id] = walked(known, scores, within_percent=within_percent)
    return found


Known = Mapping[str, Mapping[int, Curve]]
"""Rule -> number of the system -> its curve."""


def by_rule(curves: Iterable[Mapping[str, Curve]]) -> Known:
    """What `curves_of_run` gives of each system in turn, rule by rule."""
    found: dict[str, dict[int, Curve]] = {}
    for number, of_run in enumerate(curves):
        for rule, curve in of_run.items():
            found.setdefault(rule, {})[number] = curve
    return found


def curve_of(
    known: Rule,
    system: Scores,
    settings: Sequence[float],
    *,
    draws: int = DRAWS,
    seed: int = 0,
    within_percent: float | None = None,
) -> Curve:
    """Any rule over its settings; over the same orders at each where it is sampled.

    Raises: InputError for a rule that needs what is not known of this system.
    """
    if kept := recorded_curve(system, known.id, settings, within_percent):
        return kept
    found = [
        exploration.outcome(
            system,
            _built(known, system, setting),
            draws=draws,
            seed=seed,
            within_percent=within_percent,
        )
        for setting in settings
    ]
    return curve_of_outcomes(found, settings)


def rule_curve(
    rule: Rule,
    systems: Sequence[Scores],
    known: Known,
    *,
    draws: int = DRAWS,
    within_percent: float | None = None,
) -> RuleCurve:
    """A registered rule, on the systems that have what it needs to decide.

    Args:
        rule: what to work out.
        systems: in the order of their numbers.
        known: the curves of rules that need users' scores; may be empty.
        draws: orders per system and setting, where the rule is sampled.
        within_percent: the difference to count as close enough.
    """
    curves: dict[int, Curve] = {}
    if rule.by_sets and rule.needs_user_scores:
        return RuleCurve(rule=rule.id, curves=known.get(rule.id, {}))
    settings = settings_of(rule, max(system.k for system in systems))
    for number, one in enumerate(systems):
        with suppress(InputError):  # for want of users' scores
            curves[number] = (
                walked(rule, one, within_percent=within_percent)
                if rule.by_sets
                else curve_of(
                    rule, one, settings, draws=draws, seed=number, within_percent=within_percent
                )
            )
    return RuleCurve(rule=rule.id, curves=curves)


def registered_curves(
    systems: Sequence[Scores], known: Known | None = None, *, within_percent: float
) -> list[RuleCurve]:
    """Every registered rule but the paper's and those that look at no score.

    In the registry's order. Those that cannot be worked out for every system, for want of users'
    scores, are left out.
    """
    found = [
        rule_curve(rule, systems, known or {}, within_percent=within_percent)
        for rule in RULES.values()
        if rule.id != PAPERS_RULE and rule.looks
    ]
    return [one for one in found if len(one.curves) == len(systems)]


def compared_curves(systems: Sequence[Scores], known: Known | None = None) -> list[RuleCurve]:
    """Every registered rule to compare the paper's with, the simpler first.

    Args:
        systems: the study's.
        known: the curves of rules that need users' scores; may be empty.
    """
    found = [
        rule_curve(
            rule,
            systems,
            known or {},
            draws=MANY_DRAWS if issubclass(rule.kind, OrderRule) else DRAWS,
        )
        for rule in sorted(RULES.values(), key=lambda one: (one.looks, one.needs_user_scores))
        if rule.id not in (PAPERS_RULE, NEVER_STOPS)
    ]
    return [one for one in found if one.curves]


def _built(known: Rule, system: Scores, setting: float) -> StoppingRule:
    spec = RunSpec(
        dataset=system.dataset,
        algorithm=system.algorithm,
        k=system.k,
        rule=known.id,
        min_folds=min(known.default_folds, system.k),
    )
    axis = known.axis
    if axis is not None and axis.scale == "folds":
        spec = replace(spec, min_folds=min(int(setting), system.k))
    elif axis is not None:
        spec = replace(spec, rule_params=((axis.name, axis.parse(setting)),))
    return known.build(spec)
