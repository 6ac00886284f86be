"""Every test has its own database; prepared data is shared by the session and never in the tree."""

import gc
import os
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.databases import each_database, postgres, store, tables_by_script  # noqa: F401  for all

# Datasets that were downloaded already, or lie beside the checkout, are used; read only, and in
# the processes that tests start too.
PROJECT = Path(__file__).resolve().parents[1]
WITH_DATASETS = [PROJECT.parent / "shared" / "datasets", PROJECT / "data" / "downloads"]
if downloads := os.environ.get("ECV_DATA_DIR"):
    WITH_DATASETS.append(Path(downloads).absolute())
os.environ.setdefault(
    "ECV_DATA_PATH", os.pathsep.join(map(str, filter(Path.is_dir, WITH_DATASETS)))
)

# A busy machine is no failure: examples are not timed. They are the same in each run, so that a
# change fails by what it changes; --hypothesis-profile=search looks for others.
settings.register_profile(
    "patient",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("search", settings.get_profile("patient"), derandomize=False)
settings.load_profile("patient")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests stay to the end, so that nobody need look through them for garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def own_lock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Folds of tests, in all their processes, do not wait for those of other programs.

    The lock that lets a fold have the machine alone lies in the folder for temporary files.
    """
    tmp_path_factory.getbasetemp()  # stays where pytest keeps what failed
    with (
        tempfile.TemporaryDirectory(prefix="ecv-", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="session")
def programs() -> Iterator[Path]:
    """A folder with a `python` that has loaded the libraries, for the commands of documents."""
    from tests.warm_python import warm_python

    with warm_python() as folder:
        yield folder


@pytest.fixture(autouse=True)
def own_surroundings(tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECV_DATABASE_URL", f"sqlite:///{tmp_path / 'runs.sqlite'}")
    monkeypatch.setenv("ECV_DATA_DIR", str(data_dir))


@pytest.fixture
def registries_as_they_were() -> Iterator[None]:
    """Rules, metrics and splits that a test registers are known to it alone."""
    from ecv_core.evaluation import METRICS
    from ecv_core.splits import SPLITS
    from ecv_core.stopping import RULES

    registries = (RULES, METRICS, SPLITS)
    before = [dict(known) for known in registries]
    yield
    for known, entries in zip(registries, before, strict=True):
        known.clear()
        known.update(entries)
