"""Side-by-side speed and memory; also with the datasets in ../shared/datasets, if it is there."""

import os
from pathlib import Path

_SHARED = Path(__file__).resolve().parents[2] / "shared" / "datasets"
if _SHARED.is_dir():
    os.environ.setdefault("ECV_DATA_PATH", str(_SHARED))
