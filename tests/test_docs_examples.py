"""What the documents say can be done, done: examples, commands, links."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.documents import _BLOCK, EXTENDING, ROOT, blocks, shell_lines

NEEDED = (
    *("ecv_core", "app.py", "pages", "data/catalogue.toml", "data/energy", "pyproject.toml"),
    "tests/conftest.py",
    "tests/databases.py",
)

TRIED_WITH = ("tests/models", "tests/stopping", "tests/pages/conftest.py")


EXPORTED = dict(
    line.removeprefix("export ").split("=")
    for line in shell_lines(EXTENDING)
    if line.startswith("export ")
)
"""What docs/extending.md says to set; the modules that it names are there before any command."""


def insert(file: Path, diff: str) -> None:
    """Apply a diff: its context must be there, word for word and once."""
    text = file.read_text("utf-8")
    for hunk in diff.split("@@\n"):
        lines = hunk.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        assert text.count(before) == 1, f"{file} has no such place:\n{before}"
        text = text.replace(before, "".join(line[1:] for line in lines if line[0] in " +"))
    file.write_text(text, "utf-8")


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which somebody did what docs/extending.md says."""
    copy = tmp_path_factory.mktemp("clone") / "e-fold"
    for name in (*NEEDED, *TRIED_WITH):
        source, target = ROOT / name, copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)  # compiled as well, where it is
        else:
            shutil.copy(source, target)
    for block in blocks(EXTENDING):
        if block.path is None:
            continue
        file = copy / block.path
        if block.kind == "diff":
            insert(file, block.text)
        elif block.kind == "toml":
            file.write_text(f"{file.read_text('utf-8')}\n{block.text}", "utf-8")
        else:
            assert not file.exists(), f"{file} exists already"
            file.write_text(block.text, "utf-8")
    return copy


def perform(line: str, folder: Path, programs: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of Python in a folder, with nothing of ours set in the environment."""
    words = shlex.split(line, comments=True)
    assert words[0] == "python"
    return subprocess.run(
        [programs / "python", *words[1:]],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name[:4] != "ECV_"} | EXPORTED,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


@pytest.fixture(scope="module")
def done(followed: Path, programs: Path) -> dict[str, subprocess.CompletedProcess[str]]:
    """Command of docs/extending.md -> its end."""
    lines = [line for line in shell_lines(EXTENDING) if line.startswith("python ")]
    return {line: perform(line, followed, programs) for line in lines}


def test_every_example_is_shown_whole_and_in_under_forty_lines() -> None:
    shown = [block for block in blocks(EXTENDING) if block.path]
    assert {block.kind for block in shown} == {"python", "toml", "diff"}
    lengths = {block.path: len(block.text.splitlines()) for block in shown}
    assert {path: lines for path, lines in lengths.items() if lines >= 40} == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", [line for line in shell_lines(EXTENDING) if line.startswith("python ")]
)
def test_the_commands_of_the_examples_work(
    done: dict[str, subprocess.CompletedProcess[str]], line: str
) -> None:
    output = done[line].stdout
    assert done[line].returncode == 0, output + done[line].stderr
    if line.startswith("python -m ecv_core run"):
        dataset, algorithm = shlex.split(line)[4:6]
        assert f"{algorithm} on {dataset}, nDCG@10" in output
    elif line.startswith("python -m pytest"):
        assert re.search(r"\d+ passed", output)
    elif line.startswith("python -m ecv_core datasets"):
        assert "book-club" in output


BACKGROUND = """
import sys
import tomllib
import time

from ecv_core.jobs.manager import RunManager
from ecv_core.fold.spec import make_spec
from ecv_core.store.store import open_store

if __name__ == "__main__":
    store = open_store("sqlite:///background.sqlite")
    manager = RunManager(store)
    spec = make_spec(
        dataset="book-club",
        algorithm="cond-prob",
        rule="steady-width",
        rule_params={"width": 0.5},
        k=5,
    )
    run_id = manager.start([spec])
    end = time.monotonic() + 200
    while (run := store.run(run_id)).state.active and time.monotonic() < end:
        time.sleep(0.1)
    manager.close()
    print(run.state.value, run.stopped_at, run.moments[-1].decision.reason, run.error)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("done")  # the dataset is there
def test_the_dashboards_worker_knows_the_new_model_and_rule(followed: Path, programs: Path) -> None:
    (followed / "in_the_background.py").write_text(BACKGROUND, "utf-8")
    ended = perform("python in_the_background.py", followed, programs)
    # Even data: both widths that there are after the minimum of 3 folds are far below 0.5.
    said = r"^finished 3 After 3 folds: the newest widths are .*: stop\. None$"
    assert re.search(said, ended.stdout, re.M), ended.stdout + ended.stderr


def test_the_example_setting_takes_two_files() -> None:
    text = EXTENDING.read_text("utf-8").split("## A setting of a run")[1]
    assert [found["path"] for found in _BLOCK.finditer(text) if found["path"]] == [
        "ecv_core/records/spec.py",
        "ecv_core/fold/computing.py",
    ]


@pytest.mark.slow
def test_the_example_setting_is_wherever_settings_are(followed: Path, programs: Path) -> None:
    (followed / "tests/pages/test_added.py").write_text(
        """
import json
import shlex
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from ecv_core.fold import computing
from ecv_core.analysis.comparison.settings import compared_settings
from ecv_core.cli import parse
from ecv_core.cli.run_command import spec_of
from ecv_core.figures.report.describe import score_sentence
from ecv_core.records.errors import InputError
from ecv_core.records.spec import SCORE_ROLES, RunSpec
from ecv_core.store.document import command_for
from ecv_core.fold.spec import make_spec

HALF = make_spec(dataset="synthetic", algorithm="popular", k=5, training_share=0.5)


def test_it_is_checked():
    with pytest.raises(InputError, match="the training share must be from 0.01 to 1, but is 2.0"):
        make_spec(dataset="synthetic", algorithm="popular", training_share=2)


@pytest.mark.parametrize("other", [{"algorithm": "bias"}, {"algorithm": "mine", "tracked": True}])
def test_a_run_to_which_it_means_nothing_is_refused_it(other):
    with pytest.raises(InputError, match="training_share"):
        make_spec(dataset="synthetic", training_share=0.5, **other)


def test_a_report_names_it():
    assert "training share 0.5" in score_sentence([HALF])


def test_the_command_of_a_run_repeats_it():
    command = command_for(HALF)
    assert "--training-share 0.5" in command
    assert spec_of(parse(shlex.split(command)[3:])) == HALF
    assert "--training-share" not in command_for(replace(HALF, training_share=1.0))


def test_a_run_from_before_has_the_default_and_other_scores():
    stored = json.loads(HALF.to_json())
    assert stored.pop("training_share") == 0.5
    before = RunSpec.from_json(json.dumps(stored))
    assert before.training_share == 1.0
    assert before.settings_with_roles(*SCORE_ROLES) != HALF.settings_with_roles(*SCORE_ROLES)
    (differing,) = (one for one in compared_settings([before, HALF]) if one.differs)
    assert (differing.name, differing.values) == ("training share", ("1", "0.5"))


def test_it_takes_effect():
    train = csr_array(np.ones((100, 100), dtype=np.float32))
    assert (computing.thinned(train, 1.0, 3) != train).nnz == 0
    assert 4700 < computing.thinned(train, 0.5, 3).nnz < 5300  # 5000, give or take six deviations
    full = computing.run_fold(replace(HALF, training_share=1.0), 0)
    assert computing.run_fold(HALF, 0).score != full.score


def test_the_form_asks_for_it_and_the_address_keeps_it(app, store):
    app.query_params["training_share"] = "0.25"
    app.run()
    assert not app.exception
    field = app.number_input(key="training_share")
    assert (field.label, field.value) == ("Training share", 0.25)
    assert "learns from" in field.help
    next(one for one in app.button if one.label == "Start").click().run()
    (run,) = store.runs()
    assert run.spec.training_share == 0.25
    next(one for one in app.button if one.label == "New run").click().run()
    assert app.number_input(key="training_share").value == 0.25


def test_a_link_that_asks_for_nonsense_is_told_so(app):
    app.query_params["training_share"] = "half"
    app.run()
    assert "training_share must be a number, but is 'half'" in app.warning[0].value
""",
        "utf-8",
    )
    done = perform("python -m pytest tests/pages/test_added.py -q", followed, programs)
    assert "9 passed" in done.stdout, (done.stdout + done.stderr)[-6000:]


def test_the_example_model_sums_conditional_probabilities() -> None:
    code = next(b.text for b in blocks(EXTENDING) if b.path == "ecv_core/models/cond_prob.py")
    names: dict[str, object] = {"__name__": "example"}
    exec(compile(code, "cond_prob.py", "exec"), names)
    rng = np.random.default_rng(3)
    has = (rng.random((6, 9)) < 0.4).astype(np.float32)
    model = names["COND_PROB"].build({"alpha": 0.5})  # type: ignore[attr-defined]
    model.fit(csr_array(has), seed=1)
    scores = model.score(np.arange(6)).numpy()
    users_of = has.sum(axis=0)
    for user in range(6):
        for item in range(9):
            chances = [
                (has[:, given] * has[:, item]).sum() / users_of[given]
                for given in np.flatnonzero(has[user])
            ]
            expected = sum(chances) / users_of[item] ** 0.5 if users_of[item] else 0
            assert scores[user, item] == pytest.approx(expected, rel=1e-5)
