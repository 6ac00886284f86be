"""The precision rule over every order of the folds of each recorded run, so that no page has to.

    python -m scripts.record_curves

Reads the recorded runs with their users' scores, and writes one file beside them. After a change of
the rule, or of a recorded run, `tests/analysis/tradeoff/test_rules_compared.py` asks for it.
"""

from __future__ import annotations

import sys
from dataclasses import fields

import numpy as np

from ecv_core.analysis.orders.outcomes import Curve
from ecv_core.analysis.tradeoff.curves import explorable
from ecv_core.analysis.tradeoff.rules import RECORDED, curves_of_run
from ecv_core.figures.study_summary import WITHIN_PERCENT
from ecv_core.store.recorded import recorded_runs
from ecv_core.store.results import Results

_ALIKE = ("k", "standard_errors")
"""Fields of a curve that all have alike: ten folds, and nothing drawn."""


def main() -> None:
    """Work out and write."""
    results = Results(None)
    runs = [run for run in recorded_runs() if explorable(run)]
    found = [
        (run.run_id, curves["precision"])
        for run in runs
        if (curves := curves_of_run(results.scores(run), within_percent=WITHIN_PERCENT))
    ]
    names = [one.name for one in fields(Curve) if one.name not in _ALIKE]
    np.savez_compressed(
        RECORDED,
        rule=np.array(["precision"]),
        within_percent=np.array([WITHIN_PERCENT]),
        runs=np.array([run_id for run_id, _ in found]),
        **{name: np.stack([getattr(curve, name) for _, curve in found]) for name in names},
    )
    sys.stdout.write(
        f"{len(found)} of {len(runs)} recorded runs, {RECORDED.stat().st_size:,} bytes\n"
    )


if __name__ == "__main__":
    main()
