"""Start runs, or watch the ones that the address names."""

from importlib import import_module

import streamlit as st

from ecv_core.records.errors import EcvError
from ecv_core.records.run import Run
from pages.run.start_form import start_form
from pages.shared.address.navigation import page
from pages.shared.live.running import just_arrived
from pages.shared.live.runs import opened_runs
from pages.shared.live.state import manager, sentence, store
from pages.shared.live.watch import watch
from pages.shared.widgets.glossary import glossary_link


def _opened() -> list[Run]:
    if just_arrived() and not st.query_params and (active := watch().active()):
        st.query_params["run"] = active[0].group or active[0].run_id
    if "run" not in st.query_params:
        return []
    manager()  # marks what an earlier dashboard left behind as interrupted
    try:
        return opened_runs()
    except EcvError as error:
        st.error(sentence(error), icon=":material/error:")
        return []


with page():
    store()
    if runs := _opened():
        from pages.run.live_run import live_run

        live_run(runs)
    else:
        st.title("Know when you have evaluated enough", anchor=False)
        st.markdown(
            f"{glossary_link('e-fold', 'e-fold cross-validation')} evaluates a recommender "
            f"{glossary_link('fold')} by fold, like {glossary_link('k-fold', 'k-fold')} "
            "cross-validation, but stops as soon as the score is trustworthy, and so "
            f"{glossary_link('energy-saved', 'saves energy')}. "
            "Press **Start** to see it at work, or change anything below first."
        )
        start_form()
        # The form is on the screen by now: get ready what Start will need.
        manager()
        import_module("pages.run.live_run")
