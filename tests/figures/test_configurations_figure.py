"""A search space as a picture: scores by parameter."""

import numpy as np
import pandas as pd

from ecv_core.figures.selection import by_parameter_figure

FRAME = pd.DataFrame(
    {
        "factors": [8, 8, 128, 128, 32],
        "epochs": [1, 2, 1, 2, 1],
        "rate": [0.1, 0.1, 0.1, 0.1, 0.2],
        "score": [0.1, 0.2, 0.4, 0.3, 0.25],
        "low": [0.05, 0.1, 0.3, 0.2, 0.2],
        "high": [0.15, 0.3, 0.5, 0.4, 0.3],
        "folds": [1, 2, 10, 10, 3],
    }
)


def test_values_are_in_order_of_size_and_beside_each_other() -> None:
    (points,) = by_parameter_figure(FRAME, "factors", "nDCG@10").data
    assert list(points.x) == [-0.25, 0.25, 1.75, 2.25, 1.0]  # 8, 32 and 128
    assert np.allclose(points.error_y.array, [0.05, 0.1, 0.1, 0.1, 0.05])
    assert np.allclose(points.error_y.arrayminus, [0.05, 0.1, 0.1, 0.1, 0.05])
    assert points.customdata[0].tolist() == ["factors 8, epochs 1, rate 0.1", 1]
