"""Compared runs: the figure, paired tests in words, the numbers, every setting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import pandas as pd
import streamlit as st

from ecv_core.access.roles import Action
from ecv_core.analysis.comparison.fairness import why_unfair
from ecv_core.analysis.comparison.names import distinct_names
from ecv_core.analysis.comparison.paired_runs import (
    Comparison,
    Untested,
    compare_runs,
    comparison_frame,
    untested_pair,
)
from ecv_core.analysis.comparison.settings import compared_settings
from ecv_core.analysis.ranking import place_by_mean
from ecv_core.energy.parts import excluded_energy_words
from ecv_core.energy.savings import metered_runs
from ecv_core.figures.compare import (
    NamedRun,
    compare_alt_text,
    compare_figure,
    compare_frame,
    panels_of,
)
from ecv_core.figures.report.pictures import printed_figure
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
from ecv_core.store.new_data import mean_on_new_data
from pages.runs.actions import check_stops
from pages.runs.further_tests import offer_further_tests
from pages.shared.base.glossary import glossary_link
from pages.shared.charts.energy_parts import draw_runs_energy_bar
from pages.shared.charts.plot import plot
from pages.shared.live.person import run_actions
from pages.shared.live.runs import ids_of
from pages.shared.live.state import escaped, results, run_list, store
from pages.shared.widgets.amounts import amounts_of, saved_head
from pages.shared.widgets.answer_card import Answer, Certainty, captions, draw_answer_card
from pages.shared.widgets.tables import number, runs_table, score_format, text
from pages.shared.widgets.tables import table as numbers_table
from pages.shared.widgets.words import mean_sentences, run_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def show_means(runs: Sequence[NamedRun]) -> None:
    """Means at the stop, and the ways from there."""
    frame = compare_frame(runs)
    if frame["mean"].isna().all():
        st.info("None of these runs has a finished fold yet.", icon=":material/hourglass_empty:")
        return

    plot(
        partial(compare_figure, frame),
        cache_key=tuple((name, run.run_id, len(run.folds), run.stopped_at) for name, run in runs),
        key="compare-means",
        alt=compare_alt_text(frame),
        name="comparison",
        table=frame.copy,
        address_of_point=_addresses(runs),
    )
    st.caption("A click on a mean opens its run.")


def means_pictures(runs: Sequence[NamedRun]) -> dict[str, Callable[[], Figure]]:
    """For print, what `show_means` shows: one for each dataset and metric."""
    pictures: dict[str, Callable[[], Figure]] = {}
    for title, panel in panels_of(compare_frame(runs)).items():
        pictures[title] = partial(printed_figure, partial(compare_figure, panel))
    return pictures


def _addresses(runs: Sequence[NamedRun]) -> dict[str, str]:
    """Where a click on a mean leads, by the axis of its panel and its place there."""
    own_ids = set(ids_of(run_list().rows()))
    panels = _panels(runs)
    points_of_panel: Counter[Panel] = Counter()
    addresses = {}
    for _, run in runs:
        panel = _panel(run)
        axis = "y"
        if panel != panels[0]:  # Plotly calls the axes of its panels y, y2, y3 ...
            axis = f"y{panels.index(panel) + 1}"
        page = "replay"  # the page Run does not know recorded runs
        if run.run_id in own_ids:
            page = "run"
        # `plot` knows a point by the axis of its panel and its place on it, from 0.
        addresses[f"{axis}|{points_of_panel[panel]}"] = f"{page}?run={run.run_id}"
        points_of_panel[panel] += 1
    return addresses


def show_scores_and_energy(runs: Sequence[NamedRun]) -> None:
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
    records = [run for _, run in runs]
    intervals = [_new_data_text(run.run_id, run.folds_used, run) for run in records]
    runs_table(
        frame, new_data=intervals, with_algorithms=not names_say_algorithms, key="compare-runs"
    )
    draw_runs_energy_bar(records)
    if 1 < len(_panels(runs)) < len(runs):
        st.caption(
            "Scores on different datasets or metrics cannot be compared. Folds, savings in percent "
            "and the difference to the k-fold mean can."
        )


@st.cache_data(show_spinner=False, max_entries=512)
def _new_data_text(run_id: str, folds_used: int, _run: RunRecord) -> str:
    """The ends of a run's interval for new data, kept until it has used more folds."""
    # Streamlit keeps the text by the arguments without an underscore: the run's id and its folds.
    scored = results().with_user_scores(_run)
    return new_data_cell(mean_on_new_data(scored, scored.user_scores))


def show_differing_settings(runs: Sequence[NamedRun]) -> None:
    """A row per setting that is not the same in all runs, and a column per run."""
    st.header("Settings that differ", anchor=False)
    fields = compared_settings([run.spec for _, run in runs])
    differing = [field for field in fields if len(set(field.values)) > 1]
    if not differing:
        st.markdown("**All settings are the same**: such runs should have the same scores.")
        return
    # 'item-knn: neighbours' names an algorithm and its parameter, each with a title of its own.
    setting_titles = [": ".join(map(titled, field.name.split(": "))) for field in differing]
    frame = pd.DataFrame({"setting": setting_titles})
    for index, (name, run) in enumerate(runs):
        column = name
        if len(_panels(runs)) > 1:  # runs of different panels may share a name
            column = f"{name} on {dataset_title(run.spec.dataset)}, {metric_label(run.spec)}"
        frame[column] = [titled(field.values[index]) for field in differing]
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
    named = list(map(NamedRun, distinct_names(runs, algorithm_title), runs))
    panels = _panels(named)

    def place(named_run: NamedRun) -> tuple[int, float]:
        return panels.index(_panel(named_run.run)), place_by_mean(named_run.run)

    return sorted(named, key=place)


Panel = tuple[str, str]
"""Dataset and metric, of which each is a panel of the figure."""


def _panels(runs: Sequence[NamedRun]) -> list[Panel]:
    return list(dict.fromkeys(_panel(run) for _, run in runs))


def _panel(run: RunRecord) -> Panel:
    return run.spec.dataset, metric_label(run.spec)


class RunPairs(NamedTuple):
    """Pairs of runs, by whether a test of them is fair."""

    tested: list[Comparison]
    untested: list[Untested]


MOST_SENTENCES = 3
"""That say the answer; the other comparisons are in the table."""
_MOST_NAMED = 4
"""Pairs that a sentence names, of those that were not tested for one reason."""
_MOST_REASONS = 3
"""That are said in sentences; forty runs of different seeds have hundreds."""
Pair = TypeVar("Pair", Comparison, Untested)


def show_paired_tests(runs: Sequence[NamedRun]) -> None:
    """How it was tested, and all pairs in a table; which pairs were not tested, and why."""
    tested, untested = _pairs_under_names(runs)
    if tested:
        st.header("How this is tested", anchor=False)
        _explain_tests(runs, is_one_of_several=len(tested) > 1)
        _draw_table_of_tested_pairs(tested, with_datasets=_on_several_datasets(runs))
        offer_further_tests(runs, _pairs_under_ids(runs).tested)
    _say_untested(untested, runs)


def _explain_tests(runs: Sequence[NamedRun], *, is_one_of_several: bool) -> None:
    """What is paired, and by which test; only several tests are corrected."""
    units = " or ".join(sorted({f"{run.spec.task.unit}s" for _, run in runs}, reverse=True))
    case_of_folds = f"where scores of individual {units} were not kept"
    if "samples" in units:
        case_of_folds = f"{case_of_folds}, and for learners on a table"
    words_on_correction = ""
    if is_one_of_several:
        link = glossary_link("multiple-comparisons", "correction for several comparisons")
        words_on_correction = f", with a {link}"
    st.caption(
        f"This is a {glossary_link('paired-test', 'paired test')} of all folds that two runs "
        f"share, those after the stop too{words_on_correction}. It is over {units}, "
        f"each with the mean of these folds; {case_of_folds}, it is over "
        "folds, which share training data and so are not independent, by the corrected "
        f"resampled t test (Nadeau and Bengio, 2003). {glossary_link('p-value', 'p')} and effect "
        "d are in the table. That no difference is found does not mean that two are equal."
    )


def _on_several_datasets(runs: Sequence[NamedRun]) -> bool:
    return len({run.spec.dataset for _, run in runs}) > 1


def comparisons_of_best_runs(tested: Sequence[Comparison]) -> list[Comparison]:
    """Of each dataset and metric, the comparisons of the run that is never the worse one."""
    worse = {(pair.dataset, pair.metric, pair.second) for pair in tested}
    return [pair for pair in tested if (pair.dataset, pair.metric, pair.first) not in worse]


def _pairs_under_ids(runs: Sequence[NamedRun]) -> RunPairs:
    """Tested and untested pairs, under the ids of the runs."""
    # Streamlit keeps the tests of these runs until this key changes, with what they depend on.
    with_folds = []
    cache_key = []
    for _, run in runs:
        if run.folds:
            with_folds.append(run)
            folds = tuple(fold.fold for fold in run.folds)
            cache_key.append((run.run_id, folds, run.spec.to_json()))
    pairs = _compared_pairs(store().url, tuple(cache_key), with_folds)
    return RunPairs(pairs.tested, pairs.untested + _pairs_never_tested([run for _, run in runs]))


def _pairs_never_tested(runs: Sequence[RunRecord]) -> list[Untested]:
    """Pairs with a run that has no fold yet, whose settings say already that no test is fair."""
    pairs = []
    for first, second in combinations(runs, 2):
        reason = why_unfair(first.spec, second.spec)
        if reason and not (first.folds and second.folds):
            pairs.append(untested_pair(first, second, reason))
    return pairs


def _pairs_under_names(runs: Sequence[NamedRun]) -> RunPairs:
    """Tested and untested pairs, under the names of the runs."""
    pairs = _pairs_under_ids(runs)
    name_of_id = {run.run_id: name for name, run in runs}
    metric_labels = {run.spec.metric_name: metric_label(run.spec) for _, run in runs}

    def with_names(pair: Pair) -> Pair:
        return replace(pair, first=name_of_id[pair.first], second=name_of_id[pair.second])

    tested = [replace(with_names(pair), metric=metric_labels[pair.metric]) for pair in pairs.tested]
    return RunPairs(tested, list(map(with_names, pairs.untested)))


@st.cache_data(show_spinner="Comparing the runs ...", max_entries=32)
def _compared_pairs(database_url: str, cache_key: object, _runs: Sequence[RunRecord]) -> RunPairs:
    # Streamlit keeps the pairs by the arguments without an underscore: the database, and what the
    # tests depend on.
    return RunPairs(*compare_runs([results().with_user_scores(run) for run in _runs]))


def show_answer(runs: Sequence[NamedRun]) -> None:
    """The answer, and how few folds would have been enough."""
    draw_answer_card(comparison_answer(runs), draw_next_step=partial(_draw_next_step, runs))


def comparison_answer(runs: Sequence[NamedRun]) -> Answer:
    """The best run against the others; of several datasets the best of each.

    Args:
        runs: At least two.
    """
    tested = _pairs_under_names(runs).tested
    comparisons_of_best = comparisons_of_best_runs(tested)
    sentences = []
    if len(_panels(runs)) == len(runs):
        sentences = [
            "No two of these runs have the same dataset and metric. Folds, savings in percent and "
            "the difference to the k-fold mean can be compared."
        ]
    if len(_panels(runs)) == 1:
        best_name, best = runs[0]  # `named_runs` puts the best mean first
        sentences = mean_sentences(best, f"The mean {metric_label(best.spec)} of {best_name}")
    for pair in comparisons_of_best[:MOST_SENTENCES]:
        on_dataset = ""
        if _on_several_datasets(runs):
            on_dataset = dataset_title(pair.dataset)
        sentences.append(
            comparison_sentence(pair, on_dataset=on_dataset, is_one_of_several=len(tested) > 1)
        )
    further_count = len(comparisons_of_best) - MOST_SENTENCES
    if further_count > 0:
        sentences.append(f"The table below has {counted(further_count, 'more comparison')}.")
    records = [run for _, run in runs]
    return Answer(
        certainty=_certainty(runs, comparisons_of_best),
        headline=_headline(runs, comparisons_of_best),
        sentences=sentences,
        amounts=amounts_of(records),
        saved_head=saved_head(records),
        details=captions(
            "Sure means: a difference of the best run to every other one is found. Close means: "
            "not to all of them.",
            excluded_energy_words(metered_runs(records)),
        ),
    )


def _certainty(runs: Sequence[NamedRun], comparisons_of_best: Sequence[Comparison]) -> Certainty:
    """Whether a difference of the best run to each of the others is found."""
    if len(_panels(runs)) == len(runs):
        return Certainty.UNTESTED
    for _, run in runs:
        if _is_waited_for(run, runs, comparisons_of_best):
            return Certainty.OPEN
    if not comparisons_of_best:
        return Certainty.UNTESTED
    # In each panel, the best run is compared with all others. A run with other folds, or without
    # any, was not compared with it and may be better.
    others = len(runs) - len(_panels(runs))
    all_differ = all(pair.shows_difference for pair in comparisons_of_best)
    if all_differ and len(comparisons_of_best) >= others:
        return Certainty.SURE
    return Certainty.CLOSE


def _is_waited_for(
    run: RunRecord, runs: Sequence[NamedRun], comparisons_of_best: Sequence[Comparison]
) -> bool:
    """Whether folds of this run that are to come may decide which run is the best."""
    # A run without a fold may become the best, and a test may need folds that are to come.
    if not run.state.active or (run.folds and comparisons_of_best):
        return False
    # Of a run that no test may compare with any other, folds decide nothing.
    for _, other in runs:
        if other.run_id != run.run_id and not why_unfair(run.spec, other.spec):
            return True
    return False


def _headline(runs: Sequence[NamedRun], comparisons_of_best: Sequence[Comparison]) -> str:
    """Which run is best, as far as tests show it."""
    panels = len(_panels(runs))
    if panels == len(runs):
        return "These scores cannot be compared"
    if panels > 1:
        return f"{len(runs)} runs, with {panels} datasets or metrics"
    best, run = runs[0]
    if run.at_stop is None:
        return "No fold is finished"
    close_names = [pair.second for pair in comparisons_of_best if not pair.shows_difference]
    if close_names:
        names_of_close = listed(close_names[:_MOST_NAMED])
        if len(close_names) > _MOST_NAMED:
            names_of_close = f"{len(close_names)} others"
        return f"{best} has the best mean; {names_of_close} may be as good"
    if len(comparisons_of_best) < len(runs) - 1:
        return f"{best} has the best mean"
    return f"{best} is best of {len(runs)}"


def _draw_next_step(runs: Sequence[NamedRun]) -> None:
    """To check the stops; else how few folds of runs with all folds would have been enough.

    Stopped runs that somebody else has started, or that cannot go on here, are replayed.
    """
    to_check = []
    person = run_actions()
    for _, run in runs:
        may_go_on = person.may(Action.GO_ON, run.started_by) and not person.go_on_refusal(run)
        if run.can_be_checked and computed_here(run.spec) and may_go_on:
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
    params = _params_of_folds_page(runs)
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


def _params_of_folds_page(runs: Sequence[NamedRun]) -> dict[str, str | list[str]]:
    """The query parameters that open these runs on the page How many folds?.

    They are empty where no run has all its folds.
    """
    own_ids = set(ids_of(run_list().rows()))
    labels = []
    datasets = []
    for _, run in runs:
        # Only runs with all their folds can be opened there.
        if run.run_id in own_ids and run.whole:
            labels.append(run_label(run))
        elif run.whole:
            datasets.append(dataset_title(run.spec.dataset))
    if labels:
        return {"source": "My runs", "runs": labels}
    if datasets:
        return {"source": "Recorded", "datasets": sorted(set(datasets))}
    return {}


def _draw_table_of_tested_pairs(tested: Sequence[Comparison], *, with_datasets: bool) -> None:
    """All pairs; `with_datasets` is whether there are several, which then have a column."""
    # 'over' says what scores were paired: users, samples or folds; 'speaks_of' says of what a
    # difference is shown: the learners, or the models that were fitted.
    frame = comparison_frame(tested)
    marks = {True: "✓", False: ""}
    frame["found"] = [marks[pair.shows_difference] for pair in tested]
    frame["dataset"] = frame["dataset"].map(dataset_title)
    frame["p_holm"] = frame["p_holm"].map(p_words)
    frame["over"] = [f"{pair.test.pairs:,} {pair.test.over}" for pair in tested]
    order = ["found", "better", "worse", "metric", "difference", "low", "high"]
    order += ["p_holm", "effect", "over", "speaks_of"]
    if with_datasets:
        order.insert(order.index("metric"), "dataset")
    form = score_format(frame[["difference", "low", "high"]])
    columns = {
        "found": text("✓", "Marks a difference found at 5 %, after Holm.", width=36),
        "difference": number(None, form),
        "low": number("from", form),
        "high": number("to", form),
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
    """Pairs on different data in one sentence; pairs with other reasons by name."""
    on_other_data = 0
    unfair = []
    for pair in untested:
        if pair.on_other_data:
            on_other_data += 1
        else:
            unfair.append(pair)
    _say_unfair(unfair)
    if on_other_data:
        st.caption(
            f"{counted(on_other_data, 'pair')} {is_or_are(on_other_data)} not tested: their "
            "datasets or metrics differ."
        )
    without_folds = [name for name, run in runs if not run.folds]
    if without_folds:
        st.caption(escaped(f"No fold is finished: {', '.join(without_folds)}."))


def _say_unfair(pairs: Sequence[Untested]) -> None:
    """Why these are not tested: one sentence for each reason, or a table of many."""
    names_by_reason: dict[str, list[str]] = {}
    for pair in pairs:
        names_by_reason.setdefault(pair.reason, []).append(f"{pair.first} and {pair.second}")
    if len(names_by_reason) > _MOST_REASONS:
        with st.expander(f"{len(pairs)} pairs that it would not be fair to test"):
            rows = [(pair.first, pair.second, pair.reason) for pair in pairs]
            frame = pd.DataFrame(rows, columns=["run", "other run", "why"])
            numbers_table(frame, {}, key="compare-unfair", alt=f"{len(pairs)} pairs of runs")
        return
    for reason, names in names_by_reason.items():
        names_of_pairs = "; ".join(names[:_MOST_NAMED])
        if len(names) > _MOST_NAMED:
            names_of_pairs = f"{names_of_pairs}; and {len(names) - _MOST_NAMED} more"
        st.info(
            escaped(f"Not tested, because it would not be fair: {names_of_pairs} ({reason})."),
            icon=":material/block:",
        )
