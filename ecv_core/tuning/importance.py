"""How much of the variance of a tuning's scores each parameter explains: Optuna's fANOVA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ecv_core.records import ParamValue
from ecv_core.tuning.samplers import places_of, quiet_study
from ecv_core.tuning.scores import TuningScores


def importances(scores: TuningScores, metric: str) -> dict[str, float]:
    """As `importances_of` the mean over users and folds.

    Args:
        scores: of a tuning with all folds.
        metric: one of `scores.values`.
    """
    folds = np.nanmean(scores.values[metric], axis=2, dtype=np.float64)
    return importances_of(scores.space, scores.configurations, folds.mean(axis=1).tolist())


def importances_of(
    space: Mapping[str, tuple[ParamValue, ...]],
    configurations: Sequence[Mapping[str, ParamValue]],
    means: Sequence[float],
) -> dict[str, float]:
    """Share of the variance of the mean score that a parameter explains by itself; they sum to 1.

    A random forest is fitted to the scores by the places of values, as the samplers draw them, and
    its variance over the whole space is divided among the parameters. What two parameters explain
    only together counts for none.

    Args:
        space: every parameter's values.
        configurations: a value for each parameter.
        means: their scores, each a number.
    Returns: most important first; nothing for a single parameter.
    Source: Hutter, Hoos, Leyton-Brown (2014), An efficient approach for assessing hyperparameter
        importance, by `optuna.importance.FanovaImportanceEvaluator`.
    """
    if len(space) < 2:
        return {}
    from optuna.importance import FanovaImportanceEvaluator, get_param_importances
    from optuna.trial import create_trial

    places = places_of(space)
    study = quiet_study()
    for configuration, mean in zip(configurations, means, strict=True):
        study.add_trial(
            create_trial(
                params={name: space[name].index(value) for name, value in configuration.items()},
                distributions=places,
                value=mean,
            )
        )
    evaluator = FanovaImportanceEvaluator(seed=0)
    found = get_param_importances(study, evaluator=evaluator)
    return {name: float(share) for name, share in found.items()}
