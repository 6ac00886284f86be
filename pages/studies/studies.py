"""Many runs as one study: datasets x algorithms, or splits x algorithms."""

from pages.shared.address.navigation import (
    ALGORITHMS,
    ESTIMATORS,
    METRICS,
    PAPERS,
    RANKS,
    draw_page_head,
    page,
)
from pages.shared.charts.plot import preload_plots

with page():
    page_head = draw_page_head(
        {
            ALGORITHMS: "Does it hold everywhere?",
            RANKS: "Does the split change the ranks?",
            METRICS: "Which metric tells most?",
            ESTIMATORS: "Does it hold for classifiers?",
            PAPERS: "Do the papers' numbers hold?",
        }
    )
    view = page_head.view
    preload_plots()
    if view == ALGORITHMS:
        from pages.studies.view import show_study

        show_study()
    elif view == METRICS:
        from pages.studies.metrics_view import show_metrics

        show_metrics()
    elif view == ESTIMATORS:
        from pages.studies.estimators_view import show_estimators

        show_estimators()
    elif view == PAPERS:
        from pages.studies.estimators_view import show_papers

        show_papers()
    else:
        from pages.studies.swaps_view import show_ranks_under_splits

        show_ranks_under_splits()
