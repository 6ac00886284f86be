"""Models of other libraries: handed our folds in their own environment, scored and kept here."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import psutil
import pytest

import ecv_core as ecv
from ecv_core import cli
from ecv_core.bridges import bridge, script
from ecv_core.records.interactions import Part
from tests.documents import ROOT, YOUR_MODEL

STANDS_IN = """#!{python}
import json, os, sys, threading, time
from pathlib import Path
import numpy as np

folder = Path(sys.argv[-1])
job = json.loads((folder / "job.json").read_text())
parts = np.load(folder / "parts.npz")
(Path({log!r}) / f"{{os.getpid()}}.json").write_text(json.dumps(job))
if job["model"] == "Nobody":
    print("there is no model Nobody", file=sys.stderr)
    sys.exit(2)
if job["model"] == "Broken":
    raise ValueError("singular matrix")
if job["model"] == "Large":
    os.kill(os.getpid(), 9)
def end():
    sys.stdin.read()
    os._exit(1)
threading.Thread(target=end, daemon=True).start()
while job["model"] == "Slow" and len(list(Path({log!r}).iterdir())) == 2:
    time.sleep(0.05)
train, users, items = parts["train"], [], []
for user in np.unique(parts["test"][:, 0]):
    own = set(train[train[:, 0] == user][:, 1].tolist())
    left = [item for item in range(train[:, 1].max() + 1) if item not in own][: job["n"]]
    users += [user] * len(left)
    items += left
score = 0.25 if job["check"] else np.nan
np.savez(folder / "lists.npz", users=users, items=items, library_score=score)
"""
"""In place of a library's Python: everybody gets the first items that they do not have."""


@pytest.fixture
def log(tmp_path, monkeypatch):
    """An environment that is there; the folder has a file for each fold that was asked of it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    log = tmp_path / "log"
    log.mkdir()
    for name, library in bridge.LIBRARIES.items():
        folder = tmp_path / "cache" / "e-fold" / f"{name}-{library.version}"
        (folder / "bin").mkdir(parents=True)
        (folder / "made-of.txt").write_text(library.contents)
        python = folder / "bin" / "python"
        python.write_text(STANDS_IN.format(python=sys.executable, log=str(log)))
        python.chmod(0o755)
    return log


def said_of(capsys, *words):
    code = cli.main(["bridge", *words])
    done = capsys.readouterr()
    return code, done.out, done.err


def jobs(log):
    return [json.loads(path.read_text()) for path in sorted(log.iterdir())]


SMALL = ("synthetic", "-k", "4", "--rule", "never", "--no-energy")


@pytest.mark.slow
def test_folds_are_scored_as_a_loop_over_the_same_lists_scores_them(log, capsys, tmp_path):
    result = tmp_path / "r.json"
    code, out, err = said_of(
        capsys, "recbole", "BPR", *SMALL, "--param", "epochs=3", "--param", "layers=[8,4]",
        "--check", "--json", str(result),
    )  # fmt: skip
    assert code == 0, err
    assert "RecBole BPR on synthetic" in out
    assert err.count("RecBole's evaluator 0.2500") == 4
    cv = ecv.track("by hand", dataset="synthetic", k=4, rule="never", no_energy=True)
    for fold in cv:
        learnt = fold.data.items[fold.parts == Part.TRAIN]
        order = fold.data.item_ids[: learnt.max() + 1].tolist()
        own = fold.train.astype(str).groupby("user_id").item_id.agg(set)
        lists = [
            (user, item)
            for user in fold.test.user_id.astype(str).unique()
            for item in [one for one in order if one not in own[user]][:10]
        ]
        cv.report(pd.DataFrame(lists, columns=["user_id", "item_id"]))
    scores = [fold["score"] for fold in json.loads(result.read_text())["folds"]]
    assert scores == pytest.approx([fold.score for fold in cv.run.record.folds], abs=1e-12)
    asked = jobs(log)
    assert len(asked) == 4
    assert {one["model"] for one in asked} == {"BPR"}
    assert asked[0]["params"] == {"epochs": 3, "layers": [8, 4]}
    assert len({one["seed"] for one in asked}) == 4


def test_what_the_library_refuses_is_bad_input_and_leaves_no_run(log, capsys):
    code, _, err = said_of(capsys, "cornac", "Nobody", *SMALL)
    assert (code, err) == (2, "error: Cornac Nobody: there is no model Nobody\n")
    assert cli.main(["runs"]) == 0
    assert "Nobody" not in capsys.readouterr().out


def test_what_fails_in_the_library_says_its_last_line(log, capsys):
    code, _, err = said_of(capsys, "cornac", "Broken", *SMALL)
    assert (code, err) == (1, "error: Cornac Broken: ValueError: singular matrix\n")
    code, _, err = said_of(capsys, "cornac", "Large", *SMALL)  # as out of memory
    assert (code, err) == (1, "error: Cornac Large: it was killed, perhaps for want of memory\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--metric", "rmse"), "bridged models rank items"),
        (("--metric", "mrr@5", "--check"), "--check compares ndcg, recall, precision"),
        (("--candidates", "train", "--check"), "over candidates = train"),
    ],
)
def test_what_is_not_bridged_is_refused_before_anything_starts(log, capsys, words, said):
    code, _, err = said_of(capsys, "recbole", "BPR", "synthetic", *words)
    assert code == 2
    assert said in err
    assert not jobs(log)


@pytest.mark.slow
def test_a_killed_bridge_takes_its_child_along_and_goes_on_at_the_next_fold(log, capsys):
    words = ["bridge", "recbole", "Slow", *SMALL]
    with subprocess.Popen(
        [sys.executable, "-m", "ecv_core", *words], cwd=ROOT, stderr=subprocess.DEVNULL
    ) as command:
        until = time.monotonic() + 300
        while not (children := psutil.Process(command.pid).children()) or len([*log.iterdir()]) < 2:
            assert time.monotonic() < until
            time.sleep(0.05)
        os.kill(command.pid, signal.SIGKILL)
        _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive
    assert cli.main(words) == 0
    assert "All 4 folds have run" in capsys.readouterr().out
    assert len(jobs(log)) == 5  # fold 0, fold 1 that was cut off, and folds 1 to 3


@pytest.mark.slow
def test_without_a_package_index_the_environment_is_refused_in_a_sentence(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    code, _, err = said_of(capsys, "cornac", "BPR", *SMALL)
    assert code == 1
    assert "the environment of Cornac cannot be made" in err.splitlines()[-1]
    assert "No matching distribution" in err
    assert not list(tmp_path.rglob("made-of.txt"))


def wheel_of(folder, name, version):
    """A wheel with nothing in it; gives the SHA-256 of the file."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.slow
def test_a_package_that_somebody_has_put_into_the_index_is_refused_by_its_hash(
    tmp_path, monkeypatch, capsys
):
    """The name and the version are right, and the file is another than was recorded."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setattr(bridge, "_LOCKS", tmp_path)
    (tmp_path / "cornac.in").write_text("cornac==3.0.1\ntorch==2.13.0\n")
    recorded = wheel_of(tmp_path, "cornac", "3.0.1")
    wheel_of(tmp_path, "torch", "2.13.0")  # which no hash is recorded of
    (tmp_path / "cornac.txt").write_text(f"cornac==3.0.1 --hash=sha256:{'0' * 64}\n")
    code, _, err = said_of(capsys, "cornac", "BPR", *SMALL)
    assert code == 1
    assert "the environment of Cornac cannot be made" in err.splitlines()[-1]
    assert recorded in err
    assert not list(tmp_path.rglob("made-of.txt"))
    (tmp_path / "cornac.txt").write_text(f"cornac==3.0.1 --hash=sha256:{recorded}\n")
    python = bridge.python_of_environment(bridge.LIBRARIES["cornac"], print)
    shown = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert {"cornac==3.0.1", "torch==2.13.0"} <= set(shown.stdout.split())


@pytest.mark.parametrize("library", bridge.LIBRARIES.values(), ids=bridge.LIBRARIES)
def test_every_package_of_a_library_has_hashes_but_torch(library):
    text = library.lock.read_text("utf-8")
    packages = re.findall(r"^([a-z0-9-]+==\S+).* \\\n    --hash=sha256:[0-9a-f]{64}", text, re.M)
    assert len(packages) == len(re.findall(r"^[a-z0-9]", text, re.M))
    torch = [pin for pin in library.pins if pin.startswith("torch")]
    assert set(library.pins) - set(packages) == set(torch)
    assert f"{library.title.lower()}=={library.version}" in packages


def test_the_document_says_the_versions():
    text = YOUR_MODEL.read_text("utf-8")
    for library in bridge.LIBRARIES.values():
        assert " ".join(library.pins) in text


HERE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "e-fold"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "model", "params", "metric"),
    [
        ("recbole", "EASE", {}, "ndcg@10"),
        ("recbole", "BPR", {"epochs": 2}, "recall@5"),
        ("recbole", "MultiVAE", {"epochs": 2}, "precision@5"),
        ("cornac", "EASE", {}, "ndcg@10"),
        ("cornac", "BPR", {}, "recall@5"),
        ("cornac", "MostPop", {}, "precision@5"),
    ],
)
def test_scores_are_those_of_the_librarys_own_evaluator(name, model, params, metric):
    library = bridge.LIBRARIES[name]
    python = HERE / f"{name}-{library.version}" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"the environment of {library.title} is made by the first 'ecv bridge {name}'")
    cv = ecv.track(
        f"{name} {model}", dataset="synthetic", k=5, metric=metric, only_folds=(0,), rule="never",
        no_energy=True, params=params,
    )  # fmt: skip
    for fold in cv:
        lists, own = bridge.fit(name, python, model, cv.spec, fold, check=True)
        cv.report(lists)
    assert not np.isnan(own)
    assert cv.run.record.folds[0].score == pytest.approx(own, abs=1e-6)


def test_an_item_of_the_validation_part_alone_is_no_candidate_where_training_has_them():
    """Cornac numbers such an item after those of training."""
    parts = {
        "train": np.array([[0, 10], [1, 11]]),
        "validation": np.array([[0, 12]]),
        "test": np.array([[0, 11]]),
    }
    fold_in_cornac = SimpleNamespace(
        global_uid_map={0: 0, 1: 1},
        global_iid_map={10: 0, 11: 1, 12: 2},
        train_set=SimpleNamespace(num_items=2),
    )
    model = SimpleNamespace(rank=lambda user, candidates, k: (candidates, None))
    lists = script.cornac_lists({"n": 5, "train_items": True}, parts, model, fold_in_cornac)
    assert {user: items.tolist() for user, items in lists.items()} == {0: [11]}
