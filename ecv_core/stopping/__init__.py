"""When to stop folding: the rules, and what a rule says along a run, live or recorded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

from ecv_core.records.errors import InputError, UnknownName
from ecv_core.records.parameters import Parameter
from ecv_core.records.plugins import Registry, check_id, id_of
from ecv_core.records.run import Decision, FoldResult, Interval, IntervalKind, Moment
from ecv_core.records.spec import SETTINGS, RunSpec
from ecv_core.stopping.base import OwnInterval, OwnMean, first_stop
from ecv_core.stopping.base import Rule as Rule
from ecv_core.stopping.base import StoppingRule as StoppingRule
from ecv_core.stopping.base import TakesAids as TakesAids
from ecv_core.stopping.efold import E_FOLD, E_FOLD_RELATIVE
from ecv_core.stopping.efold import EFold as EFold
from ecv_core.stopping.efold import EFoldRelative as EFoldRelative
from ecv_core.stopping.efold import least_alphas as least_alphas
from ecv_core.stopping.fixed import FIXED, NEVER
from ecv_core.stopping.fixed import Fixed as Fixed
from ecv_core.stopping.fixed import Never as Never
from ecv_core.stopping.interval import difference_percent as difference_percent
from ecv_core.stopping.interval import mean_and_deviation, stop_interval
from ecv_core.stopping.interval import mean_interval as mean_interval
from ecv_core.stopping.interval import uncertainty_of as uncertainty_of
from ecv_core.stopping.precision import PRECISION
from ecv_core.stopping.precision import Precision as Precision
from ecv_core.stopping.stagnation import STD_STAGNATION
from ecv_core.stopping.stagnation import StdStagnation as StdStagnation
from ecv_core.untrusted.limits import MAX_TEXT


def record_of(instance: StoppingRule, id: str | None, title: str | None, help: str | None) -> Rule:
    """A rule's instance as users are to know it; arguments as of `stopping.register_rule`.

    Raises: InputError for what is no rule, or an id that cannot be one.
    """
    if isinstance(instance, type) or not callable(getattr(instance, "decide", None)):
        raise InputError(
            f"a stopping rule is an object with decide(results), but {instance!r} is none; see "
            "docs/library.md"
        )
    id = check_id(id or id_of(type(instance).__name__), "a rule")
    document = (type(instance).__doc__ or "").strip().partition("\n")[0]
    return Rule(
        id=id,
        title=title or str(getattr(instance, "title", "")) or id.replace("-", " ").capitalize(),
        help=help or document or f"The rule {type(instance).__name__}.",
        source=f"{type(instance).__module__}.{type(instance).__qualname__}",
        kind=type(instance),
        told=(),
        default_folds=1,
        instance=instance,
    )


_OWN: dict[str, Rule] = {
    known.id: known for known in (E_FOLD, E_FOLD_RELATIVE, PRECISION, STD_STAGNATION, FIXED, NEVER)
}
PAPERS_RULE = E_FOLD.id
"""The rule of the paper on e-fold cross-validation, whose study pages and commands reproduce."""
NEVER_STOPS = NEVER.id
"""The rule that is plain k-fold cross-validation."""
BASELINE = FIXED.id
"""The rule that every other must beat: always the same number of folds."""


def _offered(found: object, name: str) -> tuple[str, Rule]:
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

    The dashboard and the command line are told of it by ECV_PLUGINS, which names the modules, with
    commas, that register what they have as they are imported.

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
    # A notebook's cell that is run again makes the same class anew.
    if known is not None and _class_name(known) != _class_name(found):
        raise InputError(
            f"there is a stopping rule '{found.id}' already ({known.title}); give another id"
        )
    RULES[found.id] = found
    return found


def within(share: float, *, k: int = 10, metric: str = "ndcg@10") -> Precision:
    """Stops once the mean of all folds is known to within this share of it, whatever its unit."""
    return Precision(share, k=k, metric=metric)


def _class_name(rule: Rule) -> tuple[str, str]:
    return rule.kind.__module__, rule.kind.__qualname__


def settings_of(instance: StoppingRule) -> Mapping[str, Any] | None:
    """The rule and its settings as arguments of `fold.spec.make_spec`; None if it is not
    registered."""
    for known in RULES.values():
        if known.instance is instance:
            return {"rule": known.id}
        if known.instance is None and known.kind is type(instance):
            told = [name for name in known.told if name in ("confidence", "min_folds")]
            params = {one.name: getattr(instance, one.name) for one in known.parameters}
            return (
                {"rule": known.id}
                | {name: getattr(instance, name) for name in told}
                | ({"rule_params": params} if params else {})
            )
    return None


def said_by_name() -> dict[str, Parameter]:
    """The parameters with an option of their own, by name: those of all rules, each name once."""
    found: dict[str, Parameter] = {}
    for one in (one for known in RULES.values() for one in known.parameters if one.flag):
        found.setdefault(one.name, one)
    return found


def axis_of(rule_id: str) -> Parameter:
    """On which a rule is compared with others; of one that has an axis."""
    axis = RULES[rule_id].axis
    assert axis is not None
    return axis


def takers(parameter: str) -> list[str]:
    """Ids of the rules with a parameter of this name."""
    return [
        known.id
        for known in RULES.values()
        if any(one.name == parameter for one in known.parameters)
    ]


def cheap_models(spec: RunSpec) -> tuple[str, ...]:
    """Ids of the algorithms whose folds must all be in before the run's rule can decide."""
    known = RULES.get(spec.rule)
    ids = [one.name for one in known.parameters if one.ids] if known else []
    given = dict(spec.rule_params)
    return tuple(word for name in ids for word in str(given.get(name, "")).split(",") if word)


def folds_planned(spec: RunSpec) -> tuple[int, int]:
    """The fewest and the most folds that a run may need."""
    most, known = spec.max_folds, RULES.get(spec.rule)
    looks = known is None or known.looks
    least = most if spec.full or spec.rule == NEVER_STOPS else min(spec.min_folds, most)
    return least, most if looks else least


def rule(rule_id: str) -> Rule:
    """The rule with this id. Raises: UnknownName."""
    if rule_id not in RULES:
        raise UnknownName("stopping rule", rule_id, RULES)
    return RULES[rule_id]


def rule_for(spec: RunSpec) -> StoppingRule:
    """The rule that a run is stopped by, with its settings.

    Raises: UnknownName for the rule; InputError for a setting that cannot work.
    """
    chosen = rule(spec.rule)
    given = dict(spec.rule_params)  # of an older version of the rule there may be more
    chosen.resolve({one.name: given[one.name] for one in chosen.parameters if one.name in given})
    SETTINGS["confidence"].check(spec.confidence)
    if not chosen.least_folds <= spec.min_folds <= spec.k:
        raise InputError(
            f"the minimum number of folds must be from {chosen.least_folds} to k = {spec.k} for "
            f"the rule '{chosen.id}', but is {spec.min_folds}"
        )
    return chosen.build(spec)


def moments(rule: StoppingRule, results: Sequence[FoldResult], confidence: float) -> list[Moment]:
    """Where a run stood after each of its folds, and what the rule said there.

    Args:
        rule: asked after every fold, also after it first said stop.
        results: the folds in the order in which they came; may be empty.
        confidence: of the intervals, in (0, 1), where the rule has none of its own.
    Returns: one moment per fold.
    Raises: InputError for a score that is not a finite number, and for what no rule may say.
    """
    return [moment(rule, results[:n], confidence) for n in range(1, len(results) + 1)]


def moment(rule: StoppingRule, results: Sequence[FoldResult], confidence: float) -> Moment:
    """Where a run stood after the newest of these folds: as of `moments`."""
    scores = [result.score for result in results]
    mean = rule.mean(results) if isinstance(rule, OwnMean) else mean_and_deviation(scores)[0]
    interval = (
        rule.interval(results)
        if isinstance(rule, OwnInterval)
        else mean_interval(scores, confidence)
    )
    decision = rule.decide(results)
    who = f"the stopping rule {type(rule).__name__}"
    if not math.isfinite(mean):
        raise InputError(f"the mean of {who} must be a finite number, but is {mean}")
    if interval and not -math.inf < interval.low <= interval.high < math.inf:
        raise InputError(
            f"the interval of {who} must go from a number to one that is no smaller, but is from "
            f"{interval.low} to {interval.high}"
        )
    if len(decision.reason) > MAX_TEXT or not decision.reason.isprintable():
        raise InputError(
            f"the reason of {who} must be one line of at most {MAX_TEXT:,} characters, but is "
            f"{decision.reason[:60]!r}"
        )
    return Moment(
        n=len(results),
        fold=results[-1].fold,
        score=scores[-1],
        mean=mean,
        interval=interval,
        decision=decision,
    )


def interval_after_stop(spec: RunSpec, scores: Sequence[float]) -> Interval | None:
    """The interval of the mean of the folds used that allows for how the rule came to stop there.

    Args:
        spec: of the run.
        scores: of the folds used, in any order.
    Returns: Student's t where the rule looks at no score; None where there is none.
    """
    known = RULES.get(spec.rule)
    if known is not None and not known.looks:
        return uncertainty_of(scores, spec.confidence)
    first = first_stop(known.build(spec)) if known is not None else 1
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


def usual_kind(spec: RunSpec) -> IntervalKind:
    """What the intervals of a run hold where that was not written beside them."""
    return RULES[spec.rule].interval if spec.rule in RULES else IntervalKind.MEAN


class MomentsAgain(Sequence[Moment]):
    """Where a run stood after each of its folds, worked out when it is first looked at.

    Of a rule that looks at every user's score no more is known than whether it said stop; its
    intervals are those of the fold scores. Looking raises InputError where the rule is not known,
    or a setting or score of the run cannot be.
    """

    def __init__(self, spec: RunSpec, folds: Sequence[FoldResult], stopped_at: int | None) -> None:
        """Of a run of this spec, its folds in the order in which they came, and its stop."""
        self._spec, self._folds, self._stopped_at = spec, folds, stopped_at

    def __len__(self) -> int:
        return len(self._folds)

    def __getitem__(self, at: Any) -> Any:  # noqa: ANN401  a place or a slice, as of a tuple
        return self._found[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # like a list

    @cached_property
    def _found(self) -> tuple[Moment, ...]:
        spec, folds = self._spec, self._folds
        if not rule(spec.rule).needs_user_scores:
            return tuple(moments(rule_for(spec), folds, spec.confidence))
        return tuple(
            replace(moment, decision=self._decision(moment.n))
            for moment in moments(Never(), folds, spec.confidence)
        )

    def _decision(self, n: int) -> Decision:
        at_stop = n == self._stopped_at
        said = f"the rule said {'stop' if at_stop else 'go on'}, where the run was made."
        return Decision(
            stop=at_stop and n < self._spec.max_folds, reason=f"After {n} folds: {said}"
        )
