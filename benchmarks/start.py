"""Where people wait: for a command.

python -m benchmarks.start [--times 5]

The median of some times each, in turns. A limit holds for seconds by the clock, which say something
where nothing else runs; those of `import` are beyond Python's own start. Everything is done in a
folder of its own, with compiled modules kept as where the package is installed; without ml-100k,
which `python -m ecv_core download ml-100k` fetches, some commands are left out. Seconds of
processor are those of a command and its children.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.tables import print_head, print_row

LIBRARIES = "import numpy, sqlalchemy.dialects.sqlite, pydantic.dataclasses; pydantic.TypeAdapter"


@dataclass(frozen=True)
class Case:
    """A command that somebody waits for."""

    words: list[str]
    limit: float | None = None
    """Seconds by the clock on an idle machine."""
    needs: str = ""
    """A dataset."""


def ecv(*words: str, limit: float | None = None, needs: str = "") -> Case:
    """A command of ours."""
    return Case(["-m", "ecv_core", *words], limit, needs)


BARE = "python -c pass"
IMPORT = "import ecv_core"
CASES = {
    BARE: Case(["-c", "pass"]),
    IMPORT: Case(["-c", "import ecv_core"], 0.1),
    "--help": ecv("--help", limit=0.5),
    "a wrong command": ecv("train", limit=0.5),
    "an unknown dataset": ecv("run", "ml-10k", "popular"),
    "datasets": ecv("datasets"),
    "orders": ecv("orders", "ten.csv", "--alpha", "1e-4", limit=0.4),
    "select --scores": ecv("select", "--scores", "users.csv", limit=0.9),
    "numpy, sqlalchemy, pydantic": Case(["-c", LIBRARIES]),
    "ask": ecv("ask", "RUN", "--fold", "0", "--folder", "asked", limit=0.4, needs="ml-100k"),
    "show": ecv("show", "RUN", needs="ml-100k"),
    "runs": ecv("runs"),
    "run synthetic popular": ecv("run", "synthetic", "popular", "--anew", limit=1.5),
    "the same with --no-energy": ecv(
        "run", "synthetic", "popular", "--no-energy", "--anew", limit=1.5
    ),
    "run ml-100k item-knn": ecv("run", "ml-100k", "item-knn", "--anew", limit=2.5, needs="ml-100k"),
}


class Wait(NamedTuple):
    """How long something took once, in seconds."""

    clock: float
    processor: float


def main() -> None:
    """Measure and print; exit code 1 where a limit is not kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run_id = _prepared(Path(folder))
        cases = _possible_cases(run_id)
        for words in cases.values():
            _seconds(words, folder)  # the first time compiles, and looks the processor up
        waits: dict[str, list[Wait]] = {name: [] for name in cases}
        for _ in range(options.times):
            for name, words in cases.items():
                waits[name].append(_seconds(words, folder))
    sys.exit(_print_table(waits))


def _print_table(waits: dict[str, list[Wait]]) -> bool:
    """Print what was measured; whether a limit is not kept."""
    missed = False
    print_head(["", "limit", "s by the clock", "s of processor"])
    bare = statistics.median(wait.clock for wait in waits[BARE])
    for name, times in waits.items():
        clock = statistics.median(wait.clock for wait in times)
        processor = statistics.median(wait.processor for wait in times)
        limit = CASES[name].limit
        shown_limit = "-"
        if limit is not None:
            shown_limit = f"{limit:.3g}"
            seconds = clock
            if name == IMPORT:
                seconds -= bare
            missed |= seconds > limit
        print_row([name, shown_limit, f"{clock:.2f}", f"{processor:.2f}"])
    return missed


def _prepared(folder: Path) -> str:
    """A database with a tracked run, whose id this is, and two files of scores.

    The id is empty where ml-100k is not on disk.
    """
    os.environ["ECV_DATABASE_URL"] = f"sqlite:///{folder}/runs.sqlite"
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    rng = np.random.default_rng(1)
    scores = rng.uniform(0.3, 0.35, 10)
    (folder / "ten.csv").write_text("\n".join(["score", *map(str, scores)]))
    rows = [
        f"c{contender},{fold},{user},{rng.uniform() / 2 + 0.03 * contender:.4f}"
        for contender in range(6)
        for fold in range(10)
        for user in range(400)
    ]
    (folder / "users.csv").write_text("\n".join(["contender,fold,user,score", *rows]))
    track = ["-m", "ecv_core", "track", "mine", "ml-100k", "--metric", "ndcg@10"]
    begun = subprocess.run([sys.executable, *track], cwd=folder, capture_output=True, text=True)
    if begun.returncode:
        print(begun.stderr.strip(), file=sys.stderr)
    return begun.stdout.strip()


def _possible_cases(run_id: str) -> dict[str, list[str]]:
    """The words of those whose data are on disk, with the id of the tracked run.

    The id is empty without ml-100k.
    """
    cases = {}
    for name, case in CASES.items():
        if run_id or not case.needs:
            cases[name] = [run_id if word == "RUN" else word for word in case.words]
    return cases


def _seconds(words: list[str], folder: str) -> Wait:
    """How long one process and its children take."""
    before = os.times()
    begin = time.perf_counter()
    subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, check=False)
    clock = time.perf_counter() - begin
    after = os.times()
    user = after.children_user - before.children_user
    return Wait(clock, user + after.children_system - before.children_system)


if __name__ == "__main__":
    main()
