"""The selection, and the same written once more with arrays for the benchmark: both must agree."""

import numpy as np
import pytest

from benchmarks.selection import Batch, K, made_batch, many
from ecv_core.selection.evidence import Difference
from ecv_core.selection.rounds import Selection, Terms


class OfBatch:
    """The differences of one selection of a batch; folds come in the order 0, 1, ..."""

    def __init__(self, batch: Batch, at: int) -> None:
        self._means, self._users = batch.means[at], batch.users[at]

    def between(self, contender: int, other: int, fold_bits: int) -> Difference:
        e = fold_bits.bit_count()
        apart = (self._means[contender] - self._means[other])[:e]
        return Difference(
            mean=float(apart.mean()),
            users=float(self._users[e - 1]),
            observed=float(apart.var(ddof=1)) if e > 1 else np.nan,
            folds=e,
        )

    def mean(self, contender: int, fold_bits: int) -> float:
        return float(self._means[contender][: fold_bits.bit_count()].mean())

    def alike(self, contender: int, other: int) -> bool:
        return False


@pytest.mark.parametrize("loss", [None, 0.01])
@pytest.mark.parametrize("own", [[0, 0], [0, 3, 10, 0], [1] * 6])
def test_both_programs_run_the_same_folds_and_find_the_same_winner(
    own: list[float], loss: float | None
) -> None:
    means = (0.5 + np.random.default_rng(1).normal(0, 0.05, len(own))).tolist()
    batch = made_batch(means, own, 40, seed=2)
    winners, ran, worse = many(batch, loss)
    for at in range(40):
        game = Selection(OfBatch(batch, at), len(own), Terms(k=K, expected_loss=loss))
        while not game.decided:
            for contender, fold in game.next_folds(range(K)):
                game.ran(contender, fold)
            game.look()
        verdict = game.verdict()
        assert verdict.winner == winners[at]
        assert [fold_bits.bit_count() for fold_bits in game._fold_bits] == ran[at].tolist()
        assert sorted(verdict.worse) == np.flatnonzero(worse[at]).tolist()
