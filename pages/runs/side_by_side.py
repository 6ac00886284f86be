"""Compared runs: the figure, paired tests in words, the numbers, every setting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import pandas as pd
import streamlit as st

from ecv_core.access.roles import Action
from ecv_core.analysis.comparison.names import names
from ecv_core.analysis.comparison.paired_runs import (
    Comparison,
    Untested,
    compare_runs,
    comparison_frame,
)
from ecv_core.analysis.comparison.settings import differences
from ecv_core.analysis.ranking import place_by_mean
from ecv_core.energy.parts import excluded_energy_words, with_own_joules
from ecv_core.figures.compare import (
    NamedRun,
    compare_alt_text,
    compare_figure,
    compare_frame,
    panels_of,
)
from ecv_core.figures.report.pictures import printed
from ecv_core.figures.verdicts import comparison_sentence, p_words
from ecv_core.figures.words import (
    algorithm_title,
    counted,
    dataset_title,
    is_or_are,
    metric_label,
    new_data_cell,
    titled,
)
from ecv_core.models import computed_here
from ecv_core.records.parameters import listed
from ecv_core.records.run import RunRecord
from pages.runs.actions import check_stops
from pages.runs.further_tests import details
from pages.shared.charts.energy_parts import energy_bar
from pages.shared.charts.plot import plot
from pages.shared.live.acting import acting
from pages.shared.live.runs import ids_of
from pages.shared.live.state import escaped, results, run_list, store
from pages.shared.widgets.amounts import amounts_of, saved_head
from pages.shared.widgets.answer_card import Answer, Certainty, answer_card, captions
from pages.shared.widgets.glossary import glossary_link
from pages.shared.widgets.tables import number, runs_table, text
from pages.shared.widgets.tables import table as numbers_table
from pages.shared.widgets.words import mean_sentences, run_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(runs: Sequence[NamedRun]) -> None:
    """Means at the stop, and the ways from there."""
    frame = compare_frame(runs)
    if frame["mean"].isna().all():
        st.info("None of these runs has a finished fold yet.", icon=":material/hourglass_empty:")
        return

    plot(
        partial(compare_figure, frame),
        version=tuple((name, run.run_id, len(run.folds), run.stopped_at) for name, run in runs),
        key="compare-means",
        alt=compare_alt_text(frame),
        name="comparison",
        table=frame.copy,
        opens=_addresses(runs),
    )
    st.caption("A click on a mean opens its run.")


def means_pictures(runs: Sequence[NamedRun]) -> dict[str, Callable[[], Figure]]:
    """For print, what `picture` shows: one for each dataset and metric."""
    pictures: dict[str, Callable[[], Figure]] = {}
    for title, panel in panels_of(compare_frame(runs)).items():
        pictures[title] = partial(printed, partial(compare_figure, panel))
    return pictures


def _addresses(runs: Sequence[NamedRun]) -> dict[str, str]:
    """Where a click on a mean leads, by the axis of its panel and its place there."""
    own = set(ids_of(run_list().rows()))
    axes: dict[Panel, str] = {}
    places: Counter[Panel] = Counter()
    addresses = {}
    for _, run in runs:
        panel = _panel(run)
        if panel not in axes:  # Plotly calls the axes of its panels y, y2, y3 ...
            axes[panel] = f"y{len(axes) + 1}" if axes else "y"
        page = "run" if run.run_id in own else "replay"
        addresses[f"{axes[panel]}|{places[panel]}"] = f"{page}?run={run.run_id}"
        places[panel] += 1
    return addresses


def table(runs: Sequence[NamedRun]) -> None:
    """Score, folds, energy: one row per run."""
    st.header("Score, folds, energy", anchor=False)
    st.caption(
        f"The mean at the {glossary_link('stop')}, its {glossary_link('confidence-interval')} for "
        "new data and that over these folds, "
        f"{glossary_link('e', 'folds used')}, {glossary_link('energy', 'energy')} used and "
        f"{glossary_link('energy-saved', 'saved')}."
    )
    frame = compare_frame(runs)
    names_say_algorithms = all(
        name.startswith(algorithm_title(run.spec.algorithm)) for name, run in runs
    )
    cells = []
    for _, run in runs:
        cells.append(_new_data_cell(run.run_id, run.folds_used, run))
    runs_table(frame, new_data=cells, algorithms=not names_say_algorithms, key="compare-runs")
    records = [run for _, run in runs]
    metered = with_own_joules(records)
    energy_bar((fold for run in metered for fold in run.folds), excluded_energy_words(records))
    if frame.groupby(["dataset", "metric"]).ngroups > 1:
        st.caption(
            "Scores on different datasets or metrics cannot be compared. Folds, savings in percent "
            "and the difference to the k-fold mean can."
        )


@st.cache_data(show_spinner=False, max_entries=512)
def _new_data_cell(run_id: str, folds_used: int, _run: RunRecord) -> str:
    """The ends of a run's interval for new data, kept until it has used more folds."""
    # Its id and its number of folds are the key of the cache.
    return new_data_cell(results().with_user_scores(_run))


def settings(runs: Sequence[NamedRun]) -> None:
    """A row per setting that is not the same in all runs, and a column per run."""
    st.header("Settings that differ", anchor=False)
    fields = differences([run.spec for _, run in runs])
    differing = [field for field in fields if field.differs or field.partial]
    if not differing:
        st.markdown("**All settings are the same**: such runs should have the same scores.")
        return
    several = len(_panels(runs)) > 1
    names_of_settings = [": ".join(map(titled, field.name.split(": "))) for field in differing]
    frame = pd.DataFrame({"setting": names_of_settings})
    for place, (name, run) in enumerate(runs):
        head = name
        if several:
            head = f"{name} on {dataset_title(run.spec.dataset)}, {metric_label(run.spec)}"
        frame[head] = [titled(field.values[place]) for field in differing]
    numbers_table(
        frame,
        {"setting": text("setting", pinned=True)},
        key="compare-settings",
        alt=f"{len(frame)} settings in which {len(runs)} runs differ",
    )
    same = len(fields) - len(differing)
    st.caption(f"{counted(same, 'other setting')} {is_or_are(same)} the same.")


def named_runs(runs: Sequence[RunRecord]) -> list[NamedRun]:
    """The runs under names that tell them apart; datasets as chosen, the best mean first."""
    named = list(zip(names(runs, algorithm_title), runs, strict=True))
    panels = _panels(named)

    def place(named_run: NamedRun) -> tuple[int, float]:
        _, run = named_run
        return panels.index(_panel(run)), place_by_mean(run)

    return sorted(named, key=place)


Panel = tuple[str, str]
"""Dataset and metric, of which each is a panel of the figure."""


def _panels(runs: Sequence[NamedRun]) -> list[Panel]:
    return list(dict.fromkeys(_panel(run) for _, run in runs))


def _panel(run: RunRecord) -> Panel:
    return run.spec.dataset, metric_label(run.spec)


MOST_SENTENCES = 3
"""That say the answer; the other comparisons are in the table."""
_NAMED = 4
"""Pairs that a sentence names, of those that were not tested for one reason."""
Tests = tuple[list[Comparison], list[Untested]]
"""Pairs of runs that were tested, and those that were not."""
Pair = TypeVar("Pair", Comparison, Untested)


def paired_tests(runs: Sequence[NamedRun]) -> None:
    """How it was tested, and all pairs in a table."""
    st.header("How this is tested", anchor=False)
    tested, untested = _named_tests(runs)
    units = " or ".join(sorted({f"{run.spec.task.unit}s" for _, run in runs}, reverse=True))
    over_folds = f"where scores of individual {units} were not kept"
    if "samples" in units:
        over_folds = f"{over_folds}, and for learners on a table"
    corrected = ""
    if len(tested) > 1:
        link = glossary_link("multiple-comparisons", "correction for several comparisons")
        corrected = f", with a {link}"
    st.caption(
        f"This is a {glossary_link('paired-test', 'paired test')} of all folds that two runs "
        f"share, those after the stop too{corrected}. It is over {units}, "
        f"each with the mean of these folds; {over_folds}, it is over "
        "folds, which share training data and so are not independent, by the corrected "
        f"resampled t test (Nadeau and Bengio, 2003). {glossary_link('p-value', 'p')} and effect "
        "d are in the table. That no difference is found does not mean that two are equal."
    )
    if tested:
        _table(tested, datasets=_on_several_datasets(runs))
        details(runs, _tests_by_id(runs)[0])
    _say_untested(untested, runs)


def _on_several_datasets(runs: Sequence[NamedRun]) -> bool:
    return len({run.spec.dataset for _, run in runs}) > 1


def against_the_best(tested: Sequence[Comparison]) -> list[Comparison]:
    """Of each dataset and metric, the comparisons of the run that is never the worse one."""
    worse = {(pair.dataset, pair.metric, pair.second) for pair in tested}
    return [pair for pair in tested if (pair.dataset, pair.metric, pair.first) not in worse]


def _tests_by_id(runs: Sequence[NamedRun]) -> Tests:
    """Tested and untested pairs, under the ids of the runs."""
    with_folds = []
    version = []
    for _, run in runs:
        if run.folds:
            with_folds.append(run)
            folds = tuple(fold.fold for fold in run.folds)
            version.append((run.run_id, folds, run.spec.to_json()))
    return _tests_of_runs(store().url, tuple(version), with_folds)


def _named_tests(runs: Sequence[NamedRun]) -> Tests:
    """Tested and untested pairs, under the names of the runs."""
    tested, untested = _tests_by_id(runs)
    names = {run.run_id: name for name, run in runs}
    labels = {run.spec.metric_name: metric_label(run.spec) for _, run in runs}

    def named(pair: Pair) -> Pair:
        return replace(pair, first=names[pair.first], second=names[pair.second])

    labelled = [replace(named(pair), metric=labels[pair.metric]) for pair in tested]
    return labelled, list(map(named, untested))


@st.cache_data(show_spinner="Comparing the runs ...", max_entries=32)
def _tests_of_runs(url: str, version: object, _runs: Sequence[RunRecord]) -> Tests:
    # The address of the database and the version of the runs are the key of the cache.
    return compare_runs([results().with_user_scores(run) for run in _runs])


def show_answer(runs: Sequence[NamedRun]) -> None:
    """The answer, and how few folds would have been enough."""
    answer_card(comparison_answer(runs), next_step=partial(_next_step, runs))


def comparison_answer(runs: Sequence[NamedRun]) -> Answer:
    """The best run against the others; of several datasets the best of each.

    Args:
        runs: At least two.
    """
    tested, _ = _named_tests(runs)
    of_the_best = against_the_best(tested)
    on_dataset = ""
    sentences = []
    if len(_panels(runs)) == 1:
        best, run = runs[0]
        sentences = mean_sentences(run, f"The mean {metric_label(run.spec)} of {best}")
    for pair in of_the_best[:MOST_SENTENCES]:
        if _on_several_datasets(runs):
            on_dataset = dataset_title(pair.dataset)
        sentences.append(
            comparison_sentence(pair, on_dataset=on_dataset, of_several=len(tested) > 1)
        )
    if len(of_the_best) > MOST_SENTENCES:
        more = len(of_the_best) - MOST_SENTENCES
        sentences.append(f"The table below has {counted(more, 'more comparison')}.")
    records = [run for _, run in runs]
    return Answer(
        certainty=_certainty(of_the_best),
        headline=_headline(runs, of_the_best),
        sentences=sentences,
        amounts=amounts_of(records),
        saved_head=saved_head(records),
        details=captions(
            "Sure means: a difference of the best run to every other one is found. Close means: "
            "not to all of them.",
            excluded_energy_words(records),
        ),
    )


def _certainty(of_the_best: Sequence[Comparison]) -> Certainty:
    """Whether a difference of the best run to each of the others is found."""
    if not of_the_best:
        return Certainty.OPEN
    if all(pair.shows_difference for pair in of_the_best):
        return Certainty.SURE
    return Certainty.CLOSE


def _headline(runs: Sequence[NamedRun], of_the_best: Sequence[Comparison]) -> str:
    """Which run is best, as far as tests show it."""
    panels = len(_panels(runs))
    if panels > 1:
        return f"{len(runs)} runs, with {panels} datasets or metrics"
    best, run = runs[0]
    if run.at_stop is None:
        return "No fold is finished yet"
    close = [pair.second for pair in of_the_best if not pair.shows_difference]
    if close:
        names_of_close = listed(close[:_NAMED])
        if len(close) > _NAMED:
            names_of_close = f"{len(close)} others"
        return f"{best} has the best mean; {names_of_close} may be as good"
    if len(of_the_best) < len(runs) - 1:
        return f"{best} has the best mean"
    return f"{best} is best of {len(runs)}"


def _next_step(runs: Sequence[NamedRun]) -> None:
    """To check the stops; else how few folds of runs with all folds would have been enough.

    Stopped runs that somebody else has started, or that cannot go on here, are replayed.
    """
    to_check = []
    for _, run in runs:
        may = acting().may(Action.GO_ON, run.started_by) and not acting().go_on_refusal(run)
        if run.can_be_checked and computed_here(run.spec) and may:
            to_check.append(run.run_id)
    if to_check:
        st.button(
            "Run the remaining folds to check",
            icon=":material/fact_check:",
            key="check-compared",
            on_click=check_stops,
            args=(to_check,),
        )
        return
    params = _folds_question(runs)
    if params:
        st.page_link(
            "folds/folds.py",
            label="How many folds are enough?",
            icon=":material/tune:",
            query_params=params,
        )
        return
    name, best = runs[0]
    if best.folds:
        st.page_link(
            "replay/replay.py",
            label=escaped(f"Replay {name} fold by fold"),
            icon=":material/replay:",
            query_params={"run": best.run_id},
        )


def _folds_question(runs: Sequence[NamedRun]) -> dict[str, str | list[str]]:
    """What the page How many folds? is asked of these runs; empty where none has all its folds."""
    own = set(ids_of(run_list().rows()))
    labels = []
    datasets = []
    for _, run in runs:
        if run.run_id in own and run.whole:
            labels.append(run_label(run))
        elif run.whole:
            datasets.append(dataset_title(run.spec.dataset))
    if labels:
        return {"source": "My runs", "runs": labels}
    if datasets:
        return {"source": "Recorded", "datasets": sorted(set(datasets))}
    return {}


def _table(tested: Sequence[Comparison], *, datasets: bool) -> None:
    """All pairs; `datasets` is whether there is more than one, which then have a column."""
    frame = comparison_frame(tested)
    frame["found"] = ["✓" if pair.shows_difference else "" for pair in tested]
    frame["dataset"] = frame["dataset"].map(dataset_title)
    frame["p_holm"] = frame["p_holm"].map(p_words)
    frame["over"] = [f"{pair.test.pairs:,} {pair.test.over}" for pair in tested]
    order = ["found", "better", "worse", "metric", "difference", "low", "high"]
    order += ["p_holm", "effect", "over", "speaks_of"]
    if datasets:
        order.insert(order.index("metric"), "dataset")
    columns = {
        "found": text("✓", "Marks a difference found at 5 %, after Holm.", width=36),
        "difference": number(None, "%.4f"),
        "low": number("from", "%.4f"),
        "high": number("to", "%.4f"),
        "p_holm": text("p (t, Holm)"),
    }
    columns["effect"] = number("effect d", "%.2f")
    columns["over"] = text("paired over")
    columns["speaks_of"] = text("speaks of")
    pairs = "1 pair"
    if len(frame) > 1:
        pairs = f"all {len(frame)} pairs"
    with st.expander(f"Table of {pairs}", icon=":material/table:", key="compare-pairs"):
        numbers_table(
            frame,
            columns,
            column_order=order,
            key="compare-tests",
            alt=f"Paired tests of {pairs}",
        )


def _say_untested(untested: Sequence[Untested], runs: Sequence[NamedRun]) -> None:
    """Pairs on different data in one sentence; every other reason with the names."""
    apart = 0
    by_reason: dict[str, list[str]] = {}
    for pair in untested:
        if pair.apart:
            apart += 1
        else:
            by_reason.setdefault(pair.reason, []).append(f"{pair.first} and {pair.second}")
    for reason, pairs in by_reason.items():
        named = "; ".join(pairs[:_NAMED])
        if len(pairs) > _NAMED:
            named = f"{named}; and {len(pairs) - _NAMED} more"
        st.info(
            escaped(f"Not tested, because it would not be fair: {named} ({reason})."),
            icon=":material/block:",
        )
    if apart:
        st.caption(
            f"{counted(apart, 'pair')} {is_or_are(apart)} not tested: their datasets or metrics "
            "differ."
        )
    without = [name for name, run in runs if not run.folds]
    if without:
        st.caption(escaped(f"No fold is finished yet: {', '.join(without)}."))
