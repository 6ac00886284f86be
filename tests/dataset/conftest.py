from pathlib import Path

import pytest


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty ECV_DATA_DIR, and no other folder to look into."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("ECV_DATA_DIR", str(folder))
    monkeypatch.delenv("ECV_DATA_PATH", raising=False)
    return folder
