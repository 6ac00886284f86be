"""Whether scores depend on the number of threads: fold 0 of every algorithm at 1, 2 and 4 threads.

python -m benchmarks.threads [--dataset ml-100k] [--threads 1,2,4] [--only nmf,implicit-mf]
       [--set epochs=2,steps=16]

Every fold is computed in a process of its own, with the usual seed and parameters, or those that
are set, of which a model takes those that it has; with one thread twice, for what differs there
does not come from threads. Prints markdown: the score, whether all per-user scores (of predicted
ratings: RMSE and MAE) are the same to the last bit, and how far the score is from that with one
thread.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence

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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="ml-100k")
    parser.add_argument("--threads", default="1,2,4")
    parser.add_argument("--only", default=",".join(ALGORITHMS))
    parser.add_argument("--set", default="", help="whole numbers of parameters, as epochs=2")
    parser.add_argument("--compute", help=argparse.SUPPRESS)  # in a process of its own
    asked = parser.parse_args()
    if asked.compute:
        print(json.dumps(_fold(asked.dataset, asked.compute, asked.set)))
        return
    threads = [int(one) for one in asked.threads.split(",")]
    print("| algorithm | score, one thread | the same again |", end="")
    print(" | ".join(f" {many} threads" for many in threads[1:]), "|")
    print("|---" * (3 + len(threads) - 1) + "|")
    for name in asked.only.split(","):
        first, again, *others = (
            _computed(asked.dataset, name, many, asked.set) for many in (threads[0], *threads)
        )
        cells = [_beside(first, one) for one in (again, *others)]
        print(f"| {name} | {first[0]:.6f} | {' | '.join(cells)} |", flush=True)


def _beside(first: Sequence[object], other: Sequence[object]) -> str:
    """What differs, in words."""
    before, after = float(str(first[0])), float(str(other[0]))
    if first == other:
        return "the same"
    if before == after:
        return "some users differ, the mean does not"
    return f"{after - before:+.1e} ({100 * abs(after / before - 1):.2g} %)"


def _computed(dataset: str, name: str, threads: int, settings: str) -> tuple[float, str]:
    words = ["--dataset", dataset, "--compute", name, "--set", settings]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.threads", *words],
        env=os.environ | dict.fromkeys(LIBRARIES, str(threads)),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{name} with {threads} threads: {done.stderr[-500:]}")
    score, sha256 = json.loads(done.stdout.splitlines()[-1])
    return score, sha256


def _fold(dataset: str, name: str, settings: str) -> tuple[float, str]:
    """The score of fold 0, and a hash of everything that was scored."""
    known = {one.name for one in ALGORITHMS[name].parameters}
    pairs = (one.split("=") for one in settings.split(",") if one)
    params = {parameter: int(value) for parameter, value in pairs if parameter in known}
    metric = "rmse" if ALGORITHMS[name].task is Task.RATINGS else "ndcg"
    spec = make_spec(dataset=dataset, algorithm=name, metric=metric, params=params)
    result = run_fold(spec, 0, meter=NoMeter())
    everything = hashlib.sha256(json.dumps(dict(result.metrics)).encode())
    if (users := result.user_scores) is not None:
        everything.update(users.users.tobytes() + users.values.tobytes())
    return result.score, everything.hexdigest()


if __name__ == "__main__":
    main()
