"""What the recorded energy figures are worth: their make-up, forecasts of what is saved, and what
metering itself costs here.

python -m benchmarks.energy          on an idle machine, for the cost of metering
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import percent, print_head, print_row
from ecv_core.energy.meter import CodeCarbonMeter, WatchedMeter
from ecv_core.energy.parts import energy_parts
from ecv_core.energy.real_meters import SampledMeter, Sampler
from ecv_core.energy.savings import cost_of_next_fold, margin_after
from ecv_core.records.run import RunRecord
from ecv_core.store.recorded import recorded_runs

MARGINS = np.arange(0.05, 1.0, 0.05)
"""From which the margin is chosen without one dataset."""


@dataclass
class Stop:
    """Of the recorded runs, stopped after so many folds: what the other folds cost on average."""

    datasets: NDArray[np.str_]
    over_lowest: NDArray[np.float64]
    """As a multiple of the lowest cost of those that ran, without the first; shape (runs,)."""
    over_highest: NDArray[np.float64]
    """Likewise of the highest."""

    def within(self, margin: float) -> NDArray[np.bool_]:
        """The runs whose other folds are within this margin."""
        return (self.over_lowest >= 1 - margin) & (self.over_highest <= 1 + margin)

    def held_left_out(self, wanted: float = 0.95) -> float:
        """The share of runs within the least margin that holds so many of the other datasets."""
        held = np.zeros(len(self.datasets), bool)
        for dataset in np.unique(self.datasets):
            left_out = self.datasets == dataset
            for margin in MARGINS:
                within = self.within(float(margin))
                if within[~left_out].mean() >= wanted:
                    break
            held[left_out] = within[left_out]
        return float(held.mean())


def stop_after(folds: int, runs: Sequence[RunRecord], cost: str) -> Stop:
    """What the other folds of the runs cost, in joules or seconds."""
    over_lowest = []
    over_highest = []
    for run in runs:
        costs = [fold.energy.joules for fold in run.folds]
        if cost == "seconds":
            costs = [fold.seconds_if_computed_alone for fold in run.folds]
        later = costs[1:folds] or costs[:1]
        others = fmean(costs[folds:])
        over_lowest.append(others / min(later))
        over_highest.append(others / max(later))
    datasets = np.array([run.spec.dataset for run in runs])
    return Stop(datasets, np.array(over_lowest), np.array(over_highest))


def print_forecasts(runs: Sequence[RunRecord]) -> None:
    """How often forecasts hold after 1 to 9 folds; also with a margin chosen without a dataset."""
    print_head(["folds", "margin", "joules", "seconds", "joules, chosen without the dataset"])
    for folds in range(1, 10):
        margin = margin_after(folds).share
        joules = stop_after(folds, runs, "joules")
        seconds = stop_after(folds, runs, "seconds")
        joules_within = percent(joules.within(margin).mean())
        seconds_within = percent(seconds.within(margin).mean())
        left_out = percent(joules.held_left_out())
        print_row([folds, percent(margin, 0), joules_within, seconds_within, left_out])


def promised_over_real(runs: Sequence[RunRecord]) -> tuple[float, float]:
    """After three folds, median: with the first fold in the mean, and without it."""
    with_first = []
    without_first = []
    for run in runs:
        costs = [fold.energy.joules for fold in run.folds]
        with_first.append(fmean(costs[:3]) / fmean(costs[3:]))
        without_first.append(cost_of_next_fold(costs[:3]) / fmean(costs[3:]))
    return median(with_first), median(without_first)


class Plug:
    """A meter that answers at once."""

    source = "plug"

    def read(self) -> tuple[float, str]:
        """Watts."""
        return 50.0, "W"


def cost_of_metering() -> float:
    """Seconds of processor of a metered fold of one second that only sleeps; median of nine."""
    meter = WatchedMeter(SampledMeter([Sampler("a plug", Plug())], CodeCarbonMeter("DEU"), "DEU"))
    spent = []
    for _ in range(10):
        begun = time.process_time()
        meter.start()
        time.sleep(1)
        meter.stop()
        spent.append(time.process_time() - begun)
    return median(spent[1:])  # the first looks at the hardware


def main() -> None:
    """Print all of it."""
    runs = recorded_runs()
    print_forecasts(runs)
    memory = [energy_parts(run.folds)[-1].percent for run in runs]
    print(
        f"memory: {median(memory):.1f} % of the joules at the median, from {min(memory):.1f} to "
        f"{max(memory):.1f} %"
    )
    first_fold = []
    for run in runs:
        costs = [fold.energy.joules for fold in run.folds]
        first_fold.append(costs[0] / cost_of_next_fold(costs))
    print(
        f"fold 0 over the others: {fmean(first_fold):.2f} on average, up to {max(first_fold):.2f}"
    )
    with_first, without_first = promised_over_real(runs)
    print(
        f"promised over real at fold 3, median: {with_first:.3f} with the first fold, "
        f"{without_first:.3f} without"
    )
    print(f"metering: {1000 * cost_of_metering():.1f} ms of processor a fold of one second")


if __name__ == "__main__":
    main()
