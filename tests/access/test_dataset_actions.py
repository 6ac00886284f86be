"""Files and datasets, called as a forged page would: without looking at what is drawn."""

import pytest

from ecv_core import dataset as datasets
from ecv_core.access.roles import OWNER, Action
from ecv_core.dataset import own
from ecv_core.dataset.own.recognise import recognise
from ecv_core.dataset.plain import no_report
from ecv_core.records.errors import RightsError
from tests.access.conftest import ADA, BEN, VERA, VISITOR

ROWS = "\n".join(["user,item", *(f"u{user},i{item}" for user in range(6) for item in range(6))])
REFUSED = [VERA, VISITOR]


@pytest.fixture(autouse=True)
def own_data(tmp_path, monkeypatch):
    monkeypatch.setenv("ECV_DATA_DIR", str(tmp_path / "data"))


def added(handle, actor, name):
    act = handle(actor)
    token = act.take_in(lambda path: path.write_text(ROWS), "shop.csv")
    plain = own.taken_in(token)
    act.build_dataset(plain, recognise(plain).layout, token, no_report)
    act.keep(token, name)
    return token


@pytest.mark.parametrize("actor", REFUSED, ids=["viewer", "visitor"])
def test_who_may_not_upload_leaves_no_trace(handle, actor, tmp_path):
    act = handle(actor)
    written = []
    for attempt in (
        lambda: act.take_in(written.append, "shop.csv"),
        lambda: act.keep("0" * 32, "shop"),
        lambda: act.build_dataset(None, None, "0" * 32, no_report),
        lambda: act.forget("0" * 32),
        lambda: act.download(datasets.entry("ml-100k"), lambda done, total: None),
        act.check_upload,
    ):
        with pytest.raises(RightsError):
            attempt()
    assert written == []
    assert not (tmp_path / "data").exists()


def test_a_dataset_is_deleted_by_who_added_it(handle):
    added(handle, ADA, "shop")
    for other in (BEN, VERA, VISITOR):
        assert handle(other).refusal(Action.CHANGE_DATASETS, "shop")
        with pytest.raises(RightsError):
            handle(other).remove("shop")
    assert list(own.added()) == ["shop"]
    assert handle(ADA).refusal(Action.CHANGE_DATASETS, "shop") is None
    handle(ADA).remove("shop")
    assert own.added() == {}


def test_a_dataset_of_nobody_is_for_every_editor(handle):
    added(handle, OWNER, "shop")
    for other in REFUSED:
        with pytest.raises(RightsError):
            handle(other).remove("shop")
    handle(BEN).remove("shop")
    assert own.added() == {}
