"""Any finished run again, fold by fold, with the sentence that explains each moment."""

import streamlit as st

from pages.components.replay.present import presentation, presenting
from pages.components.replay.settings import from_address, settings
from pages.components.replay.view import replay_view
from pages.components.shared.navigation import through_app
from pages.components.shared.plot import preload_plots
from pages.components.shared.state import sentences

through_app()
with sentences():
    if presenting():
        chosen = from_address()
        if chosen is not None:
            presentation(chosen)
    else:
        with st.container(
            horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
        ):
            st.title("Replay: see why it stopped", anchor=False, width="content")
            beside_title = st.container(width="content")
        preload_plots()
        chosen = settings()
        if chosen is not None:
            replay_view(chosen, beside_title)
