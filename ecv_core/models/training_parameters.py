"""Parameters that several models take, each with a default of its own; see `with_source`."""

from __future__ import annotations

from ecv_core.records.parameters import Parameter

SEARCH = "own search on inner validation folds, benchmarks/README.md"
"""Where most defaults come from."""


def learning_rate(default: float) -> Parameter:
    """Adam's step size."""
    return Parameter("learning_rate", default, "Adam's step size.", low=1e-6, high=1.0)


def batch_size(default: int, step: str) -> Parameter:
    """How much one step sees.

    Args:
        default: how many.
        step: of what: 'Users per step.'
    """
    return Parameter("batch_size", default, step, low=1, high=1_000_000)


def weight_decay(default: float) -> Parameter:
    """AdamW's weight decay."""
    return Parameter(
        "weight_decay",
        default,
        "Shrinks all weights a little at each step (AdamW).",
        low=0,
        high=10.0,
    )


def negatives(default: int, source: str = "") -> Parameter:
    """Items drawn beside each training pair."""
    return Parameter(
        "negatives",
        default,
        "Items drawn at random beside each training pair.",
        low=1,
        high=100,
        source=source,
    )


def factors(default: int) -> Parameter:
    """Length of the vectors of users and items."""
    return Parameter("factors", default, "Length of a vector.", low=1, high=2048)


def regularization(default: float) -> Parameter:
    """Pull towards 0 on the vectors of a batch."""
    return Parameter(
        "regularization",
        default,
        "Weight of the squared length of the vectors in a batch.",
        low=0,
        high=100.0,
    )


def layers(default: int) -> Parameter:
    """Steps over the graph of users and items."""
    return Parameter(
        "layers",
        default,
        "Steps over the graph: with 2, a user also learns from users who share an item.",
        low=1,
        high=10,
    )


def dropout(default: float, what: str, source: str = "") -> Parameter:
    """What is left out at random in training.

    Args:
        default: its share.
        what: of what: 'Share of the first layer that is switched off in training.'
        source: of the default.
    """
    return Parameter("dropout", default, what, low=0, high=0.99, source=source)


def schedule(epochs: int, over: str, *, averaging: float) -> tuple[Parameter, ...]:
    """How long a network is trained; `training` reads them.

    Args:
        epochs: by default.
        over: what one pass goes over: 'all users'.
        averaging: by default.
    """
    return (
        Parameter(
            "epochs",
            epochs,
            f"Passes over {over}; at most, with early stopping.",
            low=1,
            high=10_000,
        ),
        Parameter(
            "averaging",
            averaging,
            "Score with a running mean of the weights that keeps this share of itself per "
            "epoch: 0.9 averages about ten epochs, 0 takes the newest weights alone.",
            low=0,
            high=0.999,
        ),
        Parameter(
            "early_stopping",
            False,
            "Hide a part of the training data, stop when it is ranked no better any more, and "
            "keep the best epoch; off: train all epochs on all of it.",
        ),
        Parameter(
            "patience",
            5,
            "Early stopping: epochs without a better inner nDCG@100 before training ends.",
            low=1,
            high=1000,
            source="own choice",
        ),
        Parameter(
            "validation_share",
            0.05,
            "Early stopping: share of the training interactions that is hidden.",
            low=0.001,
            high=0.9,
            source="own choice",
        ),
    )
