"""SIGKILL at random moments, of a command line, a dashboard and a worker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_a_kill_of_each_kind_loses_changes_and_repeats_no_fold():
    """`python -m benchmarks.kills` has a hundred."""
    words = [sys.executable, "-m", "benchmarks.kills", "--kills", "3", "--seed", "7"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stdout.startswith("3 kills (1 of a command line, 1 of a dashboard, 1 of a worker)")
