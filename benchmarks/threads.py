"""Whether scores depend on the number of threads: fold 0 of every algorithm at 1, 2 and 4 threads.

    python -m benchmarks.threads [--dataset ml-100k] [--threads 1,2,4] [--only nmf,implicit-mf]
                                 [--set epochs=2,steps=16]

Every fold is computed in a process of its own, with the usual seed and parameters, or those that
are set, of which a model takes those that it has; with one thread twice, for what differs there
does not come from threads. The table has the score, whether all per-user scores (of predicted
ratings: RMSE and MAE) are the same to the last bit, and how far the score is from that with one
thread.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from typing import NamedTuple

from benchmarks.fresh import measured_afresh
from benchmarks.tables import print_head, print_row
from ecv_core.energy.meter import NoMeter
from ecv_core.fold.computing import run_fold
from ecv_core.fold.spec import make_spec
from ecv_core.models import ALGORITHMS
from ecv_core.records.tasks import Task

LIBRARIES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
"""What the libraries of the models take their number of threads from."""


class Fold(NamedTuple):
    """What came of a fold."""

    score: float
    digest: str
    """A hash of everything that was scored."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", default="ml-100k")
    parser.add_argument("--threads", default="1,2,4")
    parser.add_argument("--only", default=",".join(ALGORITHMS))
    parser.add_argument("--set", default="", help="whole numbers of parameters, as epochs=2")
    parser.add_argument("--compute", help=argparse.SUPPRESS)  # in a process of its own
    options = parser.parse_args()
    if options.compute:
        print(json.dumps(computed(options.dataset, options.compute, options.set)))
        return
    first_threads, *more_threads = options.threads.split(",")
    columns = [f"{threads} threads" for threads in more_threads]
    print_head(["algorithm", f"score, {first_threads} thread", "the same again", *columns])
    for name in options.only.split(","):
        first = computed_afresh(options.dataset, name, first_threads, options.set)
        row = [name, f"{first.score:.6f}"]
        for threads in (first_threads, *more_threads):
            fold = computed_afresh(options.dataset, name, threads, options.set)
            row.append(difference(first, fold))
        print_row(row)


def difference(first: Fold, other: Fold) -> str:
    """What differs, in words."""
    if first == other:
        return "the same"
    if first.score == other.score:
        return "some users differ, the mean does not"
    percent = 100 * abs(other.score / first.score - 1)
    return f"{other.score - first.score:+.1e} ({percent:.2g} %)"


def computed_afresh(dataset: str, name: str, threads: str, settings: str) -> Fold:
    """Fold 0 in a process of its own, with so many threads."""
    score, digest = measured_afresh(
        "benchmarks.threads",
        *("--dataset", dataset, "--compute", name, "--set", settings),
        surroundings=dict.fromkeys(LIBRARIES, threads),
    )
    return Fold(score, digest)


def computed(dataset: str, name: str, settings: str) -> Fold:
    """Fold 0 in this process."""
    algorithm = ALGORITHMS[name]
    metric = "ndcg"
    if algorithm.task is Task.RATINGS:
        metric = "rmse"
    params = params_of(name, settings)
    spec = make_spec(dataset=dataset, algorithm=name, metric=metric, params=params)
    result = run_fold(spec, 0, meter=NoMeter())
    digest = hashlib.sha256(json.dumps(dict(result.metrics)).encode())
    if result.user_scores is not None:
        digest.update(result.user_scores.users.tobytes())
        digest.update(result.user_scores.values.tobytes())
    return Fold(result.score, digest.hexdigest())


def params_of(name: str, settings: str) -> dict[str, int]:
    """Those of some settings, as 'epochs=2,steps=16', that an algorithm has."""
    parameters = {parameter.name for parameter in ALGORITHMS[name].parameters}
    params = {}
    for setting in filter(None, settings.split(",")):
        parameter, value = setting.split("=")
        if parameter in parameters:
            params[parameter] = int(value)
    return params


if __name__ == "__main__":
    main()
