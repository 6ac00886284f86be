"""The rank table and the scatter plot say what their frames hold."""

import numpy as np
import pandas as pd
import pytest

from ecv_core.analysis.rank_swaps import points_frame
from ecv_core.figures.splits import (
    arrow,
    rank_scatter_figure,
    rank_scatter_words,
    rank_table_figure,
    rank_table_words,
    tau_text,
)

NAN = float("nan")


@pytest.fixture
def ranks():
    rows = [
        ("random-holdout", "ease", 0.3, 0.28, 0.32, 1, 1, 0),
        ("random-holdout", "popular", 0.1, 0.09, 0.11, 2, 1, 0),
        ("temporal-global", "ease", 0.2, NAN, NAN, 2, 1, -1),
        ("temporal-global", "popular", 0.25, NAN, NAN, 1, 2, 1),
    ]
    columns = ["split", "algorithm", "score", "low", "high", "rank", "reference_rank", "up"]
    return pd.DataFrame(rows, columns=columns).assign(dataset="d", metric="ndcg@10")


@pytest.fixture
def taus():
    rows = [
        ("a", "b", 0.5, 0.25, 1.0, 1, 4),
        ("a", "c", NAN, NAN, NAN, 0, 4),
        ("b", "c", -1, *[NAN] * 2, 4, 4),
    ]
    columns = ["split", "other", "tau", "low", "high", "swaps", "pairs"]
    return pd.DataFrame(rows, columns=columns).assign(dataset="d", metric="ndcg@10")


@pytest.mark.parametrize(("up", "sign"), [(2, "↑2"), (-1, "↓1"), (0, "="), (0.5, "↑0.5")])
def test_arrows_say_how_many_ranks_are_gained_or_lost(up, sign):
    assert arrow(up) == sign


@pytest.mark.parametrize("dark", [False, True])
def test_the_table_has_rank_arrow_and_score_and_no_arrow_under_the_reference(ranks, dark):
    (cells,) = rank_table_figure(ranks, dark=dark).data
    assert list(cells.x) == ["random-holdout", "temporal-global"]
    assert list(cells.y) == ["ease", "popular"]
    words = [
        [cell.replace("<span style='font-size:13px'>", "") for cell in row] for row in cells.text
    ]
    assert words == [
        ["<b>1</b><br>0.3000</span>", "<b>2</b> ↓1<br>0.2000</span>"],
        ["<b>2</b><br>0.1000</span>", "<b>1</b> ↑1<br>0.2500</span>"],
    ]
    assert np.array(cells.z).tolist() == [[0, -1], [0, 1]]
    assert cells.customdata[0][0] == "ndcg@10 0.3000, interval 0.2800 to 0.3200"
    assert cells.customdata[0][1] == "ndcg@10 0.2000, users' scores are not known"


def test_the_table_in_words(ranks):
    assert rank_table_words(ranks) == (
        "Ranks by ndcg@10. Under random-holdout, best first: ease, popular. Against that, "
        "temporal-global: ease ↓1, popular ↑1."
    )
    same = ranks.assign(up=0)
    assert rank_table_words(same).endswith("No other split changes a rank.")


def test_tau_is_said_with_its_interval(taus):
    texts = [tau_text(row) for _, row in taus.iterrows()]
    assert texts == ["0.50, interval 0.25 to 1.00", "not defined", "-1.00"]


def test_a_point_per_algorithm_with_name_ranks_and_bars(ranks):
    points = points_frame(ranks, "random-holdout", "temporal-global")
    figure = rank_scatter_figure(points, "nDCG@10", "0.50")
    (dots,) = figure.data
    assert list(dots.x) == [0.3, 0.1]
    assert list(dots.y) == [0.2, 0.25]
    assert list(dots.error_x.array) == pytest.approx([0.02, 0.01])
    assert list(dots.text) == ["ease", "popular"]
    assert list(dots.textposition) == ["top center", "bottom center"]  # neighbours take turns
    assert dots.customdata.tolist() == [["ease", 1, 2], ["popular", 2, 1]]
    assert [note.text for note in figure.layout.annotations] == ["Kendall's tau 0.50"]
    assert figure.layout.xaxis.title.text == "nDCG@10 under random-holdout"
    assert rank_scatter_words(points, "nDCG@10", "0.50").endswith(
        "ease 0.3000 and 0.2000 (rank 1 and 2); popular 0.1000 and 0.2500 (rank 2 and 1)."
    )
