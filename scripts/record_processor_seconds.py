"""Processor seconds of the first fold of recorded runs, computed again with nothing beside it.

    ECV_DATA_PATH=FOLDER python -m scripts.record_processor_seconds [--seconds 300]

On an idle machine. A recorded run whose fold has them is left out, so that it goes on where it
ended; so is one whose fold would take longer than asked, as far as the record tells. A fold whose
score is not the recorded one to the last bit, or that other programs worked beside, is said and not
kept.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ecv_core.energy.real_meters import meter_for
from ecv_core.fold.computing import run_fold
from ecv_core.records.run import QUIET
from ecv_core.store.recorded import FOLDER, amend, recorded_document, recorded_path, recorded_runs

SHORT_SECONDS = 10.0
"""A fold below is computed twice, and the second counts: the first loads and compiles."""


def keep(path: Path, fold: int, seconds: float) -> None:
    """Write them into the recorded document, which stays as it is otherwise."""
    document = json.loads(recorded_document(path.name) or "")
    document["folds"][fold]["seconds"]["processor"] = round(seconds, 4)
    amend(path, json.dumps(document, indent=1, ensure_ascii=False))


def main() -> None:
    """One recorded run after the other, quick ones first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=300.0)
    longest = parser.parse_args().seconds
    for run in sorted(recorded_runs(), key=lambda run: run.folds[0].total_seconds):
        path, first = recorded_path(FOLDER, run.spec.dataset, run.spec.algorithm), run.folds[0]
        if first.processor_seconds is not None or first.total_seconds > longest:
            continue
        meter = meter_for(run.spec)
        for _ in range(2 if first.total_seconds < SHORT_SECONDS else 1):
            result = run_fold(run.spec, first.fold, meter=meter)
        beside = result.energy.other_work
        said = f"{path.name}: {result.processor_seconds:.2f} processor s, others {beside:.3f}"
        if result.score != first.score:
            said += f"; the score is {result.score!r}, not {first.score!r}: not kept"
        elif beside is None or beside > QUIET:
            said += "; not kept: other work"
        else:
            keep(path, 0, result.processor_seconds or 0.0)
        sys.stdout.write(said + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
