"""What the recorded energy figures are worth: their make-up, forecasts of what is saved, and what
metering itself costs here.

python -m benchmarks.energy          on an idle machine, for the cost of metering
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from statistics import fmean, median

from ecv_core.energy.meter import CodeCarbonMeter, WatchedMeter
from ecv_core.energy.parts import energy_parts
from ecv_core.energy.real_meters import SampledMeter, Sampler
from ecv_core.energy.savings import later_mean, later_range
from ecv_core.records.run import RunRecord
from ecv_core.store.recorded import recorded_runs


def forecasts(runs: Sequence[RunRecord]) -> tuple[float, float, float]:
    """Of stops after 3 to 9 folds: share of ranges that held, with and without the first fold.

    Returns: share held; median of promised over real with the first fold in the mean; without.
    """
    held, plain, later = [], [], []
    for run in runs:
        costs = [fold.energy.joules for fold in run.folds]
        for stop in range(3, len(costs)):
            missing, real = len(costs) - stop, sum(costs[stop:])
            low, high = later_range(costs[:stop])
            held.append(missing * low <= real <= missing * high)
            if stop == 3:
                plain.append(missing * fmean(costs[:stop]) / real)
                later.append(missing * later_mean(costs[:stop]) / real)
    return fmean(held), median(plain), median(later)


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
    shares = [energy_parts(run.folds)[-1].percent for run in runs]
    first = [
        run.folds[0].energy.joules / later_mean([fold.energy.joules for fold in run.folds])
        for run in runs
    ]
    held, plain, later = forecasts(runs)
    sys.stdout.write(
        f"memory: {median(shares):.1f} % of the joules at the median, from {min(shares):.1f} to "
        f"{max(shares):.1f} %\n"
        f"fold 0 over the others: {fmean(first):.2f} on average, up to {max(first):.2f}\n"
        f"ranges that held, stops after 3 to 9 folds: {100 * held:.1f} %; promised over real at "
        f"fold 3, median: {plain:.3f} with the first fold, {later:.3f} without\n"
        f"metering: {1000 * cost_of_metering():.1f} ms of processor a fold of one second\n"
    )


if __name__ == "__main__":
    main()
