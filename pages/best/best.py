"""Which of several is best: watch a selection, recorded or live, or start one."""

import streamlit as st

from pages.best.choice import FILE, is_own, pick_selection
from pages.best.show import link_to_folds, recorded_selection, show_scores_file, show_selection
from pages.best.start import draw_start
from pages.shared.address.navigation import page
from pages.shared.base.glossary import glossary_link
from pages.shared.charts.plot import preload_plots

with page():
    st.title(
        "Which is best?",
        anchor=False,
        help=f"All contenders meet on the same {glossary_link('fold', 'folds')} and users, or "
        "samples; a contender that can no longer win is not evaluated further, which "
        f"{glossary_link('energy-saved', 'saves energy')}.",
    )
    preload_plots()
    choice = pick_selection()
    question = draw_start(for_claim=choice.for_claim)
    if is_own(choice.selection):
        from pages.best.live import show_live

        show_live(choice.selection)
    elif choice.selection == FILE:
        show_scores_file(question)
    else:
        shown = recorded_selection(choice.selection, question)
        show_selection(shown, link_to_folds, autoplay=True)
