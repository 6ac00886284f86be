"""Rules beside each other: how far off for equal energy, how much energy for an equal difference.

A rule with a setting is a line from its cheapest setting to all folds. Between two settings next to
each other lies their mix: a share of the runs uses one, the rest the other, and what is expected of
the mix is exactly the straight line between them. So no point here is beyond what can be run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecv_core.analysis import exploration
from ecv_core.analysis.orders.outcomes import QUANTILES, Curve, Outcome
from ecv_core.analysis.tradeoff.curves import Tradeoff, averaged, joules_of
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line:
    """A rule over its settings, cell by cell; arrays of shape (cells, settings)."""

    rule: str
    cells: tuple[int, ...]
    """Which systems of the study, by their number."""
    settings: NDArray[np.float64]
    """In the order of ever more energy; shape (settings,)."""
    cost_percent: NDArray[np.float64]
    difference_percent: NDArray[np.float64]
    cost_error: NDArray[np.float64] | None = None
    """Standard errors, where the rule is sampled."""
    difference_error: NDArray[np.float64] | None = None

    def over(self, weights: NDArray[np.float64]) -> _Mean:
        """The mean over cells: of the cost with these weights, of the difference with equal ones.

        Args:
            weights: of every system of the study; shape (systems,).
        """
        here = weights[list(self.cells)] / weights[list(self.cells)].sum()
        even = np.full(len(here), 1 / len(here))
        none = np.zeros_like(self.cost_percent)
        return _Mean(
            settings=self.settings,
            cost=here @ self.cost_percent,
            difference=even @ self.difference_percent,
            cost_error=_spread(here, none if self.cost_error is None else self.cost_error),
            difference_error=_spread(
                even, none if self.difference_error is None else self.difference_error
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Mean:
    """A line averaged over cells; arrays of shape (settings,), costs ascending."""

    settings: NDArray[np.float64]
    cost: NDArray[np.float64]
    difference: NDArray[np.float64]
    cost_error: NDArray[np.float64]
    difference_error: NDArray[np.float64]

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


def efold_line(explored: Tradeoff) -> Line:
    """The paper's rule over its alphas."""
    return walked_line(PAPERS_RULE, dict(enumerate(explored.curves)))


def walked_line(rule: str, curves: Mapping[int, Curve]) -> Line:
    """A rule over its settings, of which larger ones are cheaper and 0 uses all folds.

    Args:
        rule: its id.
        curves: by the number of the system, of those for which it can be worked out.
    """
    end = ((0, 0), (0, 1))
    each = list(curves.values())
    costs = np.array([curve.cost_percent[::-1] for curve in each])
    differences = np.array([curve.mean_difference_percent[::-1] for curve in each])
    return Line(
        rule=rule,
        cells=tuple(curves),
        settings=np.append(each[0].settings[::-1], 0.0),
        cost_percent=np.pad(costs, end, constant_values=100.0),
        difference_percent=np.pad(differences, end),
    )


@with_columns(RULES_COLUMNS)
def rules_frame(
    explored: Tradeoff, others: Sequence[Line], alphas: Sequence[float]
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
        for line in [efold_line(explored), *others]:
            cells = list(line.cells)
            here = weights[cells] / weights[cells].sum()
            energies, offs = here @ cost[cells], difference[cells].mean(axis=0)
            mean = line.over(weights)
            for alpha, energy, off in zip(alphas, energies, offs, strict=True):
                own = (alpha, off, 0.0), (alpha, energy, 0.0)
                same, equal = (
                    own
                    if line.rule == PAPERS_RULE
                    else (
                        mean.at_cost(float(energy)),
                        mean.at_difference(float(off)),
                    )
                )
                found.append(
                    (
                        alpha,
                        weighting,
                        line.rule,
                        len(cells),
                        energy,
                        off,
                        *same,
                        *equal,
                        mean.cost[0],
                    )
                )
    return pd.DataFrame(found, columns=list(RULES_COLUMNS))


def _between(values: NDArray[np.float64], place: int, share: float) -> float:
    return float((1 - share) * values[place - 1] + share * values[place])


def _spread(weights: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard error of a weighted mean of independent numbers; shape (settings,)."""
    found: NDArray[np.float64] = np.sqrt(weights**2 @ errors**2)
    return found


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RuleCurve:
    """A registered rule over its settings."""

    rule: str
    curves: tuple[Curve, ...]
    """One per system; their settings are values of `Rule.axis`, or ONLY."""
    curve: Curve
    """Their average."""
    sampled: bool


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
    walk = exploration.explore(scores, known.id, min_folds=known.default_folds)
    return walk.curve(settings_of(known, len(scores.folds)), within_percent=within_percent)


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
        if known.by_sets and known.needs_user_scores and scores.users is not None:
            with suppress(InputError):  # too many folds for it
                found[known.id] = walked(known, scores, within_percent=within_percent)
    return found


def outcomes(
    known: Rule,
    system: Scores,
    settings: Sequence[float],
    *,
    draws: int = DRAWS,
    seed: int = 0,
    within_percent: float | None = None,
) -> list[Outcome]:
    """What the rule does to a system, setting by setting; over the same orders where it is sampled.

    Raises: InputError for a rule that needs what is not known of this system.
    """
    return [
        exploration.outcome(
            system,
            _built(known, system, setting),
            draws=draws,
            seed=seed,
            within_percent=within_percent,
        )
        for setting in settings
    ]


Known = Mapping[str, Mapping[int, Curve]]
"""Rule -> number of the system -> its curve, as `curves_of_run` gives it."""


def registered_curves(
    systems: Sequence[Scores], known: Known | None = None, *, within_percent: float
) -> list[RuleCurve]:
    """Every registered rule but the paper's and those that look at no score.

    In the registry's order. Those that cannot be worked out for every system, for want of users'
    scores, are left out.
    """
    found = []
    for rule in RULES.values():
        if rule.id == PAPERS_RULE or not rule.looks:
            continue
        curves, sampled = _curves(rule, systems, (known or {}).get(rule.id), within_percent)
        if len(curves) == len(systems):
            average = averaged(curves)
            found.append(
                RuleCurve(rule=rule.id, curves=tuple(curves), curve=average, sampled=sampled)
            )
    return found


def curves_of_users(systems: Sequence[Scores], known: Known) -> list[RuleCurve]:
    """Of `registered_curves` those that are given: of every system, by rules that need users."""
    return [
        RuleCurve(
            rule=rule,
            curves=tuple(curves.values()),
            curve=averaged(list(curves.values())),
            sampled=False,
        )
        for rule, curves in known.items()
        if len(curves) == len(systems)
    ]


def _curves(
    rule: Rule,
    systems: Sequence[Scores],
    known: Mapping[int, Curve] | None,
    within_percent: float,
) -> tuple[list[Curve], bool]:
    """Of each system, as far as they can be worked out; and whether orders were drawn."""
    if rule.by_sets and rule.needs_user_scores:
        return list((known or {}).values()), False
    with suppress(InputError):
        if rule.by_sets:
            found = [walked(rule, one, within_percent=within_percent) for one in systems]
            return found, False
        settings = settings_of(rule, max(system.k for system in systems))
        rows = [
            outcomes(rule, system, settings, seed=number, within_percent=within_percent)
            for number, system in enumerate(systems)
        ]
        sampled = any(one.orders is not None for row in rows for one in row)
        return [_curve(settings, row) for row in rows], sampled
    return [], False


def other_lines(systems: Sequence[Scores], known: Known | None = None) -> list[Line]:
    """Every registered rule to compare the paper's with, the simpler first.

    Args:
        systems: the study's.
        known: the curves of rules that need users' scores; may be empty.
    """
    found = []
    for rule in sorted(RULES.values(), key=lambda one: (one.looks, one.needs_user_scores)):
        if rule.id in (PAPERS_RULE, NEVER_STOPS):
            continue
        if not rule.by_sets:
            line = asked_line(rule, systems)
        elif rule.needs_user_scores:
            curves = (known or {}).get(rule.id)
            line = walked_line(rule.id, curves) if curves else None
        else:
            curves = {number: walked(rule, one) for number, one in enumerate(systems)}
            line = walked_line(rule.id, curves)
        found += [line] if line is not None else []
    return found


def asked_line(known: Rule, systems: Sequence[Scores]) -> Line | None:
    """Any rule over its settings, to all folds; None if no system has what it needs to decide."""
    settings = np.array(settings_of(known, max(one.k for one in systems)))
    draws = MANY_DRAWS if issubclass(known.kind, OrderRule) else DRAWS
    rows = {}
    for number, one in enumerate(systems):
        with suppress(InputError):  # for want of users' scores
            rows[number] = outcomes(known, one, settings.tolist(), draws=draws, seed=number)
    if not rows:
        return None
    names = ("cost_percent", "mean_difference_percent")
    cost, difference = (
        np.array([[getattr(at, name) for at in row] for row in rows.values()]) for name in names
    )
    cost_error, difference_error = (
        np.array([[at.standard_errors.get(name, 0.0) for at in row] for row in rows.values()])
        for name in names
    )
    order = np.argsort(cost.mean(axis=0), kind="stable")
    whole = bool((difference[:, order[-1]] == 0).all() and (cost[:, order[-1]] >= 100).all())
    # A share of all folds in the mix makes any rule as careful as k-fold.
    end = ((0, 0), (0, 0 if whole else 1))
    return Line(
        rule=known.id,
        cells=tuple(rows),
        settings=np.append(settings[order], [] if whole else 0.0),
        cost_percent=np.pad(cost.take(order, axis=1), end, constant_values=100.0),
        difference_percent=np.pad(difference.take(order, axis=1), end),
        cost_error=np.pad(cost_error.take(order, axis=1), end),
        difference_error=np.pad(difference_error.take(order, axis=1), end),
    )


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


def _curve(settings: Sequence[float], row: Sequence[Outcome]) -> Curve:
    k = row[0].k
    within = [one.within for one in row if one.within is not None]
    return Curve(
        k=k,
        settings=np.array(settings),
        stop_distribution=np.array(
            [[one.stop_distribution.get(n, 0.0) for n in range(1, k + 1)] for one in row]
        ),
        mean_difference_percent=np.array([one.mean_difference_percent for one in row]),
        difference_quantiles=np.array(
            [[one.difference_quantiles[share] for share in QUANTILES] for one in row]
        ),
        coverage=np.array([one.coverage for one in row]),
        cost_percent=np.array([one.cost_percent for one in row]),
        within=np.array(within) if len(within) == len(row) else None,
    )
