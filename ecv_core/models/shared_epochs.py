"""One training run for configurations that differ in their number of epochs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from scipy.sparse import csr_array

from ecv_core.models.base import Fitted
from ecv_core.models.parameters import Sharing
from ecv_core.models.training import Average, NeuralRecommender, run_epoch
from ecv_core.records import History, ParamValue, Progress, no_progress


class SharedEpochs:
    """Trains once, for the most epochs, and stops on the way where a configuration ends."""

    def __init__(self, recommenders: Sequence[NeuralRecommender]) -> None:
        """Hold what is needed to train.

        Args:
            recommenders: unfitted, alike but for their epochs, none with early stopping.
        """
        self._recommenders = recommenders

    def begin(
        self,
        train: csr_array,
        *,
        seed: int,
        progress: Progress = no_progress,
        history: History | None = None,
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


def shared_epochs(build: Callable[[Mapping[str, ParamValue]], NeuralRecommender]) -> Sharing:
    """What an algorithm that trains by epochs says of its configurations.

    With early stopping a configuration is trained on its own: it may end at another epoch.

    Args:
        build: that of the algorithm.
    """
    return Sharing(
        parameters=frozenset({"epochs"}),
        build=lambda configurations: SharedEpochs([build(one) for one in configurations]),
        goes_on=True,
        possible=lambda params: not params["early_stopping"],
    )
