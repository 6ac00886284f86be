"""Records -> a tidy frame -> a Plotly figure: pure functions.

Each takes `dark`, for the colours of a dark page, and its `height` in pixels where that is not
given by what it shows.
"""
