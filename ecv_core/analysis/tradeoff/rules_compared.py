"""Rules beside each other: how far off for equal energy, how much energy for an equal difference.

A rule with a setting is a line from its cheapest setting to all folds. Between two settings next to
each other lies their mix: a share of the runs uses one, the remainder the other, and what is
expected of the mix is exactly the straight line between them. So no point here is beyond what can
be run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from ecv_core.analysis.orders.outcomes import Curve
from ecv_core.analysis.tradeoff.curves import Tradeoff, joules_of
from ecv_core.analysis.tradeoff.rule_curves import RuleCurve
from ecv_core.records.arrays import Floats, Indices
from ecv_core.records.frames import with_columns
from ecv_core.stopping import PAPERS_RULE, RULES

CELLS = "cells"
"""Energy is averaged so that every run's percentage counts the same."""
JOULES = "joules"
"""Energy is averaged so that every joule counts the same."""

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


class Mix(NamedTuple):
    """A point on a rule's line, between two of its settings."""

    setting: float
    value: float
    """The difference or the cost there, in percent."""
    error: float
    """Standard error of the value; 0 where nothing was drawn."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Line:
    """A rule averaged over systems, from its cheapest setting to all folds; shape (settings,)."""

    settings: Floats
    cost: Floats
    """Percent of all folds, ascending."""
    difference: Floats
    cost_error: Floats
    """Standard errors; 0 where nothing was drawn."""
    difference_error: Floats

    @classmethod
    def averaged_over_systems(cls, rule: RuleCurve, weights: Floats) -> Line:
        """Average the cost with these weights, and the difference with equal ones.

        Args:
            rule: On some systems of a study.
            weights: The weights of every system of the study; shape (systems,).
        """
        # These are the numbers of the systems that the rule has a curve of.
        systems = list(rule.curves)
        curves = list(rule.curves.values())
        order = _cheapest_first(rule)
        # In the cost a system counts by its energy, because energies add up. In the difference to
        # the k-fold mean every system counts the same.
        cost_weights = weights[systems] / weights[systems].sum()
        equal_weights = np.full(len(curves), 1 / len(curves))
        cost_error = _error_of_mean(curves, "cost_percent", cost_weights)
        difference_error = _error_of_mean(curves, "mean_difference_percent", equal_weights)
        line = cls(
            settings=curves[0].settings[order],
            cost=cost_weights @ rule.costs[:, order],
            difference=equal_weights @ rule.differences[:, order],
            cost_error=cost_error[order],
            difference_error=difference_error[order],
        )
        # Every line ends with all folds. At setting 0 a rule that decides by sets stops no order
        # early, so its line ends there, even if a higher setting uses all folds already.
        ends_at_setting_0 = RULES[rule.rule].decides_by_sets
        dearest_setting = order[-1]
        if ends_at_setting_0 or not _uses_all_folds(rule, dearest_setting):
            return line._with_end_at_all_folds()
        return line

    def _with_end_at_all_folds(self) -> Line:
        """The line, which goes on to all folds at setting 0.

        A share of runs with all folds, mixed with runs that stop, makes any rule as careful as
        k-fold.
        """
        return Line(
            settings=np.append(self.settings, 0.0),
            cost=np.append(self.cost, 100.0),
            difference=np.append(self.difference, 0.0),
            cost_error=np.append(self.cost_error, 0.0),
            difference_error=np.append(self.difference_error, 0.0),
        )

    def at_cost(self, cost: float) -> Mix:
        """Find the setting and the difference at a cost; NaN if the rule cannot be so cheap."""
        if cost < self.cost[0] * (1 - 1e-9):  # The difference is beyond what rounding explains.
            return Mix(np.nan, np.nan, np.nan)
        # Settings of just this cost are mixed from the next cheaper and the next dearer one.
        return Mix(
            setting=float(np.interp(cost, self.cost, self.settings)),
            value=float(np.interp(cost, self.cost, self.difference)),
            error=float(np.interp(cost, self.cost, self.difference_error)),
        )

    def at_difference(self, difference: float) -> Mix:
        """Find the setting and the cost of the cheapest mix that is no further off."""
        # Settings ascend in cost. The last one uses all folds, whose difference is 0, so that one
        # of them is the first whose difference is small enough.
        first_close = int(np.argmax(self.difference <= difference))
        if first_close == 0:
            # The cheapest setting is close enough by itself, so nothing is mixed.
            return Mix(float(self.settings[0]), float(self.cost[0]), float(self.cost_error[0]))
        # On the line from the setting before to this one, the difference falls to the one asked
        # for after this share of the way.
        difference_before = self.difference[first_close - 1]
        fall = difference_before - self.difference[first_close]
        share = float((difference_before - difference) / fall)
        # An error of the difference shifts this point, and the cost with it.
        cost_per_difference = (self.cost[first_close] - self.cost[first_close - 1]) / fall
        error = _interpolated(self.cost_error, first_close, share)
        error += cost_per_difference * _interpolated(self.difference_error, first_close, share)
        return Mix(
            setting=_interpolated(self.settings, first_close, share),
            value=_interpolated(self.cost, first_close, share),
            error=error,
        )


def _cheapest_first(rule: RuleCurve) -> Indices:
    """The places of a rule's settings, from the one that costs least; shape (settings,)."""
    costs = rule.costs
    if RULES[rule.rule].decides_by_sets:
        # Its setting is a threshold: the larger, the earlier it stops.
        return np.arange(costs.shape[1])[::-1]
    return np.argsort(costs.mean(axis=0), kind="stable")


def _uses_all_folds(rule: RuleCurve, setting: int) -> bool:
    """Whether a rule lets all folds run on every system at the setting in this place."""
    differences = rule.differences[:, setting]
    return bool((differences == 0).all() and (rule.costs[:, setting] >= 100).all())


def _error_of_mean(curves: Sequence[Curve], name: str, weights: Floats) -> Floats:
    """The standard error of the weighted mean of one of the curves' fields; shape (settings,)."""
    exact = np.zeros(len(curves[0].settings))  # A curve of which nothing was drawn has no errors.
    errors = np.array([curve.standard_errors.get(name, exact) for curve in curves])
    # The curves' errors are independent, so that their squares add up.
    return np.sqrt(weights**2 @ errors**2)


def _interpolated(values: Floats, place: int, share: float) -> float:
    """The value that lies a share of the way from the place before to this place."""
    return float((1 - share) * values[place - 1] + share * values[place])


@with_columns(RULES_COLUMNS)
def rules_frame(
    explored: Tradeoff, others: Sequence[RuleCurve], alphas: Sequence[float]
) -> pd.DataFrame:
    """One row for each alpha, weighting and rule, with the RULES_COLUMNS.

    Args:
        explored: The paper's rule.
        others: The rules to compare it with.
        alphas: Settings of the paper's rule.

    Returns:
        Without the weighting by joules where some system has no energy.
    """
    # Energy in percent is averaged twice: first every system counts the same, then by its joules.
    weightings = {CELLS: np.ones(len(explored.systems))}
    joules = joules_of(explored.systems)
    if joules is not None:
        weightings[JOULES] = joules
    paper = RuleCurve(rule=PAPERS_RULE, curves=dict(enumerate(explored.curves)))
    parts = []
    for weighting, weights in weightings.items():
        for rule in [paper, *others]:
            rows = _rows_of_rule(explored, rule, alphas, weights)
            rows["weighting"] = weighting
            parts.append(rows)
    return pd.concat(parts, ignore_index=True)[list(RULES_COLUMNS)]


def _rows_of_rule(
    explored: Tradeoff, rule: RuleCurve, alphas: Sequence[float], weights: Floats
) -> pd.DataFrame:
    """Compare a rule with the paper's, over the systems for which it could be worked out.

    Args:
        explored: The paper's rule.
        rule: The other one, or the paper's rule itself.
        alphas: Settings of the paper's rule, a row each.
        weights: The weights of the energy of every system; shape (systems,).
    """
    # Both are compared on the systems that the other rule has a curve of.
    papers_curves = {number: explored.curves[number] for number in rule.curves}
    paper = RuleCurve(rule=PAPERS_RULE, curves=papers_curves)
    rows_of_alphas = explored.average.rows(alphas)
    # Rows of both arrays are systems, and columns are alphas.
    costs = paper.costs.take(rows_of_alphas, axis=1)
    differences = paper.differences.take(rows_of_alphas, axis=1)
    weights_of_rule = weights[list(rule.curves)]
    energy_percent = (weights_of_rule / weights_of_rule.sum()) @ costs
    difference_percent = differences.mean(axis=0)
    line = Line.averaged_over_systems(rule, weights)
    rows = []
    for alpha, energy, difference in zip(alphas, energy_percent, difference_percent, strict=True):
        # Each rule is compared with the paper's rule at this alpha: how far off it is for the same
        # energy, and how much energy it uses for the same difference. The paper's rule itself has
        # the same values in both comparisons. Another rule has those of a point on its line.
        equal_energy = Mix(setting=alpha, value=difference, error=0.0)
        equal_difference = Mix(setting=alpha, value=energy, error=0.0)
        if rule.rule != PAPERS_RULE:
            equal_energy = line.at_cost(float(energy))
            equal_difference = line.at_difference(float(difference))
        # A mix is unpacked into its setting, value and error, in the order of RULES_COLUMNS.
        rows.append((alpha, energy, difference, *equal_energy, *equal_difference))
    columns = [name for name in RULES_COLUMNS if name not in _SAME_IN_EVERY_ROW]
    frame = pd.DataFrame(rows, columns=columns)
    cheapest_energy_percent = line.cost[0]
    return frame.assign(
        rule=rule.rule, cells=len(papers_curves), least_energy_percent=cheapest_energy_percent
    )


_SAME_IN_EVERY_ROW = ("weighting", "rule", "cells", "least_energy_percent")
"""Columns that are the same in all rows of a rule."""
