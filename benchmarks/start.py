"""Where people wait: for a command.

python -m benchmarks.start [--times 5]

The median of some times each, in turns. A limit holds for seconds by the clock, which say something
where nothing else runs; those of `import` are beyond Python's own start. Everything is done in a
folder of its own, with compiled modules kept as where the package is installed; without ml-100k,
which `python -m ecv_core download ml-100k` fetches, its command is left out. Seconds of processor
are those of a command and its children.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.spent import processor_seconds
from benchmarks.tables import print_head, print_row
from ecv_core.dataset import available, entry

ECV = ("-m", "ecv_core")
COMMANDS = {
    "python -c pass": ("-c", "pass"),
    "import ecv_core": ("-c", "import ecv_core"),
    "--help": (*ECV, "--help"),
    "orders": (*ECV, "orders", "ten.csv", "--alpha", "1e-4"),
    "select --scores": (*ECV, "select", "--scores", "users.csv"),
    "run synthetic popular": (*ECV, "run", "synthetic", "popular", "--anew"),
    "the same with --no-energy": (*ECV, "run", "synthetic", "popular", "--no-energy", "--anew"),
    "run ml-100k item-knn": (*ECV, "run", "ml-100k", "item-knn", "--anew"),
}
LIMITS = {
    "import ecv_core": 0.1,
    "--help": 0.5,
    "orders": 0.4,
    "select --scores": 0.9,
    "run synthetic popular": 1.5,
    "the same with --no-energy": 1.5,
    "run ml-100k item-knn": 2.5,
}
"""Seconds by the clock on an idle machine."""


class Wait(NamedTuple):
    """How long something took once, in seconds."""

    clock: float
    processor: float


def write_scores(folder: Path) -> None:
    """Ten scores of one contender, and those of 400 users in ten folds of six."""
    rng = np.random.default_rng(1)
    scores = rng.uniform(0.3, 0.35, 10)
    (folder / "ten.csv").write_text("\n".join(["score", *map(str, scores)]))
    rows = ["contender,fold,user,score"]
    for contender in range(6):
        for fold in range(10):
            for user in range(400):
                score = rng.uniform() / 2 + 0.03 * contender
                rows.append(f"c{contender},{fold},{user},{score:.4f}")
    (folder / "users.csv").write_text("\n".join(rows))


def wait_for(command: str, folder: Path) -> Wait:
    """How long one process and its children take."""
    used = processor_seconds()
    begin = time.perf_counter()
    words = [sys.executable, *COMMANDS[command]]
    subprocess.run(words, cwd=folder, capture_output=True, check=False)
    clock = time.perf_counter() - begin
    return Wait(clock, processor_seconds() - used)


def print_table(waits: dict[str, list[Wait]]) -> bool:
    """Print what was measured; whether a limit is not kept."""
    missed = False
    python_start = 0.0
    print_head(["", "limit", "s by the clock", "s of processor"])
    for command, times in waits.items():
        clock = statistics.median(wait.clock for wait in times)
        processor = statistics.median(wait.processor for wait in times)
        limit = LIMITS.get(command)
        if limit is None:
            python_start = clock
        elif command == "import ecv_core":
            missed |= clock - python_start > limit
        else:
            missed |= clock > limit
        print_row([command, limit or "-", f"{clock:.2f}", f"{processor:.2f}"])
    return missed


def main() -> None:
    """Measure and print; exit code 1 where a limit is not kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    commands = list(COMMANDS)
    if not available(entry("ml-100k")):
        commands.remove("run ml-100k item-knn")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_scores(folder)
        os.environ["ECV_DATABASE_URL"] = f"sqlite:///{folder}/runs.sqlite"
        os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        for command in commands:
            wait_for(command, folder)  # the first time compiles, and looks the processor up
        waits: dict[str, list[Wait]] = {command: [] for command in commands}
        for _ in range(options.times):
            for command in commands:
                waits[command].append(wait_for(command, folder))
    sys.exit(print_table(waits))


if __name__ == "__main__":
    main()
