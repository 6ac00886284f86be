"""A year of runs, by hand, and what cannot be."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.energy.meter import carbon_source
from ecv_core.energy.savings import Workload, yearly_cost
from ecv_core.records.errors import InputError

# 200 W for a minute a fold
WORK = Workload(
    runs_per_week=100,
    k=10,
    folds_used=4,
    joules_per_fold=(12_000, 12_000),
    seconds_per_fold=60,
    grams_per_kwh=400,
)


def test_a_hundred_runs_a_week_by_hand():
    saved = yearly_cost(WORK, 6)
    assert saved.folds == 31_200  # 100 x 52 x 6
    assert saved.kwh == pytest.approx((104, 104))  # 31,200 x 12 kJ = 374.4 MJ
    assert saved.kg_co2e == pytest.approx((41.6, 41.6))  # 104 kWh x 0.4 kg
    assert saved.hours == pytest.approx(520)  # 31,200 min


@given(st.floats(1, 10), st.floats(0, 1e5), st.floats(0, 1e6))
def test_what_is_used_and_what_is_saved_make_the_whole(used, runs, joules):
    work = replace(WORK, folds_used=used, runs_per_week=runs, joules_per_fold=(joules / 2, joules))
    for end in (0, 1):
        parts = yearly_cost(work, used).kwh[end] + yearly_cost(work, work.k - used).kwh[end]
        assert parts == pytest.approx(yearly_cost(work, work.k).kwh[end])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"runs_per_week": -1}, "runs per week must be zero or more, but is -1"),
        (
            {"joules_per_fold": (0, float("nan"))},
            "energy per fold must be zero or more, but is nan",
        ),
        ({"seconds_per_fold": float("inf")}, "time per fold"),
        ({"grams_per_kwh": -5}, "carbon intensity"),
        ({"folds_used": 11}, "from 1 to k = 10, but are 11"),
        ({"folds_used": 0.5}, "from 1 to k = 10, but are 0.5"),
    ],
)
def test_what_cannot_be_is_a_sentence(change, words):
    with pytest.raises(InputError, match=words):
        yearly_cost(replace(WORK, **change), 1)


def test_the_carbon_intensities_name_their_source():
    assert "Our World in Data" in carbon_source().source
    assert carbon_source().url.startswith("https://ourworldindata.org/")
