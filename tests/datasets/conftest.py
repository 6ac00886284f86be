from pathlib import Path

import pytest

from ecv_core.datasets import _dirs


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty ECV_DATA_DIR, with no shared folder beside the project."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("ECV_DATA_DIR", str(folder))
    monkeypatch.setattr(_dirs, "PROJECT_ROOT", tmp_path / "project")
    return folder
