"""One model of one library on one fold, in this process: seconds, memory and lists.

    python -m benchmarks.peer_models LIBRARY MODEL LENGTH FOLDER

FOLDER has fold.json and fold.npz, as `benchmarks.peers` writes them; measured.json and, of a peer,
lists.npz are written beside them.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fresh import processor_seconds, status_megabytes
from benchmarks.peer_models import Fold, Lists, PeerModel

MOST_FITS = 3
ENOUGH_SECONDS = 15
"""A model that has taken so long is not fitted again."""


def read_fold(folder: Path) -> Fold:
    """The fold that lies in a folder."""
    about = json.loads((folder / "fold.json").read_text("utf-8"))
    with np.load(folder / "fold.npz") as arrays:
        return Fold(**about, train=arrays["train"], test=arrays["test"], folder=folder)


def measured(model: PeerModel, folder: Path) -> dict[str, Any]:
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
    write_lists(lists, folder)
    return {
        "fit_seconds": fit_seconds,
        "list_seconds": list_seconds,
        "processor_seconds": first_used,
        "peak_mb": peak,
        "own_score": model.own_score(),
    }


def write_lists(lists: Lists, folder: Path) -> None:
    """Write users' lists one after the other, with the user of each place."""
    users: list[int] = []
    items: list[int] = []
    for user, best in lists.items():
        users.extend([user] * len(best))
        items.extend(best.tolist())
    np.savez(folder / "lists.npz", users=np.array(users), items=np.array(items))


def main() -> None:
    """Measure, and write what came of it."""
    library, name, length, folder_name = sys.argv[1:]
    folder = Path(folder_name)
    module = import_module(f"benchmarks.peer_models.{library}")
    model: PeerModel = module.Model(name, int(length), read_fold(folder))
    (folder / "measured.json").write_text(json.dumps(measured(model, folder)), "utf-8")


if __name__ == "__main__":
    main()
