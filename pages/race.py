"""e-fold beside full k-fold on the same folds, what stopping saves, and what it comes to."""

import streamlit as st

from pages.components.race.at_scale import at_scale_panel
from pages.components.race.view import race
from pages.components.shared.navigation import through_app
from pages.components.shared.plot import preload_plots
from pages.components.shared.state import manager, sentences

through_app()
with sentences():
    st.title("Race: e-fold against k-fold", anchor=False)
    manager()
    run = race()
    if run is not None:
        at_scale_panel(run)
    preload_plots()  # for the page that is opened next
