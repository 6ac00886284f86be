"""Whole search spaces under several splits: does a split that is cheap choose as another does?

Source: Meng, McCreadie, Macdonald, Ounis (2020), Exploring data splitting strategies, figure 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecv_core import fold, models, splits
from ecv_core.analysis.tuning.spaces import contender_word, sampled, size_of, space_of, within
from ecv_core.evaluation import metric_of
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import InputError
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import NEVER_STOPS
from ecv_core.store.configurations import Configuration, specs_of
from ecv_core.store.results import Results
from ecv_core.store.store import Store

DRAWS = 500
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How alike two splits rank configurations."""

    split: str
    other: str
    tau: float
    """Kendall's tau-b; NaN where one of them ranks all alike."""
    low: float
    high: float
    """95 % of the draws of users; NaN without a tau."""
    best_loss_percent: float
    """How far the best under `split` is below the best under `other`, there."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnderSplits:
    """Every configuration's score under every split."""

    dataset: str
    metric: str
    names: tuple[str, ...]
    """Of configurations, as `analysis.selection.names.parse_contender` reads them."""
    scores: Mapping[str, Floats]
    """Split -> mean over its folds; shape (configurations,). NaN where folds are missing."""
    agreements: tuple[Agreement, ...]

    def document(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "dataset": self.dataset,
            "metric": self.metric,
            "configurations": list(self.names),
            "scores": {
                name: [_known(value) for value in one.round(6).tolist()]
                for name, one in self.scores.items()
            },
            "agreements": [
                {
                    "splits": [one.split, one.other],
                    "tau": _known(one.tau),
                    "interval": [_known(one.low), _known(one.high)],
                    "best_loss_percent": one.best_loss_percent,
                }
                for one in self.agreements
            ],
        }


def planned_spaces(
    dataset: str,
    algorithms: Sequence[str],
    splits_of: Sequence[str],
    space: str | None,
    **settings: Any,  # noqa: ANN401  checked by make_spec
) -> list[tuple[RunSpec, list[Configuration]]]:
    """A spec and its configurations for each algorithm and split, every value checked.

    Args:
        dataset: an id, on disk.
        algorithms: ids; each has the space.
        splits_of: ids, at least two, each with its usual number of folds; single splits too.
        space: as of `spaces.space_of`.
        settings: of all runs, as of `fold.spec.make_spec`.
    Raises: InputError for what cannot be run.
    """
    if len(set(splits_of)) < 2:
        raise InputError("splits are compared with each other; give at least two with --splits A,B")
    for name in splits_of:
        if why := splits.obstacle(fold.prepared(dataset), name):
            raise InputError(why)
    planned: list[tuple[RunSpec, list[Configuration]]] = []
    for name in algorithms:
        algorithm = models.algorithm(name)
        wanted, _ = within(space_of(algorithm, space, {}), algorithm, fold.prepared(dataset))
        drawn: list[Configuration] = list(sampled(wanted, "grid", size_of(wanted), seed=0))
        for split in splits_of:
            spec = make_spec(
                dataset=dataset,
                algorithm=name,
                split=split,
                rule=NEVER_STOPS,
                full=True,
                **settings,
            )
            fold.check_needs(spec)
            planned.append((spec, drawn))
    return planned


def compared(
    store: Store, planned: Sequence[tuple[RunSpec, Sequence[Configuration]]]
) -> UnderSplits:
    """The splits, from folds that are there.

    A configuration whose folds are not all there under a split has no score under it, and counts
    in no comparison with that split.
    """
    users: dict[str, list[dict[int, float]]] = {}
    names: dict[str, None] = {}
    results = Results(store, recorded=False)
    metric = planned[0][0].metric_name
    scores: dict[str, list[float]] = {}
    for spec, configurations in planned:
        for one, own in zip(configurations, specs_of(spec, configurations), strict=True):
            names[contender_word(spec.algorithm, one)] = None
            folds = results.folds(own, user_scores=True).values()
            sums: dict[int, list[float]] = {}
            for found in (result.user_scores for result in folds):
                if found is not None:
                    pairs = zip(found.users.tolist(), found.of(metric).tolist(), strict=True)
                    for user, value in pairs:
                        sums.setdefault(user, []).append(value)
            whole = len(folds) == spec.k
            mean = float(np.mean([result.score for result in folds])) if whole else np.nan
            scores.setdefault(spec.split, []).append(mean)
            users.setdefault(spec.split, []).append(
                {user: float(np.mean(values)) for user, values in sums.items()}
            )
    tables = {split: np.array(values) for split, values in scores.items()}
    higher = metric_of(planned[0][0]).higher_is_better
    return UnderSplits(
        dataset=planned[0][0].dataset,
        metric=metric,
        names=tuple(names),
        scores=tables,
        agreements=tuple(
            _agreement((one, other), tables, users, higher_is_better=higher)
            for one, other in combinations(tables, 2)
        ),
    )


def _agreement(
    names: tuple[str, str],
    tables: Mapping[str, Floats],
    users: Mapping[str, Sequence[Mapping[int, float]]],
    *,
    higher_is_better: bool,
) -> Agreement:
    """Of the configurations that have a score under both."""
    one, other = names
    both = np.flatnonzero(~np.isnan(tables[one]) & ~np.isnan(tables[other])).tolist()
    if not both:
        return Agreement(
            split=one, other=other, tau=np.nan, low=np.nan, high=np.nan, best_loss_percent=np.nan
        )
    return agreement(
        names,
        (tables[one][both], tables[other][both]),
        (_table([users[one][at] for at in both]), _table([users[other][at] for at in both])),
        higher_is_better=higher_is_better,
    )


def agreement(
    names: tuple[str, str],
    scores: tuple[Floats, Floats],
    users: tuple[dict[int, Floats], dict[int, Floats]],
    *,
    higher_is_better: bool = True,
) -> Agreement:
    """Kendall's tau-b between two splits, its interval over users, and what the one's best costs.

    Users are drawn with replacement, the same in both splits, of those with a score in either: a
    split's mean is over those of them that it has, as its score is over all that it has.

    Args:
        names: of the splits.
        scores: of the configurations under each; shape (configurations,).
        users: under each, user -> that user's mean by configuration.
        higher_is_better: of the scores.
    """
    from scipy.stats import kendalltau

    sign = 1 if higher_is_better else -1
    first, second = sign * scores[0], sign * scores[1]
    tau = float(kendalltau(first, second).statistic)
    every = sorted(users[0].keys() | users[1].keys())
    low = high = np.nan
    if min(len(users[0]), len(users[1])) > 1 and not np.isnan(tau):
        rng = np.random.default_rng(0)
        times = rng.multinomial(len(every), np.full(len(every), 1 / len(every)), size=DRAWS)
        means = [_means_of_draws(one, every, times) for one in users]
        found = [kendalltau(*pair).statistic for pair in zip(*means, strict=True)]
        low, high = np.nanquantile(found, [0.025, 0.975]).tolist()
    best, chosen = float(second.max()), float(second[first.argmax()])
    loss = 100 * (best - chosen) / abs(best) if best else 0.0
    return Agreement(
        split=names[0], other=names[1], tau=tau, low=low, high=high, best_loss_percent=loss
    )


def _means_of_draws(
    users: Mapping[int, Floats], every: Sequence[int], times: NDArray[np.int64]
) -> Floats:
    """Mean by configuration in each draw; NaN where it holds none of these users.

    Args:
        users: user -> mean by configuration.
        every: the users that are drawn from.
        times: how often each was drawn; shape (draws, users).
    Returns: shape (draws, configurations).
    """
    own = np.array([user in users for user in every])
    scores = np.stack([users[user] for user in every if user in users])
    weights = times[:, own]
    with np.errstate(invalid="ignore"):
        return np.asarray(weights @ scores / weights.sum(axis=1, keepdims=True))


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _table(configurations: Sequence[Mapping[int, float]]) -> dict[int, Floats]:
    """User -> mean by configuration, of users whom all have a score of."""
    common = set.intersection(*(set(one) for one in configurations))
    return {user: np.array([one[user] for one in configurations]) for user in common}
