"""A wheel of the project, in an environment that has its dependencies and no checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "requirements.txt")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel installed by pip; the dependencies are those of the tests."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in NEEDED:
        shutil.copy(ROOT / name, source / name)
    left_out = shutil.ignore_patterns("__pycache__", "downloads", "*.sqlite*", "*.lock")
    for name in ("ecv_core", "data"):
        shutil.copytree(ROOT / name, source / name, ignore=left_out)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--no-index"]
    build += ["--config-settings=--build-option=--compression=stored"]  # packing takes seconds
    subprocess.run([*build, "--wheel-dir", str(folder), str(source)], check=True)
    environment = folder / "env"
    venv.create(environment, with_pip=False, symlinks=True)
    wheel = next(folder.glob("*.whl"))
    install = [*pip, "--python", str(environment), "install", "--no-deps", "--no-index"]
    subprocess.run([*install, str(wheel)], check=True)
    packages = next(environment.glob("lib/python*/site-packages"))
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"], encoding="utf-8")
    return environment


def call(bare: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of the environment, with a home folder of its own and nothing else set."""
    environment = {name: value for name, value in os.environ.items() if name[:4] != "ECV_"}
    environment.pop("PYTHONPATH", None)
    return subprocess.run(
        [str(bare / "bin" / words[0]), *words[1:]],
        cwd=home,
        env=environment | {"HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )


def test_the_command_runs_and_keeps_its_files_in_the_home_folder(
    bare: Path, tmp_path: Path
) -> None:
    words = ("ecv", "run", "synthetic", "popular", "-k", "5", "--json", "run.json")
    done = call(bare, tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "run.json").read_text("utf-8"))["state"] == "finished"
    kept = {str(path.relative_to(tmp_path)) for path in tmp_path.glob(".e-fold/*")}
    assert {".e-fold/runs.sqlite", ".e-fold/downloads"} <= kept


def test_the_command_says_its_own_name(bare: Path, tmp_path: Path) -> None:
    done = call(bare, tmp_path, "ecv", "train")
    assert done.returncode == 2
    assert done.stderr.endswith("see 'ecv --help'\n")


def test_all_that_comes_with_the_project_is_in_the_wheel(bare: Path, tmp_path: Path) -> None:
    packages = next(bare.glob("lib/python*/site-packages"))
    for folder in ("energy", "lessons", "recorded"):
        here = ROOT / "data" / folder
        files = {path.relative_to(here) for path in here.rglob("*") if path.is_file()}
        there = packages / "ecv_core" / "data" / folder
        assert {path.relative_to(there) for path in there.rglob("*") if path.is_file()} == files
    assert not list((packages / "ecv_core" / "data").glob("*.sqlite*"))
    others = {path.suffix for path in (ROOT / "ecv_core").rglob("*.*") if path.is_file()}
    for kind in others - {".py", ".pyc", ".nbi", ".nbc"}:  # the last two are numba's pycache
        names = {path.name for path in (ROOT / "ecv_core").rglob(f"*{kind}")}
        assert names == {path.name for path in (packages / "ecv_core").rglob(f"*{kind}")} - {
            path.name for path in (packages / "ecv_core" / "data").rglob("*")
        }


def test_the_library_finds_its_data_there(bare: Path, tmp_path: Path) -> None:
    program = (
        "import ecv_core as ecv\n"
        "from ecv_core.energy import countries\n"
        "assert '.venv' not in ecv.__file__ and 'site-packages' in ecv.__file__, ecv.__file__\n"
        "print(len(ecv.runs(recorded=True)), len(ecv.datasets()), len(countries()))\n"
    )
    done = call(bare, tmp_path, "python", "-c", program)
    assert done.returncode == 0, done.stderr
    folder = ROOT / "data" / "recorded"
    recorded = len([*folder.glob("*.json"), *folder.glob("splits/*.json")])
    runs, datasets, countries = map(int, done.stdout.split())
    assert runs == recorded
    assert datasets >= 8
    assert countries > 100
