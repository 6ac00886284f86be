"""A fold to a model of RecBole or Cornac, each in an environment of its own -> users' lists."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from filelock import FileLock

from ecv_core.jobs.tracked_fold import TrackedFold
from ecv_core.records.errors import InputError, RunError
from ecv_core.records.interactions import Part
from ecv_core.records.parameters import ParamValue
from ecv_core.records.spec import RunSpec

if TYPE_CHECKING:
    import pandas as pd


_LOCKS = Path(__file__).with_name("locks")


@dataclass(frozen=True, kw_only=True)
class Library:
    """Whose models are bridged, and in which version that was tested."""

    title: str
    version: str

    @property
    def pins(self) -> tuple[str, ...]:
        """What was tested, as `pip install` takes it."""
        file = _LOCKS / f"{self.title.lower()}.in"
        return tuple(file.read_text("utf-8").split())

    @property
    def lock(self) -> Path:
        """Every package but torch, with the hashes of its files, as `make lock` writes them."""
        return _LOCKS / f"{self.title.lower()}.txt"

    @property
    def contents(self) -> str:
        """What an environment is made of: the pins, and the SHA-256 of the lock."""
        lock_sha256 = sha256(self.lock.read_bytes()).hexdigest()
        return f"{' '.join(self.pins)}\n{lock_sha256}\n"


LIBRARIES = {
    "recbole": Library(title="RecBole", version="1.2.1"),
    "cornac": Library(title="Cornac", version="3.0.1"),
}
CHECKED = ("ndcg", "recall", "precision")
"""Metrics that the evaluators of both libraries define as this project does."""
BAD_JOB = 2
"""The script's exit code for a job that cannot be."""


def check_served(spec: RunSpec, *, check: bool) -> None:
    """Refuse what the libraries are not asked. Raises: InputError."""
    if not spec.task.ranks:
        raise InputError(
            f"bridged models rank items, but {spec.metric} is of what is predicted; use a metric "
            "of ranked items, such as ndcg@10"
        )
    if check and (spec.metric not in CHECKED or spec.candidates != "all"):
        raise InputError(
            f"--check compares {', '.join(CHECKED)} over all items with the library's own "
            f"evaluator, but the metric is {spec.metric} over candidates = {spec.candidates}"
        )


def python_of_environment(library: Library, say: Callable[[str], None]) -> Path:
    """The Python of a library's environment, which is made first where it is not there.

    It is in the user's cache folder; an environment that was left half made is made again.

    Raises:
        RunError: Where it cannot be made.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "e-fold" / f"{library.title.lower()}-{library.version}"
    python = folder / "bin" / "python"
    if os.name == "nt":
        python = folder / "Scripts" / "python.exe"
    # This file is written last: where it is missing, the environment is only half made.
    contents_file = folder / "made-of.txt"
    contents = library.contents
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):
            if not contents_file.is_file() or contents_file.read_text("utf-8") != contents:
                pins = " ".join(library.pins)
                say(f"making an environment for {library.title}, once, with {pins}: {folder}")
                _run_quietly([sys.executable, "-m", "venv", "--clear", str(folder)])
                _install(python, library)
                contents_file.write_text(contents, "utf-8")
    except OSError as error:
        raise RunError(
            f"the environment of {library.title} cannot be made in {folder}: "
            f"{error.strerror or error}; it needs Python 3.11 or 3.12, a package index that pip "
            "reaches by its own settings, and some GB of disk"
        ) from error
    return python


def _install(python: Path, library: Library) -> None:
    """Install a library: whoever has put other files into an index is refused by their hashes.

    torch comes after it and without: for each kind of machine (CPU, CUDA, Apple's) it is another
    file, often of another index, and needs other packages. Raises: OSError.
    """
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    _run_quietly([*pip, "--no-deps", "--require-hashes", "--requirement", str(library.lock)])
    for pin in library.pins:
        if pin.startswith("torch=="):
            _run_quietly([*pip, pin])


def _run_quietly(command: list[str]) -> None:
    """Run a command to its end. Raises: OSError with its last line, where it fails."""
    process = subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    if process.returncode:
        raise OSError(_last_line(process.stderr or process.stdout))


def fit(
    name: str, python: Path, model: str, spec: RunSpec, fold: TrackedFold, *, check: bool
) -> tuple[pd.DataFrame, float]:
    """Fit a model on a fold in its environment; the process is a child, so that meters cover it.

    Args:
        name: The name of LIBRARIES.
        python: The Python of its environment.
        model: As the library names it.
        spec: Its `params` are the model's; texts are read as JSON where they can be.
        fold: Users and items are handed on as numbers, without ratings and times.
        check: Whether the library's own evaluator is asked as well.

    Returns:
        Recommendations as `tell` takes them; and the score by the library's evaluator, NaN where
        it was not asked.

    Raises:
        InputError: For a model or parameter that is not there.
        RunError: Where the model fails.
    """
    import pandas as pd

    with tempfile.TemporaryDirectory(prefix="ecv-bridge-") as name_of_folder:
        folder = Path(name_of_folder)
        _write_job(folder, name, model, spec, fold, check=check)
        _run_script(python, folder, f"{LIBRARIES[name].title} {model}")
        with np.load(folder / "lists.npz") as lists:
            recommendations = pd.DataFrame(
                {
                    "user_id": fold.data.user_ids[lists["users"]],
                    "item_id": fold.data.item_ids[lists["items"]],
                }
            )
            return recommendations, float(lists["library_score"])


def _write_job(
    folder: Path, library: str, model: str, spec: RunSpec, fold: TrackedFold, *, check: bool
) -> None:
    """Write what `script.py` reads: the job as JSON, and the interactions of each part."""
    params = {}
    for param, value in spec.params:
        if param != library:  # the parameter of the library's name is its version
            params[param] = _from_json(value)
    # RecBole chooses the best epoch by nDCG, unless it can compute the run's own metric.
    metric = "ndcg"
    if spec.metric in CHECKED:
        metric = spec.metric
    job = {
        "library": library,
        "model": model,
        "params": params,
        "n": spec.n,
        "seed": fold.seed % 2**31,  # fits a signed integer of 32 bits, should a library use one
        "metric": metric,
        "train_items": spec.candidates == "train",
        "check": check,
    }
    (folder / "job.json").write_text(json.dumps(job), "utf-8")
    pairs = np.stack([fold.data.users, fold.data.items], axis=1)
    np.savez(
        folder / "parts.npz",
        train=pairs[fold.parts == Part.TRAIN],
        validation=pairs[fold.parts == Part.VALIDATION],
        test=pairs[fold.parts == Part.TEST],
    )


def _run_script(python: Path, folder: Path, title: str) -> None:
    """Carry a job out in the library's environment.

    Raises:
        InputError: Where the script refuses the job.
        RunError: Where it fails.
    """
    script = Path(__file__).with_name("script.py")
    command = [str(python), "-I", str(script), str(folder)]
    with (folder / "output.txt").open("w+", errors="replace") as output:
        # The script ends itself once its stdin is closed, which happens however this process ends.
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=output, stderr=output, cwd=folder
        ) as child:
            try:
                exit_code = child.wait()
            except BaseException:
                child.kill()
                raise
        output.seek(0)
        text = output.read()
    if exit_code == BAD_JOB:
        raise InputError(f"{title}: {_last_line(text)}")
    if exit_code != 0:
        raise RunError(f"{title}: {_last_line(text)}")


def _last_line(text: str) -> str:
    """The last line that a process has written, which says why it failed."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:  # the process ended before it could write a line
        return "it was killed, perhaps for want of memory"
    return lines[-1].strip()


def _from_json(value: ParamValue) -> object:
    """A text as the JSON that it may be, such as '[64, 32]'; anything else as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
