"""How parts are spread: by hand, and nothing is lost over time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.analysis.split_tables import InteractionRole, spread
from ecv_core.records.interactions import Interactions


def data(users, times):
    users = np.array(users, dtype=np.int32)
    return Interactions(
        dataset="tiny",
        users=users,
        items=np.arange(len(users), dtype=np.int32),
        user_ids=np.array([f"u{n}" for n in range(int(users.max()) + 1)]),
        item_ids=np.array([f"i{n}" for n in range(len(users))]),
        timestamps=np.array(times, dtype=np.int64),
    )


def roles_of(*roles):
    return np.array(roles, dtype=np.int8)


def cells(frame):
    return {(row.part, row.low): row.count for row in frame.itertuples(index=False) if row[3]}


def test_over_time_each_second_has_its_bin_while_they_are_few():
    found = spread(
        data([0, 0, 1, 1], times=[100, 101, 101, 103]),
        roles_of(
            InteractionRole.TRAIN, InteractionRole.TRAIN, InteractionRole.TEST, InteractionRole.TEST
        ),
    )
    counts = {
        (part, low): count
        for part, low, count in found[["part", "low", "count"]].itertuples(index=False)
        if count
    }
    assert counts == {
        ("training", 100): 1,
        ("training", 101): 1,
        ("test", 101): 1,
        ("test", 103): 1,
    }


@st.composite
def split_data(draw):
    size = draw(st.integers(1, 60))
    users = draw(st.lists(st.integers(0, 12), min_size=size, max_size=size))
    times = draw(st.lists(st.integers(-(10**12), 10**12), min_size=size, max_size=size))
    parts = draw(st.lists(st.sampled_from(list(InteractionRole)), min_size=size, max_size=size))
    return data(users, times=times), np.array(parts, dtype=np.int8)


@given(split_data())
def test_no_interaction_is_lost_or_counted_twice(made):
    interactions, parts = made
    wanted = {
        role.word: int(np.sum(parts == role)) for role in InteractionRole if np.any(parts == role)
    }
    found = spread(interactions, parts)
    assert found.groupby("part")["count"].sum().to_dict() == wanted
    assert (found["low"] < found["high"]).all()
