"""Compared runs: the figure, paired tests in words, the numbers, every setting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from ecv_core.analysis.comparison import (
    Comparison,
    Untested,
    compare_runs,
    comparison_frame,
    differences,
    names,
)
from ecv_core.energy.parts import left_out_words, with_own_joules
from ecv_core.evaluation import metric_of
from ecv_core.figures.compare import NamedRun, compare_alt_text, compare_figure, compare_frame
from ecv_core.figures.report.pictures import printed
from ecv_core.figures.words import algorithm_title, dataset_title, metric_label, titled
from ecv_core.records.run import RunRecord
from pages.shared.charts.energy_parts import energy_bar
from pages.shared.charts.plot import plot
from pages.shared.live.state import escaped, results, run_list, store
from pages.shared.widgets.glossary import glossary_link
from pages.shared.widgets.tables import runs_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(runs: Sequence[NamedRun]) -> None:
    """Means at the stop, and the ways from there."""
    frame = compare_frame(runs)
    if frame["mean"].isna().all():
        st.info("None of these runs has a finished fold yet.", icon=":material/hourglass_empty:")
        return
    plot(
        lambda dark: compare_figure(frame, dark=dark),
        version=tuple((name, run.run_id, len(run.folds), run.stopped_at) for name, run in runs),
        key="compare-means",
        alt=compare_alt_text(frame),
        name="comparison",
        table=lambda: frame,
        opens=_addresses(runs),
    )
    st.caption("A click on a mean opens its run.")


def means_pictures(runs: Sequence[NamedRun]) -> dict[str, Callable[[], Figure]]:
    """For print, what `picture` shows: one for each dataset and metric."""
    panels = compare_frame(runs).groupby(["dataset", "metric"], sort=False)
    return {
        f"{metric} on {dataset_title(str(dataset))}": partial(
            printed, partial(compare_figure, rows)
        )
        for (dataset, metric), rows in panels
        if rows["mean"].notna().any()
    }


def _addresses(runs: Sequence[NamedRun]) -> dict[str, str]:
    """Where a click on a mean leads, by the axis of its panel and its place there."""
    own = {row.run_id for row in run_list().rows()}
    panels: dict[tuple[str, str], list[RunRecord]] = {}
    for _, run in runs:
        panels.setdefault(_panel(run), []).append(run)
    return {
        f"y{number if number > 1 else ''}|{place}": (
            f"{'run' if run.run_id in own else 'replay'}?run={run.run_id}"
        )
        for number, panel in enumerate(panels.values(), start=1)
        for place, run in enumerate(panel)
    }


def table(runs: Sequence[NamedRun]) -> None:
    """Score, folds, energy: one row per run."""
    st.header("Score, folds, energy", anchor=False)
    st.caption(
        f"Mean and {glossary_link('confidence-interval')} at the {glossary_link('stop')}, "
        f"{glossary_link('e', 'folds used')}, {glossary_link('energy', 'energy')} and what was "
        f"{glossary_link('energy-saved', 'saved')}."
    )
    frame = compare_frame(runs)
    named = all(name.startswith(algorithm_title(run.spec.algorithm)) for name, run in runs)
    runs_table(frame, algorithms=not named, key="compare-runs")
    unnamed = [run for _, run in runs]
    energy_bar(
        (fold for run in with_own_joules(unnamed) for fold in run.folds), left_out_words(unnamed)
    )
    if frame.groupby(["dataset", "metric"]).ngroups > 1:
        st.caption(
            "Scores on different datasets or metrics do not compare; folds, savings in percent and "
            "the difference to the k-fold mean do."
        )


def settings(runs: Sequence[NamedRun]) -> None:
    """A row per setting that is not the same in all runs, and a column per run."""
    st.header("Settings that differ", anchor=False)
    fields = differences([run.spec for _, run in runs])
    other = [field for field in fields if field.differs or field.partial]
    if not other:
        st.markdown("**All settings are the same**: such runs should have the same scores.")
        return
    several = len(_panels(runs)) > 1
    heads = [
        f"{name} on {dataset_title(run.spec.dataset)}, {metric_label(run.spec)}"
        if several
        else name
        for name, run in runs
    ]
    frame = pd.DataFrame(
        {"setting": [": ".join(map(titled, field.name.split(": "))) for field in other]}
        | {head: [titled(field.values[at]) for field in other] for at, head in enumerate(heads)}
    )
    st.dataframe(
        frame,
        hide_index=True,
        column_config={"setting": st.column_config.TextColumn("setting", pinned=True)},
        height="content" if len(frame) <= 12 else 460,
        key="compare-settings",
        alt=f"{len(frame)} settings in which {len(runs)} runs differ",
    )
    st.caption(f"{len(fields) - len(other)} other settings are the same.")


def named_runs(runs: Sequence[RunRecord]) -> list[NamedRun]:
    """The runs under names that tell them apart; datasets as chosen, the best mean first."""
    named = list(zip(names(runs, algorithm_title), runs, strict=True))
    panels = _panels(named)
    return sorted(named, key=lambda one: (panels.index(_panel(one[1])), _rank(one[1])))


def _panels(runs: Sequence[NamedRun]) -> list[tuple[str, str]]:
    return list(dict.fromkeys(_panel(run) for _, run in runs))


def _panel(run: RunRecord) -> tuple[str, str]:
    return run.spec.dataset, metric_label(run.spec)


def _rank(run: RunRecord) -> float:
    """Lower comes first: the better mean, and last what has none yet."""
    at = run.at_stop
    if at is None:
        return inf
    return -at.mean if metric_of(run.spec).higher_is_better else at.mean


MOST_SENTENCES = 3
Found = tuple[list[Comparison], list[Untested]]


def paired_tests(runs: Sequence[NamedRun]) -> None:
    """How it was tested, and all pairs in a table."""
    st.header("How this is tested", anchor=False)
    tested, untested = _found(runs)
    corrected = glossary_link("multiple-comparisons", "correction for several comparisons")
    units = " or ".join(sorted({f"{run.spec.task.unit}s" for _, run in runs}, reverse=True))
    st.caption(
        f"A {glossary_link('paired-test', 'paired test')} of all folds that two runs share, those "
        f"after the stop too{f', with a {corrected}' if len(tested) > 1 else ''}: over {units}, "
        f"each with the mean of these folds; where scores of single {units} were not kept, over "
        "folds, which share training data and so are not independent, by the corrected "
        f"resampled t test (Nadeau and Bengio, 2003). {glossary_link('p-value', 'p')} and effect "
        "d are in the table; no difference found is not the same as equal."
    )
    several = len({run.spec.dataset for _, run in runs}) > 1
    if tested:
        _table(tested, several=several)
    _say_untested(untested, runs)


def verdict(one: Comparison, *, on_dataset: bool = False, of_several: bool = True) -> str:
    """'item-knn is better than popular by 0.0120 nDCG@10: ...', as Markdown.

    Only of several comparisons is p corrected, and is Holm named.
    """
    where = f" on {escaped(dataset_title(one.dataset))}" if on_dataset else ""
    test = one.test
    first, second = f"**{escaped(one.first)}**", f"**{escaped(one.second)}**"
    p = f"{p_words(one.p_holm)}{' after Holm' if of_several else ''}"
    numbers = f"95 % interval {test.low:.4f} to {test.high:.4f}, {p}"
    if one.found:
        by = f"by {test.difference:.4f} {escaped(one.metric)}"
        return f":material/check_circle: {first} is better than {second}{where} {by}: {numbers}."
    return (
        f":material/drag_handle: No difference found between {first} and {second}{where}: "
        f"{test.difference:.4f} apart, {numbers}."
    )


def p_words(p: float) -> str:
    """'p = 0.012', 'p < 0.001'."""
    if p < 0.001:
        return "p < 0.001"
    return f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def against_the_best(tested: Sequence[Comparison]) -> list[Comparison]:
    """Of each dataset and metric, the comparisons of the run that is never the worse one."""
    worse = {(one.dataset, one.metric, one.second) for one in tested}
    return [one for one in tested if (one.dataset, one.metric, one.first) not in worse]


def _found(runs: Sequence[NamedRun]) -> Found:
    """Tested and untested pairs, under the names of the runs."""
    with_folds = [run for _, run in runs if run.folds]
    version = tuple(
        (run.run_id, tuple(fold.fold for fold in run.folds), run.spec.to_json())
        for run in with_folds
    )
    tested, untested = _compared(store().url, version, with_folds)
    names = {run.run_id: name for name, run in runs}
    labels = {run.spec.metric_name: metric_label(run.spec) for _, run in runs}
    return (
        [
            replace(
                one, first=names[one.first], second=names[one.second], metric=labels[one.metric]
            )
            for one in tested
        ],
        [replace(one, first=names[one.first], second=names[one.second]) for one in untested],
    )


@st.cache_data(show_spinner="Comparing one by one ...", max_entries=32)
def _compared(url: str, version: object, _runs: Sequence[RunRecord]) -> Found:
    return compare_runs([results().with_user_scores(run) for run in _runs])


def better(runs: Sequence[NamedRun]) -> None:
    """The answer: the best of each dataset against the others, in a sentence each."""
    tested, _ = _found(runs)
    several = len({run.spec.dataset for _, run in runs}) > 1
    said = against_the_best(tested)
    for one in said[:MOST_SENTENCES]:
        st.markdown(verdict(one, on_dataset=several, of_several=len(tested) > 1))
    if len(said) > MOST_SENTENCES:
        st.caption(f"{len(said) - MOST_SENTENCES} more are in the table below.")


def _table(tested: Sequence[Comparison], *, several: bool) -> None:
    frame = comparison_frame(tested)
    shown = frame.assign(
        found=["✓" if one.found else "" for one in tested],
        dataset=frame["dataset"].map(dataset_title),
        p_holm=frame["p_holm"].map(p_words),
        over=[f"{test.pairs:,} {test.over}" for test in (one.test for one in tested)],
    )
    column = st.column_config
    titles = {
        "found": column.TextColumn("✓", help="A difference is found at 5 %, after Holm.", width=36),
        "better": None,
        "worse": None,
        "dataset": None,
        "metric": None,
        "difference": column.NumberColumn(format="%.4f"),
        "low": column.NumberColumn("from", format="%.4f"),
        "high": column.NumberColumn("to", format="%.4f"),
        "p_holm": column.TextColumn("p (t, Holm)"),
        "effect": column.NumberColumn("effect d", format="%.2f"),
        "over": column.TextColumn("paired over"),
    }
    pairs = "1 pair" if len(shown) == 1 else f"all {len(shown)} pairs"
    with st.expander(f"Table of {pairs}", icon=":material/table:", key="compare-pairs"):
        st.dataframe(
            shown,
            hide_index=True,
            column_order=[name for name in titles if several or name != "dataset"],
            column_config={name: one for name, one in titles.items() if one},
            placeholder="-",
            height="content" if len(shown) <= 12 else 460,
            key="compare-tests",
            alt=f"Paired tests of {pairs}",
        )


def _say_untested(untested: Sequence[Untested], runs: Sequence[NamedRun]) -> None:
    """Pairs on different data in one sentence; every other reason with the names."""
    apart = sum(one.apart for one in untested)
    rest: dict[str, list[str]] = {}
    for one in untested:
        if not one.apart:
            rest.setdefault(one.reason, []).append(f"{one.first} and {one.second}")
    for reason, pairs in rest.items():
        named = "; ".join(pairs[:4]) + (f"; and {len(pairs) - 4} more" if len(pairs) > 4 else "")
        st.info(
            escaped(f"Not tested, because it would not be fair: {named} ({reason})."),
            icon=":material/block:",
        )
    if apart:
        what = "1 pair is" if apart == 1 else f"{apart} pairs are"
        st.caption(f"{what} on different datasets or metrics and so are not tested.")
    if without := [name for name, run in runs if not run.folds]:
        st.caption(escaped(f"No fold is finished yet: {', '.join(without)}."))
