"""A run -> a report of one page: what came out, figure 1, how to get it again, what to cite."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from ecv_core import models
from ecv_core.energy.memory import memory_words
from ecv_core.energy.meter import SOURCES, country_in_words, intensity_words
from ecv_core.energy.parts import left_in_words, parts_words
from ecv_core.energy.savings import EnergyFacts, energy_of
from ecv_core.evaluation import METRICS
from ecv_core.figures.efold import alt_text, efold_frame
from ecv_core.figures.report.latex import bibtex
from ecv_core.figures.report.pictures import efold_picture
from ecv_core.figures.report.plotting import PAGE, inline
from ecv_core.figures.report.provenance import Provenance, machine_words, version_words
from ecv_core.figures.words import (
    FORECAST,
    arithmetic,
    duration,
    estimate,
    grams,
    half_named,
    interval_lines,
    interval_said,
    metric_label,
    node_words,
    range_words,
    rule_words,
    run_title,
    saved_words,
    shared_words,
    used_words,
    verdict,
)
from ecv_core.models import components
from ecv_core.records.errors import UnknownName
from ecv_core.records.run import IntervalKind, Moment, Run, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.command import command_for

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_ROWS = 20
"""Folds in the table; more would not fit on a page, and the run's CSV has them all."""


def run_report(run: Run, known: Provenance, *, origin: str = "") -> str:
    """One HTML page about a run, finished or not.

    Args:
        run: with at least the folds that are in.
        known: where and when the report is made.
        origin: a sentence for a run that was imported from elsewhere.
    Returns: HTML with everything in it, A4 when printed: no script, nothing loaded from anywhere;
        all text of the run is escaped.
    """
    moments, label = run.moments, metric_label(run.spec)
    k = run.k
    energy = energy_of(run)
    day = f"{run.finished_at or run.created_at:%Y-%m-%d}"
    fold_headers, folds, fold_caption = _folds(run, moments, label)
    metric_headers, metrics, metric_caption = _metrics(run)
    return (
        _environment()
        .get_template("run.html")
        .render(
            title=run_title(run),
            under=f"e-fold cross-validation · run {run.run_id} · {run.state.value} · {day}",
            origin=origin,
            conclusion=conclusion(run),
            arithmetic=_arithmetic(run),
            numbers=_numbers(run, moments, energy, k),
            picture=_picture(run, moments, k, label),
            fold_headers=fold_headers,
            folds=folds,
            fold_caption=fold_caption,
            used=run.stopped_at or len(moments),
            metric_headers=metric_headers,
            metrics=metrics,
            metric_caption=metric_caption,
            settings=_settings(run.spec),
            energy=_energy(run, energy, k),
            command=_command(run.spec),
            place=[
                ("machine", machine_words(known.made_with)),
                ("seed", f"{run.spec.seed}, for the folds and every random choice"),
            ],
            versions=version_words(known.made_with),
            data_key=known.data_keys.get(run.spec.dataset, "not on this disk"),
            bibtex=bibtex(*known.bibtex),
            known=known,
        )
    )


def conclusion(run: Run) -> str:
    """What came out, in one or two sentences with their numbers."""
    if not run.folds:
        return f"No fold of {run.k} is finished: the run is {run.state.value}."
    state = "" if run.state is RunState.FINISHED else f" The run is {run.state.value}."
    return verdict(run) + state


def _arithmetic(run: Run) -> str:
    """The intervals of the conclusion, each with its name, and what the rule said."""
    lines = [f"{line[0].upper()}{line[1:]}." for line in interval_lines(run)]
    return " ".join([*lines, arithmetic(run)]).strip()


def _numbers(
    run: Run, moments: Sequence[Moment], energy: EnergyFacts, k: int
) -> list[tuple[str, str, str]]:
    at, checked = run.at_stop, run.checked
    interval, wherever = interval_said(run)
    level = f"{100 * run.spec.confidence:g} %"
    half = f"{half_named(interval, k, wherever)} ({level})" if interval else ""
    metered = energy.source != "none"
    percent = energy.saved_percent
    return [
        (f"Mean {metric_label(run.spec)}", f"{at.mean:.4f}" if at else "-", half),
        ("Folds used", f"{at.n} of {k}" if at else f"0 of {k}", rule_words(run.spec)),
        ("Computing time", duration(run.seconds), f"{len(run.folds)} folds run"),
        *_processor(energy, k),
        ("Energy used", used_words(energy) if metered else "-", "of all folds that ran"),
        (
            "Saving forgone" if checked else "Energy saved",
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
    return [("Processor time", duration(energy.processor_seconds), share or "of all cores")]


def _picture(run: Run, moments: Sequence[Moment], k: int, label: str) -> str:
    """Figure 1 as markup; empty while there is no fold."""
    frame = efold_frame(moments, run.stopped_at)
    if frame.empty:
        return ""
    draw = partial(
        efold_picture,
        frame,
        k=k,
        metric=label,
        stopped_at=run.stopped_at,
        confidence=run.spec.confidence,
        width=PAGE,
        height=2.45,
    )
    alt = alt_text(frame, k=k, metric=label, stopped_at=run.stopped_at, title=run_title(run))
    return inline(draw, alt=alt)


Table = tuple[list[str], list[list[str]], str]
"""Headers, rows, caption."""


def _folds(run: Run, moments: Sequence[Moment], label: str) -> Table:
    metered = any(fold.energy.source != "none" for fold in run.folds)
    rows = []
    for moment, fold in list(zip(moments, run.folds, strict=True))[:MOST_ROWS]:
        interval = moment.interval
        rows.append(
            [
                str(moment.n),
                str(moment.fold),
                f"{moment.score:.4f}",
                f"{moment.mean:.4f}",
                f"{interval.low:.4f}" if interval else "",
                f"{interval.high:.4f}" if interval else "",
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


def _metrics(run: Run) -> Table:
    used = run.folds[: run.folds_used]
    if not used:
        return [], [], ""
    known_at = {name.partition("@")[2] for name in used[0].metrics}
    cutoffs = [n for n in run.spec.cutoffs if str(n) in known_at]

    def mean(metric: str, n: int) -> str:
        values = [fold.metrics.get(f"{metric}@{n}") for fold in used]
        there = [value for value in values if value is not None]
        return f"{sum(there) / len(there):.4f}" if len(there) == len(values) else ""

    rows = [
        [metric.title, *(mean(name, n) for n in cutoffs)]
        for name, metric in METRICS.items()
        if any(mean(name, n) for n in cutoffs)
    ]
    folds = "the one fold" if len(used) == 1 else f"the {len(used)} folds"
    headers = ["metric", *(f"@{n}" for n in cutoffs)]
    return headers, rows, f"All metrics, mean of {folds} used."


def _settings(spec: RunSpec) -> list[tuple[str, str]]:
    model = models.of(spec)
    title = model.title if model.title == model.id else f"{model.title} ({model.id})"
    if spec.tracked:
        title += ", tracked: its folds were computed by code outside e-fold"
    params = ", ".join(f"{name} {value}" for name, value in spec.params) or "none"
    split = spec.split if spec.folds_sha256 is None else f"imported, SHA-256 {spec.folds_sha256}"
    split += "".join(f", {name} {value}" for name, value in spec.split_params)
    return [
        ("dataset", spec.dataset),
        *([("its content", f"SHA-256 {spec.data_sha256}")] if spec.data_sha256 else []),
        ("algorithm", title),
        ("folds", f"k = {spec.k}, {split}"),
        ("seed", str(spec.seed)),
        ("score", f"{metric_label(spec)}, {'as reported' if spec.tracked else 'full ranking'}"),
        ("stopping rule", f"{spec.rule}, {rule_words(spec)}, at least {spec.min_folds} folds"),
        ("parameters", params),
        ("interval", f"{100 * spec.confidence:g} %"),
        ("after the stop", "went on to k, to check" if spec.full else "stopped"),
        *([("only folds", ", ".join(map(str, spec.only_folds)))] if spec.only_folds else []),
    ]


def _energy(run: Run, energy: EnergyFacts, k: int) -> str:
    source = SOURCES.get(energy.source, energy.source)
    if energy.source == "none":
        return f"Not known: {source}."
    text = (
        f"{used_words(energy)} for {len(run.folds)} folds: {source}. {range_words(energy)}".rstrip()
    )
    if energy.saved_joules and run.stopped_at is not None and run.stopped_early:
        how = "what the folds after the stop cost" if run.checked else f"a forecast, {FORECAST}"
        text += f" What stopping saves is {how}, for {k - run.stopped_at} folds."
    said = (
        parts_words(run.folds),
        memory_words(run.folds),
        left_in_words([run]),
        shared_words(run),
        node_words(run),
    )
    text = " ".join(filter(None, (text, *said)))
    return f"{text} Emissions are those of {intensity_words(run.spec.country)}."


def _command(spec: RunSpec) -> str:
    try:
        if not (spec.tracked or components.named(spec.algorithm)):
            models.algorithm(spec.algorithm)  # a record may be older or newer than the registry
        return command_for(spec)
    except UnknownName as error:
        return f"(this installation cannot repeat it: {error})"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
