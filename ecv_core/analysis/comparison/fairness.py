"""Two specs -> whether a paired test of their runs would be fair, and if not, why."""

from __future__ import annotations

from collections.abc import Hashable

from ecv_core.records.spec import SETTINGS, Role, RunSpec

_SETTINGS_IN_METRIC_NAME = ("metric", "n")
"""Settings that are compared together, by the metric's name with its cut-off."""
_VALUES_UNSAID = ("split_params", "folds_sha256", "data_sha256")
"""Settings whose values are too long, or say too little, for a sentence."""


def dataset_and_metric(spec: RunSpec) -> tuple[str, str]:
    """What a run is about."""
    return spec.dataset, spec.metric_name


def fair_key(spec: RunSpec) -> Hashable:
    """Two runs with the same key have the same metric, and the same held out in every fold."""
    return tuple(_settings_to_share(spec).items())


def why_unfair(first: RunSpec, second: RunSpec) -> str:
    """Say why a test of two runs would not be fair; empty where nothing speaks against it."""
    settings_of_second = _settings_to_share(second)
    for name, value in _settings_to_share(first).items():
        other_value = settings_of_second[name]
        if value == other_value:
            continue
        setting = SETTINGS[name]
        reason = f"different {setting.differ or setting.words}"
        if name in _VALUES_UNSAID:
            return reason
        # Sorted, so that a pair and its reverse have the same text.
        texts = sorted((str(value), str(other_value)), key=lambda text: (len(text), text))
        return f"{reason} ({' and '.join(texts)})"
    return ""


def _settings_to_share(spec: RunSpec) -> dict[str, object]:
    """Everything that decides what a score measures, and so must be the same for both runs."""
    settings: dict[str, object] = {"dataset": spec.dataset, "metric": spec.metric_name}
    # The settings that decide which folds there are, and what is measured in them. Runs may differ
    # in which of these folds they computed: `only_folds` need not be shared.
    for name, value in spec.settings_with_roles(Role.FOLDS, Role.MEASURE).items():
        if name not in _SETTINGS_IN_METRIC_NAME and name != "only_folds":
            settings[name] = value
    if spec.negatives is None and spec.folds_sha256 is not None:
        # Folds from a file and no sampled negatives: the seed decides nothing.
        settings["seed"] = None
    return settings
