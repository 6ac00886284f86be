"""The form that starts runs: dataset, algorithms, folds, stop; one click with good defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

import ecv_core.datasets as datasets
from ecv_core.errors import EcvError
from ecv_core.fold import check_needs
from ecv_core.models import ALGORITHMS, computed_here
from ecv_core.records import SETTINGS, RunSpec, Task
from ecv_core.spec import make_spec
from ecv_core.splits import IMPORTED, exchangeable
from ecv_core.stopping import NEVER_STOPS, RULES
from ecv_core.store import Results
from pages.components.run.algorithm_picker import DEFAULT, algorithm_picker, parameter_settings
from pages.components.run.expectation import expectation
from pages.components.run.fold_settings import STORED, TASK_OF, fold_settings, usual_of_task
from pages.components.run.link_check import link_check
from pages.components.run.score_settings import FULL, NEGATIVES, SAMPLED
from pages.components.run.stop_settings import (
    min_folds_key,
    rule_values,
    stop_settings,
)
from pages.components.shared.acting import acting
from pages.components.shared.dataset_picker import dataset_picker, not_ready
from pages.components.shared.given import keep_given
from pages.components.shared.link import copy_link
from pages.components.shared.parameter_widgets import parameter_key
from pages.components.shared.plot import preload_plots
from pages.components.shared.setting_widgets import on_form
from pages.components.shared.split_widgets import K_OF
from pages.components.shared.state import escaped, sentence, sentences, store
from pages.components.shared.words import (
    algorithm_title,
    counted,
    dataset_title,
    metric_label,
    rule_words,
)


def start_form() -> None:
    """Draw the form; on Start, queue the runs and open them."""
    keep_given()
    link_check()
    top = st.container(horizontal=True, vertical_alignment="center")
    expectation_place = st.container()
    specs: list[RunSpec] = []
    trouble: EcvError | None = None
    left, right = st.columns(2, gap="medium")
    with left.container(border=True, height="stretch"):
        st.header("What to evaluate", anchor=False)
        data_place = st.container()
        names = algorithm_picker()
        usual_of_task(names)
        task = ALGORITHMS[names[0]].task if names else Task.TOP_N
        with data_place:
            entry, ready = dataset_picker(task)
        picked, folds_ready = fold_settings(entry.id, ready, task)
        params = parameter_settings(names)
    with right.container(border=True, height="stretch"):
        st.header("When to stop", anchor=False)
        picked |= stop_settings(max(picked["k"], 2))
        ordered = not exchangeable(picked["split"])
        if picked["k"] == 1 or ordered:
            picked |= {"rule": NEVER_STOPS, "rule_params": {}, "min_folds": None}
        if ordered and picked["k"] > 1:
            st.info(
                "The folds of this split come in the order of time and may drift, so no rule may "
                "stop early: all of them run, and their trend is the result.",
                icon=":material/timeline:",
            )
        try:
            wanted = [
                make_spec(
                    dataset=entry.id,
                    algorithm=name,
                    params=params[name],
                    **picked | {"rule_params": _of_others(picked, name)},
                )
                for name in names
                if folds_ready
            ]
            for spec in wanted if ready else []:
                check_needs(spec)
            specs = wanted
        except EcvError as error:
            trouble = error
    if trouble:
        st.error(sentence(trouble), icon=":material/error:")
    why_not = acting().start_refusal(specs)
    with top:
        pressed = st.button(
            "Start",
            type="primary",
            icon=":material/play_arrow:",
            key="start",
            disabled=not (specs and ready) or why_not is not None,
        )
        if why_not:
            st.markdown(f":material/lock: {sentence(EcvError(why_not))}")
        elif ready:
            st.markdown(_summary(specs, names, trouble))
        else:
            st.markdown(not_ready(entry))
        copy_link(without=_FILE if picked["split"] == IMPORTED else "")
    with expectation_place:
        expectation(specs if ready else [])
        anew = _anew(specs if ready else [])
    preload_plots()
    if pressed:
        with sentences():
            # The whole address at once: what the form had in it would go in a step of its own.
            st.query_params.from_dict({"run": acting().start(specs, anew=anew)})
            st.rerun()


def _anew(specs: list[RunSpec]) -> bool:
    """Whether to compute every fold; asked only where some are there already."""
    results = Results(store(), recorded=False)
    there = [len(results.folds(spec, own=True)) for spec in specs]
    if not any(there):
        return False
    words = ", ".join(
        f"{known} of {counted(spec.k, 'fold')} of {algorithm_title(spec.algorithm)}"
        for known, spec in zip(there, specs, strict=True)
        if known
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":material/recycling: {words} {'is' if there == [1] else 'are'} there already and "
            "will be used again."
        )
        return st.toggle(
            "Compute them anew",
            key="anew",
            persist_state="session",
            help="To watch a run again, or to measure its energy: every fold is trained and "
            "evaluated once more. The scores come out the same.",
        )


def fill_form(spec: RunSpec, algorithms: list[str]) -> None:
    """Put a run's settings into the form; call it from a callback, before the form is drawn."""
    values = {name: getattr(spec, name) for name, known in SETTINGS.items() if on_form(known)}
    values |= {
        "dataset": spec.dataset,
        "algorithm": [name for name in algorithms if name in ALGORITHMS] or [DEFAULT],
        "ranking": FULL if spec.negatives is None else SAMPLED,
        "negatives": NEGATIVES if spec.negatives is None else spec.negatives,
        **rule_values(spec),
        min_folds_key(spec.rule): spec.min_folds,
        K_OF: spec.split,
        TASK_OF: spec.task,
        STORED: (spec.dataset, spec.folds_sha256, spec.k) if spec.folds_sha256 else None,
    }
    if computed_here(spec):
        values |= {parameter_key(spec.algorithm, name): value for name, value in spec.params}
    values |= {
        parameter_key(f"split-{spec.split}", name): value for name, value in spec.split_params
    }
    if spec.dataset not in datasets.catalogue():  # an imported run's, which is not here
        del values["dataset"]
    for key, value in values.items():
        st.session_state[key] = value


_FILE = "the fold file: whoever opens it adds it again"


def _summary(specs: list[RunSpec], names: list[str], trouble: EcvError | None) -> str:
    if not names:
        return "Pick at least one algorithm."
    if trouble:
        return "Change what the message below is about."
    if not specs:
        return "Add a fold file, or pick another fold strategy."
    spec = specs[0]
    titles = ", ".join(ALGORITHMS[one.algorithm].title for one in specs)
    folds = (
        f"up to {spec.k} folds" if spec.rule != NEVER_STOPS and not spec.full else f"{spec.k} folds"
    )
    text = (
        f"**{titles}** on **{escaped(dataset_title(spec.dataset))}**, {folds}, {metric_label(spec)}"
    )
    return f"{text}, {rule_words(spec)}"


def _of_others(picked: Mapping[str, Any], algorithm: str) -> dict[str, Any]:
    """The rule's parameters, without the algorithm among cheap models: none adjusts itself."""
    params = dict(picked["rule_params"])
    for one in RULES[picked["rule"]].parameters:
        if one.ids:
            params[one.name] = [name for name in params[one.name] if name != algorithm]
    return params
