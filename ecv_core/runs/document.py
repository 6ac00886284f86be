"""A run as others read it: its JSON document, and the command line that repeats it."""

from __future__ import annotations

import json
import shlex
from typing import Any

from ecv_core import models, splits, stopping
from ecv_core.energy.savings import energy_facts
from ecv_core.parameters import Params
from ecv_core.records import SCORES, SETTINGS, FoldResult, Moment, Role, Run, RunSpec
from ecv_core.runs.run_json import FORMAT, VERSION, moment_document
from ecv_core.spec import usual_k, usual_min_folds, usual_rule


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
    usual = {name: one.default for name, one in SETTINGS.items()} | {
        "k": usual_k(spec.split, imported=spec.folds_sha256 is not None),
        "rule": usual_rule(spec.k),
        "min_folds": usual_min_folds(spec.rule, spec.k),
    }
    if spec.folds_sha256:
        usual |= {"split": spec.split, "k": spec.k}  # the file says both
    words = ["python", "-m", "ecv_core", "run", spec.dataset, spec.algorithm]
    for name, value in (spec.part(Role.STOP) | spec.part(*SCORES, Role.REPORT)).items():
        known = SETTINGS[name]
        if name == "folds_sha256" and value:
            words += ["--folds", folds_path or str(value)]
        elif name == "params":
            words += _named("--param", spec.params, models.algorithm(spec.algorithm).resolve({}))
        elif name == "split_params" and not spec.folds_sha256:
            defaults = splits.strategy(spec.split).resolve({})
            words += _named("--split-param", spec.split_params, defaults)
        if known.option is None or (
            known.of_rule and name not in stopping.rule(spec.rule).settings
        ):
            continue
        if value != usual[name] or known.always_told:
            words += [known.option] if known.kind is bool else [known.option, known.text(value)]
    return shlex.join(words)


def _named(option: str, values: Params, usual: Params) -> list[str]:
    """What is not as usual, each as 'OPTION NAME=VALUE'."""
    told = [one for one in values if one not in usual]
    return [word for name, value in told for word in (option, f"{name}={value}")]
