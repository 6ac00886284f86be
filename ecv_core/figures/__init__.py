"""Records -> a tidy frame -> a Plotly figure: pure functions, one module per figure."""
