"""Registered rules over their settings -> what each does to every system.

Exact where `exploration.outcome_over_orders` is, sampled where it samples. Of a rule that decides
by sets of folds one walk gives the whole curve; those of rules that need users' scores as well are
handed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from ecv_core.analysis import exploration
from ecv_core.analysis.orders.outcomes import Curve, curve_of_outcomes
from ecv_core.analysis.tradeoff.curves import averaged, most_folds
from ecv_core.analysis.tradeoff.recorded import recorded_curve
from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import NEVER_STOPS, PAPERS_RULE, RULES, Rule, StoppingRule
from ecv_core.stopping.base import OrderRule, first_stop

DRAWS = 200
"""Orders drawn per system and setting of a rule that is asked one decision at a time: the mean over
40 systems is then known to 0.05 points."""
MANY_DRAWS = 1000
"""The same in a line of a rule that decides for many orders at once: known to 0.02 points."""
ONLY = 1.0
"""The setting of a rule that has none."""

CurvesByRule = Mapping[str, Mapping[int, Curve]]
"""Id of a rule -> number of the system -> its curve."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RuleCurve:
    """A rule over its settings, on the systems for which it could be worked out."""

    rule: str
    curves: Mapping[int, Curve]
    """By the number of the system; their settings are values of `Rule.axis`, or ONLY."""

    @property
    def costs(self) -> Floats:
        """The cost in percent of all folds; shape (systems, settings)."""
        return np.array([curve.cost_percent for curve in self.curves.values()])

    @property
    def differences(self) -> Floats:
        """The mean difference to the k-fold mean in percent; shape (systems, settings)."""
        return np.array([curve.mean_difference_percent for curve in self.curves.values()])

    @property
    def average(self) -> Curve:
        """Over the systems, each counting the same."""
        return averaged(list(self.curves.values()))

    @property
    def sampled(self) -> bool:
        """Whether orders were drawn; otherwise all of them are counted."""
        return any(curve.standard_errors for curve in self.curves.values())


def axis_values(rule: Rule, k: int) -> list[float]:
    """The values of the rule's axis that are tried with k folds, ascending."""
    if rule.axis is None:
        return [ONLY]
    if rule.axis.scale == "folds":
        # The least number of folds is that after which the rule itself can stop first.
        spec = RunSpec(dataset="", algorithm="", k=k, min_folds=rule.least_folds)
        least = min(first_stop(rule.build(spec)), k)
        return [float(n) for n in range(least, k + 1)]
    return rule.axis.values()


def curve_of_rule(
    rule: Rule,
    system: Scores,
    settings: Sequence[float],
    *,
    draws: int = DRAWS,
    seed: int = 0,
    within_percent: float | None,
) -> Curve:
    """Work out any rule over its settings, or take what is kept of a recorded run.

    Args:
        rule: A registered one.
        system: The fold scores.
        settings: Values of the rule's axis, ascending.
        draws: How many orders are drawn, where the rule is sampled.
        seed: The seed of the orders, which are the same at each setting.
        within_percent: The difference to count as close enough.

    Raises:
        InputError: For scores that cannot be explored, or where the rule needs what this system
            lacks, such as users' scores.
    """
    curve = recorded_curve(system, rule.id, settings, within_percent)
    if curve is not None:
        return curve
    # One walk through the sets of folds gives every setting, exactly.
    if rule.decides_by_sets:
        orders = exploration.explore(system, rule.id, min_folds=rule.default_folds)
        return orders.curve(settings, within_percent=within_percent)
    outcomes = []
    for setting in settings:
        outcome = exploration.outcome_over_orders(
            system,
            _rule_at_setting(rule, system, setting),
            draws=draws,
            seed=seed,
            within_percent=within_percent,
        )
        outcomes.append(outcome)
    return curve_of_outcomes(outcomes, settings)


def _rule_at_setting(rule: Rule, system: Scores, setting: float) -> StoppingRule:
    """The rule for this system, with its axis at this setting."""
    spec = RunSpec(
        dataset=system.dataset,
        algorithm=system.algorithm,
        k=system.k,
        rule=rule.id,
        min_folds=min(rule.default_folds, system.k),
    )
    axis = rule.axis
    if axis is not None and axis.scale == "folds":
        spec = replace(spec, min_folds=min(int(setting), system.k))
    elif axis is not None:
        spec = replace(spec, rule_params=((axis.name, axis.parse(setting)),))
    return rule.build(spec)


def curves_of_run(scores: Scores, *, within_percent: float) -> dict[str, Curve]:
    """The curve of each rule that decides by sets of folds and needs users' scores, by its id.

    Empty where a fold came without them, where k is too large, and for a metric that has one value
    per fold and none per user.

    Args:
        scores: The scores of a whole run.
        within_percent: The difference to count as close enough.
    """
    curves = {}
    for rule in RULES.values():
        if rule.decides_by_sets and rule.needs_user_scores:
            settings = axis_values(rule, scores.k)
            with suppress(InputError):  # The run has too many folds for it, or no users' scores.
                curves[rule.id] = curve_of_rule(
                    rule, scores, settings, within_percent=within_percent
                )
    return curves


def curves_by_rule(curves_of_systems: Iterable[Mapping[str, Curve]]) -> CurvesByRule:
    """Sort by rule what `curves_of_run` gives of each system in turn."""
    curves: dict[str, dict[int, Curve]] = {}
    for number, curve_by_rule in enumerate(curves_of_systems):
        for rule, curve in curve_by_rule.items():
            curves.setdefault(rule, {})[number] = curve
    return curves


def work_out_rule_curve(
    rule: Rule,
    systems: Sequence[Scores],
    user_curves_by_rule: CurvesByRule,
    *,
    draws: int = DRAWS,
    within_percent: float | None = None,
) -> RuleCurve:
    """The curve of a registered rule on each of the systems that have what it needs to decide.

    Args:
        rule: Whose curves are worked out.
        systems: In the order of their numbers: the first is number 0.
        user_curves_by_rule: The curves that `curves_of_run` has worked out; may be empty.
        draws: Orders per system and setting, where the rule is sampled.
        within_percent: The difference to count as close enough.
    """
    if rule.decides_by_sets and rule.needs_user_scores:
        # It takes long to go through all sets of folds with every user's score. So
        # `curves_of_run` has worked these curves out before, run by run.
        return RuleCurve(rule=rule.id, curves=user_curves_by_rule.get(rule.id, {}))
    settings = axis_values(rule, most_folds(systems))
    curves: dict[int, Curve] = {}
    for number, system in enumerate(systems):
        try:
            curve = curve_of_rule(
                rule, system, settings, draws=draws, seed=number, within_percent=within_percent
            )
        except InputError:
            # The rule cannot decide on this system, which has no users' scores, for example, or
            # too many folds to go through all sets of them. That it has no curve tells callers so.
            continue
        curves[number] = curve
    return RuleCurve(rule=rule.id, curves=curves)


def registered_curves(
    systems: Sequence[Scores],
    user_curves_by_rule: CurvesByRule,
    *,
    within_percent: float,
) -> list[RuleCurve]:
    """Every registered rule but the paper's and those that look at no score.

    Args:
        systems: At least one.
        user_curves_by_rule: The curves of rules that need users' scores; may be empty.
        within_percent: The difference to count as close enough.

    Returns:
        In the registry's order, without those that cannot be worked out for every system.
    """
    rule_curves = []
    for rule in RULES.values():
        if rule.id == PAPERS_RULE or not rule.decides_by_scores:
            continue
        rule_curve = work_out_rule_curve(
            rule, systems, user_curves_by_rule, within_percent=within_percent
        )
        if len(rule_curve.curves) == len(systems):
            rule_curves.append(rule_curve)
    return rule_curves


def compared_curves(
    systems: Sequence[Scores], user_curves_by_rule: CurvesByRule
) -> list[RuleCurve]:
    """Every registered rule to compare the paper's with, the simpler first.

    Args:
        systems: The study's.
        user_curves_by_rule: The curves of rules that need users' scores; may be empty.

    Returns:
        Without those that cannot be worked out for any system.
    """

    def complexity(rule: Rule) -> tuple[bool, bool]:
        """What a rule looks at; False sorts before True."""
        return rule.decides_by_scores, rule.needs_user_scores

    rule_curves = []
    for rule in sorted(RULES.values(), key=complexity):
        if rule.id in (PAPERS_RULE, NEVER_STOPS):
            continue
        draws = DRAWS
        if issubclass(rule.kind, OrderRule):
            draws = MANY_DRAWS
        rule_curve = work_out_rule_curve(rule, systems, user_curves_by_rule, draws=draws)
        if rule_curve.curves:
            rule_curves.append(rule_curve)
    return rule_curves
