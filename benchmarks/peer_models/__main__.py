"""One model of one library on one fold, in this process: seconds, memory and lists.

    python -m benchmarks.peer_models LIBRARY MODEL LENGTH FOLDER

FOLDER has fold.json and fold.npz, as `benchmarks.peers` writes them; measured.json and, of a peer,
lists.npy are written beside them.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peer_models import TOP, Fold, Lists, PeerModel
from benchmarks.spent import processor_seconds, status_megabytes

MOST_FITS = 3
ENOUGH_SECONDS = 15
"""A model that has taken so long is not fitted again."""


def read_fold(folder: Path) -> Fold:
    """The fold that lies in a folder."""
    about = json.loads((folder / "fold.json").read_text("utf-8"))
    with np.load(folder / "fold.npz") as arrays:
        return Fold(**about, train=arrays["train"], test=arrays["test"], folder=folder)


def measured(model: PeerModel, fold: Fold) -> dict[str, Any]:
    """Fit and list a few times; the first is told apart from the later ones."""
    fit_seconds: list[float] = []
    list_seconds: list[float] = []
    used = processor_seconds()
    first_used = 0.0
    begin = time.perf_counter()
    while len(fit_seconds) < MOST_FITS and time.perf_counter() - begin < ENOUGH_SECONDS:
        fit_begin = time.perf_counter()
        model.fit()
        fit_end = time.perf_counter()
        lists = model.lists()
        list_seconds.append(time.perf_counter() - fit_end)
        fit_seconds.append(fit_end - fit_begin)
        if len(fit_seconds) == 1:
            first_used = processor_seconds() - used
    # Memory is read before the library's own evaluation, which not every library has.
    peak = status_megabytes("VmHWM")  # `ru_maxrss` has what the parent had, too
    write_lists(lists, fold.users, fold.folder)
    return {
        "fit_seconds": fit_seconds,
        "list_seconds": list_seconds,
        "processor_seconds": first_used,
        "peak_mb": peak,
        "own_score": model.own_score(),
    }


def write_lists(lists: Lists, users: int, folder: Path) -> None:
    """Write the list of each user as a row, with -1 behind its last item."""
    rows = np.full((users, TOP), -1, dtype=np.int32)
    for user, best in lists.items():
        rows[user, : len(best)] = best
    np.save(folder / "lists.npy", rows)


def main() -> None:
    """Measure, and write what came of it."""
    library, name, length, folder_name = sys.argv[1:]
    folder = Path(folder_name)
    module = import_module(f"benchmarks.peer_models.{library}")
    fold = read_fold(folder)
    model: PeerModel = module.Model(name, int(length), fold)
    (folder / "measured.json").write_text(json.dumps(measured(model, fold)), "utf-8")


if __name__ == "__main__":
    main()
