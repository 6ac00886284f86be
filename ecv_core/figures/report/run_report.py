"""A run -> a report of one page: what came out, figure 1, methods, how to get it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecv_core import models
from ecv_core.energy.load import memory_words
from ecv_core.energy.meter import SOURCES, country_in_words, intensity_words
from ecv_core.energy.parts import energy_parts, parts_sentence
from ecv_core.energy.savings import EnergyFacts, energy_of
from ecv_core.figures.efold import alt_text, efold_frame
from ecv_core.figures.efold_plot import run_figure
from ecv_core.figures.report.describe import describe_runs, moment_numbers
from ecv_core.figures.report.pictures import printed
from ecv_core.figures.report.saving import PAGE, inline
from ecv_core.figures.words import (
    arithmetic,
    counted,
    duration,
    estimate,
    grams,
    half_width_words,
    metric_label,
    node_words,
    range_words,
    rule_words,
    run_title,
    saved_words,
    shared_words,
    shown_interval,
    used_words,
    verdict,
)
from ecv_core.records.errors import UnknownName
from ecv_core.records.run import IntervalKind, Moment, RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.document import command_for
from ecv_core.store.environment import environment

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_ROWS = 20
"""Folds in the table; more would not fit on a page, and the run's CSV has them all."""


def run_report(
    run: RunRecord, made_with: Mapping[str, Any] | None = None, *, origin: str = ""
) -> str:
    """One HTML page about a run, finished or not.

    Args:
        run: with at least the folds that are in.
        made_with: as `store.environment.environment` gives it, of a run that was computed
            elsewhere; by default this machine's.
        origin: a sentence for a run that was imported from elsewhere.
    Returns: HTML with everything in it, A4 when printed: no script, nothing loaded from anywhere;
        all text of the run is escaped.
    """
    moments, label, k = run.moments, metric_label(run.spec), run.k
    made_with = environment() if made_with is None else made_with
    energy = energy_of(run)
    day = f"{run.finished_at or run.created_at:%Y-%m-%d}"
    fold_headers, folds, fold_caption = _folds(run, moments, label)
    described = describe_runs([run], made_with)
    return (
        templates()
        .get_template("run.html")
        .render(
            title=run_title(run),
            under=f"e-fold cross-validation · run {run.run_id} · {run.state.value} · {day}",
            origin=origin,
            conclusion=conclusion(run),
            arithmetic=arithmetic(run),
            numbers=_numbers(run, energy, k),
            picture=_picture(run, moments, k, label),
            fold_headers=fold_headers,
            folds=folds,
            fold_caption=fold_caption,
            used=run.stopped_at or len(moments),
            methods=described.methods,
            energy=_energy(run, energy),
            command=_command(run.spec),
            machine=machine_words(made_with),
            bibtex=described.bibtex,
            made_at=datetime.now(UTC),
        )
    )


def conclusion(run: RunRecord) -> str:
    """What came out, in one or two sentences with their numbers."""
    if not run.folds:
        return f"No fold of {run.k} is finished: the run is {run.state.value}."
    state = "" if run.state is RunState.FINISHED else f" The run is {run.state.value}."
    return verdict(run) + state


def _numbers(run: RunRecord, energy: EnergyFacts, k: int) -> list[tuple[str, str, str]]:
    at, checked = run.at_stop, run.checked
    interval, wherever = shown_interval(run)
    level = f"{100 * run.spec.confidence:g} %"
    half = f"{half_width_words(interval, k, wherever)} ({level})" if interval else ""
    metered = energy.source != "none"
    percent = energy.saved_percent
    return [
        (f"Mean {metric_label(run.spec)}", f"{at.mean:.4f}" if at else "-", half),
        ("Folds used", f"{at.n} of {k}" if at else f"0 of {k}", rule_words(run.spec)),
        ("Computing time", duration(run.seconds), f"{len(run.folds)} folds run"),
        *_processor(energy, k),
        ("Energy used", used_words(energy) if metered else "-", "of all folds that ran"),
        (
            "Stop would save" if checked else "Energy saved",
            saved_words(energy) if metered else "-",
            f"{'about ' * energy.forecast}{percent:.0f} % of all {k}"
            if metered and percent
            else "",
        ),
        (
            "Emissions",
            grams(energy.grams_co2e) if metered else "-",
            f"CO2e, {country_in_words(run.spec.country)}",
        ),
    ]


def _processor(energy: EnergyFacts, k: int) -> list[tuple[str, str, str]]:
    """The processor time, with the share that the stop saved; nothing of before it was written."""
    if energy.processor_seconds is None:
        return []
    saved = energy.saved_processor_percent
    share = f"{'about ' * energy.forecast}{saved:.0f} % of all {k} saved" if saved else ""
    gpu = energy.gpu_seconds
    return [
        ("Processor time", duration(energy.processor_seconds), share or "of all cores"),
        *([("GPU time", duration(gpu), "of all GPUs")] if gpu else []),
    ]


def _picture(run: RunRecord, moments: Sequence[Moment], k: int, label: str) -> str:
    """Figure 1 as markup; empty while there is no fold."""
    frame = efold_frame(moments, run.stopped_at, checked=run.checked)
    if frame.empty:
        return ""
    alt = alt_text(frame, k=k, metric=label, stopped_at=run.stopped_at, title=run_title(run))
    return inline(partial(printed, partial(run_figure, run), width=PAGE, height=2.45), alt=alt)


Table = tuple[list[str], list[list[str]], str]
"""Headers, rows, caption."""


def _folds(run: RunRecord, moments: Sequence[Moment], label: str) -> Table:
    metered = any(fold.energy.source != "none" for fold in run.folds)
    rows = []
    for moment, fold in list(zip(moments, run.folds, strict=True))[:MOST_ROWS]:
        interval = moment.interval
        rows.append(
            [
                str(moment.n),
                str(moment.fold),
                *moment_numbers(moment),
                f"{interval.width:.4f}" if interval else "",
                f"{fold.users:,}",
                f"{fold.total_seconds:.2f}",
                "-" if fold.processor_seconds is None else f"{fold.processor_seconds:.2f}",
                f"{estimate(fold.energy.joules / 3.6)}" if metered else "-",
            ]
        )
    headers = [
        "n",
        "fold",
        label,
        "mean",
        "low",
        "high",
        "width",
        f"{run.spec.task.unit}s",
        "s",
        "processor s",
        "mWh",
    ]
    held = {moment.interval.kind for moment in moments if moment.interval}
    what = "of the k-fold mean" if IntervalKind.K_FOLD_MEAN in held else "of the mean"
    caption = f"Fold by fold; mean and interval ({what}) are those of the first n."
    if len(moments) > MOST_ROWS:
        caption += f" The first {MOST_ROWS} of {len(moments)} folds."
    return headers, rows, caption


def _energy(run: RunRecord, energy: EnergyFacts) -> str:
    """How the energy is known, beside what the methods say of it."""
    if energy.source == "none":
        return f"Not known: {SOURCES['none']}."
    said = (
        f"{used_words(energy)} for {counted(len(run.folds), 'fold')}.",
        range_words(energy),
        parts_sentence(energy_parts(run.folds)),
        memory_words(run.folds),
        shared_words(run),
        node_words(run),
        f"Emissions are those of {intensity_words(run.spec.country)}.",
    )
    return " ".join(filter(None, said))


def machine_words(made_with: Mapping[str, Any]) -> str:
    """'x86_64, 2 cores, 24 GiB', and its GPU if it has one; 'unknown' where nothing is recorded."""
    words = [str(made_with["machine"])] if made_with.get("machine") else []
    if made_with.get("cores"):
        words.append(f"{made_with['cores']} cores")
    if made_with.get("memory_gib"):
        words.append(f"{made_with['memory_gib']} GiB")
    if made_with.get("gpu"):
        words.append(str(made_with["gpu"]))
    return ", ".join(words) or "unknown"


def _command(spec: RunSpec) -> str:
    try:
        if not spec.tracked:
            models.algorithm(spec.algorithm)  # a record may be older or newer than the registry
        return command_for(spec)
    except UnknownName as error:
        return f"(this installation cannot repeat it: {error})"


@cache
def templates() -> Environment:
    """What pages are made of: their text is escaped, and a name that is not given is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
