"""The registered rules over their settings: what each does to every system.

Exact where `exploration.outcome` is, sampled where it samples. Rules whose curves are worked out in
one walk (e-fold, precision, fixed) need not be asked; `other_lines` knows which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from ecv_core.analysis import exploration
from ecv_core.analysis.orders import QUANTILES, Curve, Outcome
from ecv_core.analysis.tradeoff.curves import averaged
from ecv_core.analysis.tradeoff.rules import Line, fixed_line, precision_line, stagnation_line
from ecv_core.errors import InputError
from ecv_core.records import RunSpec, Scores
from ecv_core.stopping import RULES, Rule, StoppingRule

DRAWS = 200
"""Orders drawn per system and setting of a rule that is asked one decision at a time: the mean over
40 systems is then known to 0.05 points."""
ALPHAS = tuple(10.0**power for power in range(-7, -1))
TOLERANCES = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5)
ONLY = 1.0
"""The setting of a rule that has none."""
WALKED = ("e-fold", "precision", "fixed", "never")
"""Rules that need not be asked: worked out in one walk, or all folds."""


_FIRST = ("fixed", "std-stagnation", "precision")


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
    match known.axis:
        case "alpha":
            return list(ALPHAS)
        case "tolerance":
            return list(TOLERANCES)
        case "min_folds":
            return [float(n) for n in range(min(known.default_folds, k), k + 1)]
    return [ONLY]


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


def registered_curves(systems: Sequence[Scores], *, within_percent: float) -> list[RuleCurve]:
    """Every registered rule that is not WALKED, in the registry's order.

    Those that cannot be worked out for every system, for want of users' scores, are left out.
    """
    most = max(system.k for system in systems)
    found = []
    for known in RULES.values():
        if known.id in WALKED:
            continue
        settings = settings_of(known, most)
        try:
            each = [
                outcomes(known, system, settings, seed=number, within_percent=within_percent)
                for number, system in enumerate(systems)
            ]
        except InputError:
            continue
        curves = [_curve(settings, row) for row in each]
        sampled = any(one.orders is not None for row in each for one in row)
        found.append(
            RuleCurve(rule=known.id, curves=tuple(curves), curve=averaged(curves), sampled=sampled)
        )
    return found


def other_lines(systems: Sequence[Scores], precision: Mapping[int, Curve]) -> list[Line]:
    """Every registered rule to compare the paper's with: the baseline, those of _FIRST, the rest.

    Args:
        systems: the study's.
        precision: the precision rule's curves, as for `precision_line`; may be empty.
    """
    found = []
    for known in (RULES[name] for name in dict.fromkeys([*_FIRST, *RULES])):
        match known.id:
            case "e-fold" | "never":
                continue
            case "fixed":
                line: Line | None = fixed_line(systems)
            case "std-stagnation":
                line = stagnation_line(systems)
            case "precision":
                line = precision_line(precision) if precision else None
            case _:
                line = asked_line(known, systems)
        found += [line] if line is not None else []
    return found


def asked_line(known: Rule, systems: Sequence[Scores]) -> Line | None:
    """Any rule over its settings, to all folds; None if no system has what it needs to decide."""
    settings = np.array(settings_of(known, max(one.k for one in systems)))
    rows = {}
    for number, one in enumerate(systems):
        with suppress(InputError):  # for want of users' scores
            rows[number] = outcomes(known, one, settings.tolist(), seed=number)
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
    end = ((0, 0), (0, 1))  # a share of all folds in the mix makes any rule as careful as k-fold
    return Line(
        rule=known.id,
        cells=tuple(rows),
        settings=np.append(settings[order], 0.0),
        cost_percent=np.pad(cost[:, order], end, constant_values=100.0),
        difference_percent=np.pad(difference[:, order], end),
        cost_error=np.pad(cost_error[:, order], end),
        difference_error=np.pad(difference_error[:, order], end),
    )


def _built(known: Rule, system: Scores, setting: float) -> StoppingRule:
    spec = {"min_folds": min(known.default_folds, system.k), "tolerance": TOLERANCES[0]}
    if known.axis is not None:
        spec[known.axis] = setting
    spec["min_folds"] = min(int(spec["min_folds"]), system.k)
    return known.build(
        RunSpec(
            dataset=system.dataset,
            algorithm=system.algorithm,
            k=system.k,
            rule=known.id,
            **spec,  # type: ignore[arg-type]  # numbers all
        )
    )


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
