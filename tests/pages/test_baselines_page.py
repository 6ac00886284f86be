"""The Baselines page: the answer first, the board, own runs on it."""

import pytest

from ecv_core.papers.published import published
from ecv_core.papers.rating_figures import board_frame
from pages.baselines.view import entries_of


@pytest.fixture
def page(app):
    def opened(**asked):
        app.run()
        for name, value in asked.items():
            app.query_params[name] = value
        app.switch_page("baselines/baselines.py").run()
        assert not app.exception
        return app

    return opened


def words(app):
    return " ".join(one.value for one in [*app.markdown, *app.caption])


@pytest.mark.parametrize(
    ("dataset", "said"),
    [
        ("MovieLens 1M", "run here, is ahead of"),
        ("MovieLens 100K", "published results; the best of those is GLocal-K with 0.8889"),
        ("MovieLens 10M", "is ahead of **20 of 20** published results; the best of those is MRMA"),
        ("Netflix Prize", "teams ran **the same** plain matrix factorization"),
    ],
)
def test_the_answer_comes_first_with_its_numbers(page, dataset, said):
    app = page(baselines_dataset=dataset)
    assert said in words(app)
    first = next(one.value for one in app.markdown if one.value.startswith("##"))
    assert said in first


def test_a_lead_over_results_on_unknown_splits_is_no_proof(page):
    app = page(baselines_dataset="MovieLens 1M")
    first = next(one.value for one in app.markdown if one.value.startswith("##"))
    others = [one for one in published("ml-1m").entries if one.runner in ("inventors", "others")]
    same = sum(one.protocol == "random 90:10" for one in others)
    assert same < len(others)
    assert "This is no proof yet" in first
    assert f"only {same} of the {len(others)} {'is' if same == 1 else 'are'} confirmed" in first


def test_one_protocol_for_all_needs_no_reservation(page):
    assert "no proof" not in words(page(baselines_dataset="MovieLens 10M"))


def test_another_split_is_said_beside_the_numbers(page):
    app = page(baselines_dataset="MovieLens 100K")
    assert "none of the 7 is confirmed to be on our split" in words(app)
    assert "official split u1" in words(app)
    assert "not comparable" in words(app)


def test_the_newest_own_run_of_each_algorithm_is_on_the_board(page, a_run):
    a_run([0.95], dataset="ml-100k", algorithm="bias", rule="never")
    a_run([0.9, 0.91], dataset="ml-100k", algorithm="bias", rule="never")
    a_run([0.5], dataset="ml-100k", algorithm="item-knn")
    app = page(baselines_dataset="MovieLens 100K")
    frame = board_frame(entries_of("ml-100k"))
    own = frame[frame["by"] == "yours"]
    assert own[["folds", "rmse"]].to_numpy().tolist() == [[2, pytest.approx(0.905)]]
    assert "defaults, not examined" in words(app)


@pytest.mark.parametrize(
    ("dataset", "heading"),
    [
        ("netflix", "Published"),
        ("ml-10m", "Published"),
        ("ml-1m", "Published, and run here"),
    ],
)
def test_what_was_not_run_here_is_not_headed_so(page, dataset, heading):
    app = page(baselines_dataset=published(dataset).title)
    assert app.header[0].value == heading
