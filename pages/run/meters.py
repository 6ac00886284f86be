"""Which meters measure folds here, and what they say now."""

from __future__ import annotations

import streamlit as st

from ecv_core.jobs.metering import METERS, asked, device, named
from ecv_core.jobs.rights.actor import PersonRole
from ecv_core.records.errors import InputError
from pages.shared.live.acting import who
from pages.shared.live.state import sentence

_EVERY = "2s"


def meters() -> None:
    """For those who may start runs of any kind; visitors see nothing of this machine's network."""
    if (role := who().role) not in (PersonRole.OWNER, PersonRole.EDITOR):
        return
    names = named()
    if not names:
        st.caption(
            "No meter is named, so energy comes from the machine's own counters, or is estimated. "
            "A plug, SLURM or a command measures every fold once the dashboard is started with "
            "`ECV_METER=shelly:192.168.1.20` or the like (docs/energy.md)."
        )
    if not names and role is PersonRole.OWNER:
        tried = st.text_input("Try a meter", placeholder="shelly:192.168.1.20", key="try-meter")
        if tried and tried.partition(":")[0] not in METERS:
            st.error(f"Only {' and '.join(METERS)} can be tried here; a command is named at start.")
        elif tried:
            names = [tried]
    if names and st.toggle(f"Read {', '.join(names)} now", key="read-meters"):
        _live(names)


@st.fragment(run_every=_EVERY)
def _live(names: list[str]) -> None:
    """What each says, every two seconds."""
    for name in names:
        try:
            value, unit = asked(device(name))
        except InputError as error:
            st.error(f"`{name}`: {sentence(error)}", icon=":material/power_off:")
        else:
            what = "now" if unit == "W" else "counted so far"
            st.metric(name, f"{value:,.1f} {unit}", help=f"{what}; read every two seconds")
