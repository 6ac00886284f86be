"""A Streamlit page with one chart and nothing of ours: what any page takes to open."""

import plotly.graph_objects as go
import streamlit as st

st.set_page_config(layout="wide")
st.title("One chart")
st.plotly_chart(go.Figure(go.Scatter(x=list(range(10)), y=list(range(10)))))
