"""Configurations that share work, against one of them on its own.

python -m benchmarks.sharing [--folds 2] [--only item-knn ease ...]

All of it goes through the fold as `tune` computes it, meter included; seconds are those of the
processor, of this process and all its threads, so that other work on the machine disturbs little.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ecv_core import fold
from ecv_core.energy import meter_for
from ecv_core.fold import run_fold
from ecv_core.models.parameters import PAPER_COUNTS
from ecv_core.records import ParamValue, RunSpec
from ecv_core.runs.configurations import specs_of
from ecv_core.shared_fold import run_shared_fold
from ecv_core.spec import make_spec

EPOCHS = (1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is compared."""

    dataset: str
    algorithm: str
    parameter: str
    values: Sequence[ParamValue]
    alone: Sequence[ParamValue]
    """Those that are run on their own too."""
    others: tuple[tuple[str, ParamValue], ...] = ()


CASES = {
    "item-knn": Case(
        dataset="ml-1m",
        algorithm="item-knn",
        parameter="neighbours",
        values=PAPER_COUNTS,
        alone=(10, 80, 1809),
    ),
    "user-knn": Case(
        dataset="ml-1m",
        algorithm="user-knn",
        parameter="neighbours",
        values=PAPER_COUNTS,
        alone=(10, 80, 1809),
    ),
    "ease": Case(
        dataset="ml-1m",
        algorithm="ease",
        parameter="regularization",
        values=(25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 2500.0),
        alone=(250.0,),
    ),
    "bpr-mf": Case(
        dataset="ml-1m",
        algorithm="bpr-mf",
        parameter="epochs",
        values=EPOCHS,
        alone=EPOCHS[-1:],
        others=(("factors", 10),),
    ),
    "bpr-mf-short": Case(
        dataset="ml-1m",
        algorithm="bpr-mf",
        parameter="epochs",
        values=EPOCHS[:8],
        alone=EPOCHS[7:8],
        others=(("factors", 10),),
    ),
    "bpr-mf-small": Case(
        dataset="ml-100k",
        algorithm="bpr-mf",
        parameter="epochs",
        values=EPOCHS,
        alone=EPOCHS[-1:],
    ),
}


def compare(case: Case, folds: int) -> None:
    """Run the first folds both ways, one after the other, and say how they compare."""
    spec = make_spec(
        dataset=case.dataset,
        algorithm=case.algorithm,
        params=dict(case.others),
        rule="never",
        full=True,
    )
    specs = specs_of(spec, [{case.parameter: value} for value in case.values])
    meter = meter_for(spec)
    meter.start()  # finds its hardware, once per process
    meter.stop()
    fold.folds_of(spec)
    places = [case.values.index(value) for value in case.alone]
    alone: dict[ParamValue, float] = dict.fromkeys(case.alone, 0.0)
    together = 0.0
    for index in range(folds):
        expected = {}
        for place in places:
            began = time.process_time()
            expected[place] = _alone(specs[place], index)
            alone[case.values[place]] += time.process_time() - began
        began = time.process_time()
        found = dict(run_shared_fold(specs, index, meter=meter))
        together += time.process_time() - began
        for place, score in expected.items():
            if found[place].score != score:
                raise AssertionError(f"{case.alone[place]} differs")
    shown = ", ".join(f"{value}: {took / folds:.2f}" for value, took in alone.items())
    mean, most = sum(alone.values()) / len(alone), max(alone.values())
    sys.stdout.write(
        f"{case.dataset} {case.algorithm}, {len(specs)} values of {case.parameter}, "
        f"{folds} folds: together {together / folds:.2f} s a fold; one on its own {shown} s; "
        f"{together / mean:.2f} times the mean of these, {together / most:.2f} times the longest\n"
    )
    sys.stdout.flush()


def _alone(spec: RunSpec, index: int) -> float:
    return run_fold(spec, index, meter=meter_for(spec)).score


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=2)
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    options = parser.parse_args()
    for name in options.only:
        compare(CASES[name], options.folds)
