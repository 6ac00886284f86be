"""Made-up contenders: fold effects, users' tastes, luck of a training, each as large as asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from ecv_core.records.run import Scores


def made(
    means: Sequence[float],
    *,
    k: int = 10,
    users: int = 60,
    spread: float = 0.2,
    shared: float = 0.0,
    own: Sequence[float] | float = 0.0,
    seed: int = 0,
) -> list[Scores]:
    """Contenders of these true means.

    Args:
        spread: deviation of a user's score in one fold, each contender's for itself.
        shared: deviation of what all contenders have in common in a fold.
        own: variance of what all users of a contender's fold have in common, as a multiple of
            what the users contribute to that of its mean, spread^2 / users.
    """
    rng = np.random.default_rng(seed)
    taste = rng.normal(0, spread, users)
    fold = rng.normal(0, shared, k)
    luck = np.broadcast_to(own, len(means))
    found = []
    for place, mean in enumerate(means):
        values = mean + taste + fold[:, None] + rng.normal(0, spread, (k, users))
        values += rng.normal(0, np.sqrt(luck[place] * spread**2 / users), k)[:, None]
        found.append(
            Scores(
                name=f"c{place}",
                folds=values.mean(axis=1),
                users=values,
                joules=np.full(k, 1.0 + place),
            )
        )
    return found


@pytest.fixture
def contenders() -> Callable[..., list[Scores]]:
    """`made`."""
    return made
