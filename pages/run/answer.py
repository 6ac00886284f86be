"""A run -> its answer: how sure, what it cost and saved; as HTML that all who watch are told."""

from __future__ import annotations

from html import escape

from ecv_core.energy.load import memory_words
from ecv_core.energy.meter import intensity_words
from ecv_core.energy.parts import energy_lines, inflated_energy_words
from ecv_core.energy.savings import EnergyFacts, energy_of
from ecv_core.figures.words import (
    algorithm_title,
    as_sentence,
    counted,
    decision_reason,
    duration,
    forecast_words,
    half_width_words,
    is_or_are,
    leaves_mean_uncertain,
    metric_label,
    new_data_line,
    node_words,
    range_words,
    reused_words,
    shared_words,
    shown_interval,
    used_words,
    verdict,
    watt_hours_range,
)
from ecv_core.records.parameters import score_text
from ecv_core.records.run import RunRecord, RunState
from ecv_core.stopping import cheap_model_ids
from ecv_core.store.new_data import MeanOnNewData, mean_on_new_data
from ecv_core.store.results import Results, cheap_model_spec
from pages.shared.base.glossary import glossary_line, glossary_link, metric_term, terms
from pages.shared.charts.energy_parts import energy_words
from pages.shared.live.runs import source_sentence
from pages.shared.live.state import escaped, store
from pages.shared.widgets.amounts import amounts_of, saved_head
from pages.shared.widgets.answer_card import Answer, Certainty, captions, text_html

_WIDTH_IN_ROW = 130
"""Pixels of a metric that has another one beside it."""


def run_answer(run: RunRecord) -> Answer:
    """The answer of a run so far; a pure function of its folds, for the clock is in the bar.

    Args:
        run: Its folds carry their users' scores (`Results.with_user_scores`), where there are some.
    """
    stop = run.at_stop
    new_data = mean_on_new_data(run, run.user_scores)
    headline = ""
    sentences = []
    if stop is not None:
        headline = f"{metric_label(run.spec)} {score_text(stop.mean)}"
        sentences.append(as_sentence(new_data_line(run, new_data)))
    sentences.append(_sentence_on_state(run))
    amounts = []
    if run.folds or run.state.active:
        amounts = amounts_of([run])
    return Answer(
        certainty=_certainty(run, new_data),
        headline=headline,
        sentences=sentences,
        amounts=amounts,
        saved_head=saved_head([run]),
        details=details_html(run),
    )


def _certainty(run: RunRecord, new_data: MeanOnNewData | None) -> Certainty:
    """How sure the mean is, by its interval for new users (None where that is not known).

    It is sure once nothing is to come and its interval, for new users where that is known, is
    within a tenth of the mean to each side, and no doubt is said of the stop.
    """
    if run.state is RunState.FAILED:
        return Certainty.FAILED
    if run.at_stop is None or not (run.stopped_early or run.complete):
        if run.state.active:
            return Certainty.OPEN
        return Certainty.ENDED
    if run.doubt or _is_wide(run, new_data, run.at_stop.mean):
        return Certainty.UNCERTAIN
    return Certainty.SURE


def _is_wide(run: RunRecord, new_data: MeanOnNewData | None, mean: float) -> bool:
    """Whether the interval leaves the mean uncertain, or is not known.

    It is the interval for new users, or of these folds where that one is not known. After an early
    stop it is both, as the verdict on the stop is by that of these folds.
    """
    interval = shown_interval(run).interval
    is_wide = interval is None or leaves_mean_uncertain(interval, mean)
    if new_data is None:
        return is_wide
    if run.stopped_early and interval is not None and is_wide:
        return True
    return leaves_mean_uncertain(new_data.interval, mean)


def _sentence_on_state(run: RunRecord) -> str:
    """What explains this moment."""
    if run.state is RunState.QUEUED:
        if run.queue_position:
            return f"Queued behind {counted(run.queue_position, 'run')}."
        return "About to start."
    if run.damaged or not (run.state.active or run.state is RunState.FINISHED):
        return _cut_off_sentence(run)
    if not run.folds:
        return "The first fold is running. The first interval appears after the second."
    if run.checked and run.state is RunState.RUNNING:
        return f"{verdict(run)} The remaining folds are running to check this."
    return verdict(run)


def _cut_off_sentence(run: RunRecord) -> str:
    """Why folds of a run are missing."""
    words_on_kept_folds = _kept_sentences(run)
    match run.state:
        case RunState.FAILED:
            return f"Failed: {run.error or 'for an unknown reason'}. {words_on_kept_folds}"
        case RunState.CANCELLED if run.error:
            return f"Cancelled: {run.error}. {words_on_kept_folds}"
        case RunState.CANCELLED:
            return f"Cancelled. {words_on_kept_folds}"
        case RunState.INTERRUPTED:
            return f"Interrupted: {run.error or 'the program ended'}. {words_on_kept_folds}"
    # The run is finished, but some of its folds are damaged.
    return (
        f"Only {len(run.folds)} of {run.k} folds can be read. Resume the run to compute the others."
    )


def _kept_sentences(run: RunRecord) -> str:
    done = len(run.folds)
    if done == 0:
        return "No fold was finished."
    sentence = f"{done} of {run.k} folds {is_or_are(done)} finished and kept."
    if run.stopped_early:
        sentence = f"{sentence} {verdict(run)}"
    return sentence


# What is behind Details.


def details_html(run: RunRecord) -> str:
    """The rule's arithmetic, the interval of these folds, and how the energy comes about."""
    if not run.folds:
        return ""
    facts = energy_of(run)
    score = captions(
        escaped(decision_reason(run)),
        escaped(_interval_sentence(run)),
        "Sure means: the rule has stopped or all folds have run, and the interval is within 10 % "
        "of the mean to each side.",
        glossary_line(_terms(run)),
    )
    return f"<div>{score}{_processor_time_html(facts)}</div><div>{_energy_html(run, facts)}</div>"


def _terms(run: RunRecord) -> list[str]:
    """The ids of the glossary's entries for the words of the card."""
    term_ids = ["confidence-interval", "stop", "e", "energy-saved"]
    metric_id = metric_term(run.spec.metric)
    if metric_id in terms():
        term_ids.insert(0, metric_id)
    return term_ids


def _row(*metrics: str) -> str:
    """Metrics side by side, one below the other where they would be cut off."""
    return f'<div class="ecv-row">{"".join(metrics)}</div>'


def _labelled_number(
    label: str,
    value: str,
    *,
    width: int = 0,
    explanation: str,
) -> str:
    """A number with its label.

    Args:
        label: What it is.
        value: The number, with its unit.
        width: In pixels; as wide as it needs by default.
        explanation: Markdown that is shown on demand.
    """
    style = ""
    if width:
        style = f' style="width: {width}px"'
    css_class = "ecv-value"
    if " to " in value:  # a range such as '2 to 3 Wh' needs smaller type
        css_class = "ecv-value ecv-range"
    return (
        f'<div class="ecv-metric"{style}>'
        f'<div class="ecv-label"><span>{escape(label)}</span>{_help(label, explanation)}</div>'
        f'<div class="{css_class}">{escape(value)}</div></div>'
    )


def _help(label: str, markdown: str) -> str:
    """A sign beside a label that shows this text on demand; none without a text."""
    if not markdown:
        return ""
    paragraphs = "".join(f"<p>{text_html(line)}</p>" for line in markdown.split("\n\n"))
    return (
        f'<button type="button" class="ecv-sign" aria-label="Help for {escape(label)}">?'
        f'</button><div role="tooltip">{paragraphs}</div>'
    )


def _interval_sentence(run: RunRecord) -> str:
    """The interval of these folds in a sentence, and the figure's band where it differs."""
    stop = run.at_stop
    if stop is None or run.folds_used < 2:
        return "The interval over these folds appears after the second fold."
    # The interval is another one, with a note, where the usual one would not hold after a stop.
    shown = shown_interval(run)
    half_width = half_width_words(shown.interval, run.k, shown.note)
    if not half_width:
        return "All these folds have the same score, so they do not show how uncertain the mean is."
    sentence = f"{100 * run.spec.confidence:g} % interval: {half_width}."
    if stop.interval and shown.note:
        sentence += (
            f" The band in the figure, ± {score_text(stop.interval.width / 2)}, ignores the stop."
        )
    return sentence


def _processor_time_html(facts: EnergyFacts) -> str:
    """What other work beside it does not change; nothing of runs of before it was written."""
    if facts.processor_seconds is None:
        return ""
    metrics = [
        _labelled_number(
            "Processor time",
            duration(facts.processor_seconds),
            width=_WIDTH_IN_ROW,
            explanation="The time that the finished folds kept processor cores busy, over all "
            "cores. Other programs change time and energy, but hardly change this.",
        )
    ]
    if facts.gpu_seconds:
        metrics.append(
            _labelled_number("GPU time", duration(facts.gpu_seconds), explanation="Over all GPUs.")
        )
    return _row(*metrics)


def _energy_html(run: RunRecord, facts: EnergyFacts) -> str:
    if facts.source == "none":
        return captions(source_sentence("none"))
    least, most = facts.joules_range
    explanation = "\n\n".join(filter(None, (range_words(facts), memory_words(run.folds))))
    per_fold = watt_hours_range(least / len(run.folds), most / len(run.folds))
    numbers = _row(
        _labelled_number("Energy per fold", per_fold, width=_WIDTH_IN_ROW, explanation=explanation)
    )
    parts_of_energy = energy_words(run.folds, inflated_energy_words([run]))
    emissions = (
        f"{glossary_link('emissions', 'Emissions')}: grams of CO2e for all energy used, with "
        f"{intensity_words(run.spec.country)}."
    )
    above_bar = captions(
        source_sentence(facts.source),
        emissions,
        _forecast_sentence(facts),
        escaped(shared_words(run)),
        escaped(node_words(run)),
    )
    cheap_models = ""
    if not run.state.active:
        cheap_models = _energy_of_cheap_models(run)
    below_bar = captions(parts_of_energy.sentence, escaped(reused_words(run.folds)), cheap_models)
    bar = f"<div>{parts_of_energy.bar}</div>"
    return f"{numbers}{above_bar}{bar}{below_bar}{_why_this_energy_html(run)}"


def _forecast_sentence(facts: EnergyFacts) -> str:
    """How what the stop saved is known; empty while there is no stop."""
    if facts.saved_joules is None:
        return ""
    if not facts.has_forecast:
        return "What the stop would save is what the folds after it used. They ran to check it."
    counted_as = forecast_words([facts.folds_ran])
    return (
        "What the stop saved is a forecast until the other folds have run. Each of them is "
        f"counted as {counted_as}."
    )


def _why_this_energy_html(run: RunRecord) -> str:
    """How the energy was found, step by step, folded away; empty where nothing is to be said."""
    steps = "".join(f"<p>{escape(line)}</p>" for line in energy_lines(run))
    if not steps:
        return ""
    return f'<details class="ecv-caption"><summary>Why this number?</summary>{steps}</details>'


def _energy_of_cheap_models(run: RunRecord) -> str:
    """What the runs cost that this one is adjusted by: they are no part of its own energy."""
    results = Results(store(), with_recorded=False)
    links = []
    for name in cheap_model_ids(run.spec):
        cheap_runs = results.runs(cheap_model_spec(run.spec, name))
        for cheap_run in cheap_runs[:1]:  # the run with the most folds is listed first
            energy = used_words(energy_of(cheap_run))
            if energy_of(cheap_run).source == "none":
                energy = "not metered"
            link = f"[{escaped(algorithm_title(name))}](?run={cheap_run.run_id})"
            links.append(f"{link} ({counted(len(cheap_run.folds), 'fold')}, {energy})")
    if not links:
        return ""
    return f"The mean is adjusted by {', '.join(links)}, whose energy is not counted above."
