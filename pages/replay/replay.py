"""A finished run again, fold by fold; or as a race of e-fold against k-fold."""

from pages.replay.view import show_replay
from pages.shared.address.navigation import FOLD_BY_FOLD, RACE, draw_page_head, page
from pages.shared.charts.plot import preload_plots

with page():
    view, beside_title = draw_page_head(
        {FOLD_BY_FOLD: "Replay: see why it stopped", RACE: "Race: e-fold against k-fold"}
    )
    preload_plots()
    if view == FOLD_BY_FOLD:
        show_replay(beside_title)
    else:
        from pages.replay.race import show_race

        show_race(beside_title)
