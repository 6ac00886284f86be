"""What a stopping rule is: it sees the results so far and says stop or go on, with a reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol, get_type_hints, runtime_checkable

from ecv_core.records.arrays import AnyFloats, Codes, Floats, Indices, Mask
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import Parameter, Params, counted, resolve
from ecv_core.records.renamed import renamed_fields
from ecv_core.records.run import Decision, FoldResult, Interval, IntervalKind, Moment
from ecv_core.records.spec import SETTINGS, RunSpec

if TYPE_CHECKING:
    from ecv_core.stopping.adjustment import CheapModels


def decision(n: int, reason: str, *, stop: bool = False) -> Decision:
    """A decision after n folds, its reason as a sentence: 'After 4 folds: <reason>: go on.'"""
    verdict = "go on"
    if stop:
        verdict = "stop"
    return Decision(stop=stop, reason=f"After {counted(n, 'fold')}: {reason}: {verdict}.")


def check_numbers(rule: object, **lowest_values: float) -> None:
    """Refuse settings of a rule's instance that can never work.

    Args:
        rule: An instance with `min_folds` or `confidence`, or neither.
        lowest_values: Its own settings, each with the least that it can be. One that the class
            declares as `int` has to be whole.

    Raises:
        InputError: With the setting and its value.
    """
    if hasattr(rule, "confidence"):
        setting = SETTINGS["confidence"]
        setting.check(setting.typed(rule.confidence))
    if hasattr(rule, "min_folds"):
        lowest_values["min_folds"] = 1
    # If `min_folds` is a property the class has no type hint for it.
    types = {"min_folds": int} | get_type_hints(type(rule))
    for name, lowest in lowest_values.items():
        value = getattr(rule, name)
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        is_allowed = is_number and lowest <= value < math.inf
        kind_allowed = "a number"
        if types.get(name) is int:
            is_allowed = is_allowed and value % 1 == 0
            kind_allowed = "a whole number"
        if not is_allowed:
            raise InputError(
                f"{name} of {type(rule).__name__} is {kind_allowed} from {lowest:g} on, but is "
                f"{value!r}"
            )


class StoppingRule(Protocol):
    """Decides from fold results only, so that live and recorded runs use the same code.

    A class may say more of itself, as attributes:

    - `title`, its name for people;
    - `needs_user_scores = True`, where it reads FoldResult.user_scores;
    - `looks = False`, where it stops after the same fold whatever the results are;
    - `first`, the first fold that can stop, where that is later than `min_folds`;
    - `interval_kind`, what its intervals hold, where it is an `OwnInterval`.

    >>> import ecv_core as ecv
    >>> class Three:
    ...     title = "Three folds"
    ...     def decide(self, results):
    ...         return ecv.Decision(stop=len(results) >= 3, reason="Three it is.")
    >>> ecv.evaluate("synthetic", "popular", k=5, rule=Three()).stopped_at
    3
    """

    def decide(self, results: Sequence[FoldResult]) -> Decision:
        """Whether to stop after the newest of these folds.

        Args:
            results: The folds so far in the order in which they came; at least one.
        """


@runtime_checkable
class OwnInterval(Protocol):
    """A rule that reasons with another interval than Student's t of the fold scores."""

    def interval(self, results: Sequence[FoldResult]) -> Interval | None:
        """The interval to show after these folds; None where there is none.

        Args:
            results: As for `StoppingRule.decide`.
        """


@runtime_checkable
class OwnMean(Protocol):
    """A rule that knows the k-fold mean better than by the mean of the folds so far."""

    def mean(self, results: Sequence[FoldResult]) -> float:
        """The estimate after these folds; their plain mean once all folds are in.

        Args:
            results: As for `StoppingRule.decide`.
        """


@runtime_checkable
class TakesCheapModels(Protocol):
    """A rule whose mean is corrected by cheap models, all of whose folds are in beforehand."""

    @property
    def needed_cheap_models(self) -> tuple[str, ...]:
        """Ids of these models; empty where it goes without."""

    def with_cheap_models(self, cheap_models: CheapModels) -> StoppingRule:
        """The same rule with their scores."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FoldSets:
    """All 2^k sets of some folds, as a `SetRule` sees them; the first one is empty."""

    folds: Floats
    """The score of each fold; shape (k,)."""
    means: Floats
    """Of the scores of each set; shape (2^k,); NaN for the empty one."""
    half_widths: Callable[[float], Floats]
    """Confidence -> of Student's t of each set's mean; shape (2^k,); NaN below two folds."""
    contains_fold: Callable[[], Mask]
    """Which folds each set holds; shape (2^k, k)."""
    users: AnyFloats | None
    """Per-user scores, NaN where a user has nothing held out; shape (k, users)."""
    cheap_models: CheapModels | None
    """Cheap models on the same users; None where there are none."""


Step = Callable[[Codes, Codes], Floats]
"""(set before, set after) -> the least value of the rule's axis at which it stops there; the two
are numbers of sets, of shapes (n, sets) and (sets,), and the answer broadcasts to (n, sets)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SetSteps:
    """What decides at each step from a set of folds to the next, whatever the axis is set to."""

    threshold_of_step: Step
    half_widths: Floats
    """Of the interval that each set's mean is shown with; shape (2^k,); NaN where there is none."""
    setting: float
    """The value of the axis."""
    means: Floats | None = None
    """The estimates of the k-fold mean, shape (2^k,), where they are not the plain means."""


@runtime_checkable
class SetRule(StoppingRule, Protocol):
    """A rule whose decision follows from the set of folds before the newest and the one after.

    It stops where its axis is at least what `steps` gives, so that one walk through the sets
    answers for all orders and all values of the axis.
    """

    def steps(self, sets: FoldSets) -> SetSteps:
        """What decides at each step.

        Raises:
            InputError: Where something is missing, such as users' scores.
        """


@runtime_checkable
class OrderRule(StoppingRule, Protocol):
    """A rule that needs the whole history, and decides for many orders at once."""

    def first_stops(self, scores_of_orders: Floats) -> Indices:
        """The fold after which each order stops; k where it does not stop before.

        Args:
            scores_of_orders: The folds' scores in each order; shape (orders, k).
        """


def first_stop(rule: StoppingRule) -> int:
    """The first fold after which the rule can stop."""
    return int(getattr(rule, "first", getattr(rule, "min_folds", 1)))


@dataclass(frozen=True, kw_only=True)
class Watched:
    """The number that decides, beside the parameter that it is compared with."""

    label: str
    help: str
    after_folds: Callable[[Sequence[Moment], Mapping[str, Any]], Sequence[float | None]]
    """(moments, what the rule is set to, as of `Rule.values`) -> one number per moment; None where
    there is none yet. The rule stops where it is at most its axis."""


@dataclass(frozen=True, kw_only=True)
class Phrases:
    """What the sentence of a rule for a paper is made of."""

    k: int
    values: Mapping[str, Any]
    """The rule's parameters and its `run_settings`, by name."""
    level: str
    """'95 %'."""
    least: str
    """'3 folds': no stop before."""
    interval: str
    """Student's t of the mean of the first n fold scores, in words."""
    paper: str
    """A mark for the citation of the paper on e-fold cross-validation."""
    maths: Callable[[str, str], str]
    """A mark for a formula: as text, and in LaTeX between dollars."""
    unit: str = "user"
    """What has a score of its own in a fold."""


AT_LEAST = Parameter(
    name="min_folds",
    default=3,
    help="No stop before this fold.",
    low=1,
    scale="folds",
    phrase="at least {}",
)
"""The minimum of folds, as the axis of a rule that has no parameter to compare it by."""


@renamed_fields(told="run_settings", by_sets="decides_by_sets", looks="decides_by_scores")
@dataclass(frozen=True, kw_only=True)
class Rule:
    """A stopping rule as users know it: everything that pages, commands and reports say of it.

    >>> from ecv_core.stopping import RULES
    >>> RULES["e-fold"].title
    'e-fold'
    """

    id: str
    title: str
    help: str
    """What it does and when to use it, in at most three sentences."""
    source: str
    kind: type
    """The class that decides; see `StoppingRule` for what it says of itself."""
    parameters: tuple[Parameter, ...] = ()
    """What users choose."""
    run_settings: tuple[str, ...] = ("confidence", "min_folds")
    """What its class is made with beside them: settings of the run, of 'confidence', 'min_folds',
    'k' (folds planned), 'metric' (its name)."""
    axis: Parameter | None = None
    """On which rules are compared: one of `parameters`, or AT_LEAST; by default the first of
    `parameters` that is a number."""
    least_folds: int = 1
    """The lowest `min_folds` that makes sense for it."""
    default_folds: int = 3
    """The `min_folds` to offer first."""
    make: Callable[..., StoppingRule] | None = None
    """Takes parameters and `run_settings` by name; by default `kind`."""
    instance: StoppingRule | None = None
    """What `build` gives, where a rule was registered as an instance, with nothing left to set."""
    meaning: str = ""
    """What its stop says of the mean: 'has settled'; by default that it satisfies this rule."""
    short: Callable[[Mapping[str, Any]], str] | None = None
    """Its parameters in a few words, beside its name: 'within 3.0 %'; by default each in words."""
    alone: Callable[[Mapping[str, Any]], str] | None = None
    """The same where its name does not stand beside: 'precision 3 %'; by default `short`."""
    sentence: Callable[[Phrases], str] | None = None
    """For the methods section of a paper; by default made of title, help and parameters."""
    watched: Watched | None = None
    """The number that decides, where one does."""
    picture: str = ""
    """The drawing of `figures.threshold.PICTURES` that explains its decisions; '' for none."""

    def __post_init__(self) -> None:
        if self.axis is not None:
            return
        # By default rules are compared on their first number; a bool is none, though an int.
        for parameter in self.parameters:
            if type(parameter.default) in (int, float):
                object.__setattr__(self, "axis", parameter)
                return

    @property
    def _decider(self) -> object:
        """What decides, an instance or its class; its attributes say more: see `StoppingRule`."""
        return self.instance or self.kind

    @property
    def needs_user_scores(self) -> bool:
        """Whether FoldResult.user_scores must be there, which stored runs keep apart."""
        return bool(getattr(self._decider, "needs_user_scores", False))

    @property
    def decides_by_sets(self) -> bool:
        """Whether it is a `SetRule`: one walk answers for every order and value of its axis."""
        return hasattr(self.kind, "steps")

    @property
    def decides_by_scores(self) -> bool:
        """Whether it decides by scores, so that a stop is a lucky one more often than not."""
        return bool(getattr(self._decider, "looks", True))

    @property
    def interval(self) -> IntervalKind:
        """What the intervals of its moments hold."""
        return getattr(self._decider, "interval_kind", IntervalKind.MEAN)

    def resolve(self, values: Mapping[str, Any]) -> Params:
        """Every parameter with its value: the given ones checked, the rest by default.

        Raises:
            InputError: For an unknown name, a bad value, or none where one is required.
        """
        for parameter in self.parameters:
            if parameter.required and values.get(parameter.name) is None:
                # A way out reads 'use for example 0.03 for 3 %'.
                example = parameter.way_out.removeprefix("use ")
                if not example:
                    example = f"such as {parameter.text(parameter.default)}"
                raise InputError(f"the {self.id} rule needs a {parameter.words}, {example}")
        return resolve(self.parameters, values, of=f"the rule {self.id}")

    def check(self, spec: RunSpec) -> None:
        """Refuse what the rule is set to in a run, where it cannot work.

        Raises:
            InputError: For a value that no run can have, or more folds than the run has.
        """
        # A recorded run may have values of parameters that the rule no longer has. Of the others
        # bad ones are refused here, where the answer of `resolve` is not needed.
        values = dict(spec.rule_params)
        names = [parameter.name for parameter in self.parameters if parameter.name in values]
        self.resolve({name: values[name] for name in names})
        for parameter in self.parameters:
            if parameter.scale != "folds":
                continue
            folds = int(values.get(parameter.name, parameter.default))
            if folds > spec.k:
                raise InputError(
                    f"{parameter.words} must be at most k = {spec.k} for the rule '{self.id}', "
                    f"but is {folds}"
                )
        SETTINGS["confidence"].check(spec.confidence)
        if not self.least_folds <= spec.min_folds <= spec.k:
            raise InputError(
                f"the minimum number of folds must be from {self.least_folds} to k = {spec.k} for "
                f"the rule '{self.id}', but is {spec.min_folds}"
            )

    def values(self, spec: RunSpec) -> dict[str, Any]:
        """What its class is made with in a run: its parameters, and `run_settings`; unchecked."""
        values = {parameter.name: parameter.default for parameter in self.parameters}
        for name, value in spec.rule_params:
            if name in values:
                values[name] = value
        settings: dict[str, Any] = {
            "confidence": spec.confidence,
            "min_folds": spec.min_folds,
            "k": spec.max_folds,
            "metric": spec.metric_name,
        }
        for name in self.run_settings:
            values[name] = settings[name]
        return values

    def build(self, spec: RunSpec) -> StoppingRule:
        """The rule with its settings in a run, unchecked: `stopping.rule_for` checks them."""
        if self.instance is not None:
            return self.instance
        return (self.make or self.kind)(**self.values(spec))

    def words(self, spec: RunSpec, *, alone: bool = False) -> str:
        """What it is set to in a run, in a few words: 'within 3.0 %', or alone 'precision 3 %'.

        Args:
            spec: The spec of the run.
            alone: Whether the words stand without the rule's name beside them, and so must say
                which rule it is.
        """
        values = self.values(spec)
        # A rule may have functions of its own that write these words: `short` and `alone`.
        if alone and self.alone is not None:
            return self.alone(values)
        if self.short is not None:
            return self.short(values)
        # Otherwise each of its parameters is put in words.
        words = []
        for parameter in self.parameters:
            value = values[parameter.name]
            if value != "":
                words.append(parameter.in_words(value))
        if alone or not words:
            words.insert(0, self.id)
        return ", ".join(words)
