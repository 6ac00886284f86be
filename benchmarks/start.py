"""How soon the command line and the library answer, in seconds of processor time of one process.

python -m benchmarks.start [--times 5]

The median of some starts each, beside Python's own start, and the bar where there is one.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

CASES = {
    "python -c pass": (["-c", "pass"], None),
    "import ecv_core": (["-c", "import ecv_core"], 0.1),
    "--help": (["-m", "ecv_core", "--help"], 0.5),
    "a wrong command": (["-m", "ecv_core", "train"], 0.5),
    "an unknown dataset": (["-m", "ecv_core", "run", "ml-10k", "popular"], None),
    "datasets": (["-m", "ecv_core", "datasets"], None),
}
"""What is started, and the seconds it may take; those of `import` are beyond Python's start."""


def main() -> None:
    """Measure and print; exit code 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    times = parser.parse_args().times
    found = {
        name: statistics.median(_seconds(words) for _ in range(times))
        for name, (words, _) in CASES.items()
    }
    bare = found["python -c pass"]
    missed = False
    for name, seconds in found.items():
        bar = CASES[name][1]
        taken = seconds - bare if name.startswith("import") else seconds
        missed |= bar is not None and taken > bar
        print(f"{name:<20} {taken:6.3f} s" + (f"  (at most {bar} s)" if bar else ""))
    sys.exit(missed)


def _seconds(words: list[str]) -> float:
    before = os.times()
    subprocess.run([sys.executable, *words], capture_output=True, check=False)
    after = os.times()
    return (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )


if __name__ == "__main__":
    main()
