"""The form that starts runs: dataset, algorithms, folds, stop; one click with good defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import log
from statistics import fmean, median
from typing import Any

import psutil
import streamlit as st

from ecv_core import dataset as datasets
from ecv_core import models
from ecv_core.energy.meter import countries
from ecv_core.energy.savings import Expected, KnownCosts, expected, processor_costs, together
from ecv_core.evaluation import METRICS
from ecv_core.figures.words import (
    algorithm_title,
    counted,
    dataset_title,
    duration,
    in_order,
    metric_label,
    rule_words,
    titles_of,
    watt_hours_range,
)
from ecv_core.fold import check_needs
from ecv_core.fold.spec import make_spec
from ecv_core.models import ALGORITHMS, computed_here
from ecv_core.records.errors import EcvError
from ecv_core.records.spec import SETTINGS, RunSpec
from ecv_core.splits import exchangeable
from ecv_core.stopping import NEVER_STOPS, RULES, folds_planned
from ecv_core.store.recorded import recorded_runs
from ecv_core.store.results import Results
from pages.run.settings import (
    ALGORITHM_LABELS,
    DEFAULT,
    FULL,
    NEGATIVES,
    SAMPLED,
    TASK_OF,
    algorithm_picker,
    fold_settings,
    min_folds_key,
    parameter_settings,
    rule_param_key,
    rule_titles,
    rule_values,
    slider_steps,
    stop_settings,
    usual_of_task,
)
from pages.shared.address.link import label_from_link, link_warning, step_from_link
from pages.shared.charts.plot import preload_plots
from pages.shared.live.acting import acting
from pages.shared.live.state import escaped, run_list, sentence, sentences, store
from pages.shared.widgets.dataset_picker import dataset_picker, not_ready, picked_dataset
from pages.shared.widgets.place import place_picker
from pages.shared.widgets.setting_widgets import (
    K_OF,
    choice_labels,
    on_form,
    parameter_key,
    split_titles,
)

_BUSY = 0.5
"""Programs that compute, for each processor: above that it is said."""


def link_check() -> None:
    """Say what the address asks for that cannot be; call before the widgets read it."""
    for rule in RULES.values():
        for one in rule.parameters:
            key = rule_param_key(rule, one)
            if one.steps:
                step_from_link(key, slider_steps(one, key), one.text, name=one.words)
            elif not one.ids:
                _check(key, one.parse)
    for key, labels in {
        "metric": {name: known.title for name, known in METRICS.items()},
        "dataset": titles_of(datasets.catalogue(), dataset_title),
        "algorithm": ALGORITHM_LABELS,
        "rule": rule_titles(),
        "split": split_titles(),
        "country": {code: known.name for code, known in countries().items()},
    }.items():
        label_from_link(key, labels, strict=True)
    for known in filter(on_form, SETTINGS.values()):
        label_from_link(known.name, choice_labels(known), strict=bool(known.choices))
        if known.kind in (int, float):
            _check(known.name, float)


def _check(key: str, parse: Callable[[str], object]) -> None:
    """Say what the address has for a field that takes numbers, and is none."""
    for value in st.query_params.get_all(key):
        try:
            parse(value)
        except EcvError as error:
            link_warning(sentence(error))
        except ValueError:
            link_warning(f"{key} must be a number, but is '{escaped(value)}'.")


# Before Start: about how long the runs will take, and how much energy, by runs that are known.


def expectation(specs: Sequence[RunSpec], *, select: bool = False) -> None:
    """One line; nothing where there is nothing to start.

    Args:
        specs: of the runs.
        select: whether they are contenders, of which each may be done after one fold.
    """
    if specs:
        load = psutil.getloadavg()[0] / (psutil.cpu_count() or 1)
        known, whose = _known(specs)
        st.caption(expectation_words(specs, known, whose, select=select, load=load))


def expectation_words(
    specs: Sequence[RunSpec],
    known: Sequence[KnownCosts],
    whose: str = "",
    *,
    select: bool = False,
    load: float = 0.0,
) -> str:
    """How long and how much, as ranges, or what is not known yet.

    Args:
        specs: of the runs.
        known: costs of runs of their dataset and algorithms.
        whose: what the costs are of, where they are not of runs on this machine.
        select: as of `expectation`.
        load: programs that would compute now, for each processor; a fold shares them with those.
    """
    found = [
        expected(spec, known, (1, spec.k) if select else folds_planned(spec)) for spec in specs
    ]
    told = [one for one in found if one is not None]
    missing = in_order(
        spec.algorithm for spec, one in zip(specs, found, strict=True) if one is None
    )
    if not told and (rough := _rough(specs)):
        return f"Each fold will take about {duration(rough)} of one core, by a rough count."
    if not told:
        return "Time and energy: not known yet for this dataset and algorithm."
    text = _words(together(told), whose, load if load > _BUSY else 0.0)
    lacks = ", ".join(map(algorithm_title, missing))
    return f"{text} Not known yet: {lacks}." if missing else text


def _rough(specs: Sequence[RunSpec]) -> float:
    """Seconds of the longest fit of a model of ratings, of a dataset whose size is known; or 0."""
    rough = [0.0]
    for spec in specs:
        algorithm = models.algorithm(spec.algorithm)
        rows = datasets.entry(spec.dataset).rows(spec.task)
        if rows is not None:
            rough.append(algorithm.rough_seconds(dict(spec.params), rows))
    return max(rough)


def _words(one: Expected, whose: str, load: float) -> str:
    least, most = one.folds
    folds = counted(most, "fold") if least == most else f"{least} to {counted(most, 'fold')}"
    ends = (one.seconds[0], one.seconds[1] * (1 + load))
    time = " to ".join(dict.fromkeys(map(duration, ends)))
    busy = f" The machine is busy ({load:.1f} programs a core): the longer time allows for it."
    energy = f" and {watt_hours_range(*one.joules)}" if one.joules else ""
    alike = "" if one.same_parameters else ", some with other parameters"
    runs = f"{counted(one.runs, 'earlier run')} of this dataset and algorithm{alike}"
    return f"{folds} will take about {time}{energy}, by {whose or runs}.{busy if load else ''}"


def _known(specs: Sequence[RunSpec]) -> tuple[list[KnownCosts], str]:
    """Costs of own runs of each dataset and algorithm, where there are none of recorded ones.

    Returns: the costs, and what they are of where not all are own ones.
    """
    wanted = {(spec.dataset, spec.algorithm) for spec in specs}
    try:
        # Of the recorded runs, those that predict ratings shared their machine.
        recorded = [
            _alone(KnownCosts.of(run), sum(processor_costs(run.folds)))
            for run in recorded_runs()
            if run.spec.task.ranks
        ]
        own = [
            _alone(
                KnownCosts(spec=row.spec, seconds=row.fold_seconds, joules=row.fold_joules),
                row.processor_seconds if row.other_work else None,
            )
            for row in run_list().rows()
            if row.fold_seconds and not row.imported
        ]
    except EcvError:  # said where runs are shown; here it is only not known
        return [], ""
    pace = _pace(own, recorded)
    recorded = [
        replace(one, seconds=tuple(pace * fold for fold in one.seconds)) for one in recorded
    ]
    where = "on another machine" + (", at the pace of your runs" if pace != 1 else "")
    ran = {(one.spec.dataset, one.spec.algorithm) for one in own}
    found = [one for one in own if (one.spec.dataset, one.spec.algorithm) in wanted]
    of_others = [one for one in recorded if (one.spec.dataset, one.spec.algorithm) in wanted - ran]
    if found or of_others:
        return found + of_others, f"recorded runs {where}" if of_others else ""
    costs, near = _nearest(specs, recorded)
    return costs, (
        f"runs on {dataset_title(near)}, recorded on another machine: the data nearest in size"
        if near
        else ""
    )


def _alone(known: KnownCosts, processor: float | None) -> KnownCosts:
    """What a run takes on one or two idle cores, by its processor seconds where those are known."""
    if not processor:
        return known
    each = processor / len(known.seconds)
    return replace(known, seconds=(each, each / 2, each))


def _pace(own: Sequence[KnownCosts], recorded: Sequence[KnownCosts]) -> float:
    """How many times as long a fold takes here as where it was recorded; 1 while none has run."""

    def of(one: KnownCosts) -> tuple[object, ...]:
        return one.spec.dataset, one.spec.algorithm, one.spec.params, one.spec.split, one.spec.k

    there = {of(one): fmean(one.seconds) for one in recorded}
    ratios = [fmean(one.seconds) / there[of(one)] for one in own if there.get(of(one))]
    return median(ratios) if ratios else 1.0


def _nearest(
    specs: Sequence[RunSpec], recorded: Sequence[KnownCosts]
) -> tuple[list[KnownCosts], str]:
    """Costs on the recorded dataset with the most alike numbers of items and interactions."""
    known, dataset = datasets.catalogue(), specs[0].dataset
    names = {spec.algorithm for spec in specs}
    usable = [one for one in recorded if one.spec.algorithm in names]
    interactions, items = known[dataset].interactions, known[dataset].items
    if not interactions or not items or not usable:
        return [], ""

    def far(name: str) -> float:
        there = known[name]
        apart = (there.interactions or 1) / interactions, (there.items or 1) / items
        return sum(abs(log(one)) for one in apart)

    near = min({one.spec.dataset for one in usable}, key=far)
    costs = [
        replace(one, spec=replace(one.spec, dataset=dataset))
        for one in usable
        if one.spec.dataset == near
    ]
    return costs, near


def start_form() -> None:
    """Draw the form; on Start, queue the runs and open them."""
    link_check()
    with st.container(key="start-room"):  # it has room at once for what is filled in last
        if acting().start_refusal([]) is None:
            st.markdown("Press **Start**, or change anything below first.")
        top = st.container(horizontal=True, vertical_alignment="center")
        expectation_place = st.container()
    specs: list[RunSpec] = []
    trouble: EcvError | None = None
    left, right = st.columns(2, gap="medium")
    with left.container(border=True, height="stretch"):
        st.header("What to evaluate", anchor=False)
        data_place = st.container()
        names = algorithm_picker(picked_dataset().tasks)
        usual_of_task(names)
        task = ALGORITHMS[names[0]].task if names else picked_dataset().tasks[0]
        with data_place:
            entry, ready = dataset_picker(task, tables=True)
        picked = fold_settings(task)
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
    with expectation_place:
        expectation(specs if ready else [])
        anew = _anew(specs if ready else [])
        place = place_picker()
    preload_plots()
    if pressed:
        with sentences():
            # The whole address at once: what the form had in it would go in a step of its own.
            st.query_params.from_dict({"run": acting().start(specs, anew=anew, place=place)})
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
    }
    if computed_here(spec):
        params = ALGORITHMS[spec.algorithm].every(spec.params)
        values |= {parameter_key(spec.algorithm, name): value for name, value in params.items()}
    values |= {
        parameter_key(f"split-{spec.split}", name): value for name, value in spec.split_params
    }
    if spec.dataset not in datasets.catalogue():  # an imported run's, which is not here
        del values["dataset"]
    for key, value in values.items():
        st.session_state[key] = value


def _summary(specs: list[RunSpec], names: list[str], trouble: EcvError | None) -> str:
    if not names:
        return "Pick at least one algorithm."
    if trouble:
        return "Change what the message below is about."
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
