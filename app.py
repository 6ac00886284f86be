"""The dashboard as `streamlit run app.py` serves it: script, routes, middleware, begin and end."""

import streamlit as st

from pages.shared.live.server import end_where_settings_are_wrong, lifespan, middleware, routes

end_where_settings_are_wrong()
app = st.App("pages/main.py", routes=routes(), middleware=middleware(), lifespan=lifespan)
