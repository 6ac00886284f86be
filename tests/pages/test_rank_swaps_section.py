"""The section on rank swaps: recorded runs, own studies, what cannot be, and a start."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from ecv_core.jobs.plans.study import Cell, begin, n_splits
from ecv_core.records.run import UserScores
from ecv_core.store.plans import STUDY, stored_plans
from ecv_core.store.recorded import RUNS, recorded_path
from ecv_core.store.recorded import SPLITS as SPLITS_FOLDER
from pages.shared.live.state import manager

pytestmark = pytest.mark.usefixtures("recorded")
SPLITS = ("random-holdout", "leave-last-item", "temporal-global")


def section():
    from pages.shared.live.state import errors_as_sentences
    from pages.studies.swaps_view import show_ranks_under_splits

    with errors_as_sentences():
        show_ranks_under_splits()


@pytest.fixture
def page():
    return AppTest.from_function(section, default_timeout=30)


@pytest.fixture
def record(recorded, move_to_recorded, a_run):
    """A recorded run with its users' scores, that no database knows."""

    def put(split, algorithm, mean, dataset="ml-100k", users=True):
        k = {"random-holdout": 10}.get(split, 1)
        run = a_run([mean] * k, dataset=dataset, algorithm=algorithm, split=split, full=True)
        every = None
        if users:
            values = np.linspace(mean - 0.05, mean + 0.05, 40, dtype=np.float32)[:, None]
            scores = UserScores(
                users=np.arange(40, dtype=np.int32), metrics=("ndcg@10",), values=values
            )
            every = {fold.fold: scores for fold in run.folds}
        move_to_recorded(run, every, recorded_path(recorded, dataset, algorithm, split))

    return put


@pytest.fixture
def three_by_three(record):
    scores = {"popular": (0.1, 0.1, 0.4), "ease": (0.3, 0.2, 0.3), "item-knn": (0.2, 0.3, 0.2)}
    for algorithm, means in scores.items():
        for split, mean in zip(SPLITS, means, strict=True):
            record(split, algorithm, mean)


def texts(page):
    found = [*page.markdown, *page.info, *page.caption, *page.get("html"), *page.code]
    return " ".join(getattr(one, "value", None) or one.proto.body for one in found)


def open_page(page, **query):
    for name, value in query.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    assert not page.error
    return page


def pills(page):
    return {one.key: one for one in page.get("button_group")}


def test_it_opens_on_recorded_runs_with_the_surest_swap_in_a_sentence(page, three_by_three):
    shown = texts(open_page(page))
    assert (
        "EASE wins under 'Random share'; ItemKNN under 'Last item'; Popularity under 'One point in "
        "time'. Under 'Last item', ItemKNN beats EASE; under 'Random share' it is the other way "
        "round. Pairs of algorithms that swap between 'Random share' and 2 others: 3 of 3, 3 of "
        "them in at least 95 % of the bootstrap samples."
    ) in shown
    assert "No intervals" not in shown
    assert page.selectbox(key="swaps_reference").options == [
        "Random share",
        "Last item",
        "One point in time",
    ]


def test_the_address_picks_reference_and_metric(page, three_by_three):
    open_page(page, swaps_reference="temporal-global", swaps_metric="Recall@10")
    shown = texts(page)
    assert "under 'One point in time' it is the other way round" in shown
    assert "Recall@10 of every user is not kept there" in shown


def test_an_odd_address_is_ignored(page, three_by_three):
    open_page(page, swaps_reference="nope", swaps_metric="nope", swaps_dataset="nope")
    assert page.selectbox(key="swaps_reference").value == "random-holdout"


def test_without_runs_it_says_so_and_offers_to_start(page):
    shown = texts(open_page(page))
    assert "There are no complete runs of two algorithms under two splits yet" in shown
    assert not page.button(key="start-study").disabled


def test_a_start_queues_every_algorithm_under_every_split(page, store):
    open_page(page)
    pills(page)["new_splits"].set_value(["leave-last-item", "temporal-windows"]).run()
    pills(page)["new_algorithms"].set_value(["popular", "ease"]).run()
    assert "**4 runs**, 12 folds to compute" in texts(page)
    page.button(key="start-study").click().run()
    assert not page.exception
    (study,) = stored_plans(store, STUDY)
    assert n_splits(study) == 2
    assert page.selectbox(key="study").value == study.plan_id
    runs = store.runs()
    assert {(r.spec.split, r.spec.k, r.spec.algorithm, r.spec.rule) for r in runs} == {
        ("leave-last-item", 1, "popular", "never"),
        ("leave-last-item", 1, "ease", "never"),
        ("temporal-windows", 5, "popular", "never"),
        ("temporal-windows", 5, "ease", "never"),
    }
    assert set(page.dataframe[0].value["split"]) == {"Last item", "Windows in time"}


def test_a_split_that_the_data_cannot_serve_is_a_sentence_and_nothing_starts(page, store):
    open_page(page)
    pills(page)["new_splits"].set_value(["leave-last-item", "leave-last-basket"]).run()
    page.button(key="start-study").click().run()
    assert not page.exception
    assert "Synthetic has no baskets" in page.error[0].value
    assert store.runs() == []


def test_an_algorithm_that_the_data_cannot_serve_is_a_sentence_and_nothing_starts(page, store):
    open_page(page)
    pills(page)["new_algorithms"].set_value(["popular", "triple2vec"]).run()
    page.button(key="start-study").click().run()
    assert not page.exception
    assert "which triple2vec learns from" in page.error[0].value
    assert store.runs() == []


@pytest.mark.parametrize(
    ("key", "value"), [("new_splits", ["leave-last-item"]), ("new_algorithms", [])]
)
def test_too_few_to_compare_cannot_be_started(page, key, value):
    open_page(page)
    pills(page)[key].set_value(value).run()
    assert page.button(key="start-study").disabled
    assert "Pick at least one dataset, two algorithms and two splits." in texts(page)


def test_an_own_study_is_shown_once_its_runs_are_complete(page, store, a_run):
    specs = []
    for split in SPLITS[1:]:
        for mean, algorithm in ((0.2, "ease"), (0.1, "popular")):
            run = a_run([mean], algorithm=algorithm, split=split, full=True)
            specs.append(run.spec)
    study = begin(store, manager(), [Cell(spec=spec) for spec in specs])
    open_page(page, study=study)
    assert "No pair of algorithms swaps between " in texts(page)
    assert "No intervals for Last item; One point in time" in texts(page)


def test_an_unknown_study_in_the_address_is_a_sentence(page, three_by_three):
    open_page(page, study="nope")
    assert "'nope' is not known here" in page.warning[0].value.replace("\\", "")
    assert "Under 'Last item'" in texts(page)


def test_the_study_page_sends_a_study_of_splits_here(app, store, a_run):
    specs = [a_run([0.2], algorithm="ease", split=split, full=True).spec for split in SPLITS[1:]]
    app.query_params["study"] = begin(store, manager(), [Cell(spec=spec) for spec in specs])
    app.switch_page("studies/studies.py").run()
    assert not app.exception
    assert "it is in the view **Splits and ranks**" in app.info[0].value


def test_a_damaged_file_is_a_sentence(page, recorded):
    (recorded / SPLITS_FOLDER).mkdir()
    (recorded / SPLITS_FOLDER / RUNS).write_text("{")
    page.run()
    assert not page.exception
    assert "splits/runs.parquet cannot be read" in page.error[0].value


def test_a_removed_study_gives_way_to_the_recorded_runs_without_a_warning(page, store, a_run):
    specs = [
        a_run((0.3, 0.31), algorithm=algorithm, split=split, k=2, rule="never").spec
        for algorithm in ("popular", "ease")
        for split in ("random-holdout", "record-k-fold")
    ]
    study = begin(store, manager(), [Cell(spec=spec) for spec in specs])
    open_page(page, study=study)
    page.button(key="forget-study").click().run()
    assert not page.exception
    assert stored_plans(store, STUDY) == []
    assert not page.warning
