"""Every test has its own database; prepared data is shared by the session and never in the tree."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Datasets that lie beside the checkout are used, in the processes that tests start too.
SHARED = Path(__file__).resolve().parents[2] / "shared" / "datasets"
if SHARED.is_dir():
    os.environ.setdefault("ECV_DATA_PATH", str(SHARED))

# A busy machine is no failure: examples are not timed.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(autouse=True)
def own_surroundings(tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECV_DATABASE_URL", f"sqlite:///{tmp_path / 'runs.sqlite'}")
    monkeypatch.setenv("ECV_DATA_DIR", str(data_dir))
