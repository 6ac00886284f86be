"""How much of the variance of a tuning's scores each parameter explains: Optuna's fANOVA."""

from __future__ import annotations

import numpy as np

from ecv_core.runs.configurations import Configurations
from ecv_core.tuning.samplers import places_of, quiet_study


def importances(scores: Configurations, metric: str) -> dict[str, float]:
    """Share of the variance of the mean score that a parameter explains by itself; they sum to 1.

    A random forest is fitted to the scores by the places of values, as the samplers draw them, and
    its variance over the whole space is divided among the parameters. What two parameters explain
    only together counts for none.

    Args:
        scores: of a tuning with all folds.
        metric: one of `scores.values`.
    Returns: most important first; nothing for a single parameter.
    Source: Hutter, Hoos, Leyton-Brown (2014), An efficient approach for assessing hyperparameter
        importance, by `optuna.importance.FanovaImportanceEvaluator`.
    """
    space = scores.space
    if len(space) < 2:
        return {}
    from optuna.importance import FanovaImportanceEvaluator, get_param_importances
    from optuna.trial import create_trial

    places = places_of(space)
    folds = np.nanmean(scores.values[metric], axis=2, dtype=np.float64)
    study = quiet_study()
    for configuration, mean in zip(scores.configurations, folds.mean(axis=1), strict=True):
        study.add_trial(
            create_trial(
                params={name: space[name].index(value) for name, value in configuration.items()},
                distributions=places,
                value=float(mean),
            )
        )
    evaluator = FanovaImportanceEvaluator(seed=0)
    found = get_param_importances(study, evaluator=evaluator)
    return {name: float(share) for name, share in found.items()}
