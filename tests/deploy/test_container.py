"""What deploy/ has for containers and free hosts; scripts/try-container builds one."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = ("deploy/Containerfile", "deploy/space/Dockerfile")
LET_IN = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text("utf-8"), re.MULTILINE)


def copied(steps: str) -> list[str]:
    """What is copied from the project, and not from an earlier stage."""
    paths = []
    for line in re.findall(r"^COPY (?!--from)(.+)$", steps, re.MULTILINE):
        words = [word for word in line.split() if not word.startswith("--")]
        paths += words[:-1]
    return paths


@pytest.mark.parametrize("file", FILES)
def test_what_the_container_file_copies_is_there_and_let_in(file: str) -> None:
    paths = copied((ROOT / file).read_text("utf-8"))
    assert "ecv_core" in paths
    for path in paths:
        assert (ROOT / path).exists()
        assert any(path == name or path.startswith(f"{name}/") for name in LET_IN)


FREE_HOST = """
import sys
sys.modules["torch"] = None  # as where it is not installed
import runpy
from ecv_core.access.settings import settings
from ecv_core.cli import main

app = runpy.run_path("deploy/cloud/streamlit_app.py")["app"]
rights = settings()
print(rights.mode.value, type(app).__name__)
for algorithm in sorted(rights.limits.algorithms):
    words = ["run", "synthetic", algorithm, "-k", "3", "--no-energy", "--quiet"]
    print(algorithm, main(words))
"""


@pytest.mark.slow
def test_a_free_host_is_for_the_public_and_runs_what_needs_no_pytorch(tmp_path: Path) -> None:
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "ECV_DATA_DIR": str(tmp_path),
        "ECV_DATABASE_URL": f"sqlite:///{tmp_path / 'runs.sqlite'}",
    }
    done = subprocess.run(
        [sys.executable, "-c", FREE_HOST],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for line in ("public App", "bias 0", "popular 0", "sgd-mf 0"):
        assert line in done.stdout.splitlines()
