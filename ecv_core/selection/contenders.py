"""What a selection chooses from: contenders, their names, parameters and scores, side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ecv_core import models
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import ParamValue, changed
from ecv_core.records.run import RunRecord, Scores
from ecv_core.records.spec import RunSpec
from ecv_core.store.configurations import Configuration, contender_word
from ecv_core.store.recorded import recorded_runs
from ecv_core.store.results import Results


def parse_contender(text: str) -> tuple[str, dict[str, ParamValue]]:
    """'item-knn:neighbours=50,shrink=10' as an algorithm's id and parameters by name.

    Raises:
        InputError: For a parameter without a value.
    """
    algorithm, _, settings = text.partition(":")
    params: dict[str, ParamValue] = {}
    for setting in filter(None, settings.split(",")):
        name, equals, value = setting.partition("=")
        if not equals:
            raise InputError(
                f"the contender '{text}' has '{setting}', which is not of the form name=value; "
                f"write it as {algorithm}:name=value,name=value"
            )
        params[name] = value
    return algorithm, params


def contender_name(spec: RunSpec) -> str:
    """As `parse_contender` reads it, with the parameters that are not at their defaults."""
    changes = changed(spec.params, dict(models.of(spec).resolve({})))
    if not changes:
        return spec.algorithm
    return contender_word(spec.algorithm, changes)


def contender_title(name: str) -> str:
    """A contender's name as people read it: 'ItemKNN, neighbours 50'; others stay as they are."""
    algorithm, _, params = name.partition(":")
    if algorithm not in models.ALGORITHMS:
        return name
    parts = [part.replace("_", " ").replace("=", " ") for part in params.split(",") if part]
    return ", ".join([models.ALGORITHMS[algorithm].title, *parts])


def over_same_users(contenders: Sequence[Scores]) -> list[Scores]:
    """The same with users' scores over the users of all of them, so that columns can be paired.

    Args:
        contenders: With `user_ids` where they have `users`.
    """
    id_arrays = [contender.user_ids for contender in contenders if contender.user_ids is not None]
    # Mostly all have the same users, or none has any. A selection asks after every fold, and to
    # compare the users takes a hundredth of the time that it takes to sort them.
    if all(np.array_equal(id_arrays[0], user_ids) for user_ids in id_arrays):
        return list(contenders)
    everybody = np.unique(np.concatenate(id_arrays))
    return [_with_columns_for(contender, everybody) for contender in contenders]


def _with_columns_for(scores: Scores, everybody: NDArray[np.integer]) -> Scores:
    """A contender with a column for each of these users, NaN for those that it has not scored."""
    if scores.users is None or scores.user_ids is None:
        return scores
    if np.array_equal(scores.user_ids, everybody):
        return scores
    users = np.full((scores.k, len(everybody)), np.nan, dtype=scores.users.dtype)
    users[:, np.searchsorted(everybody, scores.user_ids)] = scores.users
    return replace(scores, users=users, user_ids=everybody)


def contenders_of(runs: Sequence[RunRecord], results: Results) -> list[Scores]:
    """Runs of one dataset, split and metric, as contenders named by their algorithm.

    Args:
        runs: Each of another algorithm.
        results: Where users' scores are.
    """
    contenders = []
    for run in runs:
        contenders.append(replace(results.scores(run), name=run.spec.algorithm))
    return over_same_users(contenders)


def recorded_contenders() -> dict[str, list[Scores]]:
    """Dataset -> its recorded runs as contenders; only datasets with at least two of them.

    Raises:
        InputError: For a damaged file.
    """
    by_dataset: defaultdict[str, list[RunRecord]] = defaultdict(list)
    for run in recorded_runs():
        by_dataset[run.spec.dataset].append(run)
    results_of_recorded_runs = Results(store=None)
    contenders = {}
    for dataset, runs in by_dataset.items():
        if len(runs) > 1:  # a single one leaves nothing to select
            contenders[dataset] = contenders_of(runs, results_of_recorded_runs)
    return contenders


def varied_parameters(names: Sequence[str]) -> list[dict[str, ParamValue]] | None:
    """The parameters in which contenders differ, of each; None where they are no search space.

    Args:
        names: The names of contenders, as `parse_contender` reads them; others are no search space.
    """
    algorithms = set()
    configurations = []
    try:
        for name in names:
            algorithm_id, params = parse_contender(name)
            algorithm = models.algorithm(algorithm_id)
            algorithms.add(algorithm_id)
            configurations.append(algorithm.with_defaults(algorithm.resolve(params)))
    except InputError:
        # Neither the name nor the parameters of a contender from outside are known here.
        return None
    if len(algorithms) != 1:
        return None
    return differing_parameters(configurations) or None


def differing_parameters(configurations: Sequence[Configuration]) -> list[dict[str, ParamValue]]:
    """Of each configuration, the parameters in which they differ; none where they do not.

    Args:
        configurations: With the same parameters, at least one.
    """
    names = []
    for name in configurations[0]:
        values = {configuration[name] for configuration in configurations}
        if len(values) > 1:
            names.append(name)
    if not names:
        return []
    return [{name: configuration[name] for name in names} for configuration in configurations]
