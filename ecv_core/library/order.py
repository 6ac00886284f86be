"""A rule over every order of some folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ecv_core.analysis import exploration
from ecv_core.analysis.exploration import DRAWS
from ecv_core.analysis.orders.outcomes import Outcome
from ecv_core.library.run import Run
from ecv_core.library.settings import rule_over
from ecv_core.records.arguments import kinds_checked
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from ecv_core.splits import check_exchangeable
from ecv_core.stopping import StoppingRule, TakesAids
from ecv_core.store.results import Results, aids_of
from ecv_core.store.store import open_store


@kinds_checked
def orders(
    scores: Sequence[float] | NDArray[np.floating] | Run,
    rule: StoppingRule | str,
    *,
    confidence: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
    within_percent: float | None = None,
) -> Outcome:
    """What a rule would have done over every order in which the folds could have come.

    Exact for the rules of the package but std-stagnation; for any other `draws` orders are drawn,
    and `standard_errors` says how exact that is.

    Args:
        scores: one per fold; or a run all of whose folds are in, so that costs are joules and
            rules see what else is known of each fold.
        rule: any object with `decide(results)`; or an id, with its usual parameters.
        confidence: of the interval at the stop, for the coverage, where the rule has none.
        draws: how many orders are drawn.
        seed: same seed, same orders.
        within_percent: a difference to the k-fold mean that is close enough; gives `within`.
    Raises: InputError for bad scores, a run that is not complete, or a rule that needs users'
        scores which are not there.
    """
    if not isinstance(scores, Run) and np.ndim(scores) != 1:
        raise InputError(f"scores are one for each fold, but have the shape {np.shape(scores)}")
    k = scores.k if isinstance(scores, Run) else len(scores)
    chosen = rule_over(k, rule)
    return exploration.outcome(
        _of_run(scores, chosen) if isinstance(scores, Run) else Scores(folds=np.asarray(scores)),
        chosen,
        confidence=confidence,
        draws=draws,
        seed=seed,
        within_percent=within_percent,
    )


def _of_run(run: Run, rule: StoppingRule) -> Scores:
    if not run.record.whole:
        raise InputError(
            f"run {run.run_id} has {len(run.scores)} of {run.spec.k} folds, but every order of the "
            "folds needs them all; run it with full=True"
        )
    check_exchangeable(
        run.spec.split, "other orders of them mean nothing: look at them in their own order"
    )
    results = Results(open_store())
    found = results.scores(run.record)
    if not (isinstance(rule, TakesAids) and rule.needs_aids):
        return found
    aids = aids_of(results, run.spec, rule.needs_aids)
    users = results.user_scores(run.record)
    return replace(found, aids=aids, users=aids.matrix(users, run.spec.metric_name))
