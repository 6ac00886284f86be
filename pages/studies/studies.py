"""Many runs as one study: datasets x algorithms, or splits x algorithms."""

from pages.shared.address.navigation import (
    ALGORITHMS,
    ESTIMATORS,
    METRICS,
    PAPERS,
    RANKS,
    head,
    page,
)
from pages.shared.charts.plot import preload_plots

with page():
    view, _ = head(
        {
            ALGORITHMS: "Does it hold everywhere?",
            RANKS: "Does the split change the ranks?",
            METRICS: "Which metric tells most?",
            ESTIMATORS: "Does it hold for classifiers?",
            PAPERS: "Do the papers' numbers hold?",
        }
    )
    preload_plots()
    if view == ALGORITHMS:
        from pages.studies.view import study

        study()
    elif view == METRICS:
        from pages.studies.metrics_view import metrics_and_parameters

        metrics_and_parameters()
    elif view == ESTIMATORS:
        from pages.studies.estimators_view import estimators_beside_recommenders

        estimators_beside_recommenders()
    elif view == PAPERS:
        from pages.studies.estimators_view import papers_beside_ours

        papers_beside_ours()
    else:
        from pages.studies.swaps_view import ranks_under_splits

        ranks_under_splits()
