"""A decision on how many folds are enough -> its sentence, what would keep a promise, its table."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from ecv_core.analysis.tradeoff.decision import ALL_FOLDS, CarryOver, FoldsAdvice, Option
from ecv_core.figures.words import counted
from ecv_core.records.parameters import percent_text
from ecv_core.stopping import RULES
from ecv_core.stopping.base import AT_LEAST


def promise_words(advice: FoldsAdvice) -> str:
    """'at most 2 % from the 10-fold mean in 95 % of orders'."""
    k_fold = "k-fold"
    if advice.has_equal_k:
        k_fold = f"{advice.k}-fold"
    orders = "in every order"
    if advice.share < 1:
        orders = f"in {percent_text(advice.share, 'g')} of orders"
    return f"at most {advice.within_percent:g} % from the {k_fold} mean {orders}"


def decision_sentence(advice: FoldsAdvice, cost: str) -> str:
    """The answer: 'On these data, to end at most 2 % from ...: 7 folds (70 % of the energy).'

    Args:
        advice: How many folds are enough.
        cost: What is spent: 'energy', or 'folds' where some system has no energy.
    """
    promise = f"On these data, to end {promise_words(advice)}"
    if advice.best.rule == ALL_FOLDS:
        return f"{promise}: {_all_folds_words(advice)}. No rule keeps this promise with fewer."
    spent = f"{percent_text(advice.best.outcome.cost_percent / 100, '.0f')} of the {cost}"
    return f"{promise}: {_option_words(advice.best)} ({spent})."


def enough_words(advice: FoldsAdvice) -> str:
    """The answer as a headline: '7 folds are enough', 'All 10 folds are needed'."""
    best = advice.best
    if best.rule == ALL_FOLDS:
        return f"{_all_folds_words(advice).capitalize()} are needed"
    if RULES[best.rule].decides_by_scores:
        return f"{best.outcome.mean_stop:.1f} folds on average are enough{_by_rule_words(best)}"
    # A rule that looks at no score stops after a fixed number of folds, which is its setting.
    number_of_folds = setting_text(best)
    if best.outcome.setting == 1:
        return f"{number_of_folds} is enough"
    return f"{number_of_folds} are enough"


def _all_folds_words(advice: FoldsAdvice) -> str:
    """'all 10 folds'; 'all folds' where some runs have more than others."""
    if advice.has_equal_k:
        return f"all {advice.k} folds"
    return "all folds"


def _option_words(option: Option) -> str:
    """'7 folds'; '6.3 folds on average with the rule e-fold, alpha 1e-4, at least 3 folds'."""
    if not RULES[option.rule].decides_by_scores:
        return setting_text(option)
    return f"{option.outcome.mean_stop:.1f} folds on average{_by_rule_words(option)}"


def _by_rule_words(option: Option) -> str:
    """' with the rule e-fold, alpha 1e-4, at least 3 folds'."""
    words = f" with the rule {RULES[option.rule].title}"
    setting = setting_text(option)
    if setting:
        words += f", {setting}"
    return words


def setting_text(option: Option) -> str:
    """The setting as it is typed where a run is started: 'tolerance 2.13 %, at least 1 fold'."""
    setting = option.outcome.setting
    if option.rule == ALL_FOLDS or setting is None:
        return ""
    rule = RULES[option.rule]
    if rule.axis is None:
        return ""
    text = rule.axis.in_words(setting)
    waits_for_least_folds = "min_folds" in rule.run_settings
    setting_is_number_of_folds = rule.axis.scale == "folds"
    if waits_for_least_folds and not setting_is_number_of_folds:
        text += f", {AT_LEAST.in_words(rule.default_folds)}"
    return text


def acceptable_difference_sentence(advice: FoldsAdvice) -> str:
    """Where only all folds keep the promise: what would keep one that saves; empty elsewhere."""
    if advice.percent_that_saves_a_fold is None:
        return ""
    # The number is rounded up to one decimal, so that what is shown is large enough. The tiny
    # subtraction keeps a number like 0.3 from becoming 0.4 where it is stored as
    # 0.30000000000000004.
    acceptable = math.ceil(10 * advice.percent_that_saves_a_fold - 1e-9) / 10
    if acceptable <= advice.within_percent:
        return ""
    enough_folds = "all folds but one"
    if advice.has_equal_k:
        enough_folds = counted(advice.k - 1, "fold")
    return f"With an acceptable difference of {acceptable:g} %, {enough_folds} would be enough."


def checked_sentence(advice: FoldsAdvice) -> str:
    """What the cheapest option was tuned and checked on, in plain words."""
    best = advice.best
    if best.rule == ALL_FOLDS:
        return "All folds give the k-fold mean itself, so there is nothing to check."
    runs = len(advice.systems)
    on_kept_runs = f"{best.systems_keeping_promise} of them individually"
    if best.systems_keeping_promise == runs:
        on_kept_runs = "each of them"
    if runs == 1:
        choice = "The setting was chosen and judged on the same run"
    else:
        choice = (
            f"The setting was chosen and judged on the same {runs} runs. It keeps the promise "
            f"on average over these runs, and on {on_kept_runs}"
        )
    if not best.checks:
        return (
            f"{choice}. With only one dataset, whether it keeps the promise on others is not known."
        )
    other_datasets = kept_words(best.checks)
    if len(best.checks) <= 2:
        other_datasets += " (two datasets are weak evidence)"
    return (
        f"{choice}. As a check, the setting was also chosen for each dataset on all other "
        f"datasets: chosen this way, it kept the promise on {other_datasets}."
    )


def kept_words(checks: Sequence[CarryOver]) -> str:
    """'5 of 6 datasets'; where there is only one dataset, that it is not checked."""
    if not checks:
        return "not checked: one dataset"
    return f"{sum(check.keeps_promise for check in checks)} of {len(checks)} datasets"


def options_frame(advice: FoldsAdvice) -> pd.DataFrame:
    """One row per option, cheapest first; risk is the share of orders that end further away."""
    return pd.DataFrame([_option_row(option, advice) for option in advice.options])


def _option_row(option: Option, advice: FoldsAdvice) -> dict[str, object]:
    outcome = option.outcome
    if option.rule == ALL_FOLDS:
        title = _all_folds_words(advice).capitalize()
        kept_on_datasets = "by definition"
    else:
        title = RULES[option.rule].title
        kept_on_datasets = kept_words(option.checks)
    # Outcomes have this share where an acceptable difference was given, as it is for every advice.
    share_within = outcome.within
    assert share_within is not None
    risk_percent = 100 * (1 - share_within)
    orders = "all"
    if option.sampled:
        orders = "sampled"
    return {
        "rule": title,
        "setting": setting_text(option),
        "folds": outcome.mean_stop,
        "cost": outcome.cost_percent,
        "risk": risk_percent,
        "95 % of orders within": outcome.difference_quantiles[0.95],
        "runs that keep it": f"{option.systems_keeping_promise} of {len(advice.systems)}",
        "kept on other datasets": kept_on_datasets,
        "orders": orders,
    }
