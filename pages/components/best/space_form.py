"""Contenders from a search space: an algorithm, and the values to try of its parameters."""

from __future__ import annotations

import streamlit as st

from ecv_core.errors import InputError
from ecv_core.fold import check_needs, prepared
from ecv_core.models import ALGORITHMS
from ecv_core.records import RunSpec, Task
from ecv_core.runs.configurations import specs_of
from ecv_core.spec import make_spec
from ecv_core.stopping import NEVER_STOPS
from ecv_core.tuning.samplers import sampled
from ecv_core.tuning.spaces import contender_word, size_of, space_of, within
from pages.components.run.fold_settings import fold_settings
from pages.components.shared.dataset_picker import dataset_picker
from pages.components.shared.state import KEPT
from pages.components.shared.words import counted

Named = list[tuple[str, RunSpec]]
MOST = 64
"""Configurations that a page starts; more are drawn, or left to the command line."""
_USUAL = "item-knn"


def space_contenders() -> tuple[Named, bool]:
    """The widgets; gives contenders, and whether they can start.

    Raises: InputError for a value that cannot be, or a space of fewer than two configurations.
    """
    entry, ready = dataset_picker()
    names = [name for name, one in ALGORITHMS.items() if one.task is Task.TOP_N and one.parameters]
    with st.container(horizontal=True):
        picked = st.selectbox(
            "Algorithm",
            names,
            index=names.index(_USUAL),
            format_func=lambda name: ALGORITHMS[name].title,
            key="space_algorithm",
            **KEPT,
            width=240,
        )
        algorithm = ALGORITHMS[picked or _USUAL]
        declared = [*algorithm.spaces, "none"]
        key = f"space_of_{algorithm.id}"
        choice = st.selectbox(
            "Space",
            declared,
            key=key,
            **KEPT,
            width=160,
            help="Values that are declared beside the model; `paper` are those of Anelli et al. "
            "(2019). Your own take their place.",
        )
    own = st.text_area(
        "Own values, a parameter a line",
        key="space_own",
        **KEPT,
        height=90,
        placeholder="neighbours=20,50,100,200\nshrink=0,10",
        help="`name=v1,v2`, of: " + ", ".join(one.name for one in algorithm.parameters),
    )
    settings, folds_ready = fold_settings(entry.id, ready, Task.TOP_N)
    given = dict(_line(line) for line in (own or "").splitlines() if line.strip())
    if choice == "none" and not given:
        st.caption("Give values of your own, or take a declared space.")
        return [], False
    wanted = space_of(algorithm, None if choice == "none" else choice, given)
    if not (ready and folds_ready):
        return [], False
    spec = make_spec(dataset=entry.id, algorithm=algorithm.id, rule=NEVER_STOPS, **settings)
    check_needs(spec)
    kept, left_out = within(wanted, algorithm, prepared(entry.id))
    for name, values in left_out.items():
        st.caption(f"Left out, for {entry.title} has fewer: {name} {', '.join(map(str, values))}.")
    size = size_of(kept)
    drawn = list(sampled(kept, "grid", min(size, MOST), seed=spec.seed))
    st.caption(
        f"{counted(len(drawn), 'configuration')}"
        + (f", drawn from {size:,}; `tune` runs all of them" if size > MOST else "")
        + ". What their fits share is computed once."
    )
    named = [
        (contender_word(algorithm.id, one), own_spec)
        for one, own_spec in zip(drawn, specs_of(spec, drawn), strict=True)
    ]
    return named, True


def _line(text: str) -> tuple[str, list[str]]:
    name, equals, values = text.strip().partition("=")
    if not equals:
        raise InputError(f"'{text.strip()}' is no name=v1,v2; write it as neighbours=20,50,100")
    return name.strip(), [one.strip() for one in values.split(",") if one.strip()]
