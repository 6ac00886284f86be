"""Models and rules of installed packages, and LensKit components by name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ecv_core.records.errors import InputError
from ecv_core.records.plugins import Registry

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = '''
import numpy as np
import torch

import ecv_core as ecv


class LastDigit:
    """Recommends items by their code, times a weight."""

    def __init__(self, weight):
        self.weight = weight

    def fit(self, train, *, seed, progress):
        self.items = train.shape[1]

    def score(self, users):
        row = self.weight * torch.arange(self.items, dtype=torch.float32)
        return row.repeat(len(users), 1)


MODEL = ecv.Algorithm(
    id="last-digit",
    title="Last digit",
    summary="Recommends by code.",
    paper="none",
    parameters=(ecv.Parameter(name="weight", default=1.0, low=0.5, high=9.0, help="How much."),),
    build=lambda params: LastDigit(params["weight"]),
    random=False,
)


class SecondFold:
    """Stops after two folds."""

    title = "Second fold"

    def decide(self, results):
        stop = len(results) > 1
        return ecv.Decision(stop=stop, reason=f"After {len(results)} folds: {stop}.")


RULE = SecondFold()
NO_MODEL = 7
'''
ENTRY_POINTS = """
[ecv_core.models]
last-digit = tiny_plugin:MODEL
wrong = tiny_plugin:NO_MODEL
gone = tiny_plugin_that_is_gone:MODEL

[ecv_core.rules]
second-fold = tiny_plugin:RULE
missing = tiny_plugin:NO_RULE
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with a package as pip leaves it: code, and a dist-info with its entry points."""
    folder = tmp_path / "site"
    info = folder / "tiny_plugin-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "tiny_plugin.py").write_text(PACKAGE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


def perform(installed: Path, code: str) -> subprocess.CompletedProcess[str]:
    """A program, where the package is installed."""
    path = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


COMMANDS = """
import sys
from ecv_core.cli import main
for words in {!r}:
    try:
        print(">>", main(words), flush=True)
    except SystemExit as end:  # of --help
        print(">>", end.code, flush=True)
"""


@pytest.mark.slow
def test_a_model_and_a_rule_of_an_installed_package_run_and_are_helped_with(installed):
    run = ["run", "synthetic", "last-digit", "--rule", "second-fold", "-k", "4", "--param"]
    commands = [
        [*run, "weight=2"],
        [*run, "weight=20"],
        ["run", "synthetic", "last-digits"],
        ["run", "synthetic", "wrong"],
        ["run", "--help"],
    ]
    done = perform(installed, COMMANDS.format(commands))
    ran, *_ = done.stdout.split(">> ")
    helped = done.stdout.split(">> ")[4]
    assert "last-digit on synthetic, nDCG@10" in ran
    assert "Stopped after 2 of 4 folds" in ran
    assert "error: parameter 'weight' must be from 0.5 to 9, but is 20" in done.stderr
    assert "did you mean 'last-digit'?" in done.stderr
    assert [part[0] for part in done.stdout.split(">> ")[1:]] == ["0", "2", "2", "2", "0"]
    assert re.search(r"last-digit +Last digit: weight=1.0", helped)
    assert re.search(r"second-fold +Second fold", helped)
    said = [line for line in done.stderr.splitlines() if "plug-in" in line]
    assert sorted(line.split("'")[1] for line in said) == ["gone", "missing", "wrong"]
    (gone,) = [line for line in said if "'gone'" in line]
    assert gone == (
        "the plug-in 'gone' (ecv_core.models) of tiny-plugin cannot be loaded and is left out: "
        "ModuleNotFoundError: No module named 'tiny_plugin_that_is_gone'"
    )
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_plugin_may_be_imported_before_the_registry_is_looked_at(installed):
    code = "import tiny_plugin; from ecv_core.models import ALGORITHMS; "
    code += "print(ALGORITHMS['last-digit'] is tiny_plugin.MODEL, list(ALGORITHMS)[-1])"
    assert perform(installed, code).stdout.split() == ["True", "last-digit"]


class _Point:
    """An entry point."""

    dist = None

    def __init__(self, name, found):
        self.name, self._found = name, found

    def load(self):
        if isinstance(self._found, BaseException):
            raise self._found
        return self._found


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("raise RuntimeError('of\\nmine')", "RuntimeError: of mine"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise BaseException('mine')", "BaseException: mine"),
        ("raise GeneratorExit('mine')", "GeneratorExit: mine"),
        ("import of_mine_that_is_gone", "ModuleNotFoundError: No module named 'of_mine"),
        ("if of mine:", "SyntaxError"),
    ],
)
def test_a_module_that_fails_on_import_is_named_once_and_the_others_are_there(
    monkeypatch, caplog, tmp_path, code, cause
):
    """Whatever it raises; two registries ask, and each would import it."""
    bad = f"bad_{abs(hash(code))}"
    good = f"good_{abs(hash(code))}"
    (tmp_path / f"{bad}.py").write_text(code)
    (tmp_path / f"{good}.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ECV_PLUGINS", f"{bad},{good}")
    for _ in range(2):
        assert dict(registry(monkeypatch)) == {"own": 1}
    assert good in sys.modules
    (said,) = caplog.messages
    assert f"ECV_PLUGINS names '{bad}'" in said
    assert cause in said


def test_a_module_that_there_is_not_is_a_wrong_setting_and_the_others_are_imported(
    monkeypatch, tmp_path
):
    (tmp_path / "one_of_the_others.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ECV_PLUGINS", "a_typing_error,one_of_the_others")
    with pytest.raises(InputError, match="ECV_PLUGINS names 'a_typing_error'"):
        len(registry(monkeypatch))
    assert "one_of_the_others" in sys.modules


def registry(monkeypatch, *points):
    monkeypatch.setattr("ecv_core.records.plugins.entry_points", lambda group: list(points))
    return Registry({"own": 1}, group="test", to_entry=lambda found, name: (name, found))


def test_what_the_project_has_comes_first_and_cannot_be_replaced(monkeypatch, caplog):
    known = registry(monkeypatch, _Point("own", 2), _Point("new", 3), _Point("new", 4))
    assert dict(known) == {"own": 1, "new": 3}
    assert list(known) == ["own", "new"]
    assert known.added == {"new": "a package"}
    assert [line.split("'")[1] for line in caplog.messages] == ["own", "new"]


@pytest.mark.parametrize(
    "error",
    [ImportError("no"), SystemExit(3), KeyError("x"), RecursionError("deep"), BaseException("end")],
    ids=repr,
)
def test_whatever_a_package_raises_the_others_are_there(monkeypatch, caplog, error):
    known = registry(monkeypatch, _Point("bad", error), _Point("good", 3))
    assert dict(known) == {"own": 1, "good": 3}
    (said,) = caplog.messages
    assert "'bad'" in said
    assert type(error).__name__ in said
