"""When to stop folding: the rules, and what a rule says along a run, live or recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from ecv_core.errors import InputError, UnknownName
from ecv_core.plugins import Registry
from ecv_core.records import SETTINGS, FoldResult, Interval, Moment, RunSpec
from ecv_core.stopping.after_stop import stop_interval
from ecv_core.stopping.base import OwnInterval, OwnMean, Rule, StoppingRule
from ecv_core.stopping.efold import E_FOLD, EFold
from ecv_core.stopping.fixed import FIXED, Fixed
from ecv_core.stopping.interval import difference_percent, mean_and_deviation, mean_interval
from ecv_core.stopping.never import NEVER, Never
from ecv_core.stopping.precision import PRECISION, Precision
from ecv_core.stopping.registering import load_plugins, record_of
from ecv_core.stopping.stagnation import STD_STAGNATION, StdStagnation

__all__ = [
    "RULES",
    "EFold",
    "Fixed",
    "Never",
    "Precision",
    "Rule",
    "StdStagnation",
    "StoppingRule",
    "difference_percent",
    "interval_after_stop",
    "mean_interval",
    "moments",
    "needs_user_scores",
    "register_rule",
    "rule",
    "rule_for",
    "settings_of",
    "stop_of",
]


_OWN: dict[str, Rule] = {
    "e-fold": E_FOLD,
    "precision": PRECISION,
    "std-stagnation": STD_STAGNATION,
    "fixed": FIXED,
    "never": NEVER,
}


def _offered(found: object, name: str) -> tuple[str, Rule]:
    """What an entry point gave, as an entry of the registry."""
    rule = (
        found
        if isinstance(found, Rule)
        else record_of(cast("StoppingRule", found), None, None, None)
    )
    return rule.id, rule


RULES = Registry(_OWN, group="ecv_core.rules", accept=_offered)
"""Every stopping rule, by id, in the order in which pages list them: the project's own, and those
of installed packages; `register_rule` adds to it."""


def register_rule(
    rule: Rule | StoppingRule,
    *,
    id: str | None = None,
    title: str | None = None,
    help: str | None = None,
) -> Rule:
    """Make a rule known to runs, pages, tables of rules and the command line of this process.

    The dashboard and the command line are told of it by ECV_RULES, which names the modules, with
    commas, that register rules as they are imported.

    Args:
        rule: an instance, with its settings as they are; or a Rule, whose settings users choose.
        id: by default the instance's class name, 'HalfWidth' -> 'half-width'.
        title: by default the instance's `title`, else made of the id.
        help: by default the first line of the class's docstring.
    Returns: what is known of it now. The same rule may be registered again under its id.
    Raises: InputError for an id that another rule has, or what is no rule.
    """
    found = rule if isinstance(rule, Rule) else record_of(rule, id, title, help)
    known = RULES.get(found.id)
    if known is not None and not _is_again(known, found):
        raise InputError(
            f"there is a stopping rule '{found.id}' already ({known.title}); give another id"
        )
    RULES[found.id] = found
    return found


def _is_again(known: Rule, new: Rule) -> bool:
    """Whether this is the rule of before, as a notebook's cell makes it when it is run again."""
    if known is new:
        return True
    if known.instance is None or new.instance is None:
        return False
    one, other = type(known.instance), type(new.instance)
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


def settings_of(instance: StoppingRule) -> Mapping[str, object] | None:
    """The rule and its settings as arguments of `spec.make_spec`; None if it is not registered."""
    for known in RULES.values():
        if known.kind is type(instance):
            settings = {name: getattr(instance, name) for name in known.settings}
            return {"rule": known.id} | settings
        if known.instance is instance:
            return {"rule": known.id}
    return None


def rule(rule_id: str) -> Rule:
    """The rule with this id. Raises: UnknownName."""
    if rule_id not in RULES:
        raise UnknownName("stopping rule", rule_id, RULES)
    return RULES[rule_id]


def rule_for(spec: RunSpec, *, random: bool = True) -> StoppingRule:
    """The rule that a run is stopped by, with its settings; `spec.rule_of` is of a run.

    Args:
        spec: what is run.
        random: whether its model draws random numbers; True is the careful answer.
    Raises: UnknownName for the rule; InputError for a setting that cannot work.
    """
    chosen = rule(spec.rule)
    for name in dict.fromkeys(("alpha", "confidence", *chosen.settings)):
        if (value := getattr(spec, name)) is None:
            known = SETTINGS[name]
            example = known.way_out.removeprefix("use ")
            raise InputError(f"the {chosen.id} rule needs a {known.words}, {example}")
        SETTINGS[name].check(value)
    if not chosen.least_folds <= spec.min_folds <= spec.k:
        raise InputError(
            f"the minimum number of folds must be from {chosen.least_folds} to k = {spec.k} for "
            f"the rule '{chosen.id}', but is {spec.min_folds}"
        )
    built = chosen.build(spec)
    return replace(built, random=random) if isinstance(built, Precision) else built


def moments(rule: StoppingRule, results: Sequence[FoldResult], confidence: float) -> list[Moment]:
    """Where a run stood after each of its folds, and what the rule said there.

    Args:
        rule: asked after every fold, also after it first said stop.
        results: the folds in the order in which they came; may be empty.
        confidence: of the intervals, in (0, 1), where the rule has none of its own.
    Returns: one moment per fold.
    Raises: InputError for a score that is not a finite number.
    """
    found = []
    for n in range(1, len(results) + 1):
        scores = [result.score for result in results[:n]]
        found.append(
            Moment(
                n=n,
                fold=results[n - 1].fold,
                score=scores[-1],
                mean=(
                    rule.mean(results[:n])
                    if isinstance(rule, OwnMean)
                    else mean_and_deviation(scores)[0]
                ),
                interval=(
                    rule.interval(results[:n])
                    if isinstance(rule, OwnInterval)
                    else mean_interval(scores, confidence)
                ),
                decision=rule.decide(results[:n]),
            )
        )
    return found


def interval_after_stop(spec: RunSpec, scores: Sequence[float]) -> Interval | None:
    """The interval of the mean of the folds used that allows for how the rule came to stop there.

    Args:
        spec: of the run.
        scores: of the folds used, in any order.
    Returns: Student's t where the rule looks at no score; None where there is none.
    """
    known = RULES.get(spec.rule)
    if known is not None and not known.looks:
        return mean_interval(scores, spec.confidence)
    built = known.build(spec) if known is not None and known.kind is not None else None
    first = getattr(built, "first", getattr(built, "min_folds", 2))
    return stop_interval(scores, first=first, k=spec.max_folds, confidence=spec.confidence)


def needs_user_scores(rule: StoppingRule) -> bool:
    """Whether a rule looks at every user's score."""
    return bool(getattr(rule, "needs_user_scores", False))


def stop_of(moments: Sequence[Moment], k: int) -> int | None:
    """Folds used (e): the first stop; k if the rule never fired and all k are in; else None."""
    for moment in moments:
        if moment.decision.stop:
            return moment.n
    return k if len(moments) >= k else None


load_plugins()
