"""Rules beside each other: how far off for equal energy, how much energy for an equal difference.

A rule with a setting is a line from its cheapest setting to all folds. Between two settings next to
each other lies their mix: a share of the runs uses one, the rest the other, and what is expected of
the mix is exactly the straight line between them. So no point here is beyond what can be run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecv_core.analysis.orders import Curve
from ecv_core.analysis.tradeoff.curves import Tradeoff, joules_of
from ecv_core.frames import with_columns
from ecv_core.stopping import PAPERS_RULE

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
                        *(alpha, weighting, line.rule, len(cells), energy, off),
                        *(*same, *equal, mean.cost[0]),
                    )
                )
    return pd.DataFrame(found, columns=list(RULES_COLUMNS))


def _between(values: NDArray[np.float64], place: int, share: float) -> float:
    return float((1 - share) * values[place - 1] + share * values[place])


def _spread(weights: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard error of a weighted mean of independent numbers; shape (settings,)."""
    found: NDArray[np.float64] = np.sqrt(weights**2 @ errors**2)
    return found
