"""A decision on how many folds are enough -> its sentence, what would keep a promise, its table."""

from __future__ import annotations

import math

import pandas as pd

from ecv_core.analysis.tradeoff.decision import ALL_FOLDS, CarryOver, FoldsAdvice, Option
from ecv_core.figures.words import counted
from ecv_core.stopping import RULES
from ecv_core.stopping.base import AT_LEAST


def promise_words(found: FoldsAdvice) -> str:
    """'at most 2 % from the 10-fold mean in 95 % of orders'."""
    whole = f"{found.k}-fold" if len({one.k for one in found.systems}) == 1 else "k-fold"
    where = "in every order" if found.share >= 1 else f"in {100 * found.share:g} % of orders"
    return f"at most {found.within_percent:g} % from the {whole} mean {where}"


def decision_sentence(
    found: FoldsAdvice, *, whose: str = "On your data", cost: str = "energy"
) -> str:
    """The answer: 'On your data, at most 2 % from ... of orders: 7 folds (70 % of the energy).'

    Args: cost: what is spent: 'energy', or 'folds' where some system has no energy.
    """
    head = f"{whose}, {promise_words(found)}"
    if found.best.rule == ALL_FOLDS:
        return f"{head}: all {found.k} folds. No rule keeps this with fewer."
    spent = f"{found.best.outcome.cost_percent:.0f} % of the {cost}"
    return f"{head}: {option_words(found.best, found.k)} ({spent})."


def option_words(one: Option, k: int) -> str:
    """'7 folds'; '6.3 folds on average with the rule e-fold, alpha 1e-4, at least 3 folds'."""
    if one.rule == ALL_FOLDS:
        return f"all {k} folds"
    known = setting_text(one)
    if not RULES[one.rule].looks:
        return known
    return f"{one.outcome.mean_stop:.1f} folds on average with the rule {RULES[one.rule].title}" + (
        f", {known}" if known else ""
    )


def setting_text(one: Option) -> str:
    """The setting as it is typed where a run is started: 'tolerance 2.13 %, at least 1 fold'."""
    setting = one.outcome.setting
    if one.rule == ALL_FOLDS or setting is None:
        return ""
    rule = RULES[one.rule]
    if rule.axis is None:
        return ""
    text = rule.axis.in_words(setting)
    if rule.axis.scale == "folds" or "min_folds" not in rule.told:
        return text
    return f"{text}, {AT_LEAST.in_words(rule.default_folds)}"


def way_out_sentence(found: FoldsAdvice) -> str:
    """Where only all folds keep the promise: what would keep one that saves; empty elsewhere."""
    if found.needed_percent is None:
        return ""
    accept = math.ceil(10 * found.needed_percent - 1e-9) / 10
    if accept <= found.within_percent:
        return ""
    return (
        f"What would be enough: {counted(found.k - 1, 'fold')} with an acceptable difference of "
        f"{accept:g} %."
    )


def checked_sentence(found: FoldsAdvice) -> str:
    """What the cheapest option was tuned and checked on, in plain words."""
    runs, best = len(found.systems), found.best
    if best.rule == ALL_FOLDS:
        return "All folds give the k-fold mean itself, so there is nothing to check."
    kept = "each of them" if best.kept_by == runs else f"{best.kept_by} of them one by one"
    tuned = (
        "The setting was chosen on the very run that it is judged by"
        if runs == 1
        else f"The setting was chosen on the same {runs} runs that it is judged by; it keeps the "
        f"promise on average over them, and on {kept}"
    )
    if not best.checks:
        return f"{tuned}. There is one dataset, so how it does on other data is not known."
    few = "" if len(best.checks) > 2 else " (two datasets say little)"
    return (
        f"{tuned}. Checked on data left out: chosen on the other datasets, the setting keeps the "
        f"promise on {kept_words(best.checks)}{few}."
    )


def kept_words(checks: tuple[CarryOver, ...]) -> str:
    """'5 of 6 datasets'; where there is only one dataset, that it is not checked."""
    if not checks:
        return "not checked: one dataset"
    return f"{sum(one.kept for one in checks)} of {len(checks)} datasets"


def options_frame(found: FoldsAdvice) -> pd.DataFrame:
    """One row per option, cheapest first; risk is the share of orders that end further away."""
    runs = len(found.systems)
    return pd.DataFrame(
        [
            {
                "rule": f"All {found.k} folds" if one.rule == ALL_FOLDS else RULES[one.rule].title,
                "setting": setting_text(one),
                "folds": one.outcome.mean_stop,
                "cost": one.outcome.cost_percent,
                "risk": 100 * (1 - (one.outcome.within or 0.0)),
                "95 % of orders within": one.outcome.difference_quantiles[0.95],
                "runs that keep it": f"{one.kept_by} of {runs}",
                "kept on data left out": "by definition"
                if one.rule == ALL_FOLDS
                else kept_words(one.checks),
                "orders": "sampled" if one.sampled else "all",
            }
            for one in found.options
        ]
    )
