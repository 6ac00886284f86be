"""What splits in time need beside timestamps: baskets, and rows known to be in order."""

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ecv_core import dataset as datasets
from ecv_core.dataset import entries
from ecv_core.dataset.pruning import prepare
from ecv_core.records.tasks import Task


def test_a_plain_file_may_have_baskets_and_the_earliest_of_a_pair_is_kept(data_folder: Path):
    # Order numbers, as shops have them; ann buys x in 2000000007 and again in 2000000003.
    text = "user_id,item_id,basket\nann,x,2000000007\nann,y,2000000005\nann,x,2000000003\n"
    (data_folder / "shop.csv").write_text(text)
    data = datasets.load("shop")
    assert data.item_ids[data.items].tolist() == ["y", "x"]
    assert data.baskets is not None
    assert data.baskets.dtype == np.int32
    assert data.baskets.tolist() == [1, 0]
    assert data.history is data.baskets
    assert data.timestamps is None


def test_timestamps_come_before_baskets(data_folder: Path):
    text = "user_id,item_id,timestamp,basket\nann,x,9,1\nann,y,8,2\nann,x,7,3\n"
    (data_folder / "shop.csv").write_text(text)
    data = datasets.load("shop")
    assert data.timestamps is not None
    assert data.timestamps.tolist() == [8, 7]
    assert data.history is data.timestamps


@pytest.fixture
def known_order(data_folder: Path, monkeypatch: pytest.MonkeyPatch):
    """A catalogue whose amazon-apps is this small text, known to be in order."""
    text = b"user_id,item_id\n2,b\n1,a\n2,a\n1,c\n2,c\n2,b\n"
    apps = datasets.entry("amazon-apps")
    known = replace(apps, in_order_sha256=hashlib.sha256(text).hexdigest())
    changed = {"amazon-apps": known}
    monkeypatch.setattr(entries, "_official_entries", lambda: changed)
    return text


def test_rows_known_to_be_in_order_give_each_users_sequence(data_folder: Path, known_order: bytes):
    (data_folder / "amazon-apps.csv.gz").write_bytes(gzip.compress(known_order))
    data = datasets.load("amazon-apps")
    # 2: b a c, the second b is a repeat; 1: a c.
    assert data.user_ids[data.users].tolist() == ["2", "1", "2", "1", "2"]
    assert data.sequence is not None
    assert data.sequence.tolist() == [0, 0, 1, 1, 2]
    assert data.history is data.sequence


def test_other_rows_under_the_same_name_are_in_no_known_order(
    data_folder: Path, known_order: bytes
):
    (data_folder / "amazon-apps.csv").write_bytes(known_order + b"3,a\n")
    data = datasets.load("amazon-apps")
    assert data.sequence is None
    assert data.history is None


def shared(dataset_id: str):
    entry = datasets.entry(dataset_id)
    if not datasets.available(entry):
        pytest.skip(f"{dataset_id} is not on this machine")
    return datasets.load(dataset_id), entry


def test_ta_feng_is_what_the_catalogue_says():
    raw, entry = shared("ta-feng")
    # The file's 571,933 rows have 67,496 repeated purchases; all 13,858 customers have 3 baskets.
    assert len(raw) == 571_933 - 67_496
    assert (raw.n_users, raw.n_items) == (13_858, 11_997)
    entry.check_counts(Task.TOP_N, prepare(raw))


def test_the_shared_copy_of_amazon_apps_is_known_to_be_in_order():
    raw, _ = shared("amazon-apps")
    if raw.timestamps is not None:
        pytest.skip("another copy, with timestamps, is here")
    assert raw.sequence is not None
    assert raw.sequence[raw.users == raw.users[0]].tolist() == list(
        range(int(np.sum(raw.users == raw.users[0])))
    )
