"""The p-value curves: a line per metric, in the frame's order, told apart without colour."""

import pandas as pd

from ecv_core.figures.p_values import p_values_figure


def test_each_metric_is_a_line_with_its_own_dash() -> None:
    frame = pd.DataFrame(
        {
            "rank": [1, 2, 1, 2],
            "metric": ["nDCG@10", "nDCG@10", "EPC@10", "EPC@10"],
            "p": [0.5, 0.1, 0.9, 0.2],
            "sd": [0.1, 0.0, 0.2, 0.1],
        }
    )
    for dark in (False, True):
        lines = p_values_figure(frame, dark=dark).data
        assert [line.name for line in lines] == ["nDCG@10", "EPC@10"]
        assert [list(line.y) for line in lines] == [[0.5, 0.1], [0.9, 0.2]]
        assert [list(line.x) for line in lines] == [[1, 2], [1, 2]]
        assert len({line.line.dash for line in lines}) == 2
        assert len({line.line.color for line in lines}) == 2
