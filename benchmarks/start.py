"""How soon the command line and the library answer, in seconds of processor time of one process.

python -m benchmarks.start [--times 7]

The median of some starts each, in turns, beside Python's own start and the bar where there is one.
Everything is done in a folder of its own; ask needs ml-100k on disk, which `python -m ecv_core
download ml-100k` fetches.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

LIBRARIES = "import numpy, sqlalchemy.dialects.sqlite, pydantic.dataclasses; pydantic.TypeAdapter"
CASES = {
    "python -c pass": (["-c", "pass"], None),
    "import ecv_core": (["-c", "import ecv_core"], 0.1),
    "--help": (["-m", "ecv_core", "--help"], 0.5),
    "a wrong command": (["-m", "ecv_core", "train"], 0.5),
    "an unknown dataset": (["-m", "ecv_core", "run", "ml-10k", "popular"], None),
    "datasets": (["-m", "ecv_core", "datasets"], None),
    "orders": (["-m", "ecv_core", "orders", "ten.csv", "--alpha", "1e-4"], 0.4),
    "select --scores": (["-m", "ecv_core", "select", "--scores", "users.csv"], 0.9),
    "numpy, sqlalchemy, pydantic": (["-c", LIBRARIES], None),
    "ask": (["-m", "ecv_core", "ask", "RUN", "--fold", "0", "--folder", "asked"], 0.4),
    "show": (["-m", "ecv_core", "show", "RUN"], None),
    "runs": (["-m", "ecv_core", "runs"], None),
    "run --no-energy": (
        ["-m", "ecv_core", "run", "synthetic", "popular", "--no-energy", "--anew"],
        None,
    ),
}
"""What is started, and the seconds it may take; those of `import` are beyond Python's start."""


def main() -> None:
    """Measure and print; exit code 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=7)
    times = parser.parse_args().times
    with tempfile.TemporaryDirectory() as folder:
        run_id = _prepared(Path(folder))
        found: dict[str, list[float]] = {name: [] for name in CASES}
        for _ in range(times):
            for name, (words, _bar) in CASES.items():
                words = [run_id if word == "RUN" else word for word in words]
                found[name].append(_seconds(words, folder))
    bare = statistics.median(found["python -c pass"])
    missed = False
    for name, all_seconds in found.items():
        bar, seconds = CASES[name][1], statistics.median(all_seconds)
        taken = seconds - bare if name.startswith("import") else seconds
        missed |= bar is not None and taken > bar
        print(f"{name:<28} {taken:6.3f} s" + (f"  (at most {bar} s)" if bar else ""))
    sys.exit(missed)


def _prepared(folder: Path) -> str:
    """A database with a tracked run, whose id this is, and two files of scores."""
    os.environ["ECV_DATABASE_URL"] = f"sqlite:///{folder}/runs.sqlite"
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
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
        sys.exit(begun.stderr)
    return begun.stdout.strip()


def _seconds(words: list[str], folder: str) -> float:
    before = os.times()
    subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, check=False)
    after = os.times()
    return (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )


if __name__ == "__main__":
    main()
