"""A file of one's own into a dataset: dropped, looked at, corrected, kept."""

import streamlit as st

from pages.components.shared.navigation import page

with page():
    st.title("Your data", anchor=False)
    st.markdown(
        "Drop a file of interactions, who had to do with what: see how it is read, correct it, and "
        "keep it as a dataset. Then run any algorithm on it."
    )
    from pages.components.data.view import your_data

    your_data()
