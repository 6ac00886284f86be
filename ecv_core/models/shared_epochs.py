"""One training run for configurations that differ in their number of epochs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from scipy.sparse import csr_array

from ecv_core.models.base import Fitted
from ecv_core.models.parameters import Sharing
from ecv_core.models.training import Average, NeuralRecommender, run_epoch
from ecv_core.records import History, Progress


class SharedEpochs:
    """Trains once, for the most epochs, and stops on the way where a configuration ends."""

    def __init__(self, recommenders: Sequence[NeuralRecommender]) -> None:
        """Hold what is needed to train.

        Args:
            recommenders: unfitted, alike but for their epochs, none with early stopping.
        """
        self._recommenders = recommenders

    def begin(
        self, train: csr_array, *, seed: int, progress: Progress, history: History | None
    ) -> None:
        self._progress = progress
        self._net = self._recommenders[0].untrained(train, seed, history)

    def fits(self) -> Iterator[tuple[int, Fitted]]:
        first = self._recommenders[0]
        ends = [recommender.params["epochs"] for recommender in self._recommenders]
        average = Average(self._net.weights(), first.params["averaging"])
        epochs, epoch = max(ends), 0
        for place in sorted(range(len(ends)), key=ends.__getitem__):
            for at in range(epoch, ends[place]):
                between = partial(self._progress, "fit", at, epochs)
                run_epoch(first.name, self._net, at, epochs, between)
                average.update()
            epoch = ends[place]
            self._progress("fit", epoch, epochs)
            with average.in_place():
                yield place, self._net


SHARED_EPOCHS = Sharing(
    parameters=frozenset({"epochs"}),
    build=SharedEpochs,
    goes_on=True,
    # With early stopping a configuration may end at another epoch.
    possible=lambda params: not params["early_stopping"],
)
"""What algorithms that train by epochs say of their configurations."""
