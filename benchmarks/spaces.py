"""More than 200 configurations of five algorithms under three splits of ml-100k: recorded.

python -m benchmarks.spaces [--json data/recorded/spaces/ml-100k.json] [--so-far]

Cut off, it goes on at the next missing fold: set ECV_DATABASE_URL to a file of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from ecv_core.files import replacing
from ecv_core.records import ParamValue
from ecv_core.runner import work_shared
from ecv_core.store import open_store
from ecv_core.tuning.under_splits import compared, planned_spaces, run_spaces

SPLITS = ("user-k-fold", "leave-last-item", "temporal-global")
NEIGHBOURS = (10, 14, 20, 28, 40, 57, 80, 113, 160, 226, 320, 452, 640, 905)
SPACES: dict[str, dict[str, tuple[ParamValue, ...]]] = {
    "item-knn": {"neighbours": NEIGHBOURS, "shrink": (0.0, 10.0, 50.0)},
    "user-knn": {"neighbours": NEIGHBOURS, "shrink": (0.0, 10.0, 50.0)},
    "ease": {"regularization": tuple(float(round(10 * 1.4**at)) for at in range(20))},
    "rp3beta": {
        "neighbours": (25, 50, 100, 200),
        "alpha": (0.25, 0.5, 0.75, 1.0),
        "beta": (0.0, 0.2, 0.4, 0.6),
    },
    "bpr-mf": {
        "factors": (16, 32, 64),
        "epochs": (2, 4, 8, 12),
        "learning_rate": (0.01, 0.02, 0.04),
    },
}
"""42 + 42 + 20 + 64 + 36 = 204 configurations."""


def main() -> None:
    """Run what is missing, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("data/recorded/spaces/ml-100k.json"))
    parser.add_argument("--so-far", action="store_true", help="write what is there; run nothing")
    options = parser.parse_args()
    planned = planned_spaces("ml-100k", list(SPACES), SPLITS, None, SPACES)
    total = sum(spec.k * len(configurations) for spec, configurations in planned)
    began, done = time.perf_counter(), 0

    def told() -> None:
        nonlocal done
        done += 1
        if done % 50 == 0:
            sys.stdout.write(f"{done} of {total} folds: {time.perf_counter() - began:.0f} s\n")
            sys.stdout.flush()

    if options.so_far:
        found = compared(open_store(), planned)
    else:
        found = run_spaces(open_store(), planned, shared=work_shared, on_fold=told)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    with replacing(options.json) as part:
        part.write_text(json.dumps(found.document(), indent=1) + "\n", encoding="utf-8")
    for one in found.agreements:
        sys.stdout.write(
            f"{one.split} and {one.other}: tau {one.tau:.2f} ({one.low:.2f} to {one.high:.2f}), "
            f"the best of the first is {one.best_loss_percent:.2f} % below the best there\n"
        )


if __name__ == "__main__":
    main()
