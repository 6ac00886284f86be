"""What the saved energy is like: everyday things with their sources, off when not wanted."""

from __future__ import annotations

import streamlit as st

from ecv_core.energy.equivalents import Likeness, like
from ecv_core.energy.savings import energy_of
from pages.replay.story import Story
from pages.shared.widgets.words import grams, saved_words, small_number

PARAM = "equivalents"
_KEY = "equivalents-shown"


def equivalents_panel(story: Story) -> None:
    """The panel of a race; nothing where nothing was saved or no energy is known."""
    saved = story.tallies[-1]
    if not story.metered or saved.saved_joules <= 0:
        return
    if not equivalents_switch():
        return
    source = story.run.folds[-1].energy.source
    how = "measured" if source == "rapl" else "estimated"
    st.markdown(
        f"Saved in this one race, {how}: **{saved_words(energy_of(story.run))}** and "
        f"**{grams(saved.saved_grams)} CO2e**. That is like"
    )
    likenesses(saved.saved_joules, saved.saved_grams)


def equivalents_wanted() -> bool:
    """Whether they are to be shown: as the switch says, before there is one as the address says."""
    asked = st.query_params.get(PARAM, "1") not in ("0", "false", "off", "no")
    return bool(st.session_state.get(_KEY, asked))


def equivalents_switch() -> bool:
    """A switch that the address can turn off with `?equivalents=0`."""
    if _KEY not in st.session_state:
        st.session_state[_KEY] = equivalents_wanted()

    def changed() -> None:
        if st.session_state[_KEY]:
            st.query_params.pop(PARAM, None)
        else:
            st.query_params[PARAM] = "0"

    return st.toggle(
        "Compare with everyday things",
        key=_KEY,
        on_change=changed,
        help="Each with its source. Turn it off where you want numbers only.",
    )


def likenesses(joules: float, grams_co2e: float) -> None:
    """The list, or a sentence where the amount is too small for any."""
    found = like(joules, grams_co2e)
    if not found:
        st.markdown("- too little to compare with anything in a home.")
        return
    st.markdown("\n".join(f"- {likeness_text(one)}" for one in found))
    with st.popover("Sources", icon=":material/menu_book:"):
        for one in found:
            known = one.equivalent
            st.markdown(f"**{known.text}** · {known.source} ([{known.year}]({known.url}))")


def likeness_text(one: Likeness) -> str:
    """'about **1.4 min** of light from a 9 W LED lamp': two digits, it is no measurement."""
    return f"about **{small_number(float(f'{one.amount:.1e}'))} {one.unit}** {one.equivalent.text}"
