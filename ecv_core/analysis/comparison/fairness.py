"""Two specs -> whether a paired test of their runs would be fair, and if not, why."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields

from ecv_core.records import RunSpec

_WORDS = {
    "dataset": "datasets",
    "metric": "metrics",
    "k": "numbers of folds",
    "split": "fold strategies",
    "split_params": "settings of the split",
    "folds_sha256": "fold files",
    "seed": "seeds, so other draws",
    "negatives": "numbers of sampled negatives",
    "negative_sampling": "ways to sample negatives",
}
"""Fields of a spec that must be the same, as they are called in a reason."""
_SCORE = {"dataset", "metric", "n"}
_MODEL = {"algorithm", "params"}
_STOP = {"only_folds", "rule", "alpha", "tolerance", "confidence", "min_folds", "full"}
_FREE = _SCORE | _MODEL | _STOP | {"cutoffs", "country"}
"""What may differ; the dataset and the metric with its cut-off are looked at first."""


def fair_key(spec: RunSpec) -> Hashable:
    """Two runs with the same key have the same metric, and the same held out in every fold."""
    return tuple(_measured(spec).items())


def unfair(one: RunSpec, other: RunSpec) -> str:
    """Why a test of these two would not be fair; empty where nothing speaks against it."""
    theirs = _measured(other)
    for name, value in _measured(one).items():
        if value != theirs[name]:
            if name in ("split_params", "folds_sha256"):
                return f"different {_WORDS[name]}"
            return f"different {_WORDS.get(name, name)} ({_both(value, theirs[name])})"
    return ""


def _measured(spec: RunSpec) -> dict[str, object]:
    """Everything that decides what the score measures, and so must be the same."""
    values: dict[str, object] = {"dataset": spec.dataset, "metric": spec.metric_name}
    values |= {one.name: getattr(spec, one.name) for one in fields(spec) if one.name not in _FREE}
    if spec.negatives is None:
        values["negative_sampling"] = None
        if spec.folds_sha256 is not None:
            values["seed"] = None  # it draws neither folds nor negatives
    return values


def measures(spec: RunSpec) -> tuple[str, str]:
    """What a run is about: its dataset and its metric."""
    return spec.dataset, spec.metric_name


def _both(one: object, other: object) -> str:
    """The same text for a pair and for its reverse."""
    return " and ".join(sorted((str(one), str(other)), key=lambda text: (len(text), text)))
