"""A run -> a report of one page: what came out, figure 1, methods, how to get it again."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from ecv_core import models
from ecv_core.energy.load import memory_words
from ecv_core.energy.meter import SOURCES, country_in_words, intensity_words
from ecv_core.energy.parts import energy_parts, parts_sentence
from ecv_core.energy.savings import EnergyFacts, energy_of
from ecv_core.figures.efold import history_of_run
from ecv_core.figures.efold_plot import run_alt_text, run_figure
from ecv_core.figures.report.describe import MadeWith, describe_methods, moment_numbers
from ecv_core.figures.report.html_templates import templates
from ecv_core.figures.report.pictures import printed_figure
from ecv_core.figures.report.saving import PAGE, inline_svg
from ecv_core.figures.words import (
    counted,
    decision_reason,
    duration,
    estimate_text,
    grams,
    interval_words,
    joined,
    metric_label,
    node_words,
    range_words,
    reused_words,
    rule_words,
    run_title,
    saved_words,
    saving_verb,
    shared_words,
    used_words,
    verdict,
)
from ecv_core.records.errors import UnknownName
from ecv_core.records.parameters import percent_text, score_text
from ecv_core.records.run import RunRecord, RunState
from ecv_core.store.document import command_of
from ecv_core.store.new_data import mean_on_new_data

MOST_ROWS = 20
"""Folds in the table; more would not fit on a page, and the run's CSV has them all."""
_FIGURE_INCHES = 2.45
"""Height of figure 1, which leaves room for the table of the folds on its page."""


def run_report(run: RunRecord, made_with: MadeWith, *, origin: str = "") -> str:
    """One HTML page about a run, finished or not.

    Args:
        run: With at least the folds that are in, which carry their users' scores where there are
            some (`Results.with_user_scores`).
        made_with: As `store.environment.environment` gives it where the run was computed.
        origin: A sentence for a run that was imported from elsewhere.

    Returns:
        HTML with everything in it, A4 when printed: no script, nothing loaded from anywhere; all
        text of the run is escaped.
    """
    energy = energy_of(run)
    day = f"{run.finished_at or run.created_at:%Y-%m-%d}"
    description = describe_methods([run], made_with)
    template = templates().get_template("run.html")
    return template.render(
        title=run_title(run),
        subtitle=f"e-fold cross-validation · run {run.run_id} · {run.state.value} · {day}",
        origin=origin,
        conclusion=conclusion(run),
        arithmetic=decision_reason(run),
        numbers=_key_numbers(run, energy),
        picture=_figure_1(run),
        fold_headers=_fold_headers(run),
        folds=_fold_rows(run),
        fold_caption=_fold_caption(run),
        folds_used=run.folds_used,
        methods=description.methods,
        energy=_energy_words(run, energy),
        command=_command(run),
        machine=machine_words(made_with),
        bibtex=description.bibtex,
        made_at=datetime.now(UTC),
    )


def conclusion(run: RunRecord) -> str:
    """What came out, in one or two sentences with their numbers."""
    if not run.folds:
        return f"No fold of {run.k} is finished: the run is {run.state.value}."
    if run.state is RunState.FINISHED:
        return verdict(run)
    return f"{verdict(run)} The run is {run.state.value}."


class KeyNumber(NamedTuple):
    """A number that stands large at the top of the report."""

    name: str
    value: str
    note: str


def _key_numbers(run: RunRecord, energy: EnergyFacts) -> list[KeyNumber]:
    """Score, folds, time, energy and emissions."""
    mean = "-"
    if run.at_stop:
        mean = score_text(run.at_stop.mean)
    return [
        KeyNumber(
            f"Mean {metric_label(run.spec)}",
            mean,
            interval_words(run, mean_on_new_data(run, run.user_scores)),
        ),
        KeyNumber("Folds used", f"{run.folds_used} of {run.k}", rule_words(run.spec)),
        KeyNumber("Computing time", duration(run.seconds), f"{len(run.folds)} folds run"),
        *_processor_numbers(energy, run.k),
        *_energy_numbers(run, energy),
    ]


def _energy_numbers(run: RunRecord, energy: EnergyFacts) -> list[KeyNumber]:
    """What the folds used and what the stop saved; dashes where nothing was metered."""
    used = "-"
    saved = "-"
    emitted = "-"
    share = ""
    if energy.source != "none":
        used = used_words(energy)
        saved = saved_words(energy)
        emitted = grams(energy.grams_co2e)
        share = _saved_share_words(energy.saved_percent, run.k, energy)
    saved_title = "Energy saved"
    if run.checked:  # the folds after the stop ran too, so that nothing is really saved
        saved_title = "Stop would save"
    return [
        KeyNumber("Energy used", used, "of all folds that ran"),
        KeyNumber(saved_title, saved, share),
        KeyNumber("Emissions", emitted, f"CO2e, {country_in_words(run.spec.country)}"),
    ]


def _saved_share_words(saved_percent_of_cost: float | None, k: int, energy: EnergyFacts) -> str:
    """'about 43 % of all 10': what a stop saved; empty where it saved nothing.

    Args:
        saved_percent_of_cost: Of the energy, or of the processor time, of all k folds.
        k: The number of folds.
        energy: Says whether folds that never ran had to be estimated.
    """
    if not saved_percent_of_cost:
        return ""
    words = f"{percent_text(saved_percent_of_cost / 100, '.0f')} of all {k}"
    # What folds that never ran would have cost is a forecast, so that the share is one too.
    if energy.has_forecast:
        words = f"about {words}"
    return words


def _processor_numbers(energy: EnergyFacts, k: int) -> list[KeyNumber]:
    """The processor time, with the share that the stop saved; none where no fold says it."""
    if energy.processor_seconds is None:
        return []
    note = "of all cores"
    share = _saved_share_words(energy.saved_processor_percent, k, energy)
    if share:
        note = f"{share} {saving_verb(energy)}"
    numbers = [KeyNumber("Processor time", duration(energy.processor_seconds), note)]
    if energy.gpu_seconds:
        numbers.append(KeyNumber("GPU time", duration(energy.gpu_seconds), "of all GPUs"))
    return numbers


def _figure_1(run: RunRecord) -> str:
    """Figure 1 of the paper as an `<svg>` element; empty while no fold is finished."""
    if not run.folds:
        return ""
    chart = partial(run_figure, run)
    draw = partial(printed_figure, chart, width=PAGE, height=_FIGURE_INCHES)
    return inline_svg(draw, alt=run_alt_text(run))


# The table of the folds.


def _fold_headers(run: RunRecord) -> list[str]:
    unit = f"{run.spec.task.unit}s"
    scores = [metric_label(run.spec), "mean", "low", "high", "width"]
    return ["n", "fold", *scores, unit, "s", "processor s", "mWh"]


def _fold_rows(run: RunRecord) -> list[list[str]]:
    """The first MOST_ROWS folds."""
    metered = any(fold.energy.source != "none" for fold in run.folds)
    rows = []
    for moment, fold in zip(run.moments, run.folds, strict=True):
        width = ""
        if moment.interval:
            width = score_text(moment.interval.width)
        processor_seconds = "-"
        if fold.processor_seconds is not None:
            processor_seconds = f"{fold.processor_seconds:.2f}"
        milliwatt_hours = "-"
        if metered:
            milliwatt_hours = estimate_text(fold.energy.joules / 3.6)  # 1 mWh is 3.6 J
        rows.append(
            [
                str(moment.n),
                str(moment.fold),
                *moment_numbers(moment),
                width,
                f"{fold.users:,}",
                f"{fold.total_seconds:.2f}",
                processor_seconds,
                milliwatt_hours,
            ]
        )
    return rows[:MOST_ROWS]


def _fold_caption(run: RunRecord) -> str:
    kind = history_of_run(run).interval_kind
    caption = (
        f"Fold by fold; the mean and the interval (of the {kind}) are those of the first n folds."
    )
    if len(run.moments) > MOST_ROWS:
        caption += f" The first {MOST_ROWS} of {len(run.moments)} folds."
    return caption


def _energy_words(run: RunRecord, energy: EnergyFacts) -> str:
    """How the energy is known, beside what the methods say of it."""
    if energy.source == "none":
        return f"Not known: {SOURCES['none']}."
    return joined(
        f"{used_words(energy)} for {counted(len(run.folds), 'fold')}.",
        range_words(energy),
        parts_sentence(energy_parts(run.folds)),
        memory_words(run.folds),
        reused_words(run.folds),
        shared_words(run),
        node_words(run),
        f"Emissions are those of {intensity_words(run.spec.country)}.",
    )


def machine_words(made_with: MadeWith) -> str:
    """'x86_64, 2 cores, 24 GiB', and its GPU if it has one; 'unknown' where nothing is recorded."""
    forms = {"machine": "{}", "cores": "{} cores", "memory_gib": "{} GiB", "gpu": "{}"}
    words = []
    for name, form in forms.items():
        if made_with.get(name):
            words.append(form.format(made_with[name]))
    return ", ".join(words) or "unknown"


def _command(run: RunRecord) -> str:
    try:
        if not run.spec.tracked:
            # A record of another release may have an algorithm that is not there: this raises.
            models.algorithm(run.spec.algorithm)
        return command_of(run)
    except UnknownName as error:
        return f"(this installation cannot repeat the run: {error})"
