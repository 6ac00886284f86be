"""A finished tuning as plain JSON values, and as the sentence that people read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ecv_core.selection.document import selection_document
from ecv_core.tuning.tune import Tuned


def tuning_document(tuned: Tuned) -> dict[str, Any]:
    """What `tune --json` writes: that of the selection, with the space and each configuration."""
    plan, live = tuned.plan, tuned.live
    assert live.played is not None
    played = replace(live.played, joules_of_all_folds=live.joules_expected)
    names = [one.name for one in live.contenders]
    return {
        "dataset": plan.spec.dataset,
        "algorithm": plan.spec.algorithm,
        "space": {name: list(values) for name, values in plan.space.items()},
        "left_out": {name: list(values) for name, values in plan.left_out.items()},
        "sampler": plan.sampler,
        "all_folds": plan.all_folds,
        "best": {
            "contender": names[tuned.best],
            "params": dict(tuned.configurations[tuned.best]),
            "mean": float(np.nanmean(live.contenders[tuned.best].folds)),
        },
        "configurations": [
            {
                "contender": one.name,
                "params": dict(params),
                "scores": {
                    str(at): float(score)
                    for at, score in enumerate(one.folds)
                    if not np.isnan(score)
                },
            }
            for one, params in zip(live.contenders, tuned.configurations, strict=True)
        ],
        "selection": selection_document(live.contenders, live.terms, plan.spec.metric_name, played),
    }


def tuning_sentence(tuned: Tuned) -> str:
    """What was found, in a sentence or two."""
    plan, live = tuned.plan, tuned.live
    names = [one.name for one in live.contenders]
    verdict = live.sentence(names, plan.spec.dataset)
    if not plan.all_folds:
        return verdict
    best = live.contenders[tuned.best]
    share = sum(live.folds) / len(live.folds) / plan.spec.k
    return (
        f"{best.name} has the best mean of all {plan.spec.k} folds on {plan.spec.dataset}: "
        f"{best.folds.mean():.4f}. A selection would have needed {100 * share:.3g} % of the "
        f"folds. {verdict}"
    )
