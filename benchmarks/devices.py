"""One fold of each model that can use a GPU, on the processor and on the GPU, side by side.

    python -m benchmarks.devices [--cases ml-1m:multi-vae ml-1m:ease] [--again]

Each is the command `run ... --only-folds 0 --json -` in a process of its own, the processor's with
the GPU hidden. Joules are CodeCarbon's, of processor, memory and GPU together. --again runs the
GPU's fold twice, and says whether the scores are the same.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import Any

MODELS = ("ease", "nmf", "bpr-mf", "multi-vae", "neu-mf", "light-gcn", "ngcf")
CASES = [f"{dataset}:{name}" for dataset in ("ml-100k", "ml-1m") for name in MODELS]
CASES += ["ta-feng:triple2vec", "ta-feng:vbcar"]
COLUMNS = (
    "dataset",
    "algorithm",
    "processor: fit + evaluate s",
    "GPU: fit + evaluate s",
    "times as fast",
    "processor: nDCG@10",
    "GPU: nDCG@10",
    "processor: J",
    "GPU: J",
    "same again",
)


def measure(dataset: str, algorithm: str, *, gpu: bool) -> dict[str, Any]:
    """Fold 0 of the default split, in a fresh process with a database of its own.

    Returns: the fold, as a run's document has it.
    """
    with tempfile.TemporaryDirectory() as folder:
        surroundings = os.environ | {"ECV_DATABASE_URL": f"sqlite:///{folder}/runs.sqlite"}
        if not gpu:
            surroundings["CUDA_VISIBLE_DEVICES"] = ""
        asked = ["--only-folds", "0", "--rule", "never", "--json", "-"]
        command = [sys.executable, "-m", "ecv_core", "run", dataset, algorithm, *asked]
        done = subprocess.run(command, env=surroundings, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{dataset}, {algorithm}: {done.stderr.strip().splitlines()[-1]}")
    fold: dict[str, Any] = json.loads(done.stdout)["folds"][0]
    return fold


def main() -> None:
    """Print the table, a row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="*", default=CASES, metavar="DATASET:ALGORITHM")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        raise SystemExit("there is no GPU that CUDA can use here; run this where there is one")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {os.cpu_count()} cores\n")
    print("| " + " | ".join(COLUMNS) + " |")
    print("|---" * len(COLUMNS) + "|")
    for case in options.cases:
        dataset, algorithm = case.split(":")
        first, second = (measure(dataset, algorithm, gpu=gpu) for gpu in (False, True))
        took = [
            f"{one['seconds']['fit']:.2f} + {one['seconds']['evaluate']:.2f}"
            for one in (first, second)
        ]
        ratio = first["seconds"]["total"] / second["seconds"]["total"]
        scores = [f"{one['score']:.4f}" for one in (first, second)]
        joules = [f"{one['energy']['joules']:.0f}" for one in (first, second)]
        same = "-"
        if options.again:
            third = measure(dataset, algorithm, gpu=True)
            same = "yes" if third["metrics"] == second["metrics"] else "no"
        row = [dataset, algorithm, *took, f"{ratio:.1f}", *scores, *joules, same]
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
