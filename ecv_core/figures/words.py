"""Numbers and runs -> the words and units that people read, on pages and in reports."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import floor, log10
from typing import Literal, NamedTuple, Protocol

from ecv_core import dataset as datasets
from ecv_core.energy.savings import EnergyFacts, margin_after, sum_of_ranges
from ecv_core.evaluation import column_title, metric_of
from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import UnknownName
from ecv_core.records.parameters import counted as counted
from ecv_core.records.parameters import is_or_are as is_or_are
from ecv_core.records.parameters import percent_text, scientific, score_text
from ecv_core.records.run import (
    HOW_KNOWN,
    FoldResult,
    Interval,
    IntervalKind,
    Moment,
    RunRecord,
    Scores,
)
from ecv_core.records.spec import RunSpec
from ecv_core.splits import SPLITS
from ecv_core.stopping import (
    NEVER_STOPS,
    RULES,
    difference_percent,
    interval_after_stop,
    uncertainty_of,
)
from ecv_core.stopping.new_data import NewDataInterval
from ecv_core.store.new_data import MeanOnNewData, mean_on_new_data, usual_units_of_new_data

FigureKind = Literal[
    "efold",
    "stops",
    "tradeoff",
    "difference",
    "ranks",
    "race",
    "p-values",
    "dimensions",
    "steps",
    "board",
    "spaces",
]
"""What a file for a paper can show; here, so that a command line knows it without Plotly."""

alpha_text = scientific
"""An alpha as it is written everywhere: '1e-4'."""


def metric_label(spec: RunSpec) -> str:
    """The score's name as papers write it, with what else decides its value: 'nDCG@10'.

    Where fewer is better it says so: 'Gini index@10 (lower is better)'.
    """
    metric = metric_of(spec)
    # The cut-off of lists is such as '@10', or empty.
    cutoff = spec.metric_name.removeprefix(spec.metric)
    label = metric.title + cutoff
    notes = []
    if spec.negatives is not None:
        notes.append(f"{spec.negatives:,} sampled negatives")
    if metric.unit:
        unit = metric.unit
        if not unit.startswith("per "):
            unit = f"in {unit}"
        notes.append(unit)
    if not metric.higher_is_better:
        notes.append("lower is better")
    if notes:
        label += f" ({', '.join(notes)})"
    return label


def as_sentence(line: str) -> str:
    """'no interval' -> 'No interval.'; an empty line stays empty."""
    if not line:
        return ""
    return f"{line[0].upper()}{line[1:]}."


def joined(*sentences: str) -> str:
    """Sentences as one text; empty ones are left out."""
    return " ".join(filter(None, sentences))


def in_catalogue_order(names: Iterable[str]) -> list[str]:
    """Datasets or algorithms, each once, in the order in which people see them everywhere.

    Names that are neither come last, by themselves in the order of the alphabet.
    """
    alphabetical = sorted(set(names))
    registered = [name for name in (*datasets.catalogue(), *ALGORITHMS) if name in alphabetical]
    # Names that are registered come first, and each name once.
    return list(dict.fromkeys([*registered, *alphabetical]))


def runs_in_catalogue_order(runs: Iterable[RunRecord]) -> list[RunRecord]:
    """Runs by dataset and then by algorithm, as `in_catalogue_order` has them."""
    runs = list(runs)
    dataset_order = in_catalogue_order(run.spec.dataset for run in runs)
    algorithm_order = in_catalogue_order(run.spec.algorithm for run in runs)

    def place(run: RunRecord) -> tuple[int, int]:
        return dataset_order.index(run.spec.dataset), algorithm_order.index(run.spec.algorithm)

    return sorted(runs, key=place)


def dataset_title(dataset: str) -> str:
    """A dataset's id as people read it: 'MovieLens 100K'; an id that is not known stays."""
    try:
        return datasets.entry(dataset).title
    except UnknownName:
        return dataset


def algorithm_title(algorithm: str) -> str:
    """An algorithm's id as people read it: 'ItemKNN'; an id that is not known stays."""
    if algorithm not in ALGORITHMS:
        return algorithm
    return ALGORITHMS[algorithm].title


def titled(text: str) -> str:
    """Ids of datasets, algorithms, splits, rules and metrics as people read them; the rest stays.

    'ml-1m, leave-last-item' is 'MovieLens 1M, Last item'.
    """
    return ", ".join(_title_of_id(part) for part in text.split(", "))


def _title_of_id(text: str) -> str:
    """The title of whatever has this id; the text itself where nothing has it."""
    if text in RULES:
        return RULES[text].title
    if text in SPLITS:
        return SPLITS[text].title
    # Each of these functions has titles of one kind of id, and leaves others as they are.
    return dataset_title(algorithm_title(column_title(text)))


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
    titles = {name: title(name) for name in ids}
    uses = Counter(titles.values())
    for name, text in titles.items():
        if uses[text] > 1:
            titles[name] = f"{text} ({name})"
    return titles


def rule_words(spec: RunSpec) -> str:
    """What stops the run, in a few words: 'alpha 1e-4', 'within 3.0 %', 'never'."""
    rule = RULES.get(spec.rule)
    # An imported run may have a rule that is not installed here.
    if rule is None:
        return spec.rule
    return rule.words(spec)


# What came out of a run.


def verdict(run: RunRecord) -> str:
    """What the folds of a run say, before any arithmetic; it has at least one.

    'Stopped after 6 of 10 folds: the mean, 0.2980, has settled.' How uncertain that mean is
    stands in `interval_lines` and, in short, in `interval_words`.
    """
    at_stop = run.at_stop
    if at_stop is None:
        return f"No fold of {run.k} is finished."
    if run.stopped_early:
        sentences = _stopped_verdict(run, at_stop)
    else:
        sentences = _unstopped_verdict(run, at_stop)
    return joined(sentences, run.doubt)


def _stopped_verdict(run: RunRecord, at_stop: Moment) -> str:
    """What a run says that its rule stopped, and how far it was off where that is known."""
    sentence = f"Stopped after {at_stop.n} of {run.k} folds: the mean"
    if run.doubt:
        sentence += f" is {score_text(at_stop.mean)}."
    else:
        meaning = _meaning_of_stop(run, at_stop.mean)
        sentence += f", {score_text(at_stop.mean)}, {meaning}."
    if run.k_fold_mean is None:
        return sentence
    difference = percent_text(difference_percent(at_stop.mean, run.k_fold_mean) / 100, ".2f")
    return (
        f"{sentence} Checked: the mean of all {run.k} folds is {score_text(run.k_fold_mean)}, a "
        f"difference of {difference} from the {score_text(at_stop.mean)} at the stop."
    )


def _meaning_of_stop(run: RunRecord, mean: float) -> str:
    """What it means that the rule stopped, unless the interval belies it: 'has settled'."""
    meaning = ""
    if run.spec.rule in RULES:
        meaning = RULES[run.spec.rule].meaning
    interval = shown_interval(run).interval
    # Such an interval belies what some rules say of their stop: that the mean 'has settled'.
    uncertain = interval is not None and leaves_mean_uncertain(interval, mean)
    claims_certainty = meaning.startswith("has settled")
    if meaning and not (uncertain and claims_certainty):
        return meaning
    satisfied = f"satisfies the rule {titled(run.spec.rule)}"
    if uncertain:
        satisfied += ", but is uncertain"
    return satisfied


def leaves_mean_uncertain(interval: Interval | NewDataInterval, mean: float) -> bool:
    """Whether the interval reaches further than a tenth of the mean to either side."""
    # The interval of new rows is not symmetric: a mean of 1 has nothing above it.
    distance = max(mean - interval.low, interval.high - mean)
    return distance > 0.1 * abs(mean)


def _unstopped_verdict(run: RunRecord, at_stop: Moment) -> str:
    """What a run says that goes on, or whose rule let all folds run."""
    mean = score_text(at_stop.mean)
    if run.k == 1:
        return f"The only fold of this run has finished: its score is {mean}."
    if not run.complete:
        return f"After {at_stop.n} of {counted(run.k, 'fold')}, the mean is {mean}."
    text = f"All {run.k} folds have run: their mean is {mean}."
    if run.spec.rule == NEVER_STOPS:
        return text
    if at_stop.decision.stop:
        return f"{text} The stopping rule was met only at the last fold."
    return f"{text} The stopping rule was never met."


def decision_reason(run: RunRecord) -> str:
    """What the rule itself said at the moment that `verdict` is about; empty for k-fold."""
    if run.spec.rule == NEVER_STOPS or run.at_stop is None:
        return ""
    reason = run.at_stop.decision.reason
    # A rule that does not stop ends its reason with 'go on', which is wrong once the run has ended.
    if not run.state.active and reason.endswith(": go on."):
        reason = reason.removesuffix(": go on.") + "."
    return reason


# Intervals.


class ShownInterval(NamedTuple):
    """The interval that stands beside a score, which holds however the rule came to stop."""

    interval: Interval | None
    note: str = ""
    """Words that say so where the usual interval would not hold."""


def shown_interval(run: RunRecord) -> ShownInterval:
    """The interval beside the score of a run.

    While folds are missing the rule's own interval is shown, if it holds. An interval of the k-fold
    mean holds wherever the rule stops; one of the mean does not, once the rule has stopped by it.
    Once all folds are in there is no distance to their mean left, only its own uncertainty.
    """
    at_stop = run.at_stop
    if at_stop is None or at_stop.interval is None:
        return ShownInterval(None)
    rules_interval = at_stop.interval
    # An interval of the k-fold mean holds wherever the rule stops. An interval of the mean of the
    # folds so far does not hold once the rule has stopped by it.
    holds_after_stop = rules_interval.kind is IntervalKind.K_FOLD_MEAN
    folds_are_missing = at_stop.n < run.k
    if folds_are_missing and (holds_after_stop or not run.stopped_early):
        if rules_interval.width == 0:  # Folds that score alike do not tell how others may differ.
            return ShownInterval(None)
        return ShownInterval(rules_interval)
    allowing_for_stop = interval_allowing_for_stop(run)
    if allowing_for_stop is not None:
        return ShownInterval(allowing_for_stop, ", allowing for the early stop")
    return ShownInterval(students_interval(run))


def half_width_words(interval: Interval | None, k: int, note: str = "") -> str:
    """Half the width of an interval of these folds, by that name; empty where there is none.

    '± 0.0517 over these folds', or with the precision rule 'at most 0.0046 from the 10-fold mean';
    `note` is that of `shown_interval`.
    """
    if interval is None:
        return ""
    half_width = score_text(interval.width / 2)
    if interval.kind is IntervalKind.K_FOLD_MEAN:
        return f"at most {half_width} from the {k}-fold mean"
    return f"± {half_width} over these folds{note}"


def interval_words(run: RunRecord, new_data: MeanOnNewData | None) -> str:
    """How uncertain the mean is, in short: for new users, and behind a word for these folds.

    '95 % interval for new users 0.2803 to 0.3081; ± 0.0116 over these folds, allowing for the early
    stop'; empty before the first fold.

    Args:
        run: With its folds.
        new_data: As `mean_on_new_data` the run gives it.
    """
    if run.at_stop is None:
        return ""
    new_data_words = f"{usual_units_of_new_data(run.spec)} not known"
    if new_data is not None:
        new_data_words = f"{new_data.of} {ends_words(new_data.interval)}"
    words = f"{percent_text(run.spec.confidence, 'g')} interval for new {new_data_words}"
    shown = shown_interval(run)
    half_width = half_width_words(shown.interval, run.k, shown.note)
    if half_width:
        words += f"; {half_width}"
    return words


def new_data_cell(new_data: MeanOnNewData | None) -> str:
    """The interval for new users, rows or clusters, as a table has it: its ends, or a dash."""
    if new_data is None:
        return "-"
    return ends_words(new_data.interval)


def _scores_used(run: RunRecord) -> list[float]:
    return [fold.score for fold in run.folds[: run.folds_used]]


def students_interval(run: RunRecord) -> Interval | None:
    """Student's t of the mean of the folds used, whatever the rule goes by: for papers and tables.

    None for one fold, and for folds that score alike.
    """
    scores = _scores_used(run)
    if not scores:
        return None
    return uncertainty_of(scores, run.spec.confidence, run.spec.overlap)


def interval_allowing_for_stop(run: RunRecord) -> Interval | None:
    """The interval of the mean of the folds used, if it differs from `students_interval`.

    A rule that looks at the scores stops sooner at a lucky moment; this interval allows for that.

    Returns:
        None for a run that has not stopped early, or where the rule looks at no score.
    """
    if not run.stopped_early:
        return None
    interval = interval_after_stop(run.spec, _scores_used(run))
    # The two are equal for a rule that looks at no score, as its stop has nothing to allow for.
    if interval == students_interval(run):
        return None
    return interval


def new_data_line(run: RunRecord, new_data: MeanOnNewData | None) -> str:
    """Where the mean of new users is, or why that is not known; empty before the first fold.

    '95 % interval for new users: 0.2803 to 0.3081 (drawn from the same population)'

    Args:
        run: With its folds.
        new_data: As `mean_on_new_data` the run gives it.
    """
    if not run.folds:
        return ""
    units = usual_units_of_new_data(run.spec)
    if run.spec.in_time:
        return f"no interval for new {units}, because later {units} may differ from earlier ones"
    if new_data is None:
        return _new_data_sentence(None, units, run.spec.confidence)
    return _new_data_sentence(new_data.interval, new_data.of, run.spec.confidence)


def winner_new_data_line(
    interval: NewDataInterval | None,
    confidence: float,
    *,
    winner: Scores,
    contender_count: int,
    specs: Sequence[RunSpec] = (),
) -> str:
    """The same of the winner of a selection, as a sentence with what it allows for.

    Args:
        interval: None where it is not known.
        confidence: The confidence of the interval.
        winner: Its scores.
        contender_count: Among how many it was the best.
        specs: The specs of the contenders; none for scores from a file.
    """
    units = "users"
    if specs:
        units = usual_units_of_new_data(specs[0])
    if winner.in_clusters:
        units = "clusters"
    line = _new_data_sentence(interval, units, confidence)
    if interval is not None:
        line += f"; it allows for the choice of the best of {contender_count}"
    return as_sentence(line)


def _new_data_sentence(interval: NewDataInterval | None, units: str, confidence: float) -> str:
    if interval is None:
        return f"no interval for new {units}: not every fold has the scores of individual {units}"
    # Half the width is left out, because this interval need not lie evenly around the mean.
    ends = f"{ends_words(interval)} (drawn from the same population)"
    return f"{percent_text(confidence, 'g')} interval for new {units}: {ends}"


def interval_lines(run: RunRecord) -> list[str]:
    """How uncertain the mean at the stop is: a line for each interval, with its name.

    First that of `new_data_line`, then those of these folds:
    '95 % interval of these folds: 0.2703 to 0.3697 (± 0.0497, Student's t over 3 folds)'
    """
    if not run.folds:
        return []
    level = percent_text(run.spec.confidence, "g")
    lines = [new_data_line(run, mean_on_new_data(run, run.user_scores))]
    t_interval = students_interval(run)
    if t_interval:
        ends = _interval_and_reason_words(t_interval, _students_t_words(run))
        lines.append(f"{level} interval of these folds: {ends}")
    elif run.folds_used > 1:
        lines.append(
            "no interval for these folds: all have the same score, so they do not show how "
            "uncertain the mean is"
        )
    allowing_for_stop = interval_allowing_for_stop(run)
    if allowing_for_stop:
        ends = _interval_and_reason_words(allowing_for_stop, "holds wherever the rule stops")
        lines.append(f"{level} interval of these folds that allows for the stop: {ends}")
    at_stop = run.at_stop
    # If the folds are in doubt (one is far off, or they drift), they say nothing about those
    # that did not run.
    if at_stop is None or at_stop.interval is None or at_stop.n == run.k or run.doubt:
        return lines
    if at_stop.interval.kind is IntervalKind.K_FOLD_MEAN:
        half_width = score_text(at_stop.interval.width / 2)
        lines.append(
            f"distance to the {run.k}-fold mean: at most {half_width} ({level} confidence)"
        )
    return lines


def _students_t_words(run: RunRecord) -> str:
    """How the interval of these folds comes about: 'Student's t over 3 folds'."""
    words = f"Student's t over {counted(run.folds_used, 'fold')}"
    if run.spec.overlap:
        words += " that overlap, which is corrected for"
    return words


def ends_words(interval: Interval | NewDataInterval) -> str:
    """'0.2803 to 0.3081': from the lower to the upper end of an interval."""
    return f"{score_text(interval.low)} to {score_text(interval.high)}"


def _interval_and_reason_words(interval: Interval, reason: str) -> str:
    """'0.2803 to 0.3081 (± 0.0139, drawn alike)': its ends, half its width, what makes it so."""
    return f"{ends_words(interval)} (± {score_text(interval.width / 2)}, {reason})"


# What computed a run, and what that means for its energy.


def reused_words(folds: Sequence[FoldResult]) -> str:
    """How many folds had been computed before, and of when their energy is; empty where none."""
    reused = sum(fold.reused for fold in folds)
    if not reused:
        return ""
    pronoun = "them"
    possessive = "Their"
    if reused == 1:
        pronoun = "it"
        possessive = "Its"
    return (
        f"{reused} of {counted(len(folds), 'fold')} had been computed before: no time or energy "
        f"was spent on {pronoun} again. {possessive} energy is as it was measured then, with the "
        "power in watts that was set then."
    )


def node_words(run: RunRecord) -> str:
    """On what a run was computed, as far as its joules depend on it, and what came after its stop.

    Empty where there is nothing to say.
    """
    return joined(
        _late_folds_sentence(run),
        _machines_sentence(run),
        _slurm_sentence(run.folds),
        _gaps_sentence(run.folds),
        _meters_sentence(run.folds),
    )


def _late_folds_sentence(run: RunRecord) -> str:
    """What folds have cost that nobody asked for, as the run was to end at its stop."""
    if run.stopped_at is None or run.spec.full:
        return ""
    late_folds = run.folds[run.stopped_at :]
    if not late_folds:
        return ""
    folds = counted(len(late_folds), "fold")
    return f"{folds} ({_watt_hours_of(late_folds)}) finished after the stop."


def _machines_sentence(run: RunRecord) -> str:
    """Which kinds of machines have computed a run; empty for one kind."""
    kinds: Counter[str] = Counter()
    for fold in run.folds:
        if fold.node is not None:
            kinds[fold.node.hardware] += 1
    if len(kinds) < 2:
        return ""
    folds = "; ".join(f"{counted(count, 'fold')} on {kind}" for kind, count in kinds.most_common())
    return f"It ran on {len(kinds)} kinds of machines ({folds}), whose energy is not comparable."


def _slurm_sentence(folds: Sequence[FoldResult]) -> str:
    """What SLURM measured beside our meter; empty where it measured nothing."""
    measured_folds = []
    slurm_joules = 0.0
    for fold in folds:
        if fold.node is not None and fold.node.slurm_joules is not None:
            measured_folds.append(fold)
            slurm_joules += fold.node.slurm_joules
    if not measured_folds:
        return ""
    return (
        f"SLURM measured {watt_hours(slurm_joules)} for {counted(len(measured_folds), 'fold')}, "
        f"this meter {_watt_hours_of(measured_folds)}."
    )


def _gaps_sentence(folds: Sequence[FoldResult]) -> str:
    """For how long the meter that counts gave nothing; empty where it always did."""
    readings_with_gap = []
    for fold in folds:
        for reading in fold.energy.readings[:1]:  # the first meter is the one that counts
            if reading.gap_seconds:
                readings_with_gap.append(reading)
    if not readings_with_gap:
        return ""
    seconds = sum(reading.gap_seconds for reading in readings_with_gap)
    return (
        f"In {counted(len(readings_with_gap), 'fold')} the meter {readings_with_gap[0].meter} gave "
        f"no reading for {duration(seconds)} in all; the range includes the energy that may have "
        "been used in this time."
    )


def _meters_sentence(folds: Sequence[FoldResult]) -> str:
    """What each meter said of the folds that had several; empty where none had."""
    several = [fold for fold in folds if len(fold.energy.readings) > 1]
    if not several:
        return ""
    return f"In {counted(len(several), 'fold')}: {readings_words(several)}."


def _watt_hours_of(folds: Sequence[FoldResult]) -> str:
    return watt_hours(sum(fold.energy.joules for fold in folds))


def readings_words(folds: Sequence[FoldResult]) -> str:
    """What several meters said of the same folds, each over all of them; empty for one meter.

    'shelly 1.2 Wh (measured), CodeCarbon 0.9 Wh (estimated, 25 % less)'
    """
    joules: defaultdict[str, float] = defaultdict(float)
    how_known = {}
    for fold in folds:
        for reading in fold.energy.readings:
            joules[reading.meter] += reading.joules
            how_known[reading.meter] = HOW_KNOWN[reading.source]
    if len(joules) < 2:
        return ""
    # The first meter is the one that counts, so the others are compared with it.
    first, *others = joules
    words = [f"{first} {watt_hours(joules[first])} ({how_known[first]})"]
    for meter in others:
        if joules[meter]:
            note = how_known[meter]
            if joules[first]:
                note += f", {_more_or_less(joules[meter], joules[first])}"
            words.append(f"{meter} {watt_hours(joules[meter])} ({note})")
        else:
            words.append(f"{meter} -")  # this meter was asked, and read nothing
    return ", ".join(words)


def _more_or_less(amount: float, reference: float) -> str:
    """'25 % less': an amount against one that it is compared with."""
    share = (amount - reference) / reference
    if share >= 0:
        return f"{percent_text(share, '.0f')} more"
    return f"{percent_text(-share, '.0f')} less"


def shared_words(run: RunRecord) -> str:
    """What of a run's cost was shared with other configurations; empty where nothing was."""
    shared_work = [fold.shared for fold in run.folds if fold.shared is not None]
    if not shared_work:
        return ""
    others = max(work.configurations for work in shared_work) - 1
    joules_alone = sum(fold.joules_if_computed_alone for fold in run.folds)
    return (
        f"{counted(len(shared_work), 'fold')} shared work with up to "
        f"{counted(others, 'other run')}. The energy of that work is divided equally among the "
        "runs. On its own, this run would "
        f"have used about {watt_hours(joules_alone)}."
    )


# Numbers and units.


def setting_words(rule_id: str, value: float) -> str:
    """A setting of a rule's axis where rules are compared: 'tolerance 2.1 %', 'at least 4 folds'.

    Args:
        rule_id: A registered rule.
        value: The value of `Rule.axis`. A rule without an axis has nothing to set, so that the
            share of the runs that it may stop is set instead: at 0.25 it stops one run in four,
            and the others use all folds.
    """
    # At 0, a rule with or without an axis stops no run.
    if value == 0:
        return "all folds"
    axis = RULES[rule_id].axis
    if axis is not None:
        return axis.in_words(value, about=True)
    share_of_runs = value
    # A rule that may stop every run is the rule as its author registered it.
    if share_of_runs == 1:
        return "as registered"
    return f"in {percent_text(share_of_runs, '.0f')} of the runs, otherwise all folds"


def small_number(value: float, significant: int = 3) -> str:
    """So many significant digits, never an exponent: '0.00214', '12.3', '1,230'."""
    if value == 0:
        return "0"
    decimals = significant - 1 - floor(log10(abs(value)))
    if decimals <= 0:
        return f"{value:,.0f}"
    return f"{value:,.{decimals}f}".rstrip("0").rstrip(".")


ESTIMATED_DIGITS = 2
"""Significant digits of energy and emissions: part of every figure is an estimate."""


def forecast_words(folds: Iterable[int]) -> str:
    """As what a fold that did not run is counted, and how often that held.

    Args:
        folds: Numbers of folds that ran, of one run or several; each at least one.
    """
    clauses = []
    for count in sorted(set(folds)):
        margin = margin_after(count)
        percent = percent_text(margin.share, ".0f")
        if count == 1:
            costs = f"as between {percent} less and {percent} more than the fold that ran"
        else:
            costs = (
                f"as between {percent} less than the cheapest and {percent} more than the most "
                "expensive of the folds that ran, without the first, which also pays for start-up"
            )
        held = f"with {margin.after} run, this held in {margin.held_percent} % of the recorded runs"
        clauses.append(f"{costs} ({held})")
    # From four folds on the margin is the same, so that its clause is kept only once.
    return "; ".join(dict.fromkeys(clauses))


def estimate_text(value: float) -> str:
    """A number of which two digits are believed: '0.0021', '12', '340', '1,200'."""
    # The value is rounded first, because `small_number` keeps all digits before the point.
    rounded = float(f"{value:.{ESTIMATED_DIGITS}g}")
    return small_number(rounded, ESTIMATED_DIGITS)


def watt_hours(joules: float) -> str:
    """Energy as pages show it: '1.3 Wh', and '21 mWh' where that is easier to read."""
    return _scaled("Wh", joules / 3600)


def watt_hours_range(low: float, high: float) -> str:
    """'14 to 21 mWh', in one unit, from joules; one figure where both ends read the same."""
    return _scaled("Wh", low / 3600, high / 3600)


def watt_hours_in_one_unit(*ranges: tuple[float, float]) -> list[str]:
    """Ranges of joules, each as of `watt_hours_range`, all in the unit of the first.

    '0.14 to 0.5 Wh' beside '0.08 to 0.46 Wh', where the other alone would be in mWh.
    """
    in_watt_hours = [(low / 3600, high / 3600) for low, high in ranges]
    in_thousandths = _read_better_in_thousandths(in_watt_hours[0])
    return [_amounts_text("Wh", ends, in_thousandths) for ends in in_watt_hours]


def saved_words(facts: EnergyFacts) -> str:
    """What a stop saved: a range as long as it is a forecast. '-' while there is no stop."""
    if facts.saved_range is None:
        return "-"
    return watt_hours_range(*facts.saved_range)


def saving_verb(facts: EnergyFacts) -> str:
    """What became of what a stop saves: folds that run to check it are not saved."""
    if facts.is_checked:
        return "forgone to check"
    return "saved"


def used_words(facts: EnergyFacts) -> str:
    """What the folds used: a range where it is an estimate."""
    return watt_hours_range(*facts.joules_range)


def range_words(facts: EnergyFacts) -> str:
    """What the range of an estimate is, as a sentence; empty where there is none."""
    low, high = facts.joules_range
    if not low < high:
        return ""
    if facts.has_idle_joules:
        return (
            "The low end is what the folds added to an idle machine, such as a server that runs "
            "anyway; the high end is everything that the machine drew in that time."
        )
    return (
        "The low end leaves out the constant power that memory always draws; the high end "
        "includes it."
    )


def processor_words(facts: EnergyFacts) -> str:
    """'processor time 42 s, about 57 % saved': what other work beside it does not change.

    Empty where no fold says. GPU time, where there is some, comes after it.
    """
    if facts.processor_seconds is None:
        return ""
    about_word = ""
    if facts.has_forecast or facts.folds_without_processor_time:
        about_word = "about "
    words = f"processor time {about_word}{duration(facts.processor_seconds)}"
    if facts.folds_without_processor_time:
        folds = counted(facts.folds_without_processor_time, "fold")
        words += f" ({folds} assumed to cost as much as the others)"
    if facts.saved_processor_percent:
        share = percent_text(facts.saved_processor_percent / 100, ".0f")
        words += f", {about_word}{share} {saving_verb(facts)}"
    if facts.gpu_seconds:
        words += f", GPU time {duration(facts.gpu_seconds)}"
    return words


def processor_sentence(facts: EnergyFacts) -> str:
    """The same as a sentence of its own."""
    return as_sentence(processor_words(facts))


def grams(amount: float) -> str:
    """Emissions as pages show them: '1.3 g', '4.2 mg'."""
    return _scaled("g", amount)


def emissions_words(folds: Sequence[FoldResult]) -> str:
    """Those of all these folds: '1.3 g', 'at most 1.3 g' or 'about 1.3 g'."""
    emissions = grams(sum(fold.energy.grams_co2e for fold in folds))
    least, most = sum_of_ranges(fold.energy.joules_range for fold in folds)
    # Emissions are those of the joules. These are the most that an estimate may be, but where a
    # meter was not read all the time it may have been more.
    may_be_more = any(fold.energy.joules_range[1] > fold.energy.joules for fold in folds)
    if may_be_more:
        return f"about {emissions}"
    if least < most:
        return f"at most {emissions}"
    return emissions


def _scaled(unit: str, *amounts: float) -> str:
    """One amount, or a range from the least to the most, in a unit or in thousandths of it."""
    return _amounts_text(unit, amounts, _read_better_in_thousandths(amounts))


def _read_better_in_thousandths(amounts: Sequence[float]) -> bool:
    return 0 < max(amounts) < 1 and min(amounts) < 0.1


def _amounts_text(unit: str, amounts: Sequence[float], in_thousandths: bool) -> str:
    """'0.14 to 0.5 Wh', or one number where both ends read the same."""
    if in_thousandths:
        unit = f"m{unit}"
        amounts = [1000 * amount for amount in amounts]
    distinct_texts = dict.fromkeys(estimate_text(amount) for amount in amounts)
    return f"{' to '.join(distinct_texts)} {unit}"


def duration(seconds: float) -> str:
    """'40 ms', '0.8 s', '42 s', '3 min 20 s', '2 h', '520 h'; duration.js says the same."""
    # Bounds are where the rounded number would have a digit more: 9.95 s would be 10.0 s.
    if 0 < seconds < 0.095:
        return f"{max(round(1000 * seconds), 1)} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole_seconds = round(seconds)
    if whole_seconds < 60:
        return f"{whole_seconds} s"
    if whole_seconds < 3600:
        return _in_two_units(whole_seconds, "min", "s")
    if whole_seconds < 360_000:
        return _in_two_units(whole_seconds // 60, "h", "min")
    return f"{whole_seconds // 3600:,} h"


def _in_two_units(amount: int, large_unit: str, small_unit: str) -> str:
    """An amount of small units, of which a large one has 60: '3 min 20 s', '2 h'."""
    large, small = divmod(amount, 60)
    if small == 0:
        return f"{large} {large_unit}"
    return f"{large} {large_unit} {small} {small_unit}"
