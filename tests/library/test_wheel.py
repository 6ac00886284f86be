"""A wheel of the project, in environments without a checkout: with all packages, and with few."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
import tomllib
import urllib.request
import venv
from contextlib import suppress
from pathlib import Path

import pytest

from ecv_core.store.recorded import recorded_runs_of_all_splits
from tests.ports import unused_port

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "app.py")
CACHE = "__pycache__"
FOLDERS = ("ecv_core", "data", "pages", ".streamlit")

pytestmark = pytest.mark.slow


PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in NEEDED:
        shutil.copy(ROOT / name, source / name)
    left_out = shutil.ignore_patterns("__pycache__", "downloads", "*.sqlite*", "*.lock")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=left_out)
    build = [*PIP, "wheel", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "--wheel-dir", str(folder), str(source)], check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel installed by pip; the dependencies are those of the tests."""
    environment = tmp_path_factory.mktemp("bare") / "env"
    venv.create(environment, with_pip=False, symlinks=True)
    install = [*PIP, "--python", str(environment), "install", "--no-deps", "--no-index"]
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
    done = call(bare, tmp_path, "ecv", "orders")
    assert done.returncode == 2
    assert done.stderr.endswith("see 'ecv orders --help'\n"), done.stderr


def test_all_that_comes_with_the_project_is_in_the_wheel(bare: Path, tmp_path: Path) -> None:
    packages = next(bare.glob("lib/python*/site-packages"))
    for folder in ("energy", "lessons", "recorded"):
        here = ROOT / "data" / folder
        files = {path.relative_to(here) for path in here.rglob("*") if path.is_file()}
        left_out = (
            *("tunings.parquet", "unstable/", "more/"),
            *("sampled/protocols.npz", "sampled/splits/users.parquet"),
        )
        files = {path for path in files if not path.as_posix().startswith(left_out)}
        there = packages / "ecv_core" / "data" / folder
        assert {path.relative_to(there) for path in there.rglob("*") if path.is_file()} == files
    assert not list((packages / "ecv_core" / "data").glob("*.sqlite*"))
    # Other tests may compile something meanwhile.
    sources = [path for path in (ROOT / "ecv_core").rglob("*.*") if path.parent.name != CACHE]
    for kind in {path.suffix for path in sources if path.is_file()} - {".py"}:
        names = {path.name for path in (ROOT / "ecv_core").rglob(f"*{kind}")}
        there = set()
        for path in (packages / "ecv_core").rglob(f"*{kind}"):
            # The data and the pages lie there too, and a file of a page may have the same name.
            if path.relative_to(packages / "ecv_core").parts[0] not in ("data", "dashboard"):
                there.add(path.name)
        assert names == there
    for folder in ("pages", ".streamlit"):
        files = {path.relative_to(ROOT / folder) for path in (ROOT / folder).rglob("*.*")}
        files = {path for path in files if path.parent.name != CACHE}
        installed = packages / "ecv_core" / "dashboard" / folder
        names = {path.relative_to(installed) for path in installed.rglob("*.*")}
        assert {path for path in names if path.suffix != ".pyc"} == files


def test_the_library_finds_its_data_there(bare: Path, tmp_path: Path) -> None:
    program = (
        "import ecv_core as ecv\n"
        "from ecv_core.energy.meter import countries\n"
        "assert '.venv' not in ecv.__file__ and 'site-packages' in ecv.__file__, ecv.__file__\n"
        "print(len(ecv.runs(recorded=True)), len(ecv.datasets()), len(countries()))\n"
    )
    done = call(bare, tmp_path, "python", "-c", program)
    assert done.returncode == 0, done.stderr
    runs, datasets, countries = map(int, done.stdout.split())
    assert runs == len(recorded_runs_of_all_splits())
    assert datasets >= 8
    assert countries > 100


def test_the_wheel_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < 12e6


def test_the_dashboard_starts_from_the_wheel(bare: Path, tmp_path: Path) -> None:
    port = unused_port()
    environment = {name: value for name, value in os.environ.items() if name[:4] != "ECV_"}
    environment.pop("PYTHONPATH", None)  # the dashboard is that of the wheel
    words = [str(bare / "bin" / "ecv"), "dashboard", "--headless", f"--port={port}"]
    with subprocess.Popen(words, cwd=tmp_path, env=environment | {"HOME": str(tmp_path)}) as server:
        try:
            while server.poll() is None:
                with suppress(OSError):
                    page = urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60).read()
                    break
                time.sleep(0.2)
            assert server.poll() is None
            assert b"<title>" in page
        finally:
            server.terminate()
    assert (
        tmp_path / ".e-fold" / "runs.sqlite"
    ).is_file()  # its own script ran, for its own folder


FEW = """
import ecv_core as ecv
assert round(ecv.orders([0.301, 0.322, 0.314, 0.309, 0.318], "fixed").mean_stop) == 3
assert len(ecv.load("synthetic")) == 101_325
print(ecv.runs(recorded=True).frame().shape)
"""
"""What the core can do: rules over scores, data, runs that are recorded."""


@pytest.mark.parametrize("versions", ["lowest", "newest"])
def test_the_core_alone_serves_with_the_lowest_and_the_newest_versions(
    wheel: Path, tmp_path: Path, versions: str
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [one.partition(",")[0] for one in project["dependencies"]]
    pinned = [one.replace(">=", "==") for one in needed] if versions == "lowest" else []
    environment = tmp_path / "env"
    venv.create(environment, with_pip=False, symlinks=True)
    # What is not needed is not compiled: that takes as long as all the rest.
    install = [*PIP, "--python", str(environment), "install", "--no-compile", str(wheel), *pinned]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    # Where pip finds no version at all of a package, it has not seen the index.
    sees_index = "(from versions: none)" not in done.stderr
    lacks_version = sees_index and "No matching distribution" in done.stderr
    if done.returncode and not lacks_version:
        pytest.skip(f"pip cannot install here: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    packages = [path.name for path in environment.glob("lib/python*/site-packages/*.dist-info")]
    assert len(packages) <= 25
    assert call(environment, tmp_path, "python", "-c", FEW).returncode == 0
    (tmp_path / "scores.csv").write_text("score\n0.30\n0.32\n0.31\n0.31\n", encoding="utf-8")
    assert (
        call(environment, tmp_path, "ecv", "orders", "scores.csv", "--alpha", "1e-4").returncode
        == 0
    )
    words = ("track", "mine", "synthetic", "-k", "3", "--rule", "never", "--metric", "ndcg@10")
    begun = call(environment, tmp_path, "ecv", *words)
    assert begun.returncode == 0, begun.stderr
    run_id = begun.stdout.split()[0]
    asked = call(environment, tmp_path, "ecv", "ask", run_id, "--json")
    assert asked.returncode == 0, asked.stderr
    fold = json.loads(asked.stdout)["fold"]
    told = call(environment, tmp_path, "ecv", "tell", run_id, str(fold), "--score", "0.30")
    assert told.returncode == 0, told.stderr
    absent = call(environment, tmp_path, "ecv", "run", "synthetic", "item-knn")
    assert absent.returncode == 1
    assert "pip install 'e-fold[models]'" in absent.stderr
    assert "Traceback" not in absent.stderr
