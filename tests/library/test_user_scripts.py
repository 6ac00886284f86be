"""Scripts as users write them: they run, and type checkers have nothing to say of them.

mypy looks at them in `make check`, with all else.
"""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ecv_core as ecv

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((Path(__file__).parent / "user_scripts").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_users_script_runs(script, tmp_path, monkeypatch):
    if script.stem == "orders":
        pytest.importorskip("optuna")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script))


def test_every_public_name_has_an_example_that_runs():
    """In one of these scripts, or in the examples of docs/, which tests run as well."""
    shown = [path.read_text("utf-8") for path in SCRIPTS]
    shown += [(ROOT / "docs" / name).read_text("utf-8") for name in ("library.md", "extending.md")]
    text = "\n".join(shown)
    assert not {name for name in ecv.__all__ if f"ecv.{name}" not in text}


@pytest.mark.slow
def test_pyright_has_nothing_to_say_of_them(tmp_path):
    if (pyright := shutil.which("pyright", path=str(Path(sys.executable).parent))) is None:
        pytest.skip("pyright is not installed here")
    done = subprocess.run(
        [pyright, *(shutil.copy(script, tmp_path) for script in SCRIPTS)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
