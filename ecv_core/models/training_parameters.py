"""Parameters that several models take, each with a default of its own."""

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


def negatives(default: int, source: str = SEARCH) -> Parameter:
    """Items drawn beside each training pair."""
    return Parameter(
        name="negatives",
        default=default,
        low=1,
        high=100,
        help="Items drawn at random beside each training pair.",
        source=source,
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


def schedule(epochs: int, over: str, *, averaging: float) -> tuple[Parameter, ...]:
    """How long a network is trained; `training` reads them.

    Args:
        epochs: by default.
        over: what one pass goes over: 'all users'.
        averaging: by default.
    """
    return (
        Parameter(
            name="epochs",
            default=epochs,
            low=1,
            high=10_000,
            help=f"Passes over {over}; at most, with early stopping.",
            source=SEARCH,
        ),
        Parameter(
            name="averaging",
            default=averaging,
            low=0,
            high=0.999,
            help=(
                "Score with a running mean of the weights that keeps this share of itself per "
                "epoch: 0.9 averages about ten epochs, 0 takes the newest weights alone."
            ),
            source=SEARCH,
        ),
        Parameter(
            name="early_stopping",
            default=False,
            help=(
                "Hide a part of the training data, stop when it is ranked no better any more, and "
                "keep the best epoch; off: train all epochs on all of it."
            ),
            source=SEARCH,
        ),
        Parameter(
            name="patience",
            default=5,
            low=1,
            high=1000,
            help="Early stopping: epochs without a better inner nDCG@100 before training ends.",
            source="own choice",
        ),
        Parameter(
            name="validation_share",
            default=0.05,
            low=0.001,
            high=0.9,
            help="Early stopping: share of the training interactions that is hidden.",
            source="own choice",
        ),
    )
