"""When to stop folding: the rules, and what a rule says along a run, live or recorded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

from ecv_core.records.errors import InputError, UnknownName
from ecv_core.records.parameters import Parameter
from ecv_core.records.plugins import Registry, check_id, id_of
from ecv_core.records.run import Decision, FoldResult, Interval, IntervalKind, Moment
from ecv_core.records.spec import RunSpec
from ecv_core.stopping.base import OwnInterval, OwnMean, first_stop
from ecv_core.stopping.base import Rule as Rule
from ecv_core.stopping.base import StoppingRule as StoppingRule
from ecv_core.stopping.base import TakesCheapModels as TakesCheapModels
from ecv_core.stopping.efold import E_FOLD, E_FOLD_RELATIVE
from ecv_core.stopping.efold import EFold as EFold
from ecv_core.stopping.efold import EFoldRelative as EFoldRelative
from ecv_core.stopping.efold import least_alphas as least_alphas
from ecv_core.stopping.fixed import FIXED, NEVER
from ecv_core.stopping.fixed import Fixed as Fixed
from ecv_core.stopping.fixed import Never as Never
from ecv_core.stopping.interval import difference_percent as difference_percent
from ecv_core.stopping.interval import look_level, mean_and_deviation, stop_interval
from ecv_core.stopping.interval import mean_interval as mean_interval
from ecv_core.stopping.interval import uncertainty_of as uncertainty_of
from ecv_core.stopping.precision import PRECISION
from ecv_core.stopping.precision import Precision as Precision
from ecv_core.stopping.stagnation import STD_STAGNATION
from ecv_core.stopping.stagnation import StdStagnation as StdStagnation
from ecv_core.untrusted.limits import MAX_TEXT


def record_of(
    instance: StoppingRule,
    id: str | None = None,
    title: str | None = None,
    help: str | None = None,
) -> Rule:
    """A rule's instance as users are to know it; arguments as of `stopping.register_rule`.

    Raises:
        InputError: For what is no rule, or an id that cannot be one.
    """
    if isinstance(instance, type) or not callable(getattr(instance, "decide", None)):
        raise InputError(
            f"a stopping rule is an object with a method decide(results), but {instance!r} has "
            "none; see docs/library.md"
        )
    kind = type(instance)
    id = check_id(id or id_of(kind.__name__), "a rule")
    own_title = str(getattr(instance, "title", ""))
    first_line = (kind.__doc__ or "").strip().partition("\n")[0]
    return Rule(
        id=id,
        title=title or own_title or id.replace("-", " ").capitalize(),
        help=help or first_line or f"The rule {kind.__name__}.",
        source=f"{kind.__module__}.{kind.__qualname__}",
        kind=kind,
        run_settings=(),
        default_folds=1,
        instance=instance,
    )


_OWN: dict[str, Rule] = {
    rule.id: rule for rule in (E_FOLD, E_FOLD_RELATIVE, PRECISION, STD_STAGNATION, FIXED, NEVER)
}
PAPERS_RULE = E_FOLD.id
"""The rule of the paper on e-fold cross-validation, whose study pages and commands reproduce."""
NEVER_STOPS = NEVER.id
"""The rule that is plain k-fold cross-validation."""
BASELINE = FIXED.id
"""The rule that every other must beat: always the same number of folds."""


def _accept(offered: object, _name: str) -> tuple[str, Rule]:
    """What an installed package offers, as a rule with its id. Raises: InputError."""
    if isinstance(offered, Rule):
        return offered.id, offered
    rule = record_of(cast("StoppingRule", offered))
    return rule.id, rule


RULES = Registry(_OWN, group="ecv_core.rules", to_entry=_accept)
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
        rule: An instance, with its settings as they are; or a Rule, whose settings users choose.
        id: By default the instance's class name, 'HalfWidth' -> 'half-width'.
        title: By default the instance's `title`, else made of the id.
        help: By default the first line of the class's docstring.

    Returns:
        What is known of it now. The same rule may be registered again under its id.

    Raises:
        InputError: For an id that another rule has, or what is no rule.
    """
    record = rule
    if not isinstance(record, Rule):
        record = record_of(record, id, title, help)
    present = RULES.get(record.id)
    # A notebook's cell that is run again makes the same class anew.
    if present is not None and _class_name(present) != _class_name(record):
        raise InputError(
            f"the stopping rule '{record.id}' exists already ({present.title}); choose another id"
        )
    RULES[record.id] = record
    return record


def within(share: float, *, k: int = 10, metric: str = "ndcg@10") -> Precision:
    """Stops once the mean of all folds is known to within this share of it, whatever its unit."""
    return Precision(share, k=k, metric=metric)


def _class_name(rule: Rule) -> tuple[str, str]:
    return rule.kind.__module__, rule.kind.__qualname__


def settings_of(instance: StoppingRule) -> dict[str, Any] | None:
    """The rule and its settings as arguments of `fold.spec.make_spec`; None if it is not
    registered."""
    for rule in RULES.values():
        if rule.instance is instance:
            return {"rule": rule.id}
        if rule.instance is None and rule.kind is type(instance):
            return _settings_of_instance(rule, instance)
    return None


def _settings_of_instance(rule: Rule, instance: StoppingRule) -> dict[str, Any]:
    """The settings of an instance of a registered class, as arguments of `fold.spec.make_spec`."""
    settings: dict[str, Any] = {"rule": rule.id}
    # A rule may be made with k and the metric of a run too, but these are not settings of the rule.
    for name in ("confidence", "min_folds"):
        if name in rule.run_settings:
            settings[name] = getattr(instance, name)
    params = {parameter.name: getattr(instance, parameter.name) for parameter in rule.parameters}
    if params:
        settings["rule_params"] = params
    return settings


def rule_options() -> dict[str, Parameter]:
    """The parameters with an option of their own, by name: those of all rules, each name once."""
    parameters: dict[str, Parameter] = {}
    for rule in RULES.values():
        for parameter in rule.parameters:
            if parameter.flag:
                parameters.setdefault(parameter.name, parameter)
    return parameters


def axis_of(rule_id: str) -> Parameter:
    """On which a rule is compared with others; of one that has an axis."""
    axis = RULES[rule_id].axis
    assert axis is not None
    return axis


def rules_that_take(parameter: str) -> list[str]:
    """Ids of the rules with a parameter of this name."""
    ids = []
    for rule in RULES.values():
        if parameter in [own.name for own in rule.parameters]:
            ids.append(rule.id)
    return ids


def cheap_model_ids(spec: RunSpec) -> tuple[str, ...]:
    """Ids of the algorithms whose folds must all be in before the run's rule can decide."""
    rule = RULES.get(spec.rule)
    if rule is None:
        return ()
    params = dict(spec.rule_params)
    ids = []
    for parameter in rule.parameters:
        # `parameter.ids` is true of a parameter whose value is a text of the ids of algorithms,
        # such as 'popular,item-knn'. These are quick to fit, and their scores on all folds tell the
        # rule how easy each fold is.
        if parameter.ids:
            ids += str(params.get(parameter.name, "")).split(",")
    return tuple(filter(None, ids))  # a text without ids is split into one empty text


def folds_planned(spec: RunSpec) -> tuple[int, int]:
    """The fewest and the most folds that a run may need."""
    most = spec.max_folds
    runs_all_folds = spec.full or spec.rule == NEVER_STOPS
    if runs_all_folds:
        return most, most
    fewest = min(spec.min_folds, most)
    rule = RULES.get(spec.rule)
    if rule is not None and not rule.decides_by_scores:
        # It looks at no score, so it stops after the fewest folds, whatever they are.
        return fewest, fewest
    return fewest, most


def rule(rule_id: str) -> Rule:
    """The rule with this id. Raises: UnknownName."""
    if rule_id not in RULES:
        raise UnknownName("stopping rule", rule_id, RULES)
    return RULES[rule_id]


def rule_for(spec: RunSpec) -> StoppingRule:
    """The rule that a run is stopped by, with its settings.

    Raises:
        UnknownName: For the rule.
        InputError: For a setting that cannot work.
    """
    chosen = rule(spec.rule)
    chosen.check(spec)
    return chosen.build(spec)


def moments(
    rule: StoppingRule, results: Sequence[FoldResult], confidence: float, overlap: float = 0.0
) -> list[Moment]:
    """Where a run stood after each of its folds, and what the rule said there.

    Args:
        rule: Asked after every fold, also after it first said stop.
        results: The folds in the order in which they came; may be empty.
        confidence: The confidence of the intervals, in (0, 1), where the rule has none of its own.
        overlap: As `RunSpec.overlap`, for these intervals.

    Returns:
        One moment per fold.

    Raises:
        InputError: For a score that is not a finite number, and for what no rule may say.
    """
    return [moment(rule, results[:n], confidence, overlap) for n in range(1, len(results) + 1)]


def moment(
    rule: StoppingRule, results: Sequence[FoldResult], confidence: float, overlap: float
) -> Moment:
    """Where a run stood after the newest of these folds: as of `moments`."""
    scores = [result.score for result in results]
    mean, _ = mean_and_deviation(scores)
    # Some rules know the mean of all folds, or where it is, better than the plain fold scores do.
    if isinstance(rule, OwnMean):
        mean = rule.mean(results)
    if isinstance(rule, OwnInterval):
        interval = rule.interval(results)
    else:
        interval = mean_interval(scores, confidence, overlap)
    moment = Moment(
        n=len(results),
        fold=results[-1].fold,
        score=scores[-1],
        mean=mean,
        interval=interval,
        decision=rule.decide(results),
    )
    _check_moment(moment, f"the stopping rule {type(rule).__name__}")
    return moment


def _check_moment(moment: Moment, origin: str) -> None:
    """Refuse what no rule may say. Raises: InputError."""
    if not math.isfinite(moment.mean):
        raise InputError(f"the mean of {origin} must be a finite number, but is {moment.mean}")
    interval = moment.interval
    if interval and not -math.inf < interval.low <= interval.high < math.inf:
        raise InputError(
            f"the interval of {origin} must have finite ends, the lower one first, but goes from "
            f"{interval.low} to {interval.high}"
        )
    reason = moment.decision.reason
    if len(reason) > MAX_TEXT or not reason.isprintable():
        raise InputError(
            f"the reason of {origin} must be one line of at most {MAX_TEXT:,} characters, but is "
            f"{reason[:60]!r}"
        )


def interval_after_stop(spec: RunSpec, scores: Sequence[float]) -> Interval | None:
    """The interval of the mean of the folds used that allows for how the rule came to stop there.

    Args:
        spec: The spec of the run.
        scores: The scores of the folds used, in any order.

    Returns:
        Student's t where the rule looks at no score; None where there is none.
    """
    first_look = _first_look(spec)
    if first_look is None:
        return uncertainty_of(scores, spec.confidence, spec.overlap)
    return stop_interval(
        scores,
        first_look=first_look,
        k=spec.max_folds,
        confidence=spec.confidence,
        overlap=spec.overlap,
    )


def confidence_after_stop(spec: RunSpec) -> float:
    """The confidence of an interval of fold scores at each look, so that all looks hold together.

    That is the confidence of the run where its rule looks at no score.
    """
    first_look = _first_look(spec)
    if first_look is None:
        return spec.confidence
    first_interval = min(max(first_look, 2), spec.max_folds)  # One score has no interval.
    return 1 - look_level(first_interval, spec.max_folds, spec.confidence)


def _first_look(spec: RunSpec) -> int | None:
    """The first fold after which the scores can stop a run; None where they have no say in it."""
    rule = RULES.get(spec.rule)
    if rule is None:
        return 1  # A rule that is not known here may look after every fold.
    if not rule.decides_by_scores:
        return None
    return first_stop(rule.build(spec))


def needs_user_scores(rule: StoppingRule) -> bool:
    """Whether a rule looks at every user's score."""
    return bool(getattr(rule, "needs_user_scores", False))


def stop_of(moments: Sequence[Moment], k: int) -> int | None:
    """Folds used (e): the first stop; k if the rule never fired and all k are in; else None."""
    for moment in moments:
        if moment.decision.stop:
            return moment.n
    if len(moments) >= k:
        return k
    return None


def usual_interval_kind(spec: RunSpec) -> IntervalKind:
    """What the intervals of a run hold where that was not written beside them."""
    rule = RULES.get(spec.rule)
    if rule is None:
        return IntervalKind.MEAN
    return rule.interval


class LazyMoments(Sequence[Moment]):
    """Where a run stood after each of its folds, worked out when it is first looked at.

    Of a rule that looks at every user's score no more is known than whether it said stop; its
    intervals are those of the fold scores. Looking raises InputError where the rule is not known,
    or a setting or score of the run cannot be.
    """

    def __init__(self, spec: RunSpec, folds: Sequence[FoldResult], stopped_at: int | None) -> None:
        """Of a run of this spec, its folds in the order in which they came, and its stop."""
        self._spec = spec
        self._folds = folds
        self._stopped_at = stopped_at

    def __len__(self) -> int:
        return len(self._folds)

    def __getitem__(self, at: Any) -> Any:  # noqa: ANN401  a place or a slice, as of a tuple
        return self._moments[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # like a list

    @cached_property
    def _moments(self) -> tuple[Moment, ...]:
        confidence = self._spec.confidence
        overlap = self._spec.overlap
        if not rule(self._spec.rule).needs_user_scores:
            return tuple(moments(rule_for(self._spec), self._folds, confidence, overlap))
        # The scores of users are not at hand here, so the rule cannot decide once more. Means and
        # intervals follow from the folds, as for the rule that never stops. Decisions follow from
        # the fold after which the run stopped.
        moments_by_stop = []
        for moment in moments(Never(), self._folds, confidence, overlap):
            decision = self._decision_told_by_stop(moment.n)
            moments_by_stop.append(replace(moment, decision=decision))
        return tuple(moments_by_stop)

    def _decision_told_by_stop(self, n: int) -> Decision:
        """What the rule decided where the run was made, as far as the stop tells."""
        is_stop = n == self._stopped_at
        word = "go on"
        if is_stop:
            word = "stop"
        return Decision(
            # After the last fold a run ends without a stop.
            stop=is_stop and n < self._spec.max_folds,
            reason=(
                f"After {n} folds: the rule decided {word} on the computer where the run was made."
            ),
        )
