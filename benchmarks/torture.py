"""Everything that may not break, broken on purpose: kills, disks, databases, files, sessions.

python -m benchmarks.torture [--seed N] [--kills 200] [--cases 5000] [--connections 1000]

Each part is a program of its own, made from the seed, and prints what was not kept as it goes on;
at the end stands a table. Without a seed it is drawn, and said, so that it can be made again. Exit
code 1 where a promise was not kept.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from random import SystemRandom


def parts(asked: argparse.Namespace) -> dict[str, list[str]]:
    """What is done -> the module and its arguments."""
    seed = ["--seed", str(asked.seed)]
    nodes = str(min(asked.kills, 60))
    disks = [
        "tests/jobs/test_rescue.py",
        "tests/jobs/plans/test_study.py",
        "-k",
        "disk or cut_short",
    ]
    return {
        "kills": ["benchmarks.kills", "--kills", str(asked.kills), *seed],
        "nodes of a cluster": ["benchmarks.cluster", "--kills", nodes, *seed],
        "disks": ["pytest", "-q", "-p", "no:cacheprovider", *disks],
        "files, settings and rows": ["benchmarks.fuzz", "--cases", str(asked.cases), *seed],
        "files made to be large": ["benchmarks.hostile"],
        "sessions and bytes": ["benchmarks.wire", "--cases", str(asked.connections), *seed],
    }


def main() -> None:
    """Torture, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**6))
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--connections", type=int, default=1000)
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    rows = []
    for name, words in parts(asked).items():
        begin = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", *words], stdout=subprocess.PIPE, text=True, check=False
        )
        print(done.stdout, flush=True)
        last = (done.stdout.strip().splitlines() or ["nothing said"])[-1]
        kept = "kept" if done.returncode == 0 else "**broken**"
        rows.append(f"| {name} | {kept} | {time.monotonic() - begin:.0f} | {last} |")
    print("| what | promises | s | outcome |", "|---" * 4 + "|", *rows, sep="\n")
    sys.exit(any("**broken**" in row for row in rows))


if __name__ == "__main__":
    main()
