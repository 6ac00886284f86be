"""Runs computed elsewhere: a JSON file, every value of it checked -> into the database."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from pydantic import ValidationError

import ecv_core.untrusted.bounded as bounded
import ecv_core.untrusted.limits as limits
from ecv_core import dataset as datasets
from ecv_core import splits, stopping
from ecv_core.energy.meter import SOURCES
from ecv_core.fold.spec import make_spec
from ecv_core.records import codec
from ecv_core.records.errors import EcvError, InputError
from ecv_core.records.run import RunRecord, RunState
from ecv_core.records.spec import OLDER, SETTINGS, Role, RunSpec
from ecv_core.stopping.base import OwnInterval, OwnMean
from ecv_core.store import schema
from ecv_core.store.document import FORMAT, VERSION, RunDocument
from ecv_core.store.rows import fold_row, queued_rows, run_rows
from ecv_core.store.schema import folds, imports, now, removed, runs
from ecv_core.store.store import Store

_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")
_DATASET = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_METRIC = re.compile(r"[a-z][a-z0-9_-]{0,39}(@[0-9]{1,6})?")
MOST_METERS = 99
"""Of a fold; nobody has so many."""
_SAME = 1e-9
"""How far a mean may be from that of scores of size 1: rounding, nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """A run that came from a file."""

    run: RunRecord
    """Finished, with its moments."""
    made_with: Mapping[str, Any]
    """Machine and versions that it was computed with, as far as the file says; may be empty."""
    name: str
    """Of the file."""


def read_run(content: bytes, name: str) -> RunFile:
    """Read and check an exported run.

    Raises: InputError with what is wrong with the file and the way out.
    """
    shown = codec.shown(name)
    if len(content) > limits.MAX_RUN_BYTES:
        raise InputError(
            f"the file {shown} has {len(content) / 1e6:.0f} MB, too much for a run "
            f"(at most {limits.MAX_RUN_BYTES / 1e6:.0f} MB); export the run again"
        )
    if len(content) > limits.READ_HERE_BYTES:
        return bounded.in_child(_read, content, name, what=f"the file {shown}")
    return _read(content, name)


def _read(content: bytes, name: str) -> RunFile:
    shown = codec.shown(name)
    try:
        _check_format(content)
        document = codec.read(RunDocument, content)
        _check_texts(document)
        _check_spec(document.spec)
        _check_numbers(document)
        run = document.record(datetime.now(UTC))
        _check_run(run, document)
    except ValidationError as error:
        raise InputError(
            f"the file {shown} is a damaged run: {codec.sentence(error)}; export the run again"
        ) from error
    except _NotARun as error:
        raise InputError(
            f"the file {shown} is not a run that e-fold exported{error}; on the page of a run, "
            "under Export, 'Run as JSON' gives one"
        ) from error
    except EcvError as error:
        raise InputError(f"the file {shown} cannot be imported: {error}") from error
    return RunFile(run=run, made_with=_made_with(document.made_with), name=name)


class _NotARun(EcvError):
    """Of a file of another kind; its text is empty, or why in brackets."""


def _check_format(content: bytes) -> None:
    """Refuse what is no run, or one of a newer e-fold or with settings that are not known here."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _NotARun(" (not JSON)") from error
    if not isinstance(document, dict) or document.get("format", FORMAT) != FORMAT:
        raise _NotARun
    version = document.get("version", VERSION)
    if not isinstance(version, int) or version > VERSION:
        raise InputError(
            f"it was written by a newer e-fold (format {codec.shown(version)}, this one reads up "
            f"to {VERSION}); update e-fold here and import it again"
        )
    if not {"run_id", "spec", "state", "stopped_at", "folds"} <= set(document):
        raise _NotARun
    spec, folds = document["spec"], document["folds"]
    if not isinstance(spec, dict) or not isinstance(folds, list):
        raise _NotARun
    if len(folds) > limits.MAX_RUN_FOLDS:
        raise InputError(
            f"it has {len(folds):,} folds, and at most {limits.MAX_RUN_FOLDS:,} are read"
        )
    if strange := sorted(set(spec) - set(SETTINGS) - {*OLDER}):
        raise InputError(
            f"its spec has '{codec.shown(strange[0])}', which this version does not know; update "
            "e-fold"
        )
    if "k" not in spec:
        raise InputError("its spec has no 'k'; export the run again")


def _check_texts(document: RunDocument) -> None:
    """Refuse text that cannot be shown in a line, and names that cannot be."""
    spec = document.spec
    texts = spec.part(*Role) | dict(spec.params) | dict(spec.split_params) | dict(spec.rule_params)
    texts |= dict(spec.own_metric)
    texts |= {f"moments[{at}].reason": said.reason for at, said in enumerate(document.moments)}
    texts |= {"error": document.error, "other_work": document.other_work}
    for at, node in ((one.fold, one.node) for one in document.folds if one.node):
        texts |= {f"folds[{at}].host": node.host, f"folds[{at}].hardware": node.hardware}
    for fold in document.folds:
        for one in fold.energy.readings:
            texts |= {f"folds[{fold.fold}].energy.readings.meter {one.meter}": one.meter}
    for what, text in texts.items():
        if isinstance(text, str) and (len(text) > limits.MAX_TEXT or not text.isprintable()):
            raise InputError(
                f"its {codec.shown(what)} must be a line of text, but is {codec.shown(text)}"
            )
    if not _ID.fullmatch(document.run_id):
        raise InputError("its run id must be up to 32 letters, digits, - and _")
    if not _DATASET.fullmatch(spec.dataset):
        raise InputError(f"'{codec.shown(spec.dataset)}' cannot be the name of a dataset")
    for what in ("folds_sha256", "data_sha256"):
        sha256 = getattr(spec, what)
        if sha256 is not None and not re.fullmatch("[0-9a-f]{64}", sha256):
            raise InputError(f"its {what} is not a SHA-256 hash")
    for name in (name for fold in document.folds for name in fold.metrics):
        if not _METRIC.fullmatch(name):
            raise InputError(f"'{codec.shown(name)}' cannot be the name of a metric")


def _check_spec(spec: RunSpec) -> None:
    """Refuse a spec that this installation could not have made, but for an unknown dataset."""
    if spec.n not in spec.cutoffs or min(spec.cutoffs) < 1:
        raise InputError(f"its cutoffs {list(spec.cutoffs)[:9]} do not fit n = {spec.n}")
    # A dataset of one's own is known only where its file is; its results can be read anywhere.
    here = spec.dataset if spec.dataset in datasets.catalogue() else "synthetic"
    arguments: dict[str, Any] = spec.part(*Role)
    del arguments["cutoffs"]
    for name in ("params", "split_params", "rule_params"):
        arguments[name] = dict(arguments[name])
    if spec.folds_sha256 is None and not splits.exchangeable(spec.split):
        # Older versions stopped there too: results all the same.
        arguments |= {"rule": stopping.NEVER_STOPS, "rule_params": {}}
    made = make_spec(**arguments | {"dataset": here})
    known = dict(made.rule_params)
    for name, value in arguments["rule_params"].items():
        if type(known[name]) is not type(value):
            raise InputError(f"its rule_params.{name} cannot be {codec.shown(value)}")


def _check_numbers(document: RunDocument) -> None:
    """Refuse more of something than a run has, a source of energy that is none, and no end."""
    for at, fold in enumerate(document.folds):
        for what, count, most in (
            ("metrics", len(fold.metrics), limits.MAX_RUN_METRICS),
            ("inner_curve", len(fold.inner_curve), limits.MAX_CURVE),
            ("energy.readings", len(fold.energy.readings), MOST_METERS),
        ):
            if count > most:
                raise InputError(f"its folds[{at}].{what} has {count:,} values, over {most:,}")
        for source in (fold.energy.source, *(one.source for one in fold.energy.readings)):
            if source not in SOURCES:
                raise InputError(f"no source of energy is called '{codec.shown(source)}'")
    if document.state is not RunState.FINISHED:
        raise InputError(
            f"the run is {document.state}, and only finished ones can be imported; "
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


def _check_run(run: RunRecord, document: RunDocument) -> None:
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
    rounding = _SAME * max(1.0, *map(abs, scores))
    rule = stopping.rule_for(spec)
    for n, moment in enumerate(run.moments, start=1):
        # A rule may know the k-fold mean better than the folds so far do: then only the mean of all
        # of them follows from their scores.
        plain = n == run.k or not isinstance(rule, OwnMean)
        if plain and abs(moment.mean - math.fsum(scores[:n]) / n) > rounding:
            raise InputError(f"its mean after {n} folds is not the mean of their scores")
        if (interval := moment.interval) is None:
            continue
        if interval.low > interval.high:
            raise InputError(f"its interval after {n} folds ends before it begins")
        if isinstance(rule, OwnInterval):
            continue  # what it holds is for the rule to say
        if not interval.low - rounding <= moment.mean <= interval.high + rounding:
            raise InputError(f"its interval after {n} folds does not hold the mean")
    if run.stopped_at != stopping.stop_of(run.moments, run.k):
        raise InputError(f"its stop after {run.stopped_at} folds does not follow from its folds")
    at, mean = run.at_stop, document.mean
    if at and mean is not None and abs(mean - at.mean) > rounding:
        raise InputError("its mean does not follow from its fold scores")


# Into the database, with where they came from.


OWNER = "imported"


@dataclass(frozen=True, slots=True, kw_only=True)
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

    Args: started_by: the id of the person who imports it.
    Returns: the id that it has here, and whether it is new; False where it was here already.
    Raises: StoreError.
    """
    run = file.run
    with store.transaction("written") as connection:
        # Writing, though nothing changes, makes whoever imports at the same moment wait.
        connection.execute(schema.schema.update().values(version=schema.schema.c.version))
        deleted = set(connection.scalars(sa.select(removed.c.run_id)))
        for one in run_rows(connection, runs.c.score_key == run.spec.score_key).runs(readable=True):
            if (one.spec, one.folds) == (run.spec, run.folds):
                if one.run_id not in deleted:
                    return one.run_id, False
                schema.forget(connection, [one.run_id])  # it is imported anew
        taken = sa.select(runs.c.run_id).where(runs.c.run_id == run.run_id)
        run_id = run.run_id if connection.scalar(taken) is None else uuid4().hex[:12]
        _insert(connection, run, run_id, started_by)
        connection.execute(
            imports.insert().values(
                run_id=run_id,
                original_id=run.run_id,
                sha256=run_id,  # what earlier versions knew a run by
                file_name=codec.shown(file.name, 120),
                made_with=json.dumps(dict(file.made_with)),
                imported_at=now(),
            )
        )
        return run_id, True


def origins(store: Store) -> dict[str, Origin]:
    """Where each imported run came from, by the id that it has here. Raises: StoreError."""
    found = {}
    for row in store.rows(imports.select()):
        with suppress(ValueError, TypeError):  # a damaged one says nothing, and hides no other
            found[row.run_id] = Origin(
                original_id=row.original_id,
                file_name=row.file_name,
                imported_at=datetime.fromisoformat(row.imported_at),
                made_with=codec.read(dict[str, Any], row.made_with),
            )
    return found


def _insert(connection: sa.Connection, run: RunRecord, run_id: str, started_by: str) -> None:
    created = run.created_at.astimezone(UTC).isoformat()
    (row,) = queued_rows([run.spec], OWNER, started_by, group=run_id, anew=False)
    row |= {"run_id": run_id, "state": RunState.FINISHED, "stopped_at": run.stopped_at}
    row |= dict.fromkeys(("created_at", "queued_at", "started_at"), created)
    row["finished_at"] = (run.finished_at or run.created_at).astimezone(UTC).isoformat()
    connection.execute(runs.insert().values(**row))
    connection.execute(
        folds.insert(),
        [
            fold_row(run_id, result, moment)
            for result, moment in zip(run.folds, run.moments, strict=True)
        ],
    )
