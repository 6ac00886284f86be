"""This project's models beside those of three other libraries: one fold, one metric, one table.

    python -m benchmarks.peers FOLDER [--datasets ml-100k,ml-1m] [--models ease,bpr-mf]
                               [--libraries ours,recbole] [--python lenskit=python3.13]

FOLDER keeps an environment for each library, which is made when it is first needed, and
measured.jsonl with a line for each measurement: what is there is not measured again. Each model is
fitted on fold 0, at most three times, in a fresh process with every core; nDCG@10 is computed by
this project's evaluator from the lists of every library, and by the library's own where it has
one. Then the table is printed: seconds of fit and lists the first time in a process, and at best
later; seconds of the processor, of the first time; memory at most, of the whole process; how many
times as long a library takes as ours, by the clock and of the processor, which other programs
disturb less. Where training has a length, a model is also measured at shorter ones, and compared at
the same score: the best one that both reach.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from benchmarks.tables import print_head, print_row
from ecv_core import evaluation
from ecv_core.bridges.bridge import LIBRARIES
from ecv_core.fold import data_of, folds_of
from ecv_core.fold.spec import make_spec
from ecv_core.splits import fold_matrices
from ecv_core.splits.parts import FoldMatrices

ROOT = Path(__file__).resolve().parents[1]
OURS = "ours"
PINS: Mapping[str, Sequence[str]] = {
    "recbole": LIBRARIES["recbole"].pins,
    "implicit": ("implicit==0.7.3",),
    "lenskit": ("lenskit==2026.4.0",),
}
"""What pip installs for each library; LensKit asks for Python 3.12.5 or newer."""
DATASETS = ("ml-100k", "ml-1m", "amazon-cell-phones")
LENGTHS: Mapping[str, Mapping[str, Sequence[int]]] = {
    "popular": dict.fromkeys((OURS, "recbole", "lenskit"), (1,)),
    "item-knn": dict.fromkeys((OURS, "recbole", "implicit", "lenskit"), (1,)),
    "ease": dict.fromkeys((OURS, "recbole", "lenskit"), (1,)),
    "implicit-mf": {
        OURS: (10, 2, 3, 5),
        "implicit": (15, 3, 5, 8),
        "lenskit": (10,),
    },
    "bpr-mf": {
        OURS: (8, 2, 3, 4, 6),
        "recbole": (8,),
        "implicit": (100, 20, 50),
        "lenskit": (10,),
    },
    "neu-mf": {OURS: (10, 1, 2, 3, 5), "recbole": (10,)},
    "multi-vae": {OURS: (20, 1, 2, 5), "recbole": (20,)},
}
"""Of each model the libraries that have it, each with the epochs that it is trained for: first its
default (of RecBole, whose default is 300 with early stopping, as many as ours), then fewer."""


class Case(NamedTuple):
    """What is measured in one process."""

    dataset: str
    model: str
    library: str
    length: int


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--models", default=",".join(LENGTHS))
    parser.add_argument("--libraries", default=",".join((OURS, *PINS)))
    parser.add_argument("--python", action="append", default=[], metavar="LIBRARY=PYTHON")
    options = parser.parse_args()
    file = options.folder / "measured.jsonl"
    options.folder.mkdir(parents=True, exist_ok=True)
    pythons = dict(choice.split("=", 1) for choice in options.python)
    cases = list(cases_of(options.datasets, options.models, options.libraries))
    measure_missing(cases, file, pythons)
    print_table(read_lines(file))


def cases_of(datasets: str, models: str, libraries: str) -> Iterator[Case]:
    """Every case of these, the default lengths of a model before the shorter ones."""
    for dataset in datasets.split(","):
        for model in models.split(","):
            for library, lengths in LENGTHS[model].items():
                if library not in libraries.split(","):
                    continue
                for length in lengths:
                    yield Case(dataset, model, library, length)


def read_lines(file: Path) -> list[dict[str, Any]]:
    """What has been measured before."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def measure_missing(cases: Sequence[Case], file: Path, pythons: Mapping[str, str]) -> None:
    """Append a line for each case that has none; a library that fails has a line that says why."""
    done = {tuple(line["case"]) for line in read_lines(file)}
    parts_of: dict[str, FoldMatrices] = {}
    for case in cases:
        if case in done:
            continue
        if case.dataset not in parts_of:
            parts_of[case.dataset] = first_fold(case.dataset)
        print(*case, file=sys.stderr, flush=True)
        python = environment(case.library, file.parent, pythons)
        load = os.getloadavg()[0]
        line = {"case": case, "load": load, **measured(case, python, parts_of[case.dataset])}
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")


def first_fold(dataset: str) -> FoldMatrices:
    """Fold 0 by the project's default split and seed."""
    spec = make_spec(dataset=dataset, algorithm="popular")
    return fold_matrices(data_of(spec), folds_of(spec), 0)


def environment(library: str, folder: Path, pythons: Mapping[str, str]) -> Path:
    """The Python of a library's environment, made first where it is not there."""
    if library == OURS:
        return Path(sys.executable)
    place = folder / library
    python = place / "bin" / "python"
    made_of = place / "made-of.txt"  # written last: tells a whole environment from a half made one
    pins = " ".join(PINS[library])
    if not made_of.exists() or made_of.read_text("utf-8").strip() != pins:
        maker = pythons.get(library, sys.executable)
        subprocess.run([maker, "-m", "venv", "--clear", str(place)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", *PINS[library]]
        subprocess.run(install, check=True)
        made_of.write_text(pins, "utf-8")
    return python


def measured(case: Case, python: Path, parts: FoldMatrices) -> dict[str, Any]:
    """Measure a case in a process of its own, and score its lists.

    Returns: what `peer_models.__main__` measures and nDCG@10 by our evaluator; or the error.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_fold(case.dataset, parts, folder)
        words = [str(python), "-W", "ignore", "-m", "benchmarks.peer_models"]
        words += [case.library, case.model, str(case.length), str(folder)]
        paths = f"{ROOT}{os.pathsep}{ROOT / 'ecv_core' / 'bridges'}"
        process = subprocess.run(
            words,
            env=os.environ | {"PYTHONPATH": paths},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if process.returncode:
            return {"error": process.stderr.strip()[-800:]}
        line: dict[str, Any] = json.loads((folder / "measured.json").read_text("utf-8"))
        line["score"] = line["own_score"]  # of ours, whose evaluator is the same
        if case.library != OURS:
            line["score"] = score_of(np.load(folder / "lists.npy"), parts)
        return line


def write_fold(dataset: str, parts: FoldMatrices, folder: Path) -> None:
    """Write a fold as `peer_models.__main__` reads it."""
    users, items = parts.train.shape
    about = {"dataset": dataset, "users": users, "items": items}
    (folder / "fold.json").write_text(json.dumps(about), "utf-8")
    np.savez(folder / "fold.npz", train=pairs_of(parts.train), test=pairs_of(parts.held_out))


def pairs_of(matrix: csr_array) -> np.ndarray:
    """Users and items of a matrix; shape (interactions, 2)."""
    return np.stack(matrix.nonzero(), axis=1).astype(np.int32)


def score_of(lists: np.ndarray, parts: FoldMatrices) -> float:
    """nDCG@10 of lists by our evaluator; of a user without a list it is 0.

    Args:
        lists: the items of each user, the best first; shape (users, 10), -1 behind the last one.
        parts: of the fold.
    """
    evaluated = evaluation.evaluate_lists(
        lists, parts.train, parts.held_out, (10,), train=parts.train
    )
    return evaluated.means["ndcg@10"]


# The table.

Line = Mapping[str, Any]
"""What has been measured of a case."""
COLUMNS = (
    "dataset",
    "model",
    "library",
    "fit + lists s, first",
    "later",
    "processor s",
    "peak MB",
    "nDCG@10",
    "by its own",
    "ours is faster",
    "to the same score",
    "load",
)


def print_table(lines: Sequence[Line]) -> None:
    """A row for each library's default length, beside ours."""
    print_head(COLUMNS)
    datasets = dict.fromkeys(line["case"][0] for line in lines)
    for dataset in datasets:
        for model, libraries in LENGTHS.items():
            ours = lines_of(lines, dataset, model, OURS)
            if not ours:
                continue
            for library in libraries:
                theirs = lines_of(lines, dataset, model, library)
                if theirs:
                    print_library(theirs, ours)


def lines_of(lines: Sequence[Line], dataset: str, model: str, library: str) -> list[Line]:
    """The measurements of a library's model, the default length first."""
    chosen = [line for line in lines if line["case"][:3] == [dataset, model, library]]
    lengths = list(LENGTHS[model][library])
    return sorted(chosen, key=lambda line: lengths.index(line["case"][3]))


def print_library(theirs: Sequence[Line], ours: Sequence[Line]) -> None:
    """A library's model at its default length, and how much faster ours is."""
    default = theirs[0]
    dataset, model, library, length = default["case"]
    if length > 1:
        library = f"{library}, {length} epochs"
    row = [dataset, model, library]
    if "error" in default:
        reason = default["error"].splitlines()[-1]
        print_row([*row, f"failed: {reason}", *[""] * 8])
        return
    faster = ""
    to_score = ""
    if default is not ours[0]:
        faster = ratios(default, ours[0])
        if len(ours) > 1:
            to_score = to_the_same_score(theirs, ours)
    own_score = ""
    if not math.isnan(default["own_score"]):
        own_score = f"{default['own_score']:.4f}"
    row += [
        f"{default['fit_seconds'][0]:.2f} + {default['list_seconds'][0]:.2f}",
        later(default),
        f"{default['processor_seconds']:.1f}",
        f"{default['peak_mb']:,.0f}",
        f"{default['score']:.4f}",
        own_score,
        faster,
        to_score,
        f"{default['load']:.0f}",
    ]
    print_row(row)


def seconds_of(line: Line) -> float:
    """Of the first fit of a process and its lists, by the clock."""
    return float(line["fit_seconds"][0] + line["list_seconds"][0])


def later(line: Line) -> str:
    """The least seconds of later fits and their lists, where there were any."""
    sums = np.add(line["fit_seconds"], line["list_seconds"])[1:]
    if not len(sums):
        return ""
    return f"{sums.min():.2f}"


def ratios(theirs: Line, ours: Line) -> str:
    """How many times as long theirs takes: by the clock, and of the processor."""
    by_clock = seconds_of(theirs) / seconds_of(ours)
    of_processor = theirs["processor_seconds"] / ours["processor_seconds"]
    return f"{by_clock:.1f}, {of_processor:.1f}"


def to_the_same_score(theirs: Sequence[Line], ours: Sequence[Line]) -> str:
    """The ratios to the best score that both reach."""
    score = min(best_score(theirs), best_score(ours))
    return f"{ratios(cheapest(score, theirs), cheapest(score, ours))} ({score:.4f})"


def best_score(lines: Sequence[Line]) -> float:
    """The best score at any length."""
    return max(line["score"] for line in lines)


def cheapest(score: float, lines: Sequence[Line]) -> Line:
    """The measurement that reaches a score with the fewest processor seconds."""
    reaching = [line for line in lines if line["score"] >= score]
    return min(reaching, key=lambda line: line["processor_seconds"])


if __name__ == "__main__":
    main()
