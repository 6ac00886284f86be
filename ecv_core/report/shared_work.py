"""What of a run's cost was shared with other configurations, as a sentence."""

from __future__ import annotations

from ecv_core.energy.expected import on_its_own
from ecv_core.records import Run
from ecv_core.words import counted, watt_hours


def shared_words(run: Run) -> str:
    """What of a run's cost was shared with other configurations; empty where nothing was."""
    shared = [fold.shared for fold in run.folds if fold.shared is not None]
    if not shared:
        return ""
    most = max(one.configurations for one in shared)
    alone = sum(joules for _, joules in map(on_its_own, run.folds))
    return (
        f"{counted(len(shared), 'fold')} shared work with up to {counted(most - 1, 'other')}: "
        "it is counted once, an equal part for each. On its own this run would have taken about "
        f"{watt_hours(alone)}."
    )
