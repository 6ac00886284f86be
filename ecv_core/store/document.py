"""The JSON document of a run, and the command line that repeats the run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self

from annotated_types import Ge, Le, MaxLen
from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    FiniteFloat,
    PlainSerializer,
    ValidationError,
)

from ecv_core import models, splits, stopping
from ecv_core.energy.savings import energy_of
from ecv_core.fold.spec import usual_k, usual_min_folds, usual_rule
from ecv_core.records import codec
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import Params
from ecv_core.records.run import (
    Amount,
    Decision,
    Energy,
    FoldResult,
    Interval,
    IntervalKind,
    Moment,
    Node,
    Number,
    RunRecord,
    RunState,
    Shared,
    UserScores,
)
from ecv_core.records.spec import SCORE_ROLES, SETTINGS, Role, RunSpec, Setting
from ecv_core.store.new_data import mean_on_new_data
from ecv_core.untrusted import limits

FORMAT: Final = "e-fold run"
VERSION = 1
"""Of the document; raised when an older e-fold would misread a newer one's."""

Time = Annotated[AwareDatetime, PlainSerializer(datetime.isoformat)]
Ends = tuple[FiniteFloat, FiniteFloat]
"""Low and high of an interval."""
Count = Annotated[int, Ge(0), Le(10**12)]
Metrics = Annotated[dict[str, FiniteFloat], MaxLen(limits.MAX_RUN_METRICS)]
Curve = Annotated[tuple[FiniteFloat, ...], MaxLen(limits.MAX_CURVE)]


def ends(interval: Interval | None) -> Ends | None:
    """An interval as documents hold it."""
    if interval is None:
        return None
    return interval.low, interval.high


class _Part(BaseModel):
    # Pydantic then builds the whole document's checks once, at its first use.
    model_config = ConfigDict(frozen=True, defer_build=True)


class Seconds(_Part):
    """How long a fold took."""

    model_config = ConfigDict(extra="forbid")

    fit: Amount
    evaluate: Amount
    total: Amount
    processor: Amount | None = None
    """Of all cores; None where that is not known."""


class FoldDocument(_Part):
    """A fold in the document."""

    fold: Count
    score: Number
    metrics: Metrics
    users: Count = 0
    inner_curve: Curve = ()
    seconds: Seconds
    energy: Energy
    reused: bool = False
    """Whether another run had computed it."""
    shared: Shared | None = None
    host: str | None = None
    """Where it was computed; `node` has more of it."""
    node: Node | None = None

    @classmethod
    def of(cls, result: FoldResult) -> Self:
        """What is written of a fold: all but the scores of its users."""
        seconds = Seconds.model_construct(
            fit=result.fit_seconds,
            evaluate=result.evaluate_seconds,
            total=result.total_seconds,
            processor=result.processor_seconds,
        )
        names = cls.model_fields.keys() - {"seconds"}
        same_values = {name: getattr(result, name) for name in names}
        # Nothing is checked here, as the whole document is checked once.
        return cls.model_construct(seconds=seconds, **same_values)

    def record(self) -> FoldResult:
        """The fold that was written."""
        # The field `node` has the name of the host as well.
        names = type(self).model_fields.keys() - {"seconds", "host"}
        return FoldResult(
            fit_seconds=self.seconds.fit,
            evaluate_seconds=self.seconds.evaluate,
            total_seconds=self.seconds.total,
            processor_seconds=self.seconds.processor,
            **{name: getattr(self, name) for name in names},
        )


class MomentDocument(_Part):
    """What the rule said after a fold; n, fold and score are those of the fold beside it."""

    mean: FiniteFloat
    interval: Ends | None
    interval_kind: IntervalKind | None = None
    """None without an interval."""
    stop: bool
    reason: str
    doubt: str = ""

    @classmethod
    def of(cls, moment: Moment) -> Self:
        """What is written of a moment."""
        interval_kind = None
        if moment.interval is not None:
            interval_kind = moment.interval.kind
        return cls(
            mean=moment.mean,
            interval=ends(moment.interval),
            interval_kind=interval_kind,
            stop=moment.decision.stop,
            reason=moment.decision.reason,
            doubt=moment.doubt,
        )

    def record(self, n: int, fold: FoldResult) -> Moment:
        """The moment that was written, after the n-th fold."""
        return Moment(
            n=n,
            fold=fold.fold,
            score=fold.score,
            mean=self.mean,
            interval=self._interval(n),
            decision=Decision(stop=self.stop, reason=self.reason),
            doubt=self.doubt,
        )

    def _interval(self, n: int) -> Interval | None:
        if self.interval is None:
            return None
        if self.interval_kind is None:
            raise ValueError(f"moment {n} lacks its interval_kind")
        low, high = self.interval
        return Interval(low=low, high=high, kind=self.interval_kind)


class RunDocument(_Part):
    """What is read of a run in JSON; `run_document` writes it, with more that follows from it."""

    format: Literal["e-fold run"] = FORMAT
    version: int = VERSION
    run_id: str
    spec: RunSpec
    state: RunState
    stopped_at: int | None
    mean: FiniteFloat | None = None
    created_at: Time | None = None
    finished_at: Time | None = None
    error: str | None = None
    other_work: str = ""
    """As in RunRecord: such runs are left out where joules of runs are added up."""
    folds: Annotated[list[FoldDocument], MaxLen(limits.MAX_RUN_FOLDS)]
    moments: list[MomentDocument]
    """One for each fold, in the same order."""
    made_with: Any = None
    """Machine and versions, see `environment`; not part of what `run --json` writes."""

    def record(self, written: datetime) -> RunRecord:
        """The run, without per-user scores.

        Args:
            written: When it began and ended, where the document does not say.

        Raises:
            ValueError: If it has not as many moments as folds, or an interval of no kind.
        """
        if len(self.moments) != len(self.folds):
            raise ValueError(f"it has {len(self.folds)} folds, {len(self.moments)} moments")
        folds = []
        moments = []
        for n, (fold, moment) in enumerate(zip(self.folds, self.moments, strict=True), start=1):
            result = fold.record()
            folds.append(result)
            moments.append(moment.record(n, result))
        return RunRecord(
            run_id=self.run_id,
            spec=self.spec,
            state=self.state,
            folds=tuple(folds),
            moments=tuple(moments),
            created_at=self.created_at or written,
            finished_at=self.finished_at or written,
            stopped_at=self.stopped_at,
            error=self.error,
            other_work=self.other_work,
        )


def run_document(run: RunRecord, users: Mapping[int, UserScores] | None = None) -> dict[str, Any]:
    """The run as plain JSON values: what `run --json` writes and pages export.

    Beside what `RunDocument` says: `mean`, `interval` (what the rule goes by; `interval_kind` says
    what it holds), `mean_interval` (Student's t) and `stop_interval` (the same, allowing for how
    the rule came to stop there: see `stopping.interval`) are those at the stop, or after the newest
    fold while there is none. `k_fold_mean`, its interval and `difference_percent` (the paper's d)
    are there once all folds are. `new_data` says where the mean of new users is
    (`store.new_data`), None where their scores are not known. `energy` is
    `energy.savings.EnergyFacts`, `doubt` what makes the folds no base for a promise, `hardware` on
    which they were computed.

    Args:
        run: Finished or not.
        users: Fold -> its users' scores, where they are known.

    Raises:
        InputError: For a run with a value that `imports.read_run` would refuse.
    """
    hardware = {result.node.hardware for result in run.folds if result.node}
    return {
        **_plain_document(run),
        **_intervals_at_stop(run),
        **_k_fold_values(run),
        "new_data": _interval_for_new_data(run, users),
        "doubt": run.doubt,
        "energy": _energy_values(run),
        "hardware": sorted(hardware),
    }


_PUBLIC_ENERGY_NAMES = {
    "has_idle_joules": "above_idle",
    "has_forecast": "forecast",
    "folds_without_processor_time": "processor_assumed",
}
"""Field of `energy.savings.EnergyFacts` -> its name in documents, where that is another one."""


def _energy_values(run: RunRecord) -> dict[str, Any]:
    """The energy of a run under the names that other programs read."""
    facts = codec.to_json(energy_of(run))
    # Readers can see it: documents have all folds and the stop.
    del facts["is_checked"]
    values = {}
    for name, value in facts.items():
        values[_PUBLIC_ENERGY_NAMES.get(name, name)] = value
    return values


def _plain_document(run: RunRecord) -> dict[str, Any]:
    """What `RunDocument` says of a run, as JSON values that it can read again."""
    mean = None
    if run.at_stop is not None:
        mean = run.at_stop.mean
    try:
        document = RunDocument(
            run_id=run.run_id,
            spec=run.spec,
            state=run.state,
            stopped_at=run.stopped_at,
            mean=mean,
            created_at=run.created_at,
            finished_at=run.finished_at,
            error=run.error,
            other_work=run.other_work,
            folds=[FoldDocument.of(result) for result in run.folds],
            moments=[MomentDocument.of(moment) for moment in run.moments],
        )
        plain = document.model_dump(mode="json", exclude={"made_with"})
        # Reading it back here refuses to export what could not be imported again.
        codec.read(RunDocument, json.dumps(plain))
    except ValidationError as error:
        raise InputError(
            f"run {run.run_id} cannot be written as JSON: {codec.what_is_wrong(error)}"
        ) from error
    return plain


def _intervals_at_stop(run: RunRecord) -> dict[str, Any]:
    """The intervals at the stop, or after the newest fold; None before the first."""
    # Three intervals answer different questions: the one that the rule itself looked at, whose kind
    # is therefore named; Student's t of the mean, as if the number of folds had been fixed before;
    # and the one that allows for the rule's having looked at the scores in order to stop.
    interval_of_rule = None
    kind_of_rule = None
    mean_interval = None
    stop_interval = None
    if run.at_stop is not None and run.at_stop.interval is not None:
        interval_of_rule = ends(run.at_stop.interval)
        kind_of_rule = run.at_stop.interval.kind.value
    scores = [fold.score for fold in run.folds[: run.folds_used]]
    if scores:
        overlap = run.spec.overlap
        mean_interval = ends(stopping.uncertainty_of(scores, run.spec.confidence, overlap))
        stop_interval = ends(stopping.interval_after_stop(run.spec, scores))
    return {
        "interval": interval_of_rule,
        "interval_kind": kind_of_rule,
        "mean_interval": mean_interval,
        "stop_interval": stop_interval,
    }


def _interval_for_new_data(
    run: RunRecord, users: Mapping[int, UserScores] | None
) -> dict[str, Any] | None:
    """Where the mean of new users is, at the stop or after the newest fold."""
    new_data = mean_on_new_data(run, users or {})
    if new_data is None:
        return None
    interval = new_data.interval
    # `of` is 'users', 'clusters' of users, or 'rows' of a table.
    return {"interval": (interval.low, interval.high), "of": new_data.of}


def _k_fold_values(run: RunRecord) -> dict[str, Any]:
    """The mean of all k folds, and how far that at the stop is from it; None until all are in."""
    k_fold_mean = run.k_fold_mean
    interval = None
    difference = None
    if k_fold_mean is not None:
        scores = [fold.score for fold in run.folds]
        overlap = run.spec.overlap
        interval = ends(stopping.uncertainty_of(scores, run.spec.confidence, overlap))
        if run.at_stop is not None:
            difference = stopping.difference_percent(run.at_stop.mean, k_fold_mean)
    return {
        "k_fold_mean": k_fold_mean,
        "k_fold_mean_interval": interval,
        "difference_percent": difference,
    }


# The command line that repeats a run.


def command_of(run: RunRecord) -> str:
    """The command line that repeats a run, without watts that decided none of its numbers.

    Folds that had been computed before were metered with the watts of then.
    """
    spec = run.spec
    if run.folds and all(fold.reused for fold in run.folds):
        spec = replace(spec, processor_watts=None, memory_watts=None)
    return command_for(spec)


def command_for(spec: RunSpec) -> str:
    """The command line that repeats a run, or has it tracked again; defaults are left out.

    Imported folds are named by the hash under which a copy is kept on this machine.
    """
    words = ["python", "-m", "ecv_core"]
    # Other code computes the folds of a tracked run, and reports them.
    if spec.tracked:
        words += ["track", spec.algorithm, spec.dataset]
    else:
        words += ["run", spec.dataset, spec.algorithm]
    usual_values = _usual_settings(spec)
    # Settings that decide when the run stops come first, then those that decide its scores, and
    # those that only change the report.
    settings = spec.settings_with_roles(Role.STOP) | spec.settings_with_roles(
        *SCORE_ROLES, Role.REPORT
    )
    for name, value in settings.items():
        setting = SETTINGS[name]
        if name in _SPECIAL_OPTIONS:
            # Some settings are more words than an option and its value.
            words += _SPECIAL_OPTIONS[name](spec)
        elif name == "metric" and _is_scored_elsewhere(spec):
            continue  # The words of --own-metric name it.
        elif setting.option is not None and _needs_option(spec, setting, usual_values[name]):
            words.append(setting.option)
            if setting.kind is not bool:
                # An option of a yes or no says yes by being there, without a value.
                words.append(setting.text(value))
    return shlex.join(words)


def _needs_option(spec: RunSpec, setting: Setting, usual: object) -> bool:
    """Whether a setting has to be given on the command line, for a run to be repeated.

    Args:
        spec: The spec of the run.
        setting: The setting.
        usual: The value that it has where nobody gives it.
    """
    if setting.of_rule and setting.name not in stopping.rule(spec.rule).run_settings:
        return False
    return setting.always_told or getattr(spec, setting.name) != usual


def _usual_settings(spec: RunSpec) -> dict[str, object]:
    """The value that each setting of a run like this has where nobody asks."""
    usual = {name: setting.default for name, setting in SETTINGS.items()}
    usual["metric"] = spec.task.usual_metric
    if spec.tracked:
        # A tracked model has no usual metric, so that the command line names one.
        usual["metric"] = None
    usual["split"] = spec.task.usual_split
    usual["k"] = usual_k(spec.split, are_folds_imported=spec.folds_sha256 is not None)
    usual["rule"] = usual_rule(spec.split, spec.k)
    usual["min_folds"] = usual_min_folds(spec.rule, spec.k)
    if spec.folds_sha256:
        # A file with folds says both the split and k, so that the command line need not.
        usual["split"] = spec.split
        usual["k"] = spec.k
    return usual


def _folds_option(spec: RunSpec) -> list[str]:
    if not spec.folds_sha256:
        return []
    return ["--folds", spec.folds_sha256]


def _is_scored_elsewhere(spec: RunSpec) -> bool:
    """Whether the run is scored by a metric that only other code computes."""
    return bool(spec.own_metric) and not dict(spec.own_metric)["code"]


def _own_metric_options(spec: RunSpec) -> list[str]:
    """The options that describe a metric which only other code computes."""
    if not _is_scored_elsewhere(spec):
        return []
    facts_of_metric = dict(spec.own_metric)
    words = ["--own-metric", spec.metric]
    if not facts_of_metric["higher_is_better"]:
        words.append("--lower-is-better")
    if facts_of_metric["unit"]:
        words += ["--unit", str(facts_of_metric["unit"])]
    return words


def _param_options(spec: RunSpec) -> list[str]:
    return _unusual_values("--param", spec.params, models.of(spec).resolve({}))


def _split_param_options(spec: RunSpec) -> list[str]:
    if spec.folds_sha256:
        return []
    usual = splits.strategy(spec.split).resolve({})
    return _unusual_values("--split-param", spec.split_params, usual)


def _rule_param_options(spec: RunSpec) -> list[str]:
    """The options of the rule's parameters that are not as usual, or always told."""
    values = dict(spec.rule_params)
    words = []
    for parameter in stopping.rule(spec.rule).parameters:
        value = values.get(parameter.name, parameter.default)
        if value == parameter.default and not (parameter.required or parameter.always_told):
            continue
        if parameter.flag:
            words += [parameter.flag, str(value)]
        else:
            words += ["--rule-param", f"{parameter.name}={value}"]
    return words


def _unusual_values(option: str, values: Params, usual: Params) -> list[str]:
    """What is not as usual, each as 'OPTION NAME=VALUE'."""
    words = []
    for name, value in values:
        if (name, value) not in usual:
            words += [option, f"{name}={value}"]
    return words


_SPECIAL_OPTIONS = {
    "folds_sha256": _folds_option,
    "own_metric": _own_metric_options,
    "params": _param_options,
    "split_params": _split_param_options,
    "rule_params": _rule_param_options,
}
"""Settings whose options are not their name and their value."""
