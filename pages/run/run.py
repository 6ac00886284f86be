"""Start runs, or watch the ones that the address names."""

from importlib import import_module

import streamlit as st

from ecv_core.records.errors import EcvError
from ecv_core.records.run import RunRecord
from pages.run.start_form import start_form
from pages.shared.address.navigation import page
from pages.shared.live.running import just_arrived
from pages.shared.live.runs import opened_runs
from pages.shared.live.state import manager, show_error, store
from pages.shared.live.watch import watch


def _runs_of_address() -> list[RunRecord]:
    """The runs that the address names; who comes without one sees what is going."""
    # The page shows the run that goes on, if it was opened without any wish in its address.
    if just_arrived() and not st.query_params:
        active = watch().active_runs()
        if active:
            st.query_params["run"] = active[0].group or active[0].run_id
    if "run" not in st.query_params:
        return []
    manager()  # marks runs that an earlier dashboard left active as interrupted
    try:
        return opened_runs()
    except EcvError as error:
        show_error(error)
        return []


with page():
    store()
    runs = _runs_of_address()
    if runs:
        from pages.run.live_run import show_live_run

        show_live_run(runs)
    else:
        st.title("Run until the score can be trusted", anchor=False)
        start_form()
        # The form is on the screen by now, so there is time to prepare what Start will need.
        manager()
        import_module("pages.run.live_run")
