"""An order replayed: the stop for each alpha is what the live rule would have said."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.replay import replayed, stops_at
from ecv_core.stopping import EFold, stop_of
from ecv_core.stopping import moments as live_moments
from tests.jobs import fold_result

SCORES = np.array([0.30, 0.34, 0.31, 0.33, 0.32])


def test_the_moments_follow_the_order():
    played = replayed(SCORES, [4, 0, 1, 2, 3], 0.95)
    assert [one.fold for one in played] == [4, 0, 1, 2, 3]
    assert [one.score for one in played] == [0.32, 0.30, 0.34, 0.31, 0.33]
    assert played[1].mean == pytest.approx(0.31)
    assert played[0].interval is None


@given(
    st.permutations(range(5)),
    st.lists(st.floats(1e-7, 1.0), min_size=1, max_size=6),
)
def test_every_alpha_stops_where_the_live_rule_stops(order, alphas):
    stops = stops_at(replayed(SCORES, order, 0.95), np.array(alphas))
    results = [fold_result(fold, SCORES[fold]) for fold in order]
    live = [stop_of(live_moments(EFold(alpha=alpha), results, 0.95), 5) for alpha in alphas]
    assert stops.tolist() == live
