"""Two specs -> whether a paired test of their runs would be fair, and if not, why."""

from __future__ import annotations

from collections.abc import Hashable

from ecv_core.records import SETTINGS, Role, RunSpec

_APART = ("dataset", "metric", "n", "only_folds")
"""Told first, by the names a run knows them by; and which folds ran, which may differ."""


def fair_key(spec: RunSpec) -> Hashable:
    """Two runs with the same key have the same metric, and the same held out in every fold."""
    return tuple(_measured(spec).items())


def unfair(one: RunSpec, other: RunSpec) -> str:
    """Why a test of these two would not be fair; empty where nothing speaks against it."""
    theirs = _measured(other)
    for name, value in _measured(one).items():
        if value != theirs[name]:
            words = f"different {SETTINGS[name].differ or SETTINGS[name].words}"
            if name in ("split_params", "folds_sha256", "data_sha256"):
                return words
            return f"{words} ({_both(value, theirs[name])})"
    return ""


def _measured(spec: RunSpec) -> dict[str, object]:
    """Everything that decides what the score measures, and so must be the same."""
    values: dict[str, object] = {"dataset": spec.dataset, "metric": spec.metric_name}
    held_out = spec.part(Role.FOLDS, Role.MEASURE).items()
    values |= {name: value for name, value in held_out if name not in _APART}
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
