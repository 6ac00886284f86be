"""All runs: find one, open it, go on with it, delete it; or several side by side."""

from pages.components.shared.navigation import ALL_RUNS, COMPARE, head, page
from pages.components.shared.plot import preload_plots
from pages.components.shared.state import manager

with page():
    manager()
    view, _ = head({ALL_RUNS: "Runs", COMPARE: "Compare runs"})
    if view == ALL_RUNS:
        from pages.components.runs.history import history

        history()
        preload_plots()  # for the page that is opened next
    else:
        from pages.components.runs.comparison import comparison

        preload_plots()
        comparison()
