"""Recorded runs -> what the rule would have saved in each, had it been switched on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ecv_core.analysis.replay import replayed, stops_at
from ecv_core.energy.savings import energy_facts
from ecv_core.lessons.guide import CONFIDENCE, scores_of
from ecv_core.records.frames import with_columns
from ecv_core.records.run import Run
from ecv_core.stopping.interval import difference_percent

SAVED_COLUMNS = {
    "alpha": "setting of the paper's rule",
    "dataset": "of the run",
    "algorithm": "of the run",
    "k": "folds of the whole run",
    "folds": "folds used, in the recorded order",
    "used_joules": "energy of the folds up to the stop",
    "saved_joules": "energy of the folds after it, which really ran",
    "difference_percent": "the paper's d between the mean at the stop and the k-fold mean",
    "other_work": "whether its joules hold other work too, and so are in no sum",
    "source": "how the energy is known; 'none' where some fold was not metered",
}
"""The columns of the frame of savings."""


@with_columns(SAVED_COLUMNS)
def saved_frame(runs: Sequence[Run], alphas: Sequence[float]) -> pd.DataFrame:
    """One row per alpha and run, with the SAVED_COLUMNS.

    Args:
        runs: with all their folds.
        alphas: ascending.
    """
    rows = []
    for run in runs:
        scores = scores_of(run)
        k = len(scores)
        played = replayed(scores, range(k), CONFIDENCE)
        for alpha, stop in zip(alphas, stops_at(played, np.array(alphas)), strict=True):
            facts = energy_facts(run.folds_in_order, k, int(stop))
            saved = facts.saved_joules or 0.0
            off = difference_percent(played[int(stop) - 1].mean, played[-1].mean)
            rows.append(
                (
                    alpha,
                    run.spec.dataset,
                    run.spec.algorithm,
                    k,
                    int(stop),
                    facts.joules - saved,
                    saved,
                    off,
                    bool(run.other_work),
                    facts.source,
                )
            )
    return pd.DataFrame(rows, columns=list(SAVED_COLUMNS))
