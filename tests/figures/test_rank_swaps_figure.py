"""The rank table, and the tau triangle say what their frames hold."""

import numpy as np
import pandas as pd
import pytest

from ecv_core.figures.split_ranks import (
    arrow,
    rank_table_figure,
    rank_table_words,
    tau_figure,
    tau_words,
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
    assert (
        cells.customdata[0][1]
        == "ndcg@10 0.2000, no interval because the users' scores are not known"
    )


def test_the_table_in_words(ranks):
    assert rank_table_words(ranks) == (
        "Ranks by ndcg@10. Under random-holdout, best first: ease, popular. Against that, "
        "temporal-global: ease ↓1, popular ↑1."
    )
    same = ranks.assign(up=0)
    assert rank_table_words(same).endswith("No other split changes a rank.")


def test_the_triangle_shows_tau_with_its_interval(taus):
    (cells,) = tau_figure(taus).data
    assert list(cells.x) == ["a", "b"]
    assert list(cells.y) == ["b", "c"]
    assert cells.text[0][0].startswith("<b>0.50</b><br>")
    assert "0.25 to 1.00" in cells.text[0][0]
    assert [*cells.text[0][1:], *cells.text[1]] == ["", "-", "<b>-1.00</b>"]
    assert cells.customdata[0][0] == "1 of 4 pairs swap"
    assert (cells.zmin, cells.zmax) == (-1, 1)
    assert cells.reversescale  # the less alike, the stronger
    assert cells.colorbar.ticktext == ("better: same ranks", "worse: -1")
    assert tau_words(taus) == (
        "Kendall's tau between 2 pairs of splits: from -1.00 (b and c) to 0.50 (a and b)."
    )
    assert "not defined" in tau_words(taus.assign(tau=NAN))
