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
    FORECAST,
    algorithm_title,
    counted,
    duration,
    grams,
    half_width_words,
    metric_label,
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

_told = component(
    __file__,
    "ecv_told",
    html='<div class="ecv-told"></div>',
    css="facts.css",
    js=["../shared/live/shared.js", "facts.js"],
)


def show(data: Mapping[str, object], *, key: str, room: str | None) -> None:
    """Draw what `box` or `facts` made of a run; `room` is the key by which a look gives it room."""
    with st.container(key=room):
        _told(key=key, data=dict(data))


def box(kind: str, lines: list[str]) -> str:
    """A sentence in a box, 'info', 'success', 'warning' or 'error', and more in small type."""
    first, *small = map(escape, lines)
    said = f"<p>{first}</p>" + "".join(f"<p><small>{line}</small></p>" for line in small)
    sign = f'<i class="ecv-sign" aria-hidden="true">{_SIGNS[kind]}</i>'
    return f'<div class="ecv-box ecv-{kind}" role="alert">{sign}<div>{said}</div></div>'


def _text(markdown: str) -> str:
    """Text with links, as our sentences have them."""
    linked = _LINK.sub(
        r'<a href="\2" target="_blank" rel="noopener noreferrer">\1</a>', escape(markdown)
    )
    return re.sub(r"\\(&\w+;|\W)", r"\1", linked)


def _captions(*texts: str) -> str:
    return "".join(f'<p class="ecv-caption">{_text(one)}</p>' for one in texts if one)


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
    """A number with its label; `explains` is told on demand, `note` below it."""
    help = ""
    if explains:
        told = "".join(f"<p>{_text(line)}</p>" for line in explains.split("\n\n"))
        help = (
            f'<button type="button" class="ecv-sign" aria-label="Help for {escape(label)}">?'
            f'</button><div role="tooltip">{told}</div>'
        )
    size = f' style="width: {width}px"' if width else ""
    kind = "ecv-value ecv-range" if " to " in value else "ecv-value"
    below = f'<div class="ecv-note{" ecv-good" * good}">{escape(note)}</div>' if note else ""
    return (
        f'<div class="ecv-metric"{size}>'
        f'<div class="ecv-label"><span>{escape(label)}</span>{help}</div>'
        f'<div class="{kind}">{escape(value)}</div>{below}</div>'
    )


def facts(run: RunRecord) -> str:
    """A pure function of the completed folds; the clock is in the bar."""
    return f'<div class="ecv-facts">{_score(run)}{_energy(run, energy_of(run))}</div>'


def energy_may_come(run: RunRecord) -> bool:
    """Whether the numbers need room for energy."""
    return run.state.active or energy_of(run).source != "none"


def _score(run: RunRecord) -> str:
    k, at = run.k, run.at_stop
    mean, named, wherever = "-", "", ""
    if at:
        shown, wherever = shown_interval(run)
        half = f" ± {shown.width / 2:.4f}" if shown else ""
        mean = f"{at.mean:.4f}{half}"
        named = half_width_words(shown, k, wherever)
    help = explained(
        f"Mean of the folds used. At {100 * run.spec.confidence:g} % confidence: "
        f"{named or 'there is no interval yet'}.",
        *([] if run.spec.own_metric else [metric_term(run.spec.metric)]),
        "confidence-interval",
    )
    alike = "Folds that score alike do not tell how uncertain it is."
    none = alike if at and at.n > 1 else "Its interval comes with the second fold."
    level = f"{100 * run.spec.confidence:g} %"
    said = f"{named[0].upper()}{named[1:]}, {level} confidence." if named else none
    if at and at.interval and wherever:
        band = f"the figure's band, ± {at.interval.width / 2:.4f}, ignores the stop"
        said = f"{level} interval{wherever}; {band}."
    folds = _metric(
        "Folds used",
        f"{run.folds_used} of {k}",
        width=_HALF,
        explains=explained("Folds that the mean is of (e), of k.", "e", "k"),
    )
    time = _metric(
        "Time",
        duration(run.seconds) if run.folds else "-",
        width=_HALF,
        explains="Computing time of the finished folds: splitting, fitting and evaluating.",
    )
    score = _row(_metric(f"Mean {metric_label(run.spec)}", mean, explains=help))
    return f"{score}{_captions(said)}{_row(folds, time)}"


def _processor(run: RunRecord, facts: EnergyFacts) -> str:
    """What other work beside it does not change; nothing of runs of before it was written."""
    seconds, saved = facts.processor_seconds, facts.saved_processor_percent
    if seconds is None and (run.folds or not run.state.active):
        return ""
    gpu = facts.gpu_seconds
    return _row(
        _metric(
            "Processor time",
            "-" if seconds is None else duration(seconds),
            width=_HALF,
            explains="Of all cores, for the finished folds alone. Other work on the machine hardly "
            "changes it, as it does time and joules.",
        ),
        _metric(
            "Stop would save" if run.checked else "Share saved",
            f"{'about ' * facts.forecast}{saved:.0f} %" if saved else "-",
            width=_HALF,
            explains=f"Of the processor time of all {run.k} folds.",
        ),
        _metric("GPU time", duration(gpu), explains="Of all GPUs.") if gpu else "",
    )


def _energy(run: RunRecord, facts: EnergyFacts) -> str:
    processor = _processor(run, facts)
    if facts.source == "none" and run.folds:
        row = [_metric(f"Energy {word}", "-", width=_HALF) for word in ("used", "saved")]
        return processor + _row(*row) + _captions(source_sentence("none"))
    used, per_fold, emitted = "-", "-", "-"  # until the first fold, each where it will be told
    if run.folds:
        used, emitted = used_words(facts), grams(facts.grams_co2e)
        per_fold = watt_hours_range(*(joules / len(run.folds) for joules in facts.joules_range))
    emissions = _metric(
        "Emissions",
        emitted,
        width=100,
        explains=explained(
            f"Grams CO2e of all of the energy used, as {intensity_words(run.spec.country)}.",
            "emissions",
            "carbon-intensity",
        ),
    )
    how = "\n\n".join(filter(None, (range_words(facts), memory_words(run.folds))))
    rows = (
        processor
        + _row(
            _metric("Energy used", used, width=_HALF, explains=how),
            _metric("Energy per fold", per_fold, width=_HALF),
        )
        + _row(_saved(facts, run), emissions)
    )
    if not run.folds:
        return rows
    bar, made_up_of = energy_html(run.folds, left_in_words([run]))
    above = _captions(source_sentence(facts.source), shared_words(run), node_words(run))
    beside = "" if run.state.active else _cheap_models(run)
    below = _captions(made_up_of, reused_words(run), beside)
    steps = "".join(f"<p>{escape(line)}</p>" for line in why(run))
    reason = f'<details class="ecv-caption"><summary>Why this number?</summary>{steps}</details>'
    return f"{rows}{above}<div>{bar}</div>{below}{reason * bool(steps)}"


def _cheap_models(run: RunRecord) -> str:
    """What the runs cost that this one is adjusted by: they are no part of its own energy."""
    said = []
    for name in cheap_models(run.spec):
        aid = next(iter(Results(store(), recorded=False).runs(aid_spec(run.spec, name))), None)
        if aid is None:
            continue
        energy = energy_of(aid)
        cost = "not metered" if energy.source == "none" else watt_hours(aid.joules)
        link = f"[{escaped(algorithm_title(name))}](?run={aid.run_id})"
        said.append(f"{link} ({counted(len(aid.folds), 'fold')}, {cost})")
    return f"Adjusted by {', '.join(said)}: besides the energy above." if said else ""


def _saved(facts: EnergyFacts, run: RunRecord) -> str:
    """What the stop saved, or would have; a range takes more room than a number."""
    checked, percent, about = run.checked, facts.saved_percent, "about " * facts.forecast
    share = f"{about}{percent:.0f} % of all {run.k}, {HOW[facts.source]}" if percent else ""
    if not share and run.state.active and run.spec.rule != NEVER_STOPS:
        share = "known at the stop"  # and room for it: what is below does not move then
    return _metric(
        "Stop would save" if checked else "Energy saved",
        saved_words(facts),
        note=share,
        good=bool(percent) and not checked,
        width=180,
        explains=explained(
            "What the folds after the stop cost: they ran to check it."
            if checked and not facts.forecast
            else f"A forecast until the other folds have run: {FORECAST}.",
            "energy-saved",
            "stop",
        ),
    )
