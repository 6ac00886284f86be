"""Where folds are computed, picked where this dashboard knows more than one place."""

from __future__ import annotations

import streamlit as st

from ecv_core.jobs.cluster.choose import HERE
from pages.shared.live.person import run_actions


def pick_where_to_compute() -> str:
    """What is picked, as `--on` takes it; empty, and nothing is drawn, without a cluster."""
    places = run_actions().places
    if len(places) < 2:
        return ""
    picked = st.segmented_control(
        "Compute on",
        places,
        default=places[0],
        required=True,
        key="place",
        persist_state="session",
        format_func=place_title,
        help="On a cluster several folds are computed at once, one on each node; scores and "
        "stop are the same. Runs > Nodes shows what each node computes.",
    )
    return picked or ""


def place_title(place: str) -> str:
    """A place as people read it."""
    if place == HERE:
        return "this machine"
    return place
