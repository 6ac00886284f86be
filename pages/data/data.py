"""A file of one's own into a dataset: dropped, looked at, corrected, kept."""

import streamlit as st

from pages.shared.address.navigation import page

with page():
    st.title("Your data", anchor=False)
    from pages.data.view import show_your_data

    show_your_data()
