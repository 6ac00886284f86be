"""The JSON document of a run, and the command line that repeats the run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self

from annotated_types import Ge, Le
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
)
from ecv_core.records.spec import SCORES, SETTINGS, Role, RunSpec
from ecv_core.stopping import MomentsAgain, usual_kind

FORMAT: Final = "e-fold run"
VERSION = 1
"""Of the document; raised when an older e-fold would misread a newer one's."""

Time = Annotated[AwareDatetime, PlainSerializer(datetime.isoformat)]
Ends = tuple[FiniteFloat, FiniteFloat]
"""Low and high of an interval."""


def ends(interval: Interval | None) -> Ends | None:
    """An interval as documents hold it."""
    return (interval.low, interval.high) if interval else None


Count = Annotated[int, Ge(0), Le(10**12)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, defer_build=True)  # built once, whole


class Seconds(_Part):
    """How long a fold took."""

    model_config = ConfigDict(extra="forbid")

    fit: Amount
    evaluate: Amount
    total: Amount
    processor: Amount | None = None
    """Of all cores; None in documents of before it was written."""


class FoldDocument(_Part):
    """A fold in the document."""

    fold: Count
    score: Number
    metrics: dict[str, FiniteFloat]
    users: Count = 0
    inner_curve: tuple[FiniteFloat, ...] = ()
    seconds: Seconds
    energy: Energy
    reused: bool = False
    """Whether another run had computed it; False in documents of before it was written."""
    shared: Shared | None = None
    host: str | None = None
    """Where it was computed; `node` has more of it."""
    node: Node | None = None

    @classmethod
    def of(cls, result: FoldResult) -> Self:
        """What is written of a fold: all but the scores of its users."""
        seconds = Seconds.model_construct(
            **{name: getattr(result, f"{name}_seconds") for name in Seconds.model_fields}
        )
        plain = {name: getattr(result, name) for name in cls.model_fields if name != "seconds"}
        return cls.model_construct(seconds=seconds, **plain)  # checked once, as a whole

    def record(self) -> FoldResult:
        """The fold that was written."""
        seconds = {f"{name}_seconds": getattr(self.seconds, name) for name in Seconds.model_fields}
        others = type(self).model_fields.keys() - {"seconds", "host"}  # `node` has the host
        return FoldResult(**seconds, **{name: getattr(self, name) for name in others})


class MomentDocument(_Part):
    """What the rule said after a fold; n, fold and score are those of the fold beside it."""

    mean: FiniteFloat
    interval: Ends | None
    interval_kind: IntervalKind | None = None
    """None without an interval, and in documents of before it was written."""
    stop: bool
    reason: str
    doubt: str = ""

    @classmethod
    def of(cls, moment: Moment) -> Self:
        """What is written of a moment."""
        return cls(
            mean=moment.mean,
            interval=ends(moment.interval),
            interval_kind=moment.interval.kind if moment.interval else None,
            stop=moment.decision.stop,
            reason=moment.decision.reason,
            doubt=moment.doubt,
        )

    def record(self, n: int, fold: FoldResult, usual: IntervalKind) -> Moment:
        """The moment that was written, after the n-th fold; its intervals are of the usual kind."""
        low_high, kind = self.interval, self.interval_kind or usual
        return Moment(
            n=n,
            fold=fold.fold,
            score=fold.score,
            mean=self.mean,
            interval=low_high and Interval(low=low_high[0], high=low_high[1], kind=kind),
            decision=Decision(stop=self.stop, reason=self.reason),
            doubt=self.doubt,
        )


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
    folds: list[FoldDocument]
    moments: list[MomentDocument] = []
    made_with: Any = None
    """Machine and versions, see `environment`; not part of what `run --json` writes."""

    def record(self, written: datetime) -> RunRecord:
        """The run, without per-user scores.

        Args: written: when it began and ended, where the document does not say.
        """
        folds = tuple(fold.record() for fold in self.folds)
        return RunRecord(
            folds=folds,
            moments=self._moments(folds),
            created_at=self.created_at or written,
            finished_at=self.finished_at or written,
            **{name: getattr(self, name) for name in _PLAIN},
        )

    def _moments(self, folds: Sequence[FoldResult]) -> Sequence[Moment]:
        if len(self.moments) != len(folds):
            return MomentsAgain(self.spec, folds, self.stopped_at)
        pairs = enumerate(zip(self.moments, folds, strict=True), start=1)
        usual = usual_kind(self.spec)
        return tuple(said.record(n, fold, usual) for n, (said, fold) in pairs)


_PLAIN = ("run_id", "spec", "state", "stopped_at", "error", "other_work")
"""Fields of a run that its document has as they are."""


def run_document(run: RunRecord) -> dict[str, Any]:
    """The run as plain JSON values: what `run --json` writes and pages export.

    Beside what `RunDocument` says: `mean`, `interval` (what the rule goes by; `interval_kind` says
    what it holds), `mean_interval` (Student's t) and `stop_interval` (the same, allowing for how
    the rule came to stop there: see `stopping.interval`) are those at the stop, or after the newest
    fold while there is none. `k_fold_mean`, its interval and `difference_percent` (the paper's d)
    are there once all folds are. `energy` is `energy.savings.EnergyFacts`, `doubt` what makes the
    folds no base for a promise, `hardware` on which they were computed.
    Raises: InputError for a run with a value that `imports.read_run` would refuse.
    """
    at, whole = run.at_stop, run.k_fold_mean
    scores, confidence = [result.score for result in run.folds], run.spec.confidence
    used = scores[: run.folds_used]
    try:
        document = RunDocument(
            **{name: getattr(run, name) for name in (*_PLAIN, "created_at", "finished_at")},
            mean=at.mean if at else None,
            folds=[FoldDocument.of(result) for result in run.folds],
            moments=[MomentDocument.of(moment) for moment in run.moments],
        ).model_dump(mode="json", exclude={"made_with"})
        codec.read(RunDocument, json.dumps(document))
    except ValidationError as error:
        raise InputError(
            f"run {run.run_id} cannot be written as JSON: {codec.sentence(error)}"
        ) from error
    return document | {
        "interval": ends(at.interval) if at else None,
        "interval_kind": at.interval.kind.value if at and at.interval else None,
        "mean_interval": ends(stopping.uncertainty_of(used, confidence)) if used else None,
        "stop_interval": ends(stopping.interval_after_stop(run.spec, used)) if used else None,
        "k_fold_mean": whole,
        "k_fold_mean_interval": None
        if whole is None
        else ends(stopping.uncertainty_of(scores, confidence)),
        "difference_percent": None
        if at is None or whole is None
        else stopping.difference_percent(at.mean, whole),
        "doubt": run.doubt,
        "energy": codec.to_json(energy_of(run)),
        "hardware": sorted({result.node.hardware for result in run.folds if result.node}),
    }


# The command line that repeats a run.


def command_for(spec: RunSpec) -> str:
    """The command line that repeats a run, or has it tracked again; defaults are left out.

    Imported folds are named by the hash under which a copy is kept on this machine.
    """
    words = ["python", "-m", "ecv_core"]
    words += (
        ["track", spec.algorithm, spec.dataset]
        if spec.tracked
        else ["run", spec.dataset, spec.algorithm]
    )
    told = _told(spec)
    for name, value in (spec.part(Role.STOP) | spec.part(*SCORES, Role.REPORT)).items():
        known = SETTINGS[name]
        if name == "folds_sha256" and value:
            words += ["--folds", str(value)]
        elif name == "own_metric" and _reported(spec):
            words += _own_metric(spec)
        elif name == "params":
            words += _named("--param", spec.params, models.of(spec).resolve({}))
        elif name == "split_params" and not spec.folds_sha256:
            defaults = splits.strategy(spec.split).resolve({})
            words += _named("--split-param", spec.split_params, defaults)
        elif name == "rule_params":
            words += _of_rule(spec)
        if name == "metric" and _reported(spec):
            continue
        if name in told or (known.always_told and _asked(spec, name)):
            words += [str(known.option)]
            words += [] if known.kind is bool else [known.text(value)]
    return shlex.join(words)


def _reported(spec: RunSpec) -> bool:
    """Whether the run is scored by a metric that only other code computes."""
    return bool(spec.own_metric) and not dict(spec.own_metric)["code"]


def _own_metric(spec: RunSpec) -> list[str]:
    about = dict(spec.own_metric)
    words = ["--own-metric", spec.metric]
    words += [] if about["higher_is_better"] else ["--lower-is-better"]
    return words + (["--unit", str(about["unit"])] if about["unit"] else [])


def _told(spec: RunSpec) -> dict[str, object]:
    """The settings with an option that are not as they are where nobody asks."""
    usual = {name: one.default for name, one in SETTINGS.items()} | {
        "metric": None if spec.tracked else spec.task.usual_metric,
        "split": spec.task.usual_split,
        "k": usual_k(spec.split, imported=spec.folds_sha256 is not None),
        "rule": usual_rule(spec.split, spec.k),
        "min_folds": usual_min_folds(spec.rule, spec.k),
    }
    if spec.folds_sha256:
        usual |= {"split": spec.split, "k": spec.k}  # the file says both
    parts = spec.part(Role.STOP) | spec.part(*SCORES, Role.REPORT)
    return {
        name: value for name, value in parts.items() if value != usual[name] and _asked(spec, name)
    }


def _of_rule(spec: RunSpec) -> list[str]:
    """The options of the rule's parameters that are not as usual, or always told."""
    words = []
    for one in stopping.rule(spec.rule).parameters:
        value = dict(spec.rule_params).get(one.name, one.default)
        if one.required or one.always_told or value != one.default:
            option = [one.flag, str(value)] if one.flag else ["--rule-param", f"{one.name}={value}"]
            words += option
    return words


def _asked(spec: RunSpec, name: str) -> bool:
    """Whether a setting has an option, and means something with the run's rule."""
    known = SETTINGS[name]
    return known.option is not None and not (
        known.of_rule and name not in stopping.rule(spec.rule).told
    )


def _named(option: str, values: Params, usual: Params) -> list[str]:
    """What is not as usual, each as 'OPTION NAME=VALUE'."""
    told = [one for one in values if one not in usual]
    return [word for name, value in told for word in (option, f"{name}={value}")]
