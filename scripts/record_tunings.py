"""Tunings with all folds, for docs/tuning.md and the view Metrics and parameters.

    ECV_DATABASE_URL=sqlite:///tunings.sqlite python -m scripts.record_tunings ml-100k--item-knn

This computes what is named (DATASET--ALGORITHM) with scores of every user, and keeps the p value of
every two configurations and the mean of each, for six metrics and all folds, in the place of old
ones. Every fold is in the database when it is known, so that it goes on where it was cut off.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from ecv_core import cli
from ecv_core.selection.tuning.metrics_study import own_tuning, paired_tests
from ecv_core.store.configurations import TUNINGS, PairedTests
from ecv_core.store.recorded_users import LEVEL
from ecv_core.store.store import open_store
from ecv_core.untrusted.files import replacing
from scripts.record_nested_power import GRID as NESTED_GRID

BPR_GRID = NESTED_GRID["bpr-mf"]
RP3BETA_GRID = ("neighbours=50,100,200", "alpha=0.25,0.5,1.0", "beta=0.2,0.4,0.6")
GRIDS = {"bpr-mf": BPR_GRID, "rp3beta": RP3BETA_GRID}
"""Values that are tried; of the others the neighbour counts of the paper."""


def tuning(dataset: str, algorithm: str) -> list[str]:
    """The command that tunes it."""
    words = ["tune", dataset, algorithm, "--all-folds", "--no-energy"]
    if algorithm not in GRIDS:
        return [*words, "--space", "paper"]
    for values in GRIDS[algorithm]:
        words += ["--grid", values]
    return words


def record_tuning(name: str, tests: PairedTests, path: Path = TUNINGS) -> None:
    """Add the tests of a tuning to the file, or put them in the place of those of this name.

    Raises: OSError if the file is damaged, or cannot be written.
    """
    metrics = []
    folds = []
    p_values = []
    means = []
    for metric, by_fold in tests.p_values.items():
        for fold in range(len(by_fold)):
            metrics.append(metric)
            folds.append(fold)
            p_values.append(by_fold[fold])
            means.append(tests.means[metric][fold])
    configurations = json.dumps([dict(params) for params in tests.configurations])
    own = pa.table(
        {
            "name": [name] * len(folds),
            "spec": [tests.spec.to_json()] * len(folds),
            "configurations": [configurations] * len(folds),
            "metric": metrics,
            "fold": pa.array(folds, pa.int16()),
            "p": pa.array(p_values, pa.list_(pa.float64())),
            "means": pa.array(means, pa.list_(pa.float64())),
        }
    )
    tables = [own]
    if path.exists():
        tables.append(parquet.read_table(path, filters=[("name", "!=", name)]))
    with replacing(path, readable_by_others=True) as part:
        table = pa.concat_tables(tables).sort_by("name")
        parquet.write_table(table, part, compression="zstd", compression_level=LEVEL)


def main() -> None:
    """Tune what is named, as far as that is not done, and record it."""
    for name in sys.argv[1:]:
        dataset, _, algorithm = name.partition("--")
        if cli.main(tuning(dataset, algorithm)):
            sys.exit(1)
        scores = own_tuning(open_store(), dataset, algorithm)
        if scores is None:
            sys.exit(f"the database has no tuning of {algorithm} on {dataset} with all folds")
        record_tuning(name, paired_tests(scores))


if __name__ == "__main__":
    main()
