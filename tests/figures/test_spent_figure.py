"""Runs by score and energy: shares within a dataset, and marks of picked ones."""

import pandas as pd
import pytest

from ecv_core.figures.spent import spent_figure, spent_frame

FRAME = pd.DataFrame(
    {
        "name": ["a", "b", "c", "d", "e"],
        "group": ["ml, nDCG", "ml, nDCG", "ml, RMSE", "ml, RMSE", "ml, nDCG"],
        "score": [0.4, 0.3, 1.0, 0.8, 0.5],
        "higher": [True, True, False, False, True],
        "mwh": [10.0, 2.0, 5.0, 7.0, None],
        "picked": [False, True, False, False, False],
    }
)


def test_a_score_is_a_share_of_the_best_metered_one_that_it_compares_with() -> None:
    found = spent_frame(FRAME)
    assert found["name"].tolist() == ["a", "b", "c", "d"]
    assert found["share"].tolist() == pytest.approx([100, 75, 80, 100])  # 0.3 / 0.4; 0.8 / 1.0


def test_the_legend_names_the_groups_with_most_runs_and_cuts_what_would_fill_the_picture() -> None:
    long_name = "orders_of_my_shop_in_the_last_quarter, nDCG@10"
    groups = ["b", long_name, "c", "d", "e", "f", "g", long_name, "b", "c", "d", "e"]
    frame = pd.concat([FRAME.iloc[[0]]] * len(groups)).assign(group=groups)
    names = [trace.name for trace in spent_figure(spent_frame(frame)).data]
    assert names == ["b", "orders_of_my_shop_in_the\u2026quarter, nDCG@10", "c", "d", "e", "others"]
    of_six = frame[frame["group"] != "g"]
    assert "others" not in [trace.name for trace in spent_figure(spent_frame(of_six)).data]


def test_picked_runs_stand_out() -> None:
    ranked, rated = spent_figure(spent_frame(FRAME)).data
    assert list(ranked.marker.opacity) == [0.3, 1.0]
    assert list(ranked.marker.line.width) == [0, 2]
    assert list(rated.marker.opacity) == [0.3, 0.3]
