"""What the recorded energy figures are worth: their make-up, forecasts, and who else computed.

python -m benchmarks.energy          # from the recorded runs alone
python -m benchmarks.energy --own    # also runs a fold of each, on a machine that is otherwise idle
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from statistics import fmean, median

from ecv_core.energy import energy_parts
from ecv_core.energy.savings import later_mean, later_range
from ecv_core.records import Run
from ecv_core.runs.recorded import recorded_runs

CORES, WATTS = 2, 8.0
"""Of the machine that recorded them: CodeCarbon took 4 W a core."""
SPREAD = 1.5
"""Folds of one run do the same work; one that takes so many times another was disturbed."""
BUSY = 0.5
"""So many busy cores more than the run alone keeps busy are other work."""


def busy_cores(run: Run) -> float:
    """How many cores were busy on the whole machine, from CodeCarbon's load curve turned round.

    Processor watts = WATTS * (0.1 + 0.9 * load ** 3).
    """
    watts = sum(fold.energy.cpu_joules for fold in run.folds) / run.seconds
    return CORES * math.pow(min(max((watts / WATTS - 0.1) / 0.9, 0.0), 1.0), 1 / 3)


def fold_spread(run: Run) -> float:
    """The slowest fold over the fastest, without the first; per epoch where epochs differ."""
    times = [fold.total_seconds / max(len(fold.inner_curve), 1) for fold in run.folds[1:]]
    return max(times) / min(times)


def own_cores(run: Run) -> float:
    """How many cores one fold of the run keeps busy by itself."""
    from ecv_core.fold import run_fold

    run_fold(run.spec, 0)  # imports, caches
    begin, busy = time.perf_counter(), time.process_time()
    run_fold(run.spec, 1)
    return (time.process_time() - busy) / (time.perf_counter() - begin)


def forecasts(runs: Sequence[Run]) -> tuple[float, float, float]:
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


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--own", action="store_true")
    options = parser.parse_args()
    runs = recorded_runs()
    say = sys.stdout.write
    shares = [energy_parts(run.folds)[-1] for run in runs]
    say(f"memory: {median(one.percent for one in shares):.1f} % of the joules at the median, from ")
    say(f"{min(one.percent for one in shares):.1f} to {max(one.percent for one in shares):.1f} %\n")
    first = [
        run.folds[0].energy.joules / later_mean([f.energy.joules for f in run.folds])
        for run in runs
    ]
    say(f"fold 0 over the others: {fmean(first):.2f} on average, up to {max(first):.2f}\n")
    held, plain, later = forecasts(runs)
    say(
        f"ranges that held, stops after 3 to 9 folds: {100 * held:.1f} %; promised over real at "
        f"fold 3, median: {plain:.3f} with the first fold, {later:.3f} without\n"
    )
    say("| run | processor W | busy cores | own cores | slowest / fastest fold | marked |\n")
    for run in runs:
        watts = sum(fold.energy.cpu_joules for fold in run.folds) / run.seconds
        own = f"{own_cores(run):.2f}" if options.own else ""
        say(
            f"| {run.spec.algorithm} on {run.spec.dataset} | {watts:.2f} | {busy_cores(run):.2f} "
            f"| {own} | {fold_spread(run):.2f} | {run.other_work} |\n"
        )


if __name__ == "__main__":
    main()
