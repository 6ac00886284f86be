"""Parameters that every model trained by gradient steps takes, each with a default of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from ecv_core.parameters import Parameter
from ecv_core.records import ParamValue

SEARCH = "own search on inner validation folds, benchmarks/README.md"
"""Where most defaults come from."""


def learning_rate(default: float) -> Parameter:
    """Adam's step size."""
    return Parameter(
        name="learning_rate",
        default=default,
        low=1e-6,
        high=1.0,
        help="Adam's step size.",
        source=SEARCH,
    )


def batch_size(default: int, step: str) -> Parameter:
    """How much one step sees.

    Args:
        default: how many.
        step: of what: 'Users per step.'
    """
    return Parameter(
        name="batch_size", default=default, low=1, high=1_000_000, help=step, source=SEARCH
    )


def weight_decay(default: float) -> Parameter:
    """AdamW's weight decay."""
    return Parameter(
        name="weight_decay",
        default=default,
        low=0,
        high=10.0,
        help="Shrinks all weights a little at each step (AdamW).",
        source=SEARCH,
    )


def negatives(default: int, source: str) -> Parameter:
    """Items drawn beside each training pair."""
    return Parameter(
        name="negatives",
        default=default,
        low=1,
        high=100,
        help="Items drawn at random beside each training pair.",
        source=source,
    )


def epochs(default: int, over: str) -> Parameter:
    """Passes over the training data.

    Args:
        default: how many.
        over: what one pass goes over: 'all users'.
    """
    return Parameter(
        name="epochs",
        default=default,
        low=1,
        high=10_000,
        help=f"Passes over {over}; at most, with early stopping.",
        source=SEARCH,
    )


def factors(default: int) -> Parameter:
    """Length of the vectors of users and items."""
    return Parameter(
        name="factors", default=default, low=1, high=2048, help="Length of a vector.", source=SEARCH
    )


def regularization(default: float) -> Parameter:
    """Pull towards 0 on the vectors of a batch."""
    return Parameter(
        name="regularization",
        default=default,
        low=0,
        high=100.0,
        help="Weight of the squared length of the vectors in a batch.",
        source=SEARCH,
    )


def layers(default: int) -> Parameter:
    """Steps over the graph of users and items."""
    return Parameter(
        name="layers",
        default=default,
        low=1,
        high=10,
        help="Steps over the graph: with 2, a user also learns from users who share an item.",
        source=SEARCH,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How a network learns from sampled batches; see the parameters of the same names."""

    batch_size: int
    negatives: int
    learning_rate: float
    weight_decay: float = 0.0
    noise_popularity: float = 0.0

    @classmethod
    def of(cls, params: Mapping[str, ParamValue]) -> Self:
        """From a model's parameters; the last two are 0 where it has none."""
        return cls(
            batch_size=int(params["batch_size"]),
            negatives=int(params["negatives"]),
            learning_rate=float(params["learning_rate"]),
            weight_decay=float(params.get("weight_decay", 0.0)),
            noise_popularity=float(params.get("noise_popularity", 0.0)),
        )


def noise_popularity() -> Parameter:
    """How negatives of triples are drawn."""
    return Parameter(
        name="noise_popularity",
        default=0.0,
        low=0,
        high=1,
        help="Negatives are drawn by popularity to this power; 0 draws all alike.",
        source=SEARCH,
    )
