"""A difference is known better than a mean, by hand."""

import math

import numpy as np
import pytest

from pages.learn.material.dealing import half_widths_percent


def test_what_users_share_cancels_in_the_difference():
    one = np.array([0.2, 0.4, 0.6, 0.8, np.nan])
    other = np.array([0.1, 0.3, 0.5, 0.7, np.nan])
    mean, difference = half_widths_percent(one, other)
    # Variance of 0.2, 0.4, 0.6, 0.8 about 0.5: (0.09 + 0.01 + 0.01 + 0.09) / 3.
    assert mean == pytest.approx(100 * 1.96 * math.sqrt(0.2 / 3) / 2 / 0.5)
    assert difference == pytest.approx(0, abs=1e-9)


def test_a_difference_has_its_own_spread():
    mean, difference = half_widths_percent(np.array([0.5, 0.5]), np.array([0.4, 0.6]))
    assert mean == 0
    assert difference == pytest.approx(100 * 1.96 * math.sqrt(0.02) / math.sqrt(2) / 0.5)
