"""Times with fractions of a second: which came first, by hand."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ecv_core import dataset as datasets
from ecv_core.dataset import own
from ecv_core.dataset.columns import read_seconds
from ecv_core.dataset.layout import TimeUnit
from ecv_core.dataset.plain import no_report
from ecv_core.library.data import add
from ecv_core.splits.holdouts import timed_histories

START = 1_600_000_000
"""13 September 2020, 12:26:40 UTC."""
TENTHS = (("x", 109), ("y", 101), ("z", 105), ("w", 30), ("y", 90), ("y", 108))
"""Ann's items, and tenths of a second after the start; of the three of 'y' that at 9.0 counts."""


def check(name: str) -> None:
    data = datasets.load(name)
    seconds = [START + 10, START + 10, START + 3, START + 9, START + 10]
    assert data.timestamps is not None
    assert data.timestamps.tolist() == seconds
    history = data.history
    assert history is not None
    names = np.char.add(data.user_ids[data.users], data.item_ids[data.items])
    assert names[np.argsort(history)].tolist() == ["annw", "anny", "bobx", "annz", "annx"]
    # No seed changes the order of a history: the last of Ann's is x.
    for seed in range(5):
        last = timed_histories(data, seed).units_after == 0
        assert set(names[last]) == {"annx", "bobx"}


@pytest.mark.parametrize(
    "write",
    [
        lambda tenths: f"{START * 1000 + 100 * tenths}",
        lambda tenths: f"{START + tenths / 10:.1f}",
        lambda tenths: f"2020-09-13T12:26:{40 + tenths // 10}.{tenths % 10}Z",
    ],
    ids=["milliseconds", "seconds", "dates"],
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_order_within_a_second_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[int], str], ending: str
) -> None:
    monkeypatch.setenv("ECV_DATA_DIR", str(tmp_path / "data"))
    users = ["ann"] * len(TENTHS) + ["bob"]
    rows = [*TENTHS, ("x", 103)]
    items = [item for item, _ in rows]
    times = [write(tenths) for _, tenths in rows]
    frame = pd.DataFrame({"user": users, "item": items, "rating": 1.0, "timestamp": times})
    path = tmp_path / f"clicks.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    else:
        if write(0).startswith("2020"):
            frame["timestamp"] = pd.to_datetime(frame["timestamp"], format="ISO8601")
        frame.to_parquet(path)
    own.add_file("clicks", path, {}, no_report, even_if_lossy=True)
    check("clicks")
    add(datasets.load("clicks"), "again")  # from memory, with what was kept of the order
    check("again")


def test_without_two_times_of_a_user_in_a_second_nothing_else_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ECV_DATA_DIR", str(tmp_path / "data"))
    path = tmp_path / "clicks.csv"
    path.write_text("user,item,rating,timestamp\nann,x,1,1600000000.5\nann,y,2,1600000001.2\n")
    own.add_file("clicks", path, {}, no_report)
    data = datasets.load("clicks")
    assert data.sequence is None
    assert data.timestamps is not None
    assert data.timestamps.tolist() == [START, START + 1]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_the_last_moment_of_all_is_no_time(unit: str) -> None:
    """Some programs write it for 'never'; in microseconds it would be one of 1969."""
    moments = pa.array([2**63 - 1], pa.int64()).cast(pa.timestamp(unit))
    assert np.isnan(read_seconds(moments, TimeUnit.SECONDS)).all()
