"""Windows and macOS, as far as that can be pretended: without what only Linux has."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ecv_core.dataset.own import check_name
from ecv_core.records.errors import InputError
from ecv_core.untrusted import files
from ecv_core.untrusted.files import replacing

ROOT = Path(__file__).resolve().parents[1]
WITHOUT = """
import os, signal, sys
import psutil  # it asks for the system that it is on

for name in ("getuid", "geteuid", "fork", "killpg", "getpgid", "O_NOFOLLOW", "getloadavg", "chown"):
    delattr(os, name)
for name in ("SIGHUP", "SIGALRM", "SIGUSR1", "SIGPIPE", "SIGQUIT", "alarm", "setitimer"):
    delattr(signal, name)
for name in ("resource", "pwd", "grp"):
    sys.modules[name] = None
"""
"""Every Python that is started runs this first, a worker's too."""
WORKER = """
from ecv_core.jobs.executors import Workers
from ecv_core.jobs.plan import FoldTask
from ecv_core.records.run import no_progress
from ecv_core.records.spec import RunSpec

spec = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")
workers = Workers()
workers.submit(FoldTask(specs=(spec,), fold=1), no_progress)
computed, _ = workers.finished(60)
print(computed.result.fold)
again = FoldTask(specs=(spec,), fold=2)
workers.submit(again, no_progress)
workers.cancel(again)
print(list(workers.finished(1)))
workers.close()
"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> dict[str, str]:
    """The environment of programs that find themselves on another system."""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT, "utf-8")
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    return os.environ | {
        "PYTHONPATH": path,
        "USERNAME": "ada",
        "TMPDIR": str(tmp_path),
        "ECV_DATA_DIR": str(tmp_path),
        "ECV_DATABASE_URL": f"sqlite:///{tmp_path / 'runs.sqlite'}",
    }


@pytest.mark.slow
def test_a_run_on_a_system_with_no_users_signals_or_limits(elsewhere: dict[str, str]) -> None:
    words = ["-m", "ecv_core", "run", "synthetic", "popular", "-k", "3", "--no-energy"]
    done = subprocess.run(
        [sys.executable, *words], env=elsewhere, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    assert "popular on synthetic" in done.stdout


@pytest.mark.slow
def test_a_worker_computes_and_is_cancelled_there(elsewhere: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WORKER],
        env=elsewhere,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.stdout.splitlines() == ["1", "[]"], done.stderr


def test_what_stdout_cannot_write_is_escaped(elsewhere: dict[str, str]) -> None:
    words = ["-m", "ecv_core", "run", "synthetic", "popular", "-k", "3", "--no-energy"]
    ascii_only = elsewhere | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, *words], env=ascii_only, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert rb"(\xb1 " in done.stdout


def test_a_file_that_is_read_on_windows_is_replaced_once_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As there: `os.replace` refuses while the old file is open."""
    path = tmp_path / "scores.json"
    path.write_text("old", "utf-8")
    is_closed = threading.Event()
    refusals = []
    replace = Path.replace

    def refused_while_open(source: Path, target: Path) -> Path:
        if not is_closed.is_set():
            refusals.append(target)
            raise PermissionError(13, "Access is denied", str(target))
        return replace(source, target)

    def close_soon(_seconds: float) -> None:
        is_closed.set()

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(Path, "replace", refused_while_open)
    monkeypatch.setattr(files.time, "sleep", close_soon)
    with replacing(path) as part:
        part.write_text("new", "utf-8")
    assert path.read_text("utf-8") == "new"
    assert refusals == [path]


@pytest.mark.parametrize("name", ["con", "AUX", "lpt1"])
def test_a_dataset_has_no_name_that_is_a_device_on_windows(name: str) -> None:
    with pytest.raises(InputError, match=name):
        check_name(name)
