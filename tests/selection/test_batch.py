"""The selection, and the same written once more with arrays for the benchmark: both must agree."""

from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.selection_batch import Batch, K, made_batch, select_many
from ecv_core.selection.evidence import Differences
from ecv_core.selection.rounds import Selection, Terms


class OfBatch(Differences):
    """The differences of one selection of a batch; folds come in the order 0, 1, ..."""

    def __init__(self, batch: Batch, at: int) -> None:
        super().__init__()
        self._means, self._users = batch.means[at], batch.users[at]

    def scores(self, contender: int, folds: Sequence[int]) -> np.ndarray:
        return self._means[contender][folds]

    def user_variance(self, contender: int, other: int, folds: Sequence[int]) -> float:
        return float(self._users[len(folds) - 1])

    def same_algorithm(self, contender: int, other: int) -> bool:
        return False


@pytest.mark.parametrize("loss", [None, 0.01])
@pytest.mark.parametrize("own", [[0, 0], [0, 3, 10, 0], [1] * 6])
def test_both_programs_run_the_same_folds_and_find_the_same_winner(
    own: list[float], loss: float | None
) -> None:
    means = (0.5 + np.random.default_rng(1).normal(0, 0.05, len(own))).tolist()
    batch = made_batch(means, own, 40, seed=2)
    winners, ran, worse = select_many(batch, loss)
    for at in range(40):
        game = Selection(OfBatch(batch, at), len(own), Terms(k=K, expected_loss=loss))
        while not game.decided:
            for contender, fold in game.next_folds(range(K)):
                game.add_fold(contender, fold)
            game.look()
        verdict = game.verdict()
        assert verdict.winner == winners[at]
        assert [fold_bits.bit_count() for fold_bits in game._fold_bits] == ran[at].tolist()
        assert sorted(verdict.worse) == np.flatnonzero(worse[at]).tolist()
