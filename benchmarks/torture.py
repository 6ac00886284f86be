"""Everything that may not break, broken on purpose: kills, disks, databases, files, sessions.

python -m benchmarks.torture [--seed N] [--kills 200] [--cases 5000] [--connections 1000]

Each part is a program of its own, made from the seed, and prints what was not kept as it goes on,
and its counts in its last line. Without a seed one is drawn and printed, so that it can be made
again. Exit code 1 where a promise was not kept.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from random import SystemRandom

TESTS_OF_DISKS = ["tests/jobs/test_rescue.py", "tests/jobs/plans/test_study.py"]


def main() -> None:
    """Torture, part by part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**6))
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--connections", type=int, default=1000)
    options = parser.parse_args()
    seed = f"--seed={options.seed}"
    parts = {
        "kills": ["benchmarks.kills", f"--kills={options.kills}", seed],
        "disks": ["pytest", "-q", *TESTS_OF_DISKS, "-k", "disk or cut_short"],
        "files and commands": ["benchmarks.fuzz", f"--cases={options.cases}", seed],
        "sessions and bytes": ["benchmarks.wire", f"--cases={options.connections}", seed],
    }
    print(f"seed {options.seed}", flush=True)
    broken_parts = []
    for name, words in parts.items():
        print(f"{name}:", flush=True)
        process = subprocess.run([sys.executable, "-m", *words], check=False)
        if process.returncode:
            broken_parts.append(name)
    print(f"broken promises: {', '.join(broken_parts) or 'none'}")
    sys.exit(len(broken_parts) > 0)


if __name__ == "__main__":
    main()
