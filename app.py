"""The dashboard as `streamlit run app.py` serves it: script, routes, middleware, begin and end."""

import streamlit as st

from pages.shared.live.server import lifespan, middleware, routes

app = st.App("pages/main.py", routes=routes(), middleware=middleware(), lifespan=lifespan)
