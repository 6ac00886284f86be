"""A fold to a model of RecBole or Cornac, each in an environment of its own -> users' lists."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from filelock import FileLock

from ecv_core.jobs.fold_tables import Handed
from ecv_core.records.errors import InputError, RunError
from ecv_core.records.interactions import Part
from ecv_core.records.parameters import ParamValue
from ecv_core.records.spec import RunSpec
from ecv_core.records.tasks import Task

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """Whose models are bridged, and in which versions that was tested."""

    title: str
    version: str
    pins: tuple[str, ...]
    """As `pip install` takes them."""


LIBRARIES = {
    "recbole": Library(
        title="RecBole",
        version="1.2.1",
        pins=("recbole==1.2.1", "torch==2.13.0", "numpy==1.26.4", "pandas==2.2.3", "scipy==1.11.4"),
    ),
    "cornac": Library(title="Cornac", version="3.0.1", pins=("cornac==3.0.1", "torch==2.13.0")),
}
CHECKED = ("ndcg", "recall", "precision")
"""Metrics that the evaluators of both libraries define as this project does."""


def check_served(spec: RunSpec, *, check: bool) -> None:
    """Refuse what the libraries are not asked. Raises: InputError."""
    if spec.task is not Task.TOP_N:
        raise InputError(
            f"bridged models rank items, but {spec.metric} is of what is predicted; use a metric "
            "of ranked items, such as ndcg@10"
        )
    if check and (spec.metric not in CHECKED or spec.candidates != "all"):
        raise InputError(
            f"--check compares {', '.join(CHECKED)} over all items with the library's own "
            f"evaluator, but the metric is {spec.metric} over candidates = {spec.candidates}"
        )


def environment(library: Library, say: Callable[[str], None]) -> Path:
    """The Python of a library's environment, which is made first where it is not there.

    It is in the user's cache folder; one that was left half made is made again.

    Raises: RunError where it cannot be made.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "e-fold" / f"{library.title.lower()}-{library.version}"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    made_of, pins = folder / "made-of.txt", " ".join(library.pins)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):
            if made_of.is_file() and made_of.read_text("utf-8") == pins:
                return python
            say(f"makes an environment for {library.title}, once, with {pins}: {folder}")
            for words in (
                [sys.executable, "-m", "venv", "--clear", str(folder)],
                [str(python), "-m", "pip", "install", "--quiet", *library.pins],
            ):
                done = subprocess.run(words, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise OSError(_last_line(done.stderr or done.stdout))
            made_of.write_text(pins, "utf-8")
    except OSError as error:
        raise RunError(
            f"the environment of {library.title} cannot be made in {folder}: "
            f"{error.strerror or error}; it takes Python 3.11 or 3.12, a package index that pip "
            "reaches, with pip's own settings, and some GB of disk"
        ) from error
    return python


def fit(
    name: str, python: Path, model: str, spec: RunSpec, fold: Handed, *, check: bool
) -> tuple[pd.DataFrame, float]:
    """Fit a model on a fold in its environment; the process is a child, so that meters cover it.

    Args:
        name: of LIBRARIES.
        python: of its environment.
        model: as the library names it.
        spec: its `params` are the model's; texts are read as JSON where they can be.
        fold: users and items are handed on as numbers, without ratings and times.
        check: whether the library's own evaluator is asked as well.
    Returns: recommendations as `tell` takes them; and the score by the library's evaluator, NaN
        where it was not asked.
    Raises: InputError for a model or parameter that is not there; RunError where it fails.
    """
    import pandas as pd

    job = {
        "library": name,
        "model": model,
        "params": {key: _value(given) for key, given in spec.params if key != name},
        "n": spec.n,
        "seed": fold.seed % 2**31,
        "metric": spec.metric if spec.metric in CHECKED else "ndcg",
        "train_items": spec.candidates == "train",
        "check": check,
    }
    pairs = np.stack([fold.data.users, fold.data.items], axis=1)
    parts = {
        part.name.lower(): pairs[fold.parts == part]
        for part in (Part.TRAIN, Part.VALIDATION, Part.TEST)
    }
    with tempfile.TemporaryDirectory(prefix="ecv-bridge-") as where:
        folder = Path(where)
        (folder / "job.json").write_text(json.dumps(job), "utf-8")
        np.savez(folder / "parts.npz", **parts)
        script = Path(__file__).with_name("script.py")
        words = [str(python), "-I", str(script), where]
        with (folder / "said.txt").open("w+", errors="replace") as said:
            # The child ends with this process, however that ends: stdin is closed then.
            with subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=said, stderr=said, cwd=where
            ) as child:
                try:
                    ended = child.wait()
                except BaseException:
                    child.kill()
                    raise
            said.seek(0)
            if ended:
                failed = InputError if ended == 2 else RunError
                raise failed(f"{LIBRARIES[name].title} {model}: {_last_line(said.read())}")
        with np.load(folder / "told.npz") as told:
            users, items = fold.data.user_ids[told["users"]], fold.data.item_ids[told["items"]]
            return pd.DataFrame({"user_id": users, "item_id": items}), float(told["own"])


def _last_line(said: str) -> str:
    lines = [line for line in said.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it was killed, perhaps for want of memory"


def _value(given: ParamValue) -> object:
    try:
        return json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return given
