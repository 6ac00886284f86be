"""Where folds are computed is picked where a cluster is configured, and nowhere else."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ecv_core.store.plans import SELECTION, STUDY, stored_plans
from ecv_core.store.store import Store

PLACE = "place"


@pytest.fixture
def gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A site in the folder of sites."""
    (tmp_path / "gpu.toml").write_text('on = "slurm"\nnodes = 8\n')
    monkeypatch.setenv("ECV_SITES", str(tmp_path))


def keys(app: AppTest) -> list[str | None]:
    return [one.key for one in app.get("button_group")]


def press(app: AppTest, label: str) -> None:
    next(one for one in app.button if one.label == label).click().run()
    assert not app.exception


def pick(app: AppTest, place: str) -> None:
    (widget,) = [one for one in app.get("button_group") if one.key == PLACE]
    widget.set_value(place).run()


def test_without_a_cluster_there_is_nothing_to_pick(app: AppTest, store: Store) -> None:
    app.run()
    assert PLACE not in keys(app)
    press(app, "Start")
    assert store.place_of(store.runs()[0].group) == ""


def test_a_run_goes_where_it_was_picked(app: AppTest, store: Store, gpu: None) -> None:
    app.run()
    pick(app, "gpu")
    press(app, "Start")
    assert store.place_of(app.query_params["run"]) == "gpu"
    assert "Computed on gpu." in [one.value for one in app.caption]


@pytest.mark.parametrize(
    ("page", "label", "kind"),
    [
        ("best/best.py", "Start the selection", SELECTION),
        ("studies/studies.py", "Start the study", STUDY),
    ],
)
def test_a_selection_and_a_study_too(
    app: AppTest, store: Store, gpu: None, page: str, label: str, kind: str
) -> None:
    app.run()
    pick(app, "gpu")  # what was picked stays from page to page
    app.switch_page(page)
    app.run()
    for box in app.expander:
        if "Start" in box.label and box.proto.id:
            app.session_state[box.key] = True
    app.run()
    press(app, label)
    (plan,) = stored_plans(store, kind)
    assert store.place_of(plan.plan_id) == "gpu"
