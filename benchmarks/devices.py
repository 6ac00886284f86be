"""One fold of each model that can use a GPU, on the processor and on the GPU, side by side.

    python -m benchmarks.devices [--cases ml-1m:multi-vae ml-1m:ease]

Each is fold 0 of the default split in a process of its own, the processor's with the GPU hidden,
after an epoch of the same model that is not counted: it loads libraries and starts the GPU. Joules
are CodeCarbon's, of processor, memory and GPU together; busy is for how long the GPU computed, GiB
what tensors took of its memory at most.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

import torch

from benchmarks.fresh import measured_afresh
from benchmarks.tables import print_head, print_row
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
)


def measured(dataset: str, algorithm: str) -> dict[str, Any]:
    """Fold 0 in this process, on the device that models choose."""
    warm_up = {}
    if any(parameter.name == "epochs" for parameter in models.algorithm(algorithm).parameters):
        warm_up["epochs"] = 1
    run_fold(make_spec(dataset=dataset, algorithm=algorithm, rule="never", params=warm_up), 0)
    spec = make_spec(dataset=dataset, algorithm=algorithm, rule="never")
    has_gpu = torch.cuda.is_available()
    if has_gpu:
        torch.cuda.reset_peak_memory_stats()
    fold = run_fold(spec, 0, meter=meter_for(spec))
    gib = 0.0
    if has_gpu:
        gib = torch.cuda.max_memory_allocated() / 2**30
    return {
        "fit": fold.fit_seconds,
        "evaluate": fold.evaluate_seconds,
        "total": fold.total_seconds,
        "score": fold.score,
        "joules": fold.energy.joules,
        "busy": fold.energy.gpu_seconds,
        "gib": gib,
    }


def row_of(case: str) -> list[str]:
    """A case on both devices, each in a fresh process, as a row of the table."""
    words = ("benchmarks.devices", "--here", case)
    processor = measured_afresh(*words, surroundings={"CUDA_VISIBLE_DEVICES": ""})
    gpu = measured_afresh(*words)
    busy = "-"
    if gpu["busy"] is not None:
        busy = f"{gpu['busy']:.2f}"
    return [
        *case.split(":"),
        f"{processor['fit']:.2f} + {processor['evaluate']:.2f}",
        f"{gpu['fit']:.2f} + {gpu['evaluate']:.2f}",
        busy,
        f"{processor['total'] / gpu['total']:.1f}",
        f"{processor['score']:.4f}",
        f"{gpu['score']:.4f}",
        f"{processor['joules']:.0f}",
        f"{gpu['joules']:.0f}",
        f"{gpu['gib']:.2f}",
    ]


def main() -> None:
    """Print the table, a row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="*", default=CASES, metavar="DATASET:ALGORITHM")
    parser.add_argument("--here", help=argparse.SUPPRESS)  # in a process of its own
    options = parser.parse_args()
    if options.here:
        dataset, algorithm = options.here.split(":")
        print(json.dumps(measured(dataset, algorithm)))
        return
    if not torch.cuda.is_available():
        raise SystemExit("there is no GPU that CUDA can use here; run this where there is one")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {os.cpu_count()} cores\n")
    print_head(COLUMNS)
    for case in options.cases:
        print_row(row_of(case))


if __name__ == "__main__":
    main()
