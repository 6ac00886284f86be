"""What the nodes of a cluster compute: now as a table, and what they have done as lanes."""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import UTC, datetime
from functools import partial

import pandas as pd
import streamlit as st

from ecv_core.figures.lanes import lanes_figure, lanes_frame, lanes_sentence
from ecv_core.figures.words import counted, duration, is_or_are, run_title
from ecv_core.jobs.cluster.choose import HERE, places
from ecv_core.records.run import RunRecord
from ecv_core.store.listing import ListedRun
from pages.shared.charts.plot import plot
from pages.shared.live.events import ALL
from pages.shared.live.runs import ids_of
from pages.shared.live.state import escaped, run_list, store
from pages.shared.live.watch import draw_live

_NEWEST = 10
"""So many runs, or groups of them, are looked at for one that several nodes have computed."""


def show_nodes() -> None:
    """The view, which goes on with what is computed."""
    draw_live(_draw_nodes, key="nodes", topics=[ALL])


def _draw_nodes() -> None:
    folds_on_nodes = store().folds_on_nodes()
    runs = _runs_to_draw({fold.run_id for fold in folds_on_nodes})
    if folds_on_nodes:
        nodes = counted(len({fold.node for fold in folds_on_nodes}), "node")
        folds = counted(len(folds_on_nodes), "fold")
        st.markdown(f"**{folds} {is_or_are(len(folds_on_nodes))} computed now, by {nodes}.**")
    else:
        st.markdown("**No node of a cluster is computing now.**")
    st.caption(_words_on_where_runs_are_computed())
    if folds_on_nodes:
        titles = {run.run_id: run_title(run) for run in runs}
        table = []
        for fold in folds_on_nodes:
            computes = f"fold {fold.fold + 1} of {titles[fold.run_id]}"
            table.append({"Node": fold.node, "Computes": computes, "Since": _since(fold.since)})
        st.dataframe(pd.DataFrame(table), hide_index=True)
    frame = lanes_frame(runs)
    if _on_several_nodes(frame):
        _draw_lanes(frame)


def _runs_to_draw(ids_of_computed: Set[str]) -> list[RunRecord]:
    """Runs whose folds are drawn as lanes.

    Args:
        ids_of_computed: Ids of runs that nodes compute now.

    Returns:
        Those, with the others of the newest group of them; while none is computed, the newest
        group that several nodes have computed; empty if there is none.
    """
    newest_first = run_list().rows()
    if not ids_of_computed:
        return _newest_on_several_nodes(newest_first)
    for row in newest_first:
        if row.run_id in ids_of_computed:
            # All runs of the newest group are drawn, and of other groups only those that are
            # computed now.
            runs = store().group(row.group)
            for run_id in ids_of_computed - set(ids_of(runs)):
                runs.append(store().run(run_id))
            return runs
    return []


def _newest_on_several_nodes(rows: Sequence[ListedRun]) -> list[RunRecord]:
    """The newest group of runs that several nodes have computed; empty if there is none."""
    groups = dict.fromkeys(row.group for row in rows)
    for group in list(groups)[:_NEWEST]:
        runs = store().group(group)
        if _on_several_nodes(lanes_frame(runs)):
            return runs
    return []


def _on_several_nodes(frame: pd.DataFrame) -> bool:
    return frame["node"].nunique() > 1


def _words_on_where_runs_are_computed() -> str:
    """Where runs of this dashboard are computed."""
    words = []
    for place in places():
        if place == HERE:
            words.append("this machine")
        else:
            words.append(escaped(place))
    if len(words) > 1:
        usual, *others = words
        return (
            f"Runs of this dashboard are computed on {usual}, unless they are started elsewhere: "
            f"on {', '.join(others)}."
        )
    return (
        "Runs of this dashboard are computed on this machine. To have them computed on a cluster, "
        "set ECV_CLUSTER, for example to local:3 or tcp://host:8786, or name a site's file in "
        "ECV_SITES."
    )


def _draw_lanes(frame: pd.DataFrame) -> None:
    """What each node has computed, as a figure with its sentence."""
    st.markdown(lanes_sentence(frame))
    plot(
        partial(lanes_figure, frame),
        cache_key=(len(frame), frame["began"].max(), frame["kind"].to_numpy().tobytes()),
        key="lanes",
        alt=lanes_sentence(frame),
        name="folds on nodes",
        table=frame.copy,
    )


def _since(begun: datetime) -> str:
    passed = (datetime.now(UTC) - begun).total_seconds()
    return f"{begun.astimezone():%H:%M}, for {duration(max(passed, 0.0))}"
