"""Parameters that every model trained by gradient steps takes, each with a default of its own."""

from __future__ import annotations

from ecv_core.parameters import Parameter

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
