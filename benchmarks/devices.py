"""One fold of each model that can use a GPU, on the processor and on the GPU, side by side.

    python -m benchmarks.devices [--cases ml-1m:multi-vae ml-1m:ease] [--again]

Each is fold 0 of the default split in a process of its own, the processor's with the GPU hidden,
after an epoch of the same model that is not counted: it loads libraries and starts the GPU. Joules
are CodeCarbon's, of processor, memory and GPU together; busy is for how long the GPU computed, GiB
what tensors took of its memory at most. --again runs the GPU's fold twice, and says whether the
scores are the same.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from typing import Any

import torch

from ecv_core import models
from ecv_core.energy.real_meters import meter_for
from ecv_core.fold.computing import run_fold
from ecv_core.fold.spec import make_spec

MODELS = ("ease", "nmf", "bpr-mf", "multi-vae", "neu-mf", "light-gcn", "ngcf")
CASES = [f"{dataset}:{name}" for dataset in ("ml-100k", "ml-1m") for name in MODELS]
CASES += ["ta-feng:triple2vec", "ta-feng:vbcar"]
COLUMNS = (
    "dataset",
    "algorithm",
    "processor: fit + evaluate s",
    "GPU: fit + evaluate s",
    "busy s",
    "times as fast",
    "processor: nDCG@10",
    "GPU: nDCG@10",
    "processor: J",
    "GPU: J",
    "GPU: GiB",
    "same again",
)


def here(dataset: str, algorithm: str) -> dict[str, Any]:
    """Fold 0 in this process, on the device that models choose."""
    known = {one.name for one in models.algorithm(algorithm).parameters}
    short = {"epochs": 1} if "epochs" in known else {}
    run_fold(make_spec(dataset=dataset, algorithm=algorithm, rule="never", params=short), 0)
    spec = make_spec(dataset=dataset, algorithm=algorithm, rule="never")
    if gpu := torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    fold = run_fold(spec, 0, meter=meter_for(spec))
    assert fold.energy is not None
    return {
        "fit": fold.fit_seconds,
        "evaluate": fold.evaluate_seconds,
        "total": fold.total_seconds,
        "score": fold.score,
        "metrics": dict(fold.metrics),
        "joules": fold.energy.joules,
        "busy": fold.energy.gpu_seconds,
        "gib": torch.cuda.max_memory_allocated() / 2**30 if gpu else 0.0,
    }


def measure(case: str, *, gpu: bool) -> dict[str, Any]:
    """The same in a fresh process, with or without the GPU."""
    surroundings = os.environ | ({} if gpu else {"CUDA_VISIBLE_DEVICES": ""})
    command = [sys.executable, "-m", "benchmarks.devices", "--here", case]
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{case}: {done.stderr.strip().splitlines()[-1]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print the table, a row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="*", default=CASES, metavar="DATASET:ALGORITHM")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        print(json.dumps(here(*options.here.split(":"))))
        return
    if not torch.cuda.is_available():
        raise SystemExit("there is no GPU that CUDA can use here; run this where there is one")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {os.cpu_count()} cores\n")
    print("| " + " | ".join(COLUMNS) + " |")
    print("|---" * len(COLUMNS) + "|")
    for case in options.cases:
        first, second = (measure(case, gpu=gpu) for gpu in (False, True))
        took = [f"{one['fit']:.2f} + {one['evaluate']:.2f}" for one in (first, second)]
        busy = "-" if second["busy"] is None else f"{second['busy']:.2f}"
        ratio = f"{first['total'] / second['total']:.1f}"
        scores = [f"{one['score']:.4f}" for one in (first, second)]
        joules = [f"{one['joules']:.0f}" for one in (first, second)]
        same = "-"
        if options.again:
            same = "yes" if measure(case, gpu=True)["metrics"] == second["metrics"] else "no"
        row = [*case.split(":"), *took, busy, ratio, *scores, *joules, f"{second['gib']:.2f}", same]
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
