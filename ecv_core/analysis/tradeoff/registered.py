"""The registered rules over their settings: what each does to every system.

Exact where `exploration.outcome` is, sampled where it samples. Of a rule that decides by sets of
folds one walk gives the whole curve; one that needs users' scores as well is given with its curves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from ecv_core.analysis import exploration
from ecv_core.analysis.orders import QUANTILES, Curve, Outcome
from ecv_core.analysis.tradeoff.curves import averaged
from ecv_core.analysis.tradeoff.rules import Line, walked_line
from ecv_core.errors import InputError
from ecv_core.records import RunSpec, Scores
from ecv_core.stopping import NEVER_STOPS, PAPERS_RULE, RULES, Rule, StoppingRule
from ecv_core.stopping.base import OrderRule, first_stop

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
"""Rule -> number of the system -> its curve, of rules that need users' scores: see `users`."""


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
