"""Which of several is best: watch a selection, recorded or live, or start one."""

import streamlit as st

from pages.best.choice import FILE, choose, is_own
from pages.best.file import scores_file
from pages.best.recorded import recorded
from pages.best.settings import settings
from pages.best.show import show
from pages.best.space import space
from pages.best.start import start
from pages.shared.address.navigation import page
from pages.shared.charts.plot import preload_plots
from pages.shared.live.state import sentences
from pages.shared.widgets.glossary import glossary_link

with page():
    st.title("Which is best?", anchor=False)
    st.markdown(
        "To choose, one need not know every mean. All contenders meet on the same "
        f"{glossary_link('fold', 'folds')} and the same users, or samples; whoever cannot win any "
        f"more is evaluated no further, which {glossary_link('energy-saved', 'saves energy')}."
    )
    preload_plots()
    asked = choose()
    top, form, last = st.container(), st.container(), st.container()
    with last:
        terms = settings()
    with top:
        if is_own(asked):
            from pages.best.live import live

            live(asked)
        elif asked == FILE:
            with sentences():  # beside the file, not below everything
                scores_file(terms)
        elif asked:
            shown = recorded(asked, terms)
            show(shown, autoplay=True)
            space(shown)
    with form:
        start(terms)
