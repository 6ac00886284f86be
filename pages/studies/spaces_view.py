"""Whole search spaces under several splits: does the best configuration stay the best?"""

from __future__ import annotations

from html import escape

import numpy as np
import streamlit as st

from ecv_core.analysis.tuning.under_splits import DRAWS, UnderSplits
from ecv_core.evaluation import column_title
from ecv_core.figures.spaces_study import (
    SPACES,
    choices_frame,
    parameters_frame,
    parameters_sentence,
    points_frame,
    read_spaces,
    sentence,
    spaces_names,
    split_title,
    usable_splits,
)
from ecv_core.figures.tuning import (
    SCATTER_HEIGHT,
    spaces_scatter_figure,
    spaces_scatter_words,
)
from ecv_core.records.errors import InputError
from pages.shared.charts.plot import plot
from pages.shared.live.state import KEPT, escaped
from pages.shared.widgets.glossary import glossary_link
from pages.shared.widgets.words import dataset_title

_DATASET, _ACROSS, _UPWARDS = "spaces_dataset", "spaces_across", "spaces_upwards"
"""In the address."""
_LARGE = "font-size: 1.3rem; line-height: 1.45; font-weight: 600; max-width: 62rem; margin: 0"
_METHOD = f"""
Every configuration ran all folds of every split. **Kendall's tau** (tau-b) compares the two
rankings of all configurations: 1 is the same ranking, 0 no agreement. Its interval of 95 % is of
{DRAWS} draws of users with replacement, the same draw under both splits.

**What a parameter explains** is its main effect: the variance of the mean scores of its values, as
a share of the variance of the scores of all of that algorithm's configurations under that split.
What two parameters explain only together counts for neither.

After Meng, McCreadie, Macdonald and Ounis (2020), *Exploring Data Splitting Strategies for the
Evaluation of Recommendation Models*: figure 2, of 230 models. Your own:
`python -m ecv_core study --splits A,B --space default`.
"""


def spaces_under_splits() -> None:
    """Everything below the title.

    Raises: InputError for a damaged file, or one with too few scores.
    """
    names = spaces_names()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = _pick("Dataset", names, _DATASET) if len(names) > 1 else names[0]
        found = _recorded(name)
        splits = usable_splits(found)
        if not splits:
            raise InputError(
                f"{name}.json has no two splits with scores of the same configurations"
            )
        across = _pick("Best under", splits, _ACROSS)
        upwards = _pick("Looked at under", [one for one in splits if one != across], _UPWARDS)
    st.html(f"<p style='{_LARGE}'>{escape(sentence(found, across, upwards))}</p>")
    _missing(found)
    scatter(found, name, across, upwards)
    choices(found)
    parameters(found)
    with st.expander("How this is worked out", icon=":material/calculate:"):
        st.markdown(_METHOD)


def scatter(found: UnderSplits, name: str, across: str, upwards: str) -> None:
    """Figure 2 of the paper: a point per configuration."""
    points = points_frame(found, across, upwards)
    metric, titles = column_title(found.metric), (split_title(across), split_title(upwards))
    st.caption(
        f"One point per configuration on {escaped(dataset_title(found.dataset))}. Along one rising "
        f"line both splits rank alike: {glossary_link('kendalls-tau')} is 1."
    )
    plot(
        lambda dark: spaces_scatter_figure(points, metric, *titles, dark=dark),
        version=(name, len(found.names), across, upwards, float(points["score"].sum())),
        key="spaces-scatter",
        alt=spaces_scatter_words(points, metric, *titles),
        height=SCATTER_HEIGHT,
        name=f"configurations on {name} {across} {upwards}",
        table=lambda: points,
    )


def choices(found: UnderSplits) -> None:
    """Every split chooses, every other looks at what it chose."""
    frame = choices_frame(found)
    kept = int((frame["other_rank"] == 1).sum())
    st.header("What choosing by another split costs", anchor=False)
    st.caption(
        f"The best under one split is the best under another in {kept} of {len(frame)} cases; at "
        f"worst it is {frame['loss_percent'].max():.2g} % below the best there."
    )
    two = st.column_config.NumberColumn(format="%.2f")
    st.dataframe(
        frame,
        hide_index=True,
        column_config={
            "split": "chosen under",
            "best": "its best",
            "other": "looked at under",
            "other_rank": "rank there",
            "loss_percent": st.column_config.NumberColumn("below the best there", format="%.2f %%"),
            "tau": two | {"label": "Kendall's tau"},
            "low": two | {"label": "from"},
            "high": two | {"label": "to"},
        },
        placeholder="-",
        key="spaces-choices",
        alt="What the best configuration under each split is worth under each other.",
    )


def parameters(found: UnderSplits) -> None:
    """Whether another parameter dominates under another split."""
    st.header("Which parameter matters most under each split", anchor=False)
    frame = parameters_frame(found)
    if frame.empty:
        st.caption("No algorithm has configurations that differ in two parameters.")
        return
    st.markdown(escaped(parameters_sentence(frame)))
    st.dataframe(
        frame,
        hide_index=True,
        column_config={
            split: st.column_config.ProgressColumn(
                split, format="%.0f %%", min_value=0, max_value=100
            )
            for split in frame.columns[2:]
        },
        placeholder="-",
        key="spaces-parameters",
        alt="Share of the variance of the scores that each parameter explains, by split.",
    )


def _missing(found: UnderSplits) -> None:
    """What of the recording is not there yet."""
    said = [
        f"{known} of {len(found.names)} under '{split_title(split)}'"
        for split, scores in found.scores.items()
        if (known := int(np.isfinite(scores).sum())) < len(found.names)
    ]
    if said:
        st.caption(f"Not every configuration is recorded under every split: {', '.join(said)}.")


def _pick(label: str, options: list[str], key: str) -> str:
    if st.session_state.get(key, options[0]) not in options:
        del st.session_state[key]  # the other box has taken it, or an address of another version
    picked = st.selectbox(
        label,
        options,
        format_func=dataset_title if key == _DATASET else split_title,
        key=key,
        **KEPT,
        width=240,
    )
    return picked or options[0]


@st.cache_resource(show_spinner="Reading the recorded scores ...", max_entries=4)
def _recorded(name: str) -> UnderSplits:
    return read_spaces(SPACES / f"{name}.json")
