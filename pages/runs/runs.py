"""All runs: find one, open it, go on with it, delete it; or several side by side."""

from pages.shared.address.navigation import ALL_RUNS, COMPARE, NODES, draw_page_head, page
from pages.shared.charts.plot import preload_plots
from pages.shared.live.state import manager

with page():
    manager()
    view = draw_page_head({ALL_RUNS: "Runs", COMPARE: "Compare runs", NODES: "Nodes"}).view
    if view == ALL_RUNS:
        from pages.runs.history import show_history

        show_history()
        preload_plots()  # the page that is opened next has plots
    elif view == NODES:
        from pages.runs.nodes import show_nodes

        preload_plots()
        show_nodes()
    else:
        from pages.runs.comparison import show_comparison

        preload_plots()
        show_comparison()
