"""How long a fold takes beside what the form of Run says of it before Start.

    python -m benchmarks.estimates [--seconds 60]

For each recorded run whose dataset is on disk and whose fold is expected to take no longer: promise
and fold, on this machine as it is, on an empty database. One line each; the last one counts those
within a factor of two of the promise. A fold before, of the model with which the dataset is
quickest, pays for reading the data.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time

import psutil

from ecv_core import dataset as datasets
from ecv_core.energy.savings import expected
from ecv_core.fold.computing import run_fold
from ecv_core.store.recorded import recorded_runs


def main() -> None:
    """One recorded run after the other, quick ones first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    longest = parser.parse_args().seconds
    os.environ["ECV_DATABASE_URL"] = f"sqlite:///{tempfile.mkdtemp()}/runs.sqlite"
    from pages.run.expectation import evidence_of

    within, tried, read = 0, 0, set[str]()
    for run in sorted(recorded_runs(), key=lambda run: run.folds[0].processor_seconds or 1e9):
        evidence = evidence_of([run.spec])
        found = expected(run.spec, evidence.costs, (1, 1))
        if found is None or found.seconds[1] > longest:
            continue
        if not datasets.available(datasets.entry(run.spec.dataset)):
            continue
        if run.spec.dataset not in read:
            run_fold(run.spec, 0)
            read.add(run.spec.dataset)
        load = psutil.getloadavg()[0] / (psutil.cpu_count() or 1)
        low, high = found.seconds[0], found.seconds[1] * (1 + (load if load > 0.5 else 0))
        wall, processor = time.perf_counter(), time.process_time()
        run_fold(run.spec, 0)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        holds = low / 2 <= wall <= 2 * high
        within, tried = within + holds, tried + 1
        print(
            f"| {run.spec.dataset} | {run.spec.algorithm} | {low:.2f} to {high:.2f} | {wall:.2f} "
            f"| {processor:.2f} | {'' if holds else 'no'}",
            flush=True,
        )
    print(f"{within} of {tried} within a factor of two")


if __name__ == "__main__":
    main()
