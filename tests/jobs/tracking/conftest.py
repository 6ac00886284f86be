"""A dataset so small that every score can be worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from ecv_core.energy.meter import NoMeter

USERS, ITEMS = range(1, 13), range(101, 109)


@pytest.fixture(autouse=True)
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """12 users, each with 7 of 8 items: of 7 folds each holds out one item per user, and two
    candidates are left for it. Ratings are 1, 2, 3, 4, 5, 1, 2, 3 of items 101 to 108. "wide" has
    24 items, of which each user has 21."""
    folder = tmp_path / "datasets"
    folder.mkdir()
    monkeypatch.setenv("ECV_DATA_DIR", str(folder))
    rows = [
        f"{user},{item},{(item - 101) % 5 + 1},{1000 + user * 10 + item}"
        for user in USERS
        for item in ITEMS
        if item != 101 + user % 8
    ]
    (folder / "tiny.csv").write_text("user_id,item_id,rating,timestamp\n" + "\n".join(rows))
    wide = [f"{u},{i}" for u in USERS for i in range(101, 125) if (5 * u + i) % 8]
    (folder / "wide.csv").write_text("user_id,item_id\n" + "\n".join(wide))
    return "tiny"


@pytest.fixture(autouse=True)
def no_meter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probing the hardware takes a second."""
    monkeypatch.setattr("ecv_core.library.track.meter_for", lambda spec: NoMeter())
