"""What is run, and how it is stopped and metered."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Self

ParamValue = int | float | str | bool
"""A model parameter's value: whatever JSON can hold as one scalar."""

WITHOUT_CUTOFF = frozenset({"auc", "log-loss", "mae", "rmse"})
"""Ids of the metrics that look at more than the top n, so that n is no part of their name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """Everything that decides a run's scores, and how it is stopped and metered.

    Hashable and JSON-serialisable: the same spec and fold index give the same scores anywhere.
    """

    dataset: str
    algorithm: str
    params: tuple[tuple[str, ParamValue], ...] = ()
    """Every parameter of the model, defaults filled in, sorted by name."""
    split: str = "user-k-fold"
    split_params: tuple[tuple[str, ParamValue], ...] = ()
    """Every parameter of the split, defaults filled in, sorted by name."""
    folds_sha256: str | None = None
    """For split 'imported': names the fold file kept under the data directory."""
    k: int = 10
    only_folds: tuple[int, ...] = ()
    """Run just these folds, in this order; empty means 0 .. k-1."""
    seed: int = 42
    metric: str = "ndcg"
    n: int = 10
    cutoffs: tuple[int, ...] = (1, 5, 10, 20)
    """List lengths at which every metric is computed; contains n."""
    candidates: str = "all"
    """Which items may be recommended: 'all', or 'train' for those with a training interaction."""
    negatives: int | None = None
    """Rank each held-out item against so many sampled items; None ranks all candidates."""
    negative_sampling: str = "uniform"
    """How they are drawn: 'uniform' or 'popularity'; the run's seed decides which."""
    rule: str = "e-fold"
    alpha: float = 1e-4
    tolerance: float | None = None
    confidence: float = 0.95
    min_folds: int = 3
    full: bool = False
    """Go on to the last fold after the rule says stop, to check it."""
    country: str = "DEU"
    """ISO 3166-1 alpha-3 code; its carbon intensity turns joules into grams CO2e."""

    @property
    def metric_name(self) -> str:
        """The score's name, with its cut-off if it has one, as in FoldResult.metrics: 'ndcg@10'."""
        return self.metric if self.metric in WITHOUT_CUTOFF else f"{self.metric}@{self.n}"

    @property
    def fold_order(self) -> tuple[int, ...]:
        """The fold indices in the order in which they are to run."""
        return self.only_folds or tuple(range(self.k))

    def to_json(self) -> str:
        """Canonical JSON: sorted keys, no spaces; `params` and `split_params` as objects."""
        data = asdict(self)
        data |= {"params": dict(self.params), "split_params": dict(self.split_params)}
        return json.dumps(data, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The spec that `to_json` wrote; fields it does not know are ignored.

        Raises: ValueError or TypeError if the text is not such a spec.
        """
        data = json.loads(text)
        known = {f.name for f in fields(cls)}
        data = {key: value for key, value in data.items() if key in known}
        for key in ("params", "split_params"):
            data[key] = tuple(sorted(data.get(key, {}).items()))
        for key in ("cutoffs", "only_folds"):
            if key in data:
                data[key] = tuple(data[key])
        return cls(**data)
