"""Runs computed elsewhere: a JSON file, every value of it checked -> into the database."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

import ecv_core.untrusted.bounded as bounded
import ecv_core.untrusted.limits as limits
from ecv_core import dataset as datasets
from ecv_core import stopping
from ecv_core.fold.spec import make_spec
from ecv_core.records import codec
from ecv_core.records.errors import EcvError, InputError
from ecv_core.records.run import FoldResult, Moment, RunRecord, RunState
from ecv_core.records.spec import SETTINGS, RunSpec
from ecv_core.stopping.base import OwnInterval, OwnMean
from ecv_core.store import schema
from ecv_core.store.document import FORMAT, VERSION, RunDocument
from ecv_core.store.fold_checks import check_fold_names, check_fold_of_spec, check_texts
from ecv_core.store.rows import fold_row, run_row, run_rows
from ecv_core.store.schema import folds, imports, now, removed, runs
from ecv_core.store.store import Store, new_run_id

_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")
_DATASET = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_SHA256 = re.compile("[0-9a-f]{64}")
_SAME = 1e-9
"""How far a mean may be from that of scores of size 1: rounding, nothing else."""


@dataclass(frozen=True, kw_only=True)
class RunFile:
    """A run that came from a file."""

    run: RunRecord
    """Finished, with its moments."""
    made_with: Mapping[str, Any]
    """Machine and versions that it was computed with, as far as the file says; may be empty."""
    name: str
    """Of the file."""


def is_run(content: bytes) -> bool:
    """Whether a file is a run that e-fold exported, of whatever version."""
    try:
        _values_of_run(content)
    except _NotARun:
        return False
    return True


def read_run(content: bytes, name: str) -> RunFile:
    """Read and check an exported run.

    Raises:
        InputError: With what is wrong with the file and the way out.
    """
    shown = codec.shown(name)
    if len(content) > limits.MAX_RUN_BYTES:
        raise InputError(
            f"the file {shown} has {len(content) / 1e6:.0f} MB, too much for a run "
            f"(at most {limits.MAX_RUN_BYTES / 1e6:.0f} MB); export the run again"
        )
    if len(content) > limits.READ_HERE_BYTES:
        # Parsing a large file may take more memory than there is, so a child process does it.
        return bounded.run_in_child(_read, content, name, what=f"the file {shown}")
    return _read(content, name)


def _read(content: bytes, name: str) -> RunFile:
    shown = codec.shown(name)
    try:
        _check_format(_values_of_run(content))
        document = codec.read(RunDocument, content)
        run = document.record(datetime.now(UTC))
        _check_names(document)
        check_texts(document.model_dump(mode="json", exclude={"made_with"}))
        _check_spec(document.spec)
        _check_run(run)
        _check_mean(run, document.mean)
    except ValueError as error:
        raise InputError(
            f"the file {shown} is a damaged run: {codec.what_is_wrong(error)}; export the run again"
        ) from error
    except _NotARun as error:
        raise InputError(
            f"the file {shown} is not a run that e-fold exported{error}; on the page of a run, "
            "under Export, 'Run as JSON' gives one"
        ) from error
    except EcvError as error:
        raise InputError(f"the file {shown} cannot be imported: {error}") from error
    return RunFile(run=run, made_with=_plain_environment(document.made_with), name=name)


class _NotARun(EcvError):
    """Of a file of another kind; its text is empty, or why in brackets."""


def _values_of_run(content: bytes) -> dict[str, Any]:
    """The JSON values of a file, of which only the format is checked. Raises: _NotARun."""
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        # The text in brackets becomes a part of the sentence of `_read`.
        raise _NotARun(" (not JSON)") from error
    if isinstance(values, dict) and values.get("format") == FORMAT:
        return values
    raise _NotARun


def _check_format(values: Mapping[str, Any]) -> None:
    """Refuse a document of another version, or with settings that are not known here."""
    version = values.get("version")
    if version != VERSION:
        raise InputError(
            f"its version is {codec.shown(repr(version))}, and this e-fold reads {VERSION}; update "
            "e-fold here and import it again"
        )
    spec = values.get("spec")
    if isinstance(spec, dict):
        # A spec that is no mapping is refused later, when the document is read.
        for name in spec:
            if name not in SETTINGS:
                raise InputError(
                    f"its spec has '{codec.shown(name)}', which this version of e-fold does not "
                    "know; use the same version here and where the run was made, and export the "
                    "run again"
                )


def _check_names(document: RunDocument) -> None:
    """Refuse what cannot be the name of a run, a dataset, a metric or a source of energy."""
    spec = document.spec
    if not _ID.fullmatch(document.run_id):
        raise InputError("its run id must be up to 32 letters, digits, - and _")
    if not _DATASET.fullmatch(spec.dataset):
        raise InputError(f"'{codec.shown(spec.dataset)}' cannot be the name of a dataset")
    for name, sha256 in (("folds_sha256", spec.folds_sha256), ("data_sha256", spec.data_sha256)):
        if sha256 is not None and not _SHA256.fullmatch(sha256):
            raise InputError(f"its {name} is not a SHA-256 hash")
    for fold in document.folds:
        check_fold_names(fold)


def _check_spec(spec: RunSpec) -> None:
    """Refuse a spec that this installation could not have made, but for an unknown dataset."""
    if spec.n not in spec.cutoffs or min(spec.cutoffs) < 1:
        raise InputError(f"its cut-offs {list(spec.cutoffs)[:9]} do not fit n = {spec.n}")
    # Making the spec again from its own settings refuses values that cannot be.
    arguments = {name: getattr(spec, name) for name in SETTINGS}
    del arguments["cutoffs"]  # `make_spec` works them out from n.
    for name in ("params", "split_params", "rule_params"):
        arguments[name] = dict(arguments[name])
    if spec.dataset not in datasets.catalogue():
        # A dataset of one's own is known only where its file is; its results can be read anywhere.
        arguments["dataset"] = "synthetic"
    rule_params = dict(make_spec(**arguments).rule_params)
    for name, value in spec.rule_params:
        if type(rule_params[name]) is not type(value):
            raise InputError(f"its rule_params.{name} cannot be {codec.shown(value)}")


def _check_run(run: RunRecord) -> None:
    """Refuse a run that has not ended, and numbers that do not follow from each other."""
    if run.state is not RunState.FINISHED:
        raise InputError(
            f"the run is {run.state}, and only finished ones can be imported; "
            "resume it where it was made, then export it again"
        )
    _check_folds(run.spec, run.folds)
    # A moment is what the rule said after a fold.
    _check_moments(run)
    if run.stopped_at != stopping.stop_of(run.moments, run.k):
        raise InputError(f"its stop after {run.stopped_at} folds does not follow from its folds")


def _check_folds(spec: RunSpec, results: tuple[FoldResult, ...]) -> None:
    """Refuse folds that are not this run's, and scores that are not of its metric."""
    indices = [result.fold for result in results]
    if not indices:
        raise InputError("it has no folds; export the run once it is finished")
    if len(set(indices)) != len(indices):
        raise InputError(f"a fold is listed twice: {indices[:30]}; export the run again")
    for result in results:
        check_fold_of_spec(spec, result)


def _check_moments(run: RunRecord) -> None:
    """Refuse means and intervals after a fold that do not follow from the scores so far."""
    scores = [result.score for result in run.folds]
    rule = stopping.rule_for(run.spec)
    for n, moment in enumerate(run.moments, start=1):
        # A rule may know the k-fold mean better than the folds so far do: then only the mean of all
        # of them follows from their scores.
        is_mean_of_scores = n == run.k or not isinstance(rule, OwnMean)
        distance = abs(moment.mean - math.fsum(scores[:n]) / n)
        if is_mean_of_scores and distance > _rounding_error(run):
            raise InputError(f"its mean after {n} folds is not the mean of their scores")
        # A rule may have an interval of its own, which need not hold the mean.
        _check_interval(
            moment, _rounding_error(run), must_hold_mean=not isinstance(rule, OwnInterval)
        )


def _check_interval(moment: Moment, rounding_error: float, *, must_hold_mean: bool) -> None:
    interval = moment.interval
    if interval is None:
        return
    if interval.low > interval.high:
        raise InputError(f"its interval after {moment.n} folds ends before it begins")
    # A mean that lies at an end of its interval may be outside of it because of rounding.
    is_inside = interval.low - rounding_error <= moment.mean <= interval.high + rounding_error
    if must_hold_mean and not is_inside:
        raise InputError(f"its interval after {moment.n} folds does not hold the mean")


def _check_mean(run: RunRecord, mean: float | None) -> None:
    """Refuse a mean that is not the one at the stop."""
    at_stop = run.at_stop
    if at_stop and mean is not None and abs(mean - at_stop.mean) > _rounding_error(run):
        raise InputError("its mean does not follow from its fold scores")


def _rounding_error(run: RunRecord) -> float:
    """How far a mean of these folds may be from another that is the same but for rounding."""
    sizes = [abs(result.score) for result in run.folds]
    return _SAME * max(1.0, *sizes)


def _plain_environment(environment: object) -> dict[str, Any]:
    """Machine and versions as short texts and numbers; whatever else is there is left out."""
    if not isinstance(environment, dict):
        return {}
    made_with: dict[str, Any] = _short_texts(environment, ("e_fold", "machine", "python"))
    # Anybody can have written the file, so that numbers and lists of any length are cut or left
    # out.
    for name in ("cores", "memory_gib"):
        if isinstance(environment.get(name), int):
            made_with[name] = min(environment[name], 10**9)
    packages = environment.get("packages")
    if isinstance(packages, dict) and len(packages) <= 50:
        made_with["packages"] = _short_texts(packages, filter(_is_short_text, packages))
    return made_with


def _short_texts(values: Mapping[str, object], names: Iterable[str]) -> dict[str, object]:
    return {name: values[name] for name in names if _is_short_text(values.get(name))}


def _is_short_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= 60 and value.isprintable()


# Into the database, with where they came from.


OWNER = "imported"


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where an imported run came from."""

    original_id: str
    """Its id in the installation that computed it."""
    file_name: str
    imported_at: datetime
    made_with: Mapping[str, Any]
    """Machine and versions that it was computed with, as far as its file says; may be empty."""


def import_run(store: Store, file: RunFile, *, started_by: str = "") -> tuple[str, bool]:
    """Keep a finished run that was computed elsewhere.

    It gets its own id where that is free, else a new one. What was imported before is not kept
    twice.

    Args:
        store: The store that is to keep it.
        file: As `read_run` gives it.
        started_by: The id of the person who imports it.

    Returns:
        The id that it has here, and whether it is new; False where it was here already.

    Raises:
        StoreError.
    """
    run = file.run
    with store.transaction("written") as connection:
        schema.wait_for_others(connection)
        deleted_ids = set(connection.scalars(sa.select(removed.c.run_id)))
        for same_run in _equal_runs(connection, run):
            if same_run.run_id not in deleted_ids:
                return same_run.run_id, False
            # The run in the file takes the place of the one that was imported before.
            schema.forget(connection, [same_run.run_id])
        run_id = run.run_id
        same_id = sa.select(runs.c.run_id).filter_by(run_id=run_id)
        if connection.scalar(same_id) is not None:
            run_id = new_run_id()
        _insert(connection, run, run_id, started_by)
        origin = imports.insert().values(
            run_id=run_id,
            original_id=run.run_id,
            file_name=codec.shown(file.name, 120),
            made_with=json.dumps(dict(file.made_with)),
            imported_at=now(),
        )
        connection.execute(origin)
        return run_id, True


def origins(store: Store) -> dict[str, Origin]:
    """Where each imported run came from, by the id that it has here. Raises: StoreError."""
    origin_of = {}
    for row in store.rows(imports.select()):
        with suppress(ValueError, TypeError):
            # A damaged row is passed over, so that it hides no other.
            origin_of[row.run_id] = Origin(
                original_id=row.original_id,
                file_name=row.file_name,
                imported_at=datetime.fromisoformat(row.imported_at),
                made_with=codec.read(dict[str, Any], row.made_with),
            )
    return origin_of


def _equal_runs(connection: sa.Connection, run: RunRecord) -> list[RunRecord]:
    """The runs of the database with the same spec and the same folds, deleted ones too."""
    equal_runs = []
    for other in run_rows(connection, runs.c.score_key == run.spec.score_key).records():
        if other.spec == run.spec and other.folds == run.folds:
            equal_runs.append(other)
    return equal_runs


def _insert(connection: sa.Connection, run: RunRecord, run_id: str, started_by: str) -> None:
    """Insert a finished run and its folds under this id."""
    created = run.created_at.astimezone(UTC).isoformat()
    finished = (run.finished_at or run.created_at).astimezone(UTC).isoformat()
    row = run_row(run_id, run.spec, group=run_id, owner=OWNER, started_by=started_by)
    # A file tells when a run was made and when it ended, but not when it was queued and started.
    row |= {
        "state": RunState.FINISHED,
        "stopped_at": run.stopped_at,
        "created_at": created,
        "queued_at": created,
        "started_at": created,
        "finished_at": finished,
    }
    connection.execute(runs.insert().values(**row))
    for result, moment in zip(run.folds, run.moments, strict=True):
        connection.execute(folds.insert().values(**fold_row(run_id, result, moment)))
