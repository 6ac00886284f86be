"""A run's JSON file from anywhere -> a finished run, every value of it checked."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, NoReturn

import ecv_core.datasets as datasets
from ecv_core import stopping
from ecv_core.energy import SOURCES
from ecv_core.errors import EcvError, InputError
from ecv_core.records import Decision, Moment, Run, RunSpec, RunState
from ecv_core.runs.json_checks import at_least, number, scalars, shown, typed, whole_numbers
from ecv_core.runs.run_json import FORMAT, VERSION, run_from
from ecv_core.spec import make_spec

MAX_BYTES = 10_000_000
"""A run of ten folds takes 20 kB; nothing that people make comes near this."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")
_DATASET = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_METRIC = re.compile(r"[a-z][a-z0-9_-]{0,39}(@[0-9]{1,6})?")
_SAME = 1e-9
"""How far a mean may be from the mean of its scores: rounding, nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """A run that came from a file."""

    run: Run
    """Finished, with its moments."""
    made_with: Mapping[str, Any]
    """Machine and versions that it was computed with, as far as the file says; may be empty."""
    sha256: str
    """Of its spec and folds: the same for every copy of the same run."""


def read_run(content: bytes, name: str) -> RunFile:
    """Read and check an exported run.

    Args:
        content: of the file.
        name: of the file, for messages.
    Raises: InputError with what is wrong with the file and the way out.
    """
    document = _document(content, name)
    try:
        _check_spec(document["spec"])
        for fold in document["folds"]:
            _check_fold(fold)
        _check_top(document)
        run = run_from(document, datetime.now(UTC))
        run = replace(run, moments=_checked_moments(run))
        _check_run(run, document)
    except EcvError as error:
        raise InputError(f"the file {name} cannot be imported: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(
            f"the file {name} is a damaged run ({type(error).__name__}: {shown(error)}); "
            "export the run again"
        ) from error
    return RunFile(
        run=run, made_with=_made_with(document.get("made_with")), sha256=content_sha256(run)
    )


def content_sha256(run: Run) -> str:
    """What names a run's results, whatever its id: 64 hex digits."""
    content = {
        "spec": json.loads(run.spec.to_json()),
        "stopped_at": run.stopped_at,
        "folds": [
            [f.fold, f.score, f.total_seconds, f.energy.joules, f.users, sorted(f.metrics.items())]
            for f in run.folds
        ],
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _document(content: bytes, name: str) -> dict[str, Any]:
    if len(content) > MAX_BYTES:
        raise InputError(
            f"the file {name} has {len(content) / 1e6:.0f} MB, too much for a run "
            f"(at most {MAX_BYTES / 1e6:.0f} MB); export the run again"
        )
    foreign = (
        f"the file {name} is not a run that e-fold exported; on the page of a run, under Export, "
        "'Run as JSON' gives one"
    )
    try:
        document = json.loads(content.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        reason = "not JSON" if not isinstance(error, _NotFinite) else str(error)
        raise InputError(f"{foreign} ({reason})") from error
    if not isinstance(document, dict):
        raise InputError(foreign)
    if document.get("format", FORMAT) != FORMAT:
        raise InputError(foreign)
    version = document.get("version", VERSION)
    if not isinstance(version, int) or version > VERSION:
        raise InputError(
            f"the file {name} was written by a newer e-fold (format {shown(version)}, this one "
            f"reads up to {VERSION}); update e-fold here and import it again"
        )
    if not {"run_id", "spec", "state", "stopped_at", "folds"} <= set(document):
        raise InputError(foreign)
    if not isinstance(document["spec"], dict) or not isinstance(document["folds"], list):
        raise InputError(foreign)
    return document


class _NotFinite(ValueError):
    pass


def _no_constant(text: str) -> NoReturn:
    raise _NotFinite(f"it holds {text}, which is no number")


def _check_spec(given: Mapping[str, Any]) -> None:
    """Refuse a spec that this installation could not have made, but for an unknown dataset."""
    known = {field.name: field.type for field in fields(RunSpec)}
    if strange := sorted(set(given) - set(known)):
        raise InputError(
            f"its spec has '{shown(strange[0])}', which this version does not know; update e-fold"
        )
    if missing := [name for name in ("dataset", "algorithm", "k") if name not in given]:
        raise InputError(f"its spec has no '{missing[0]}'; export the run again")
    for name, value in given.items():
        if name in ("params", "split_params"):
            scalars(value, name)
        elif name in ("cutoffs", "only_folds"):
            whole_numbers(value, name)
        else:
            typed(value, str(known[name]), name)
    spec = RunSpec.from_json(json.dumps(given))
    if not _DATASET.fullmatch(spec.dataset):
        raise InputError(f"'{shown(spec.dataset)}' cannot be the name of a dataset")
    if spec.folds_sha256 is not None and not re.fullmatch("[0-9a-f]{64}", spec.folds_sha256):
        raise InputError("its folds_sha256 is not a SHA-256 hash")
    if spec.n not in spec.cutoffs or min(spec.cutoffs) < 1:
        raise InputError(f"its cutoffs {list(spec.cutoffs)[:9]} do not fit n = {spec.n}")
    # A dataset of one's own is known only where its file is; its results can be read anywhere.
    here = spec.dataset if spec.dataset in datasets.catalogue() else "synthetic"
    arguments: dict[str, Any] = {
        name: getattr(spec, name) for name in inspect.signature(make_spec).parameters
    }
    arguments |= {"params": dict(spec.params), "split_params": dict(spec.split_params)}
    make_spec(**arguments | {"dataset": here})


def _check_fold(fold: Mapping[str, Any]) -> None:
    at_least(fold["fold"], 0, "fold", whole=True)
    at_least(fold.get("users", 0), 0, "users", whole=True)
    number(fold["score"], "score")
    if not isinstance(fold["metrics"], dict) or len(fold["metrics"]) > 500:
        raise InputError("the metrics of a fold must be an object of numbers")
    for name, value in fold["metrics"].items():
        if not _METRIC.fullmatch(name):
            raise InputError(f"'{shown(name)}' cannot be the name of a metric")
        number(value, name)
    for value in fold.get("inner_curve", ()):
        number(value, "inner_curve")
    if set(fold["seconds"]) != {"fit", "evaluate", "total"}:
        raise InputError("the seconds of a fold must be fit, evaluate and total")
    for name, value in fold["seconds"].items():
        at_least(value, 0, f"seconds of '{name}'")
    for name, value in fold["energy"].items():
        if name == "source":
            if value not in SOURCES:
                raise InputError(f"no source of energy is called '{shown(value)}'")
        else:
            at_least(value, 0, name)


def _check_top(document: Mapping[str, Any]) -> None:
    if not isinstance(document["run_id"], str) or not _ID.fullmatch(document["run_id"]):
        raise InputError("its run id must be up to 32 letters, digits, - and _")
    for name in ("created_at", "finished_at"):
        text = document.get(name)
        if text is not None and datetime.fromisoformat(text).tzinfo is None:
            raise InputError(f"its {name} has no time zone")
    for moment in document.get("moments") or ():
        number(moment["mean"], "mean")
        for end in moment["interval"] or ():
            number(end, "interval")
        typed(moment["stop"], "bool", "stop")
        typed(moment["reason"], "str", "reason")
    if document["state"] != RunState.FINISHED:
        raise InputError(
            f"the run is {shown(document['state'])}, and only finished ones can be imported; "
            "resume it where it was made, then export it again"
        )


def _made_with(given: object) -> dict[str, Any]:
    """Machine and versions as short texts and numbers; whatever else is there is left out."""

    def short(value: object) -> bool:
        return isinstance(value, str) and len(value) <= 60 and value.isprintable()

    if not isinstance(given, dict):
        return {}
    kept = {name: given[name] for name in ("e_fold", "machine", "python") if short(given.get(name))}
    for name in ("cores", "memory_gib"):
        if isinstance(given.get(name), int):
            kept[name] = min(given[name], 10**9)
    packages = given.get("packages")
    if isinstance(packages, dict) and len(packages) <= 50:
        kept["packages"] = {
            name: version for name, version in packages.items() if short(name) and short(version)
        }
    return kept


def _checked_moments(run: Run) -> tuple[Moment, ...]:
    """What the rule said, as recorded; worked out again where the file does not say."""
    if run.moments:
        return run.moments
    spec, folds = run.spec, run.folds
    if not stopping.rule(spec.rule).needs_user_scores:
        return tuple(stopping.moments(stopping.rule_for(spec), folds, spec.confidence))
    plain = stopping.moments(stopping.RULES["never"].build(spec), folds, spec.confidence)
    # Every user's score stayed where the run was made, so nothing more can be said of its reasons.
    said = "the rule said {}, where the run was made."
    return tuple(
        replace(
            moment,
            decision=Decision(
                stop=moment.n == run.stopped_at and moment.n < len(spec.fold_order),
                reason=f"After {moment.n} folds: "
                + said.format("stop" if moment.n == run.stopped_at else "go on"),
            ),
        )
        for moment in plain
    )


def _check_run(run: Run, document: Mapping[str, Any]) -> None:
    """Refuse folds that are not this run's, and numbers that do not follow from each other."""
    order, spec = run.spec.fold_order, run.spec
    indices = [fold.fold for fold in run.folds]
    if not indices:
        raise InputError("it has no folds; export the run once it is finished")
    if len(set(indices)) != len(indices):
        raise InputError(f"a fold is there twice: {indices[:30]}; export the run again")
    if wrong := [index for index in indices if index not in order]:
        raise InputError(f"fold {wrong[0]} is none of the folds of its spec; export the run again")
    for fold in run.folds:
        if abs(fold.metrics.get(spec.metric_name, math.inf) - fold.score) > _SAME:
            raise InputError(f"the score of fold {fold.fold} is not its {spec.metric_name}")
    scores = [fold.score for fold in run.folds]
    for n, moment in enumerate(run.moments, start=1):
        if abs(moment.mean - math.fsum(scores[:n]) / n) > _SAME * max(1.0, abs(moment.mean)):
            raise InputError(f"its mean after {n} folds is not the mean of their scores")
        interval = moment.interval
        if interval and not interval.low - _SAME <= moment.mean <= interval.high + _SAME:
            raise InputError(f"its interval after {n} folds does not hold the mean")
    if run.stopped_at != stopping.stop_of(run.moments, len(order)):
        raise InputError(
            f"its stop after {shown(run.stopped_at)} folds does not follow from its folds"
        )
    mean = document.get("mean")
    at = run.moments[(run.stopped_at or len(run.moments)) - 1].mean
    if mean is not None and abs(number(mean, "mean") - at) > _SAME * max(1.0, abs(at)):
        raise InputError("its mean does not follow from its fold scores")
