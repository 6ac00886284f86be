"""Numbers and runs -> the words and units that people read, on pages and in reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import floor, log10
from typing import Literal, Protocol, get_args

from ecv_core import dataset as datasets
from ecv_core.energy.savings import EnergyFacts
from ecv_core.evaluation import column_title, metric_of
from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import UnknownName
from ecv_core.records.parameters import scientific
from ecv_core.records.run import HOW, FoldResult, Interval, IntervalKind, Moment, Reading, RunRecord
from ecv_core.records.spec import RunSpec
from ecv_core.splits import SPLITS
from ecv_core.stopping import (
    NEVER_STOPS,
    RULES,
    difference_percent,
    interval_after_stop,
    uncertainty_of,
)

_OfRuns = Literal["efold", "stops", "tradeoff", "difference", "ranks"]
_Curves = Literal["p-values", "dimensions", "steps", "board", "spaces"]
FigureKind = Literal[_OfRuns, _Curves]
"""What a file for a paper can show; here, so that a command line knows it without Plotly."""
CURVES = get_args(_Curves)
"""Kinds of a recorded tuning, or of a dataset with recorded rating predictions or spaces."""

alpha_text = scientific
"""An alpha as it is written everywhere: '1e-4'."""


def metric_label(spec: RunSpec) -> str:
    """The score's name as papers write it, with what else decides its value: 'nDCG@10'.

    Where fewer is better it says so: 'Gini index@10 (lower is better)'.
    """
    known = metric_of(spec)
    notes = [f"in {known.unit}"] * bool(known.unit)
    notes += [] if known.higher_is_better else ["lower is better"]
    if spec.negatives is not None:
        notes.insert(0, f"{spec.negatives:,} sampled negatives")
    label = known.title + spec.metric_name.removeprefix(spec.metric)
    return f"{label} ({', '.join(notes)})" if notes else label


def counted(count: int, noun: str) -> str:
    """'1 fold', '2 folds', '1,349 items'."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def in_order(names: Iterable[str]) -> list[str]:
    """Datasets or algorithms, each once, in the order in which people see them everywhere."""
    ids = [*datasets.catalogue(), *ALGORITHMS]
    return sorted(set(names), key=lambda name: (ids.index(name) if name in ids else len(ids), name))


def dataset_title(dataset: str) -> str:
    """A dataset's id as people read it: 'MovieLens 100K'; an id that is not known stays."""
    try:
        return datasets.entry(dataset).title
    except UnknownName:
        return dataset


def algorithm_title(algorithm: str) -> str:
    """An algorithm's id as people read it: 'ItemKNN'; an id that is not known stays."""
    algorithm_here = ALGORITHMS.get(algorithm)
    return algorithm_here.title if algorithm_here else algorithm


def titled(text: str) -> str:
    """Ids of datasets, algorithms, splits, rules and metrics as people read them; the rest stays.

    'ml-1m, leave-last-item' is 'MovieLens 1M, Last item'.
    """
    known = {name: split.title for name, split in SPLITS.items()}
    known |= {name: rule.title for name, rule in RULES.items()}
    return ", ".join(
        known.get(one) or dataset_title(algorithm_title(column_title(one)))
        for one in text.split(", ")
    )


class HasSpec(Protocol):
    """A run, or a row of a list of them."""

    @property
    def spec(self) -> RunSpec:
        """What it computes."""
        ...


def run_title(run: HasSpec) -> str:
    """'ItemKNN on MovieLens 100K', for people to read."""
    return f"{algorithm_title(run.spec.algorithm)} on {dataset_title(run.spec.dataset)}"


def run_name(run: HasSpec) -> str:
    """'item-knn on ml-100k', by the ids that are typed: for file names and the command line."""
    return f"{run.spec.algorithm} on {run.spec.dataset}"


def titles_of(ids: Iterable[str], title: Callable[[str], str]) -> dict[str, str]:
    """Id -> how a choice among them shows it: its title, with the id where two share one."""
    every = {one: title(one) for one in ids}
    shown = list(every.values())
    return {
        one: text if shown.count(text) == 1 else f"{text} ({one})" for one, text in every.items()
    }


def rule_words(spec: RunSpec) -> str:
    """What stops the run, in a few words: 'alpha 1e-4', 'within 3.0%', 'never'."""
    rule = RULES.get(spec.rule)  # None for one that only an imported run's home knows
    return rule.words(spec) if rule else spec.rule


def verdict(run: RunRecord) -> str:
    """What the folds of a run say, before any arithmetic; it has at least one.

    'Stopped after 6 of 10 folds: the mean, 0.2980, has settled (interval ± 0.0116, wherever
    the rule stops).'
    """
    k, at = run.k, run.at_stop
    if at is None:
        return f"No fold of {k} is finished."
    half = "" if run.doubt else _spread(run)
    said = _said(run, at, half)
    return f"{said} {run.doubt}" if run.doubt else said


def _said(run: RunRecord, at: Moment, half: str) -> str:
    k = run.k
    if run.stopped_early:
        rule = RULES.get(run.spec.rule)  # None for one that only an imported run's home knows
        meaning = rule.meaning if rule else ""
        interval, _ = interval_said(run)
        wide = interval is not None and interval.width > 0.2 * abs(at.mean)  # ± a tenth of it
        if not meaning or (wide and meaning.startswith("has settled")):
            meaning = f"satisfies the rule {titled(run.spec.rule)}"
            meaning += ", yet is uncertain" if wide else ""
        text = f"Stopped after {at.n} of {k} folds: the mean, {at.mean:.4f}, {meaning}{half}."
        if run.doubt:
            text = f"Stopped after {at.n} of {k} folds: the mean is {at.mean:.4f}."
        return text if run.k_fold_mean is None else f"{text} {_check(at.mean, run.k_fold_mean, k)}"
    if k == 1:
        return f"The one fold that was asked for has run: its score is {at.mean:.4f}."
    if not run.complete:
        return f"After {at.n} of {counted(k, 'fold')}, the mean is {at.mean:.4f}{half}."
    text = f"All {k} folds have run: their mean is {at.mean:.4f}{half}."
    if run.spec.rule == NEVER_STOPS:
        return text
    only = "only after the last fold" if at.decision.stop else "after none of them"
    return f"{text} The rule said stop {only}."


def reused_words(run: RunRecord) -> str:
    """How many folds another run had computed before, in a sentence; empty where none."""
    reused = sum(result.reused for result in run.folds)
    if not reused:
        return ""
    verb, spent = ("was", "it") if reused == 1 else ("were", "them")
    return (
        f"{reused} of {counted(len(run.folds), 'fold')} {verb} there already: no time or energy "
        f"was spent on {spent} again."
    )


def node_words(run: RunRecord) -> str:
    """On what a run was computed, as far as its joules depend on it, and what came after its stop;
    empty where there is nothing to say."""
    said = []
    late = run.folds[run.stopped_at :] if run.stopped_at and not run.spec.full else ()
    if late:
        spent = watt_hours(sum(fold.energy.joules for fold in late))
        said.append(f"{counted(len(late), 'fold')}, {spent}, came after the stop.")
    kinds = Counter(fold.node.hardware for fold in run.folds if fold.node is not None)
    if len(kinds) > 1:
        on = "; ".join(f"{counted(many, 'fold')} on {kind}" for kind, many in kinds.most_common())
        said.append(
            f"It ran on {len(kinds)} kinds of machines ({on}), whose joules are not comparable."
        )
    own = [fold for fold in run.folds if fold.node and fold.node.slurm_joules is not None]
    if own:
        slurm = watt_hours(sum(fold.node.slurm_joules or 0.0 for fold in own if fold.node))
        ours = watt_hours(sum(fold.energy.joules for fold in own))
        said.append(f"SLURM measured {slurm} for {counted(len(own), 'fold')}, this meter {ours}.")
    if gaps := [one for fold in run.folds for one in fold.energy.readings[:1] if one.gap_seconds]:
        seconds = sum(one.gap_seconds for one in gaps)
        said.append(
            f"In {counted(len(gaps), 'fold')} the meter {gaps[0].meter} gave nothing for "
            f"{duration(seconds)} in all; the range says what that time may have taken."
        )
    if several := [fold for fold in run.folds if len(fold.energy.readings) > 1]:
        said.append(f"In {counted(len(several), 'fold')}: {readings_words(several)}.")
    return " ".join(said)


def readings_words(folds: Sequence[FoldResult]) -> str:
    """'shelly 1.2 Wh (measured), CodeCarbon 0.9 Wh (estimated, 25 % less)', each meter over all of
    these folds; empty where there are not several."""
    sums: dict[str, Reading] = {}
    for one in (one for fold in folds for one in fold.energy.readings):
        before = sums[one.meter].joules if one.meter in sums else 0.0
        sums[one.meter] = replace(one, joules=before + one.joules)
    if len(sums) < 2:
        return ""
    first, *others = sums.values()
    said = [f"{first.meter} {watt_hours(first.joules)} ({HOW[first.source]})"]
    for one in others:
        percent = 100 * (one.joules - first.joules) / first.joules if first.joules else 0.0
        apart = f"{HOW[one.source]}, {abs(percent):.0f} % {'more' if percent > 0 else 'less'}"
        said.append(
            f"{one.meter} " + (f"{watt_hours(one.joules)} ({apart})" if one.joules else "-")
        )
    return ", ".join(said)


def _spread(run: RunRecord) -> str:
    """How uncertain the mean is, named by what the interval holds; empty where it is not known."""
    interval, wherever = interval_said(run)
    named = half_named(interval, run.k, wherever, of="interval")
    return f" ({named})" if named else ""


def interval_said(run: RunRecord) -> tuple[Interval | None, str]:
    """The interval that stands beside the score, which holds however the rule came to stop, and
    words that say so where a plain one would not.

    Once all folds are in there is no distance to their mean left, only its own uncertainty.
    """
    at = run.at_stop
    if at is None or at.interval is None:
        return None, ""
    if at.n < run.k and (not run.stopped_early or at.interval.kind is IntervalKind.K_FOLD_MEAN):
        return at.interval if at.interval.width else None, ""
    wide = uncertainty_after_stop(run)
    return (wide, ", wherever the rule stops") if wide else (uncertainty(run), "")


def half_named(
    interval: Interval | None, k: int, wherever: str = "", *, of: str = "interval of the mean"
) -> str:
    """Half an interval's width with what it is of; empty where there is none.

    'interval of the mean ± 0.0517', or with the precision rule 'at most 0.0046 from the 10-fold
    mean'; with words of `interval_said`.
    """
    if interval is None:
        return ""
    half = f"{interval.width / 2:.4f}"
    if interval.kind is IntervalKind.K_FOLD_MEAN:
        return f"at most {half} from the {k}-fold mean"
    return f"{of} ± {half}{wherever}"


def uncertainty(run: RunRecord) -> Interval | None:
    """Student's t of the mean of the folds used, whatever the rule goes by: for papers and tables.

    None for one fold, and for folds that score alike.
    """
    used = [result.score for result in run.folds[: run.folds_used]]
    return uncertainty_of(used, run.spec.confidence) if used else None


def uncertainty_after_stop(run: RunRecord) -> Interval | None:
    """The same, allowing for how the rule came to stop there; None where that changes nothing."""
    if not run.stopped_early:
        return None
    scores = [result.score for result in run.folds[: run.folds_used]]
    interval = interval_after_stop(run.spec, scores)
    return None if interval == uncertainty(run) else interval


def interval_lines(run: RunRecord) -> list[str]:
    """How far the mean at the stop is from what: a line for each interval, with its name.

    '95 % interval of the mean: 0.2703 to 0.3697 (± 0.0497, Student's t over 3 folds)'
    """
    at, level = run.at_stop, f"{100 * run.spec.confidence:g} %"
    plain, wide = uncertainty(run), uncertainty_after_stop(run)
    lines = []
    if plain:
        over = f"Student's t over {counted(run.folds_used, 'fold')}"
        lines.append(f"{level} interval of the mean: {_ends(plain)}, {over})")
    elif run.folds_used > 1:
        lines.append(
            "no interval of the mean: folds that score alike do not tell how far it is off"
        )
    if wide:
        text = f"{level} interval that allows for the stop: {_ends(wide)}"
        lines.append(f"{text}, holds wherever the rule stops)")
    near = at.interval if at and at.n < run.k and not run.doubt else None
    if near and near.kind is IntervalKind.K_FOLD_MEAN:
        text = f"distance to the {run.k}-fold mean: at most {near.width / 2:.4f}"
        lines.append(f"{text} ({level} confidence)")
    return lines


def _ends(interval: Interval) -> str:
    return f"{interval.low:.4f} to {interval.high:.4f} (± {interval.width / 2:.4f}"


def arithmetic(run: RunRecord) -> str:
    """What the rule itself said at the moment that `verdict` is about; empty for k-fold."""
    if run.spec.rule == NEVER_STOPS or run.at_stop is None:
        return ""
    reason = run.at_stop.decision.reason
    said = reason.removesuffix(": go on.")
    return reason if run.state.active or said == reason else f"{said}."


def _check(mean: float, whole: float, k: int) -> str:
    percent = difference_percent(mean, whole)
    return (
        f"Checked: the mean of all {k} folds is {whole:.4f}, a difference of {percent:.2f} % from "
        f"the {mean:.4f} at the stop."
    )


def setting_words(rule_id: str, value: float) -> str:
    """A setting of a rule's axis where rules are compared: 'tolerance 2.1 %', 'at least 4 folds'.

    Args:
        rule_id: a registered rule.
        value: of `Rule.axis`; for a rule without one the share of the runs that it stops, the rest
            using all folds. 0 is all folds.
    """
    if not value:
        return "all folds"
    if (axis := RULES[rule_id].axis) is not None:
        return axis.in_words(value, about=True)
    return "as registered" if value == 1 else f"in {value:.0%} of the runs, else all folds"


def small_number(value: float, significant: int = 3) -> str:
    """So many significant digits, never an exponent: '0.00214', '12.3', '1,230'."""
    if value == 0:
        return "0"
    digits = max(significant - 1 - floor(log10(abs(value))), 0)
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if digits else text


ESTIMATED_DIGITS = 2
"""Significant digits of energy and emissions: part of every figure is an estimate."""


FORECAST = (
    "from 15 % below the lowest to 15 % above the highest of the folds that ran, without the "
    "first, which also pays for start-up"
)
"""Of energy saved, while folds have not run; the numbers are those of `energy.savings`."""


def estimate(value: float) -> str:
    """A number of which two digits are believed: '0.0021', '12', '340', '1,200'."""
    return small_number(float(f"{value:.{ESTIMATED_DIGITS}g}"), ESTIMATED_DIGITS)


def watt_hours(joules: float) -> str:
    """Energy as pages show it: '1.3 Wh', and '21 mWh' where that is easier to read."""
    return _scaled("Wh", joules / 3600)


def watt_hours_range(low: float, high: float) -> str:
    """'14 to 21 mWh', in one unit, from joules; one figure where both ends read the same."""
    return _scaled("Wh", low / 3600, high / 3600)


def saved_words(facts: EnergyFacts) -> str:
    """What a stop saved: a range as long as it is a forecast. '-' while there is no stop."""
    if facts.saved_range is None:
        return "-"
    return watt_hours_range(*facts.saved_range)


def used_words(facts: EnergyFacts) -> str:
    """What the folds used: a range where it is an estimate."""
    return watt_hours_range(*facts.joules_range)


def range_words(facts: EnergyFacts) -> str:
    """What the range of an estimate is, as a sentence; empty where there is none."""
    low, high = facts.joules_range
    if not low < high:
        return ""
    if facts.above_idle:
        return (
            "The low end is what the folds added to an idle machine, as on a server that runs "
            "anyway; the high end is all that the machine drew meanwhile."
        )
    return (
        "The low end leaves memory's flat wattage out, which it draws anyway; the high end is all."
    )


def processor_words(facts: EnergyFacts) -> str:
    """'processor time 42 s, about 57 % saved': what other work beside it does not change.

    Empty where no fold says. GPU time, where there is some, comes after it.
    """
    if facts.processor_seconds is None:
        return ""
    saved, assumed = facts.saved_processor_percent, facts.processor_assumed
    about = "about " * (facts.forecast or assumed > 0)
    alike = f" ({counted(assumed, 'fold')} taken to cost as the others)" if assumed else ""
    return (
        f"processor time {about}{duration(facts.processor_seconds)}{alike}"
        + (f", {about}{saved:.0f} % saved" if saved else "")
        + (f", GPU time {duration(facts.gpu_seconds)}" if facts.gpu_seconds else "")
    )


def processor_sentence(facts: EnergyFacts) -> str:
    """The same as a sentence of its own."""
    said = processor_words(facts)
    return f"{said[0].upper()}{said[1:]}." if said else ""


def grams(amount: float) -> str:
    """Emissions as pages show them: '1.3 g', '4.2 mg'."""
    return _scaled("g", amount)


def _scaled(unit: str, *amounts: float) -> str:
    milli = 0 < max(amounts) < (0.1 if len(amounts) == 1 else 1) and min(amounts) < 0.1
    shown = [estimate(one * (1000 if milli else 1)) for one in amounts]
    return f"{' to '.join(dict.fromkeys(shown))} {'m' * milli}{unit}"


def duration(seconds: float) -> str:
    """'40 ms', '0.8 s', '42 s', '3 min 20 s', '2 h', '520 h'; duration.js says the same."""
    if 0 < seconds < 0.095:
        return f"{max(round(1000 * seconds), 1)} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if (whole := round(seconds)) < 60:
        return f"{whole} s"
    if whole >= 360_000:
        return f"{whole // 3600:,} h"
    large, small, units = (
        (whole // 60, whole % 60, ("min", "s"))
        if whole < 3600
        else (whole // 3600, whole % 3600 // 60, ("h", "min"))
    )
    return f"{large} {units[0]}" + (f" {small} {units[1]}" if small else "")


# What of a run's cost was shared with other configurations, as a sentence.


def shared_words(run: RunRecord) -> str:
    """What of a run's cost was shared with other configurations; empty where nothing was."""
    shared = [fold.shared for fold in run.folds if fold.shared is not None]
    if not shared:
        return ""
    most = max(one.configurations for one in shared)
    alone = sum(fold.joules_alone for fold in run.folds)
    return (
        f"{counted(len(shared), 'fold')} shared work with up to {counted(most - 1, 'other')}: "
        "it is counted once, an equal part for each. On its own this run would have taken about "
        f"{watt_hours(alone)}."
    )
