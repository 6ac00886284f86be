"""The rules over every order of the folds of each recorded run, so that no page works them out.

    python -m scripts.record_curves

Reads the recorded runs with their users' scores, and writes one file beside them. After a change of
a rule, or of a recorded run, `tests/analysis/tradeoff/test_rules_compared.py` asks for it.
"""

from __future__ import annotations

import sys
from dataclasses import fields

import numpy as np

from ecv_core.analysis.orders.outcomes import Curve
from ecv_core.analysis.tradeoff.curves import explorable, tradeoff
from ecv_core.analysis.tradeoff.recorded import CURVES, ERRORS_PREFIX, WITHIN_PERCENT, key_of
from ecv_core.analysis.tradeoff.rule_curves import curves_by_rule, curves_of_run, registered_curves
from ecv_core.stopping import PAPERS_RULE
from ecv_core.store.recorded import recorded_runs
from ecv_core.store.results import Results, scores_of_run

_ALIKE = ("k", "standard_errors")
"""Fields of a curve that are no array, and those of drawn numbers, which have names."""


def main() -> None:
    """Work out and write."""
    CURVES.unlink(missing_ok=True)  # or it would be read
    results = Results(None)
    runs = [run for run in recorded_runs() if explorable(run)]
    systems = [scores_of_run(run) for run in runs]
    users = curves_by_rule(
        curves_of_run(results.scores(run), within_percent=WITHIN_PERCENT) for run in runs
    )
    curves = {PAPERS_RULE: tradeoff(systems, within_percent=WITHIN_PERCENT).curves}
    for rule in registered_curves(systems, users, within_percent=WITHIN_PERCENT):
        curves[rule.rule] = tuple(rule.curves.values())
    names = [one.name for one in fields(Curve) if one.name not in _ALIKE]
    arrays = {}
    for rule_id, of_runs in curves.items():
        for name in names:
            kind = np.float64 if name == "settings" else np.float32  # settings are looked up
            columns = [getattr(one, name) for one in of_runs]
            arrays[f"{rule_id}/{name}"] = np.stack(columns).astype(kind)
        for name in of_runs[0].standard_errors:
            errors = [one.standard_errors[name] for one in of_runs]
            arrays[f"{rule_id}/{ERRORS_PREFIX}{name}"] = np.stack(errors).astype(np.float32)
    np.savez_compressed(CURVES, runs=np.array([key_of(one) for one in systems]), **arrays)
    size = CURVES.stat().st_size
    sys.stdout.write(f"{len(runs)} recorded runs, {', '.join(curves)}: {size:,} bytes\n")


if __name__ == "__main__":
    main()
