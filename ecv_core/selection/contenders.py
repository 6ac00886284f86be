"""What a selection chooses from: contenders, their names, parameters and scores, side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ecv_core import models
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import ParamValue
from ecv_core.records.run import RunRecord, Scores
from ecv_core.records.spec import RunSpec
from ecv_core.store.recorded import recorded_runs
from ecv_core.store.results import Results


def parse_contender(text: str) -> tuple[str, dict[str, ParamValue]]:
    """'item-knn:neighbours=50,shrink=10' as an algorithm's id and parameters by name.

    Raises: InputError for a parameter without a value.
    """
    algorithm, _, rest = text.partition(":")
    params: dict[str, ParamValue] = {}
    for part in filter(None, rest.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise InputError(
                f"the contender '{text}' has '{part}', which is no name=value; write it as "
                f"{algorithm}:name=value,name=value"
            )
        params[name] = value
    return algorithm, params


def contender_name(spec: RunSpec) -> str:
    """As `parse_contender` reads it, with the parameters that are not at their defaults."""
    usual = dict(models.of(spec).resolve({}))
    changed = [f"{name}={value}" for name, value in spec.params if usual.get(name) != value]
    return f"{spec.algorithm}:{','.join(changed)}" if changed else spec.algorithm


def contender_title(name: str) -> str:
    """A contender's name as people read it: 'ItemKNN, neighbours 50'; others stay as they are."""
    algorithm, _, params = name.partition(":")
    if algorithm not in models.ALGORITHMS:
        return name
    parts = [part.replace("_", " ").replace("=", " ") for part in params.split(",") if part]
    return ", ".join([models.ALGORITHMS[algorithm].title, *parts])


def aligned(contenders: Sequence[Scores]) -> list[Scores]:
    """The same with users' scores over the users of all of them, so that columns can be paired.

    Args: contenders: with `user_ids` where they have `users`.
    """
    ids = [one.user_ids for one in contenders if one.user_ids is not None]
    if not ids or all(np.array_equal(ids[0], one) for one in ids[1:]):
        return list(contenders)
    everybody = np.unique(np.concatenate(ids))
    return [_over(one, everybody) for one in contenders]


def _over(scores: Scores, everybody: NDArray[np.integer]) -> Scores:
    if scores.users is None or scores.user_ids is None:
        return scores
    users = np.full((scores.k, len(everybody)), np.nan, dtype=scores.users.dtype)
    users[:, np.searchsorted(everybody, scores.user_ids)] = scores.users
    return replace(scores, users=users, user_ids=everybody)


def contenders_of(runs: Sequence[RunRecord], results: Results) -> list[Scores]:
    """Runs of one dataset, split and metric, as contenders named by their algorithm.

    Args:
        runs: each of another algorithm.
        results: where users' scores are.
    """
    return aligned([replace(results.scores(run), name=run.spec.algorithm) for run in runs])


def recorded_contenders() -> dict[str, list[Scores]]:
    """Dataset -> its recorded runs as contenders; only datasets with at least two of them.

    Raises: InputError for a damaged file.
    """
    by_dataset: defaultdict[str, list[RunRecord]] = defaultdict(list)
    for run in recorded_runs():
        by_dataset[run.spec.dataset].append(run)
    results = Results(None)
    return {
        dataset: contenders_of(runs, results)
        for dataset, runs in by_dataset.items()
        if len(runs) > 1
    }


def varied(names: Sequence[str]) -> list[dict[str, ParamValue]] | None:
    """The parameters in which contenders differ, of each; None where they are no search space.

    Args: names: of contenders, as `names.parse_contender` reads them; others are no search space.
    """
    parsed = []
    try:
        for name in names:
            algorithm, given = parse_contender(name)
            known = models.algorithm(algorithm)
            parsed.append((algorithm, known.every(known.resolve(given))))
    except InputError:
        return None
    if len({algorithm for algorithm, _ in parsed}) != 1 or len(parsed) < 2:
        return None
    first = parsed[0][1]
    differ = [name for name in first if len({params[name] for _, params in parsed}) > 1]
    return [{name: params[name] for name in differ} for _, params in parsed] if differ else None
