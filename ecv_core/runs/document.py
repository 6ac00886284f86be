"""A run as others read it: its JSON document, and the command line that repeats it."""

from __future__ import annotations

import json
import shlex
from typing import Any

from ecv_core import models, splits, stopping
from ecv_core.energy.savings import energy_facts
from ecv_core.records import FoldResult, Moment, Run, RunSpec
from ecv_core.runs.run_json import FORMAT, VERSION, moment_document


def moments_of(run: Run) -> list[Moment]:
    """Where the run stood after each of its folds: as recorded, or worked out again."""
    if len(run.moments) == len(run.folds):
        return list(run.moments)
    rule = stopping.rule_for(run.spec)
    return stopping.moments(rule, run.folds, run.spec.confidence)


def run_document(run: Run) -> dict[str, Any]:
    """The run as plain JSON values: what `run --json` writes and pages export.

    `mean` and `interval` are those at the stop, or after the newest fold while there is none.
    `k_fold_mean` and `difference_percent` (the paper's d) are there once all folds are.
    """
    moments = moments_of(run)
    at = moments[(run.stopped_at or len(moments)) - 1] if moments else None
    energy = energy_facts(run.folds, len(run.spec.fold_order), run.stopped_at)
    complete = len(moments) == len(run.spec.fold_order)
    k_fold_mean = moments[-1].mean if moments and complete else None
    return {
        "format": FORMAT,
        "version": VERSION,
        "run_id": run.run_id,
        "spec": json.loads(run.spec.to_json()),
        "state": run.state.value,
        "stopped_at": run.stopped_at,
        "mean": at.mean if at else None,
        "interval": [at.interval.low, at.interval.high] if at and at.interval else None,
        "k_fold_mean": k_fold_mean,
        "difference_percent": (
            stopping.difference_percent(at.mean, k_fold_mean)
            if at and k_fold_mean is not None
            else None
        ),
        "created_at": run.created_at.isoformat(),
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
        "error": run.error,
        "energy": {
            "joules": energy.joules,
            "grams_co2e": energy.grams_co2e,
            "saved_joules": energy.saved_joules,
            "saved_percent": energy.saved_percent,
            "source": energy.source,
        },
        "folds": [_fold_document(result) for result in run.folds],
        "moments": [moment_document(moment) for moment in moments],
    }


def _fold_document(result: FoldResult) -> dict[str, Any]:
    energy = result.energy
    return {
        "fold": result.fold,
        "score": result.score,
        "metrics": dict(result.metrics),
        "users": result.users,
        "inner_curve": list(result.inner_curve),
        "seconds": {
            "fit": result.fit_seconds,
            "evaluate": result.evaluate_seconds,
            "total": result.total_seconds,
        },
        "energy": {
            "joules": energy.joules,
            "cpu_joules": energy.cpu_joules,
            "gpu_joules": energy.gpu_joules,
            "ram_joules": energy.ram_joules,
            "grams_co2e": energy.grams_co2e,
            "source": energy.source,
        },
    }


def command_for(spec: RunSpec, folds_path: str | None = None) -> str:
    """The command line that repeats a run; options that are at their default are left out.

    Args:
        spec: the run.
        folds_path: the fold file of a run on imported folds; by default the hash under which a
            copy is kept on this machine.
    """
    default = RunSpec(dataset=spec.dataset, algorithm=spec.algorithm)
    words = ["python", "-m", "ecv_core", "run", spec.dataset, spec.algorithm]
    usual_rule = default.rule if spec.k > 1 else "never"
    words += ["--rule", spec.rule] if spec.rule != usual_rule else []
    if "alpha" in stopping.rule(spec.rule).settings:
        words += ["--alpha", repr(spec.alpha)]
    if spec.tolerance is not None:
        words += ["--tolerance", repr(spec.tolerance)]
    if spec.folds_sha256:
        words += ["--folds", folds_path or spec.folds_sha256]
    elif spec.split != default.split:
        words += ["--split", spec.split]
        usual_split = dict(splits.strategy(spec.split).resolve({}))
        for name, setting in spec.split_params:
            if setting != usual_split.get(name):
                words += ["--split-param", f"{name}={setting}"]
    for option, value, usual in (
        ("--metric", spec.metric, default.metric),
        ("-n", spec.n, default.n),
        ("--candidates", spec.candidates, default.candidates),
        ("--negatives", spec.negatives, default.negatives),
        ("--negative-sampling", spec.negative_sampling, default.negative_sampling),
        ("--confidence", spec.confidence, default.confidence),
        ("-k", spec.k, default.k if spec.folds_sha256 else splits.strategy(spec.split).default_k),
        ("--min-folds", spec.min_folds, min(stopping.rule(spec.rule).default_folds, spec.k)),
        ("--country", spec.country, default.country),
    ):
        if value != usual and not (option == "-k" and spec.folds_sha256):
            words += [option, str(value)]
    words += ["--seed", str(spec.seed)]
    usual_params = dict(models.algorithm(spec.algorithm).resolve({}))
    for name, value in spec.params:
        if value != usual_params.get(name):
            words += ["--param", f"{name}={value}"]
    if spec.only_folds:
        words += ["--only-folds", ",".join(map(str, spec.only_folds))]
    words += ["--full"] if spec.full else []
    return shlex.join(words)
