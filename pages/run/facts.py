"""A run -> the sentence and the numbers beside figure 1, as HTML that all who watch are told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

import streamlit as st

from ecv_core.energy.load import memory_words
from ecv_core.energy.meter import intensity_words
from ecv_core.energy.parts import left_in_words, why
from ecv_core.energy.savings import EnergyFacts, energy_of
from ecv_core.figures.words import (
    algorithm_title,
    counted,
    duration,
    forecast_words,
    grams,
    half_width_words,
    metric_label,
    new_data_line,
    node_words,
    range_words,
    reused_words,
    saved_words,
    shared_words,
    shown_interval,
    used_words,
    watt_hours,
    watt_hours_range,
)
from ecv_core.records.run import HOW, RunRecord
from ecv_core.stopping import NEVER_STOPS, cheap_models
from ecv_core.store.results import Results, aid_spec
from pages.shared.charts.energy_parts import energy_html
from pages.shared.live.runs import source_sentence
from pages.shared.live.state import escaped, store
from pages.shared.widgets.component import component
from pages.shared.widgets.glossary import explained, metric_term

_HALF = 130
"""Pixels of a metric that has another one beside it."""
_LINK = re.compile(r"(?<!\\)\[([^\]]*)\]\(([^)\s]*)\)")
_SIGNS = {"info": "i", "success": "\u2713", "warning": "!", "error": "!"}

_html = component(
    __file__,
    "ecv_told",
    html='<div class="ecv-told"></div>',
    css="facts.css",
    js=["../shared/live/shared.js", "facts.js"],
)


def show(entries: Mapping[str, object], *, part: str, key: str, room: str | None) -> None:
    """Draw a part of what is shown of a run.

    Args:
        entries: The HTML of each part, by its name.
        part: Which one, 'verdict' or 'facts'.
        key: Of the component.
        room: The key by which a look gives it room.
    """
    with st.container(key=room):
        _html(key=key, data={**entries, "shown": part})


def box(kind: str, lines: list[str], answer: str = "") -> str:
    """A sentence in a box, 'info', 'success', 'warning' or 'error', and more in small type.

    Args:
        kind: Of the box.
        lines: The sentence, and what is in small type.
        answer: What stands above all in large type; empty for nothing.
    """
    first, *others = lines
    paragraphs = [f"<p>{escape(first)}</p>"]
    if answer:
        paragraphs.insert(0, f'<p class="ecv-answer">{escape(answer)}</p>')
    for line in others:
        paragraphs.append(f"<p><small>{escape(line)}</small></p>")
    sign = f'<i class="ecv-sign" aria-hidden="true">{_SIGNS[kind]}</i>'
    text = "".join(paragraphs)
    return f'<div class="ecv-box ecv-{kind}" role="alert">{sign}<div>{text}</div></div>'


def _text(markdown: str) -> str:
    """Text with links, as our sentences have them."""
    linked = _LINK.sub(
        r'<a href="\2" target="_blank" rel="noopener noreferrer">\1</a>', escape(markdown)
    )
    return re.sub(r"\\(&\w+;|[\W_])", r"\1", linked)


def _captions(*texts: str) -> str:
    return "".join(f'<p class="ecv-caption">{_text(text)}</p>' for text in texts if text)


def _row(*metrics: str) -> str:
    """Metrics side by side, one below the other where they would be cut off."""
    return f'<div class="ecv-row">{"".join(metrics)}</div>'


def _metric(
    label: str,
    value: str,
    *,
    width: int = 0,
    explains: str = "",
    note: str = "",
    good: bool = False,
) -> str:
    """A number with its label.

    Args:
        label: what it is.
        value: the number, with its unit.
        width: in pixels; as wide as it needs by default.
        explains: Markdown that is shown on demand.
        note: a line below it.
        good: whether the note is good news.
    """
    size = ""
    if width:
        size = f' style="width: {width}px"'
    kind = "ecv-value"
    if " to " in value:  # a range, in smaller type
        kind = "ecv-value ecv-range"
    below = ""
    if note:
        note_kind = "ecv-note ecv-good" if good else "ecv-note"
        below = f'<div class="{note_kind}">{escape(note)}</div>'
    return (
        f'<div class="ecv-metric"{size}>'
        f'<div class="ecv-label"><span>{escape(label)}</span>{_help(label, explains)}</div>'
        f'<div class="{kind}">{escape(value)}</div>{below}</div>'
    )


def _help(label: str, markdown: str) -> str:
    """A sign beside a label that shows this text on demand; none without a text."""
    if not markdown:
        return ""
    paragraphs = "".join(f"<p>{_text(line)}</p>" for line in markdown.split("\n\n"))
    return (
        f'<button type="button" class="ecv-sign" aria-label="Help for {escape(label)}">?'
        f'</button><div role="tooltip">{paragraphs}</div>'
    )


def facts(run: RunRecord) -> str:
    """A pure function of the completed folds; the clock is in the bar.

    Args:
        run: its folds carry their users' scores (`Results.with_user_scores`), where there are some.
    """
    return f'<div class="ecv-facts">{_score(run)}{_energy(run, energy_of(run))}</div>'


def energy_may_come(run: RunRecord) -> bool:
    """Whether the numbers need room for energy."""
    return run.state.active or energy_of(run).source != "none"


def _score(run: RunRecord) -> str:
    """The mean with its intervals, the folds and the time that it took."""
    stop = run.at_stop
    mean = "-"
    if stop:
        mean = f"{stop.mean:.4f}"
    for_new_data = "The interval for new data appears after the first fold."
    line = new_data_line(run)
    if line:
        for_new_data = f"{line[0].upper()}{line[1:]}."
    terms = ["confidence-interval"]
    if not run.spec.own_metric:
        terms.insert(0, metric_term(run.spec.metric))
    help = explained(
        "Mean score of the folds used. Below it are its interval for new data and its interval "
        "over these folds.",
        *terms,
    )
    folds = _metric(
        "Folds used",
        f"{run.folds_used} of {run.k}",
        width=_HALF,
        explains=explained("How many of the k planned folds the mean is taken over (e).", "e", "k"),
    )
    time = _metric(
        "Time",
        duration(run.seconds) if run.folds else "-",
        width=_HALF,
        explains="Computing time of the finished folds: splitting, fitting and evaluating.",
    )
    score = _row(_metric(f"Mean {metric_label(run.spec)}", mean, explains=help))
    intervals = _captions(escaped(for_new_data), escaped(_of_these_folds(run)))
    return f"{score}{intervals}{_row(folds, time)}"


def _of_these_folds(run: RunRecord) -> str:
    """The interval of these folds in a sentence, and the figure's band where it differs."""
    stop = run.at_stop
    if stop is None or run.folds_used < 2:
        return "The interval over these folds appears after the second fold."
    interval, wherever = shown_interval(run)
    named = half_width_words(interval, run.k, wherever)
    if not named:
        return "These folds all have the same score, which does not show how uncertain the mean is."
    sentence = f"{100 * run.spec.confidence:g} % interval: {named}."
    if stop.interval and wherever:
        sentence += f" The band in the figure, ± {stop.interval.width / 2:.4f}, ignores the stop."
    return sentence


def _processor(run: RunRecord, facts: EnergyFacts) -> str:
    """What other work beside it does not change; nothing of runs of before it was written."""
    seconds = facts.processor_seconds
    if seconds is None and (run.folds or not run.state.active):
        return ""
    used = "-"
    if seconds is not None:
        used = duration(seconds)
    metrics = [
        _metric(
            "Processor time",
            used,
            width=_HALF,
            explains="The time that the finished folds kept processor cores busy, over all cores. "
            "Other programs change time and energy, but hardly change this.",
        ),
        _metric(
            "Stop would save" if run.checked else "Processor saved",
            _saved_percent(facts, facts.saved_processor_percent) or "-",
            width=_HALF,
            explains=f"In percent of the processor time of all {run.k} folds.",
        ),
    ]
    if facts.gpu_seconds:
        metrics.append(_metric("GPU time", duration(facts.gpu_seconds), explains="Over all GPUs."))
    return _row(*metrics)


def _saved_percent(facts: EnergyFacts, percent: float | None) -> str:
    """'about 40 %', or '40 %' where it is no forecast; empty where nothing is known or saved."""
    if not percent:
        return ""
    if facts.forecast:
        return f"about {percent:.0f} %"
    return f"{percent:.0f} %"


def _energy(run: RunRecord, facts: EnergyFacts) -> str:
    processor = _processor(run, facts)
    if facts.source == "none" and run.folds:
        unknown = _row(
            _metric("Energy used", "-", width=_HALF), _metric("Energy saved", "-", width=_HALF)
        )
        return processor + unknown + _captions(source_sentence("none"))
    numbers = processor + _energy_numbers(run, facts)
    if not run.folds:
        return numbers
    bar, made_up_of = energy_html(run.folds, left_in_words([run]))
    above = _captions(
        source_sentence(facts.source), escaped(shared_words(run)), escaped(node_words(run))
    )
    cheap_models = ""
    if not run.state.active:
        cheap_models = _cheap_models(run)
    below = _captions(made_up_of, escaped(reused_words(run)), cheap_models)
    return f"{numbers}{above}<div>{bar}</div>{below}{_reasons(run)}"


def _energy_numbers(run: RunRecord, facts: EnergyFacts) -> str:
    """Energy used, per fold and saved, and emissions; until the first fold each has its place."""
    used = "-"
    per_fold = "-"
    emitted = "-"
    if run.folds:
        used = used_words(facts)
        emitted = grams(facts.grams_co2e)
        least, most = facts.joules_range
        per_fold = watt_hours_range(least / len(run.folds), most / len(run.folds))
    how = "\n\n".join(filter(None, (range_words(facts), memory_words(run.folds))))
    energy = _row(
        _metric("Energy used", used, width=_HALF, explains=how),
        _metric("Energy per fold", per_fold, width=_HALF),
    )
    emissions = _metric(
        "Emissions",
        emitted,
        width=100,
        explains=explained(
            f"Grams of CO2e for all energy used, with {intensity_words(run.spec.country)}.",
            "emissions",
            "carbon-intensity",
        ),
    )
    return energy + _row(_saved_words(facts, run), emissions)


def _reasons(run: RunRecord) -> str:
    """How the energy was found, step by step, folded away; empty where nothing is to be said."""
    steps = "".join(f"<p>{escape(line)}</p>" for line in why(run))
    if not steps:
        return ""
    return f'<details class="ecv-caption"><summary>Why this number?</summary>{steps}</details>'


def _cheap_models(run: RunRecord) -> str:
    """What the runs cost that this one is adjusted by: they are no part of its own energy."""
    results = Results(store(), recorded=False)
    links = []
    for name in cheap_models(run.spec):
        for aid in results.runs(aid_spec(run.spec, name))[:1]:
            cost = watt_hours(aid.joules)
            if energy_of(aid).source == "none":
                cost = "not metered"
            link = f"[{escaped(algorithm_title(name))}](?run={aid.run_id})"
            links.append(f"{link} ({counted(len(aid.folds), 'fold')}, {cost})")
    if not links:
        return ""
    return f"The mean is adjusted by {', '.join(links)}, whose energy is not counted above."


def _saved_words(facts: EnergyFacts, run: RunRecord) -> str:
    """What the stop saved, or would have; a range takes more room than a number."""
    percent = _saved_percent(facts, facts.saved_percent)
    note = ""
    if percent:
        note = f"{percent} of all {run.k} folds, {HOW[facts.source]}"
    elif run.state.active and run.spec.rule != NEVER_STOPS:
        note = "known at the stop"  # and room for it: what is below does not move then
    explanation = "A forecast until the other folds have run."
    if facts.folds_ran:
        counted_as = forecast_words([facts.folds_ran])
        explanation = (
            f"A forecast until the other folds have run. Each of them is counted as {counted_as}."
        )
    if run.checked and not facts.forecast:
        explanation = "What the folds after the stop used. They ran only to check it."
    return _metric(
        "Stop would save" if run.checked else "Energy saved",
        saved_words(facts),
        note=note,
        good=bool(percent) and not run.checked,
        width=180,
        explains=explained(explanation, "energy-saved", "stop"),
    )
