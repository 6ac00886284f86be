"""Files of one's own are one's own: nobody else of the machine may read them."""

import os
import stat

import pytest

from ecv_core.dataset import own
from ecv_core.dataset.own.recognise import recognise
from ecv_core.dataset.plain import no_report
from ecv_core.dataset.preparation import prepared
from ecv_core.splits.exchange import store_folds
from ecv_core.store.rescue import back_up
from ecv_core.store.store import open_store
from ecv_core.untrusted.files import replacing

ROWS = "\n".join(["user,item", *(f"u{user},i{item}" for user in range(6) for item in range(6))])


@pytest.fixture(autouse=True)
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def open_to_others(folder):
    """Files that others may read, those below a folder that they may not enter left out."""
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = [
            one for one in folders if os.stat(os.path.join(place, one)).st_mode & stat.S_IXOTH
        ]
        paths = [os.path.join(place, one) for one in files]
        found += [one for one in paths if os.stat(one).st_mode & 0o077]
    return found


def test_a_database_and_its_copy_are_of_their_owner_alone(tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'runs.sqlite'}")
    with store.transaction("read"):
        assert sorted(one.name for one in tmp_path.iterdir())[:2] == [
            "runs.sqlite",
            "runs.sqlite-shm",
        ]
        assert open_to_others(tmp_path) == []
    back_up(store, tmp_path / "copy.sqlite")
    assert open_to_others(tmp_path) == []


def test_own_datasets_their_caches_and_stored_folds_are_of_their_owner_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("ECV_DATA_DIR", str(tmp_path))
    token = own.take_in(lambda path: path.write_text(ROWS), "shop.csv")
    assert open_to_others(tmp_path) == []
    plain = own.taken_in(token)
    own.build_dataset(plain, recognise(plain).layout, own.folder_of(token), no_report)
    own.keep(own.folder_of(token), "shop", added_by="https://id.example.org#ada")
    assert prepared("shop").dataset == "shop"
    store_folds(b"user_id,item_id,fold\n", tmp_path / "folds")
    assert open_to_others(tmp_path) == []


def test_what_a_command_writes_for_somebody_may_be_read(tmp_path):
    with replacing(tmp_path / "mine") as part:
        part.write_text("x")
    with replacing(tmp_path / "yours", readable_by_others=True) as part:
        part.write_text("x")
    assert open_to_others(tmp_path) == [str(tmp_path / "yours")]
