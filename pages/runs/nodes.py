"""What the nodes of a cluster compute: now as a table, and what they have done as lanes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from ecv_core.figures.lanes import lanes_figure, lanes_frame, lanes_sentence
from ecv_core.figures.words import counted, duration, run_title
from ecv_core.jobs.cluster.choose import HERE, places
from pages.shared.charts.plot import plot
from pages.shared.live.events import ALL
from pages.shared.live.state import escaped, run_list, store
from pages.shared.live.watch import follow

if TYPE_CHECKING:
    from ecv_core.records.run import RunRecord


_NEWEST = 10
"""So many runs, or groups of them, are looked at for one that several nodes have computed."""


def nodes() -> None:
    """The view, which goes on with what is computed."""
    follow(_shown, key="nodes", of=[ALL])


def _shown() -> None:
    now = store().on_nodes()
    going = {node.run_id for node in now}
    rows = run_list().rows()
    groups = dict.fromkeys(row.group for row in rows if row.run_id in going or not going)
    runs: dict[str, RunRecord] = {}
    for group in list(groups)[:_NEWEST]:
        runs = {run.run_id: run for run in store().group(group)}
        runs |= {one: store().run(one) for one in going - set(runs)}
        frame = lanes_frame(runs.values())
        if going or frame["node"].nunique() > 1:
            break
    else:
        frame = lanes_frame(())
    offered = ["this machine" if name == HERE else escaped(name) for name in places()]
    if now:
        busy = len({node.node for node in now})
        st.markdown(
            f"**{counted(busy, 'node')} of a cluster compute {counted(len(now), 'fold')}.**"
        )
    else:
        st.markdown("**No node of a cluster computes now.**")
    st.caption(
        f"Runs of this dashboard are computed on {offered[0]}, unless they are started on another "
        f"place: {', '.join(offered[1:])}."
        if offered[1:]
        else "Runs of this dashboard are computed on this machine. ECV_CLUSTER, such as local:3 or "
        "tcp://host:8786, or a site's file in ECV_SITES, has them computed on a cluster."
    )
    if now:
        st.dataframe(
            pd.DataFrame(
                {
                    "Node": [node.node for node in now],
                    "Computes": [
                        f"fold {node.fold} of {run_title(runs[node.run_id])}" for node in now
                    ],
                    "Since": [_since(node.since) for node in now],
                }
            ),
            hide_index=True,
            width="stretch",
        )
    if frame["node"].nunique() > 1:
        st.markdown(lanes_sentence(frame))
        version = (len(frame), frame["began"].max(), frame["kind"].to_numpy().tobytes())
        plot(
            lambda dark: lanes_figure(frame, dark=dark),
            version=version,
            key="lanes",
            alt=lanes_sentence(frame),
            name="folds on nodes",
            table=lambda: frame,
        )


def _since(begun: datetime) -> str:
    passed = (datetime.now(UTC) - begun).total_seconds()
    return f"{begun.astimezone():%H:%M}, for {duration(max(passed, 0.0))}"
