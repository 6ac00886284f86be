"""The JSON document of a run -> the run record; `document.run_document` writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ecv_core.records import (
    Decision,
    Energy,
    FoldResult,
    Interval,
    Moment,
    Run,
    RunSpec,
    RunState,
)

FORMAT = "e-fold run"
VERSION = 1
"""Of the document; raised when an older e-fold would misread a newer one's."""


def run_from(document: Mapping[str, Any], written: datetime) -> Run:
    """The run, without per-user scores; nothing but the structure is checked.

    Args:
        document: as `document.run_document` makes it.
        written: when it began and ended, where the document does not say.
    Raises: KeyError, TypeError or ValueError if it is no such document.
    """
    folds = tuple(_fold(fold) for fold in document["folds"])
    return Run(
        run_id=document["run_id"],
        spec=RunSpec.from_json(json.dumps(document["spec"])),
        state=RunState(document["state"]),
        folds=folds,
        moments=_moments(document.get("moments", ()), folds),
        created_at=_time(document.get("created_at"), written),
        finished_at=_time(document.get("finished_at"), written),
        stopped_at=document["stopped_at"],
        error=document.get("error"),
    )


def moment_document(moment: Moment) -> dict[str, Any]:
    """What a rule said after a fold; n, fold and score are those of the fold beside it."""
    interval = moment.interval
    return {
        "mean": moment.mean,
        "interval": [interval.low, interval.high] if interval else None,
        "stop": moment.decision.stop,
        "reason": moment.decision.reason,
    }


def _time(text: str | None, otherwise: datetime) -> datetime:
    return datetime.fromisoformat(text) if text else otherwise


def _moments(
    documents: Sequence[Mapping[str, Any]], folds: Sequence[FoldResult]
) -> tuple[Moment, ...]:
    if len(documents) != len(folds):
        return ()
    return tuple(
        Moment(
            n=n,
            fold=fold.fold,
            score=fold.score,
            mean=float(document["mean"]),
            interval=_interval(document["interval"]),
            decision=Decision(stop=document["stop"], reason=document["reason"]),
        )
        for n, (document, fold) in enumerate(zip(documents, folds, strict=True), start=1)
    )


def _interval(ends: Sequence[float] | None) -> Interval | None:
    if ends is None:
        return None
    low, high = ends
    return Interval(low=low, high=high)


def _fold(document: Mapping[str, Any]) -> FoldResult:
    seconds = document["seconds"]
    return FoldResult(
        fold=document["fold"],
        score=float(document["score"]),
        metrics=document["metrics"],
        users=document.get("users", 0),
        inner_curve=tuple(document.get("inner_curve", ())),
        fit_seconds=seconds["fit"],
        evaluate_seconds=seconds["evaluate"],
        total_seconds=seconds["total"],
        energy=Energy(**document["energy"]),
    )
