"""The answer with every option that keeps the promise, and what each alpha costs and gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import NamedTuple

import streamlit as st

from ecv_core.analysis.tradeoff.curves import (
    PAPER_COST_PERCENT,
    PAPER_DIFFERENCE_PERCENT,
    PAPER_STOP,
)
from ecv_core.analysis.tradeoff.decision import ALL_FOLDS, FoldsAdvice, decide, fixed_folds
from ecv_core.analysis.tradeoff.rule_curves import RuleCurve
from ecv_core.energy.parts import excluded_energy_words, runs_without_other_work
from ecv_core.figures.report.advice import (
    acceptable_difference_sentence,
    checked_sentence,
    enough_words,
    options_frame,
    promise_words,
)
from ecv_core.figures.report.describe import Description, describe_advice
from ecv_core.figures.report.pictures import printed_figure
from ecv_core.figures.tradeoff import (
    stops_at,
    stops_figure,
    stops_steps,
    tradeoff_at,
    tradeoff_figure,
    tradeoff_steps,
)
from ecv_core.figures.words import alpha_text, counted, rule_words
from ecv_core.fold.spec import make_spec
from ecv_core.records.parameters import ParamValue, listed, percent_text
from ecv_core.records.run import FoldResult, RunRecord
from ecv_core.stopping import PAPERS_RULE, RULES
from pages.folds.choice import FILE, RUNS, SOURCE, ChosenSystems
from pages.folds.curves import Explored
from pages.run.start_form import fill_form
from pages.shared.address.link import params_of_widgets, write_into_link
from pages.shared.address.navigation import open_page
from pages.shared.base.glossary import explained
from pages.shared.charts.cite import draw_paper_panel, machine_and_versions
from pages.shared.charts.energy_parts import draw_energy_bar, energy_sources_sentence
from pages.shared.charts.plot import plot
from pages.shared.live.state import KEPT_IN_ADDRESS, escaped, run_list
from pages.shared.widgets.answer_card import Amount, Answer, Certainty, captions, draw_answer_card
from pages.shared.widgets.sliders import KEY as ALPHA_KEY
from pages.shared.widgets.sliders import SLIDER, show_numbers_of_slider
from pages.shared.widgets.tables import number, table, text
from pages.shared.widgets.words import mean_sentences, run_label

_FILE_IN_WORDS = "the scores file: whoever opens it adds it again"
LIMIT_KEY = "off"
SHARE_KEY = "orders"


class Promise(NamedTuple):
    """What is asked of the folds that are used."""

    within_percent: float
    """The acceptable difference to the k-fold mean."""
    share_of_orders: float
    """Of the orders of the folds, the share that has to end within that; in (0, 1]."""


def ask_promise() -> Promise:
    """The widgets of the acceptable difference and the share of orders."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        limit = st.number_input(
            "Acceptable difference (%)",
            value=2.0,
            min_value=0.1,
            max_value=50.0,
            step=0.5,
            format="%.1f",
            key=LIMIT_KEY,
            **KEPT_IN_ADDRESS,
            width=205,
            help=explained(
                "The difference to the k-fold mean that you can accept, in percent of it.",
                "difference",
            ),
        )
        percent = st.number_input(
            "Share of fold orders (%)",
            value=95.0,
            min_value=1.0,
            max_value=100.0,
            step=1.0,
            format="%.0f",
            key=SHARE_KEY,
            **KEPT_IN_ADDRESS,
            width=205,
            help=explained(
                "Folds can come in any order. In this share of all orders the score at the stop "
                "has to be within the acceptable difference.",
                "order",
            ),
        )
    return Promise(float(limit), float(percent) / 100)


@st.cache_resource(
    show_spinner=False, max_entries=64, hash_funcs={Explored: attrgetter("cache_key")}
)
def advise(explored: Explored, share_of_orders: float, rules: tuple[str, ...]) -> FoldsAdvice:
    """Every option that keeps the promise, and which rules keep it at no setting.

    Streamlit keeps it: checking every rule on every dataset takes a good part of a page.

    Args:
        explored: The curves of every rule.
        share_of_orders: The share of the orders of the folds, in (0, 1], that have to end within
            the difference.
        rules: Ids of all registered rules: with another one the advice is worked out anew.
    """
    # `rules` is only part of the cache's key, so that a rule that is registered later is advised
    # too.
    within_percent = explored.within_percent
    curve_of_system = dict(enumerate(explored.tradeoff.curves))
    candidates = [
        fixed_folds(explored.systems, within_percent=within_percent),
        RuleCurve(rule=PAPERS_RULE, curves=curve_of_system),
        *explored.curves_of_other_rules,
    ]
    return decide(
        explored.systems, candidates, within_percent=within_percent, share=share_of_orders
    )


def show_answer(explored: Explored, advice: FoldsAdvice, choice: ChosenSystems) -> None:
    """How many folds, with what it rests on, and the way to a run with them.

    Args:
        explored: The chosen systems.
        advice: The options.
        choice: What the systems were made from.
    """
    offer = None
    if advice.best.rule != ALL_FOLDS:
        offer = partial(offer_run, advice, choice.runs)
    draw_answer_card(folds_answer(explored, advice, choice), draw_next_step=offer)


def folds_answer(explored: Explored, advice: FoldsAdvice, choice: ChosenSystems) -> Answer:
    """The cheapest option that keeps the promise, as the card says it."""
    sentences = [f"{choice.whose}, to end {promise_words(advice)}."]
    if advice.best.rule == ALL_FOLDS:
        sentences.append(
            f"No rule keeps this promise with fewer. {acceptable_difference_sentence(advice)}"
        )
    return Answer(
        certainty=_certainty(advice),
        headline=enough_words(advice),
        sentences=[*sentences, checked_sentence(advice), *_new_data_sentences(choice.runs)],
        amounts=_amounts(explored, advice),
        details=captions(
            "Sure means: for every dataset, the setting chosen from the others alone keeps the "
            "promise. Close means: for some datasets only. Runs on other datasets would check it."
        ),
    )


def _certainty(advice: FoldsAdvice) -> Certainty:
    """Whether the promise is kept on datasets that the setting was chosen without."""
    best = advice.best
    if best.rule == ALL_FOLDS:
        return Certainty.SURE
    if not best.checks:
        return Certainty.UNCERTAIN
    # A check applies the setting that all other datasets would choose to the dataset left out.
    for check in best.checks:
        if not check.keeps_promise:
            return Certainty.CLOSE
    return Certainty.SURE


def _amounts(explored: Explored, advice: FoldsAdvice) -> list[Amount]:
    """Of one run on average, over all orders of its folds."""
    outcome = advice.best.outcome
    folds_of_run = explored.average_k
    used = _average_text(outcome.mean_stop)
    saved = _average_text(folds_of_run - outcome.mean_stop)
    used_of_all = f"{used} of {_average_text(folds_of_run)}"
    amounts = [Amount(name="folds", used=used_of_all, saved=saved)]
    if explored.cost == "energy":
        percent = outcome.cost_percent
        amounts.append(
            Amount(
                name="energy",
                used=percent_text(percent / 100, ".0f"),
                saved=percent_text(1 - percent / 100, ".0f"),
            )
        )
    return amounts


def _average_text(folds: float) -> str:
    """'4', '4.5': with one digit behind the point, unless that is 0."""
    return f"{folds:.1f}".removesuffix(".0")


def _new_data_sentences(runs: Sequence[RunRecord]) -> list[str]:
    """Where the score of a single run is for new users; nothing of several, or of a file."""
    if len(runs) != 1:
        return []
    (run,) = runs
    subject = f"The mean of {counted(run.folds_used, 'fold')}"
    if run.stopped_early:  # its own rule stopped it, not the rule of the answer
        subject = f"{subject}, after which this run itself stopped ({rule_words(run.spec)}),"
    return mean_sentences(run, subject)


def offer_run(advice: FoldsAdvice, runs: Sequence[RunRecord]) -> None:
    """Opens the form of Run with the rule and the value of the answer; nothing for all folds.

    Args:
        advice: The options, of which the cheapest is taken.
        runs: The runs that it is about, whose other settings the form gets; none of a file.
    """
    rule = RULES[advice.best.rule]
    # The axis of a rule is the parameter that decides how early it stops: `setting` is its value,
    # such as an alpha.
    setting = advice.best.outcome.setting
    if rule.axis is None or setting is None:  # using all folds is a rule without a setting
        return
    if not st.button("Run with this rule", icon=":material/play_circle:", key="use-advice"):
        return
    specs = [run.spec for run in runs]
    if not specs:
        specs = [make_spec(dataset="synthetic", algorithm="item-knn", k=advice.k)]
    min_folds = rule.default_folds
    params: dict[str, ParamValue] = {}
    if rule.axis in rule.parameters:
        params[rule.axis.name] = setting
    else:
        # The rule stops after a fixed number of folds, and that number is its axis.
        min_folds = int(setting)
    spec = replace(
        specs[0],
        rule=rule.id,
        rule_params=rule.resolve(params),
        min_folds=min_folds,
        full=False,
    )
    algorithms = []
    for other in specs:
        if other.dataset == spec.dataset:
            algorithms.append(other.algorithm)
    fill_form(spec, algorithms)
    open_page("run/run.py", {"rule": rule.title})


def show_options(explored: Explored, advice: FoldsAdvice) -> None:
    """All options as a table, the check on data left out, what does not keep the promise."""
    st.header("All options that keep this, cheapest first", anchor=False)
    frame = options_frame(advice)
    risk = (
        f"share of orders of the folds that end more than {advice.within_percent:g} % from the "
        "k-fold mean."
    )
    columns = {
        "folds": number("folds", "%.1f", "Expected folds used, over all orders of the folds."),
        "cost": number(f"share of {explored.cost}", "%.0f %%", "Of all folds, averaged over runs."),
        "risk": number("risk", "%.1f %%", risk.capitalize()),
        "95 % of orders within": number(
            None,
            "%.2f %%",
            "The difference that 95 % of the orders of a run do not exceed, averaged over runs.",
        ),
    }
    columns["runs that keep it"] = text(
        None,
        "How many of the runs keep the promise individually. The promise is about their average.",
    )
    columns["kept on other datasets"] = text(
        None,
        "On how many datasets the promise is kept where the setting was chosen on all the others.",
    )
    columns["orders"] = text(None, "Whether all orders were counted, or some were drawn.")
    rules = ", ".join(frame["rule"])
    alt = f"{counted(len(frame), 'option')}, cheapest first: {rules}."
    table(frame, columns, key="folds-options", alt=alt)
    st.caption(f"Risk: {risk}")
    failing = []
    for rule_id in advice.failing:
        failing.append(RULES[rule_id].title)
    if failing:
        st.caption(
            f"No setting of {escaped(listed(failing))} keeps this promise and saves anything."
        )
    ids_of_compared = {curve.rule for curve in explored.curves_of_other_rules}
    for rule in RULES.values():
        if rule.needs_user_scores and rule.id not in ids_of_compared:
            st.caption(
                f"{escaped(rule.title)} needs the score of every user, or sample, which some of "
                "these runs lack."
            )


def write_link(explored: Explored) -> None:
    """Says what the link has of what is chosen, defaults too: another place has other ones."""
    params = params_of_widgets(SOURCE, "datasets", "algorithms")
    # This is the alpha for an address without one: the slider writes its own there once it is
    # moved.
    params[ALPHA_KEY] = [alpha_text(explored.alpha_at_start)]
    picked_ids = st.session_state.get(RUNS)
    if picked_ids:
        params[RUNS] = []
        for run in run_list().rows():
            if run.run_id in picked_ids:
                params[RUNS].append(run_label(run))
    not_in_link = ""
    if st.session_state.get(SOURCE) == FILE:
        not_in_link = _FILE_IN_WORDS
    write_into_link(params, left_out=not_in_link)


def offer_text_and_figures_for_paper(
    explored: Explored, advice: FoldsAdvice, runs: Sequence[RunRecord]
) -> None:
    """The decision in words, and both charts at the alpha that keeps the promise."""
    systems = explored.systems
    systems_words = systems[0].name
    if len(systems) > 1:
        systems_words = counted(len(systems), "run")
    # The promise is that the stop is near enough to the k-fold mean. The charts show the alpha by
    # which the paper's rule keeps it, or that at which the page begins if no alpha keeps it.
    alpha = explored.alpha_at_start
    for option in advice.options:
        if option.rule == PAPERS_RULE and option.outcome.setting:
            alpha = option.outcome.setting
    make_tradeoff_chart = partial(tradeoff_at, explored.frame, alpha, cost=explored.cost)
    make_stops_chart = partial(stops_at, explored.stops, alpha)

    def describe() -> Description:
        return describe_advice(advice, runs, machine_and_versions(runs), cost=explored.cost)

    # Text and figures are made only when the panel is opened.
    draw_paper_panel(
        describe,
        key="folds",
        pictures={
            "Trade-off": partial(printed_figure, make_tradeoff_chart),
            "Stops": partial(printed_figure, make_stops_chart),
        },
        title=f"{systems_words}, alpha {alpha_text(alpha)}",
        specs=[run.spec for run in runs],
    )


def show_numbers(explored: Explored) -> None:
    """What each alpha costs and gives, in words that follow the slider; how they are known."""
    sentences = []
    for alpha in explored.alphas:
        sentences.append(_numbers_sentence(explored, alpha))
    show_numbers_of_slider(SLIDER, key="explore-numbers", sentences=sentences)
    st.caption(_exactness_words(explored))


def _numbers_sentence(explored: Explored, alpha: float) -> str:
    outcome = explored.tradeoff.average.at(alpha)
    k = _average_text(explored.average_k)
    stop_words = f"the rule stops after {outcome.mean_stop:.1f} of {k} folds on average"
    cost_words = f"{percent_text(outcome.cost_percent / 100, '.0f')} of the {explored.cost}"
    mean_difference = percent_text(outcome.mean_difference_percent / 100, ".2f")
    difference_words = f"{mean_difference} from the {explored.reference} mean"
    largest_difference = percent_text(outcome.difference_quantiles[0.95] / 100, ".2f")
    largest_words = f"{largest_difference} of that mean"
    if len(explored.systems) > 1:
        largest_words += ", averaged over the runs,"
    assert outcome.within is not None  # the curves were made for an acceptable difference
    share_near_mean = (
        f"{percent_text(outcome.within, '.0f')} end within {explored.within_percent:g} %"
    )
    return (
        f"With alpha {alpha_text(alpha)}, {stop_words} (paper: {PAPER_STOP}), uses {cost_words} "
        f"(paper: {PAPER_COST_PERCENT} %) and ends {difference_words} (paper: "
        f"{PAPER_DIFFERENCE_PERCENT} %). Of all orders, 95 % end within {largest_words} and "
        f"{share_near_mean}; the interval at the stop holds it in "
        f"{percent_text(outcome.coverage, '.0f')}."
    )


def draw_tradeoff(explored: Explored, advice: FoldsAdvice) -> None:
    """What every alpha costs against how far off it ends; a click on a run leads to its replay."""
    answer = None
    if advice.best.rule != ALL_FOLDS:
        answer = advice.best
    replays = {}
    for system in explored.systems:
        if system.run_id:
            replays[system.name] = f"replay?run={system.run_id}"
    plot(
        partial(tradeoff_figure, explored.frame, cost=explored.cost, answer=answer),
        cache_key=(explored.cache_key, advice.share),
        key="tradeoff",
        alt="Cost against difference to the k-fold mean, for every alpha.",
        slider_name=SLIDER,
        steps=partial(tradeoff_steps, explored.frame, explored.alphas),
        name="trade-off of all alphas",
        address_of_point=replays,
        table=explored.frame.copy,
    )
    if replays:
        st.caption("A click on a run's line plays it in Replay, in any order of its folds.")


def draw_stops(explored: Explored) -> None:
    """Where the rule stops, over all orders; and what the energy of all folds is made up of."""
    st.header("Where the rule stops", anchor=False)
    plot(
        partial(stops_figure, explored.stops),
        cache_key=explored.cache_key,
        key="stops",
        alt="Share of orders that stop after each fold.",
        slider_name=SLIDER,
        steps=partial(stops_steps, explored.stops, explored.alphas),
        name="where the rule stops",
        table=explored.stops.copy,
    )
    if explored.cost == "energy":
        folds: list[FoldResult] = []
        for system in runs_without_other_work(explored.systems):
            folds += system.results or ()
        draw_energy_bar(folds, excluded_energy_words(explored.systems))


def _exactness_words(explored: Explored) -> str:
    """How the numbers are known, in sentences."""
    words = "Exact over every order of the folds"
    sampled = []
    for curve in explored.curves_of_other_rules:
        if curve.sampled:
            sampled.append(RULES[curve.rule].title)
    if sampled:
        words += f"; only {' and '.join(sampled)} sampled."
    else:
        words += ", none of it sampled."
    if len(explored.systems) > 1:
        words += f" Each of the {len(explored.systems)} runs counts the same."
    if explored.cost == "energy":
        return f"{words} {energy_sources_sentence(explored.systems)}"
    return f"{words} No energy was recorded, so every fold costs the same."
