"""The documents on the library, on own data and on own models, done as they say."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.documents import LIBRARY, ROOT, YOUR_DATA, YOUR_MODEL, blocks, shell_lines


def perform(
    folder: Path, programs: Path, *words: str, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, with `python` and the project within reach."""
    paths = {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)]),
        "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]),
    }
    return subprocess.run(
        words,
        cwd=folder,
        env=os.environ | paths | settings,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def said_in(folder: Path, programs: Path, *words: str) -> str:
    """What a program says that does what it shall."""
    done = perform(folder, programs, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_examples_of_the_library_run_from_top_to_bottom(tmp_path: Path, programs: Path) -> None:
    shown = blocks(LIBRARY)
    assert {block.kind for block in shown} == {"python", "sh"}
    for block in shown:
        if block.path:
            (tmp_path / block.path).write_text(block.text, "utf-8")
    script = "".join(f"{b.text}\n" for b in shown if b.kind == "python" and not b.path)
    (tmp_path / "notebook.py").write_text(script, "utf-8")
    commands = "".join(block.text for block in shown if block.kind == "sh")
    for words in (["python", "notebook.py"], ["bash", "-euc", commands]):
        said = said_in(tmp_path, programs, *words)
        assert "popular on synthetic" in said or "ease on synthetic" in said


@pytest.mark.slow
def test_the_examples_of_your_own_data_work(tmp_path: Path, programs: Path) -> None:
    for block in blocks(YOUR_DATA):
        if block.path:
            (tmp_path / block.path).write_text(block.text, "utf-8")
    lines = shell_lines(YOUR_DATA)
    data = {"ECV_DATA_DIR": str(tmp_path / "data")}
    ends = [perform(tmp_path, programs, *shlex.split(line), **data) for line in lines]
    said = dict(zip(lines, ends, strict=True))
    assert [end.returncode for end in ends] == [0] * len(lines), said
    added = said["python -m ecv_core add orders orders.csv"].stdout
    assert "470 of 471 rows can be used" in added
    assert "1 cannot: no user" in added
    drawn = said[lines[-1]].stdout
    assert "2 recorded runs" in drawn
    again = "python -m ecv_core study --datasets orders --algorithms popular,item-knn"
    assert "2 runs, 2 to compute" in said[again].stderr
    assert "2 runs, 0 to compute" in perform(tmp_path, programs, *again.split(), **data).stderr


STANDS_IN = """
import csv, json, sys

fold = json.load(open(sys.argv[1]))
train, test = (list(csv.DictReader(open(fold[part]))) for part in ("train", "test"))
own = {}
for row in train:
    own.setdefault(row["user_id"], set()).add(row["item_id"])
items = sorted({row["item_id"] for row in train})
with open(sys.argv[2], "w") as file:
    print("user_id,item_id", file=file)
    for user in dict.fromkeys(row["user_id"] for row in test):
        left = [item for item in items if item not in own.get(user, ())]
        print(*(f"{user},{item}" for item in left[:10]), sep="\\n", file=file)
"""

"""A program of another environment, for `my_script.py`: it knows nothing of e-fold."""


@pytest.mark.slow
def test_the_loops_of_your_model_run_from_top_to_bottom(tmp_path: Path, programs: Path) -> None:
    pytest.importorskip("sklearn")
    shown = [one.text for one in blocks(YOUR_MODEL) if one.kind == "python" and not one.path]
    (tmp_path / "loops.py").write_text("\n".join(shown), "utf-8")
    said = said_in(tmp_path, programs, "python", "loops.py")
    for name in ("SVD", "item means"):
        assert f"{name} on synthetic" in said
    assert "ease" in said  # the verdict of the selection


@pytest.mark.slow
def test_the_commands_of_your_model_reach_their_stop(tmp_path: Path, programs: Path) -> None:
    (tmp_path / "my_script.py").write_text(STANDS_IN, "utf-8")
    first, loop = [one.text for one in blocks(YOUR_MODEL) if one.kind == "sh"]
    assert "fold 0: ndcg@10" in said_in(tmp_path, programs, "bash", "-euc", first)
    assert "stop." in said_in(tmp_path, programs, "bash", "-euc", loop).splitlines()[-1]
    assert json.loads((tmp_path / "fold.json").read_text())["stop"] is True
