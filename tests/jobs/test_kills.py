"""SIGKILL of every command that computes, of `tell`, of a dashboard and of its worker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_a_kill_of_each_kind_loses_changes_and_repeats_no_fold():
    """`make torture` has two hundred."""
    words = ["-m", "benchmarks.kills", "--kills", "8", "--seed", "7", "--database", "sqlite"]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stdout.startswith("8 kills (1 run on SQLite, 1 dashboard on SQLite, 1 study on")
