"""For a paper: a run, a comparison, a study, an advice or a selection as text and table."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from ecv_core import dataset as datasets
from ecv_core import models
from ecv_core.analysis.tradeoff.decision import FoldsAdvice
from ecv_core.energy.meter import SOURCES, country_in_words
from ecv_core.energy.parts import (
    excluded_energy_words,
    inflated_energy_words,
    runs_without_other_work,
)
from ecv_core.energy.savings import (
    EnergyFacts,
    distinct_folds,
    energy_of,
    sum_of_ranges,
    total_saved_range,
)
from ecv_core.figures.report.advice import (
    acceptable_difference_sentence,
    checked_sentence,
    decision_sentence,
    options_frame,
    promise_words,
)
from ecv_core.figures.report.latex import (
    PAPER,
    as_label,
    bibtex,
    escaped,
    key_of,
    latex_table,
    short_citation,
    software,
)
from ecv_core.figures.report.runs_table import runs_latex
from ecv_core.figures.words import (
    algorithm_title,
    alpha_text,
    as_sentence,
    counted,
    dataset_title,
    emissions_words,
    forecast_words,
    interval_lines,
    joined,
    metric_label,
    reused_words,
    run_title,
    titled,
    verdict,
    watt_hours_range,
)
from ecv_core.records.parameters import Params, listed, percent_text, score_text
from ecv_core.records.run import FoldResult, Moment, RunRecord, Scores
from ecv_core.records.spec import SCORE_ROLES, SETTINGS, RunSpec
from ecv_core.records.tasks import Task
from ecv_core.selection.document import (
    is_best,
    methods_sentence,
)
from ecv_core.selection.replay import mean_so_far
from ecv_core.selection.rounds import Terms, Verdict
from ecv_core.splits import SPLITS
from ecv_core.stopping import RULES, usual_interval_kind
from ecv_core.stopping.base import Phrases

if TYPE_CHECKING:
    from ecv_core.figures.report.race import ContenderRace

MadeWith = Mapping[str, Any]
"""What computed runs: the versions of e-fold, Python and packages, and facts of the machine."""

# The sentences of a methods section: data, split, score, rule, energy, versions. They hold marks,
# `cite` and `maths`, that become words in plain text and commands in LaTeX.


_Item = TypeVar("_Item")
_MARK = re.compile(r"⟦(cite|maths):(.*?)⟧", re.DOTALL)


def cite(entry: str) -> str:
    """A mark for a BibTeX entry; nothing for an empty one."""
    if not entry.strip():
        return ""
    return f"⟦cite:{entry.strip()}⟧"


def maths(plain: str, latex: str) -> str:
    """A mark for a formula: as text, and in LaTeX between dollars."""
    return f"⟦maths:{plain}::{latex}⟧"


def as_text(marked: str) -> str:
    """Plain text: citations as (author, year)."""
    return _MARK.sub(_mark_as_text, marked)


def _mark_as_text(mark: re.Match[str]) -> str:
    kind, content = mark.groups()
    if kind == "cite":  # then the content is a BibTeX entry
        return f" ({short_citation(content)})"
    plain, _, _latex = content.partition("::")  # The formula is given as text and as LaTeX.
    return plain


def as_latex(marked: str) -> str:
    """LaTeX: citations as \\cite, formulas between dollars, everything else escaped."""
    parts = []
    end_of_mark = 0
    for mark in _MARK.finditer(marked):
        parts.append(escaped(marked[end_of_mark : mark.start()]))
        parts.append(_mark_as_latex(mark))
        end_of_mark = mark.end()
    parts.append(escaped(marked[end_of_mark:]))
    return "".join(parts)


def _mark_as_latex(mark: re.Match[str]) -> str:
    kind, content = mark.groups()
    if kind == "cite":  # then the content is a BibTeX entry
        return rf"~\cite{{{key_of(content)}}}"
    _plain, _, latex = content.partition("::")  # The formula is given as text and as LaTeX.
    return f"${latex}$"


def _cited_entries(marked: str) -> list[str]:
    """The BibTeX entries of a text, in its order."""
    return [content for kind, content in _MARK.findall(marked) if kind == "cite"]


def distinct(items: Iterable[_Item], words: Callable[[_Item], str]) -> list[str]:
    """What is said of each, every text once."""
    return list(dict.fromkeys(words(item) for item in items))


def data_sentences(specs: Sequence[RunSpec]) -> str:
    """Which data, how large after preparation, and how it was filtered."""
    used = f"We used {listed(distinct(specs, _dataset_words))}."
    filtering = distinct(specs, lambda spec: _FILTERING[spec.task])
    return " ".join([used, *filtering])


_OF_SAMPLES = (
    "Missing numbers were replaced by the median of the training part, and each distinct text "
    "of a column became a feature of its own."
)
_FILTERING = {
    Task.TOP_N: "Every interaction counts as positive feedback, whatever its rating. Users and "
    "items with fewer than five interactions were removed repeatedly until none was left "
    "(5-core); the sizes are those after this filtering.",
    Task.RATINGS: "All ratings were used unchanged.",
    Task.CLASSES: _OF_SAMPLES,
    Task.NUMBERS: _OF_SAMPLES,
}
"""What was done to the data of a task before they were dealt into folds."""


def _dataset_words(spec: RunSpec) -> str:
    """A dataset with what is to be cited for it and its size, as far as the catalogue knows it."""
    entry = datasets.catalogue().get(spec.dataset)
    quoted_name = f"the dataset '{spec.dataset}'"
    if entry is None:
        return quoted_name
    title = entry.title
    if title == spec.dataset:
        title = quoted_name
    words = f"{title}{cite(entry.bibtex)}"
    sizes = entry.size_words(spec.task)
    # A single count, without the others, does not describe the data.
    if len(sizes) > 1:
        words += f" ({', '.join(sizes)})"
    return words


def algorithm_sentence(specs: Sequence[RunSpec]) -> str:
    """Which algorithms, with the parameters that decide their scores."""
    algorithms = distinct(specs, _algorithm_words)
    subject_and_verb = "The algorithm was"
    if len(algorithms) > 1:
        subject_and_verb = "The algorithms were"
    sentences = f"{subject_and_verb} {listed(algorithms)}."
    tracked_algorithms = distinct([spec for spec in specs if spec.tracked], _algorithm_words)
    if tracked_algorithms:
        sentences += (
            f" The folds of {listed(tracked_algorithms)} were computed by code outside e-fold, "
            "which reported their scores."
        )
    return sentences


def _algorithm_words(spec: RunSpec) -> str:
    title = models.of(spec).title
    if not spec.params:
        return title
    return f"{title} ({', '.join(_settings(spec.params))})"


def _settings(params: Params) -> list[str]:
    return [f"{name} = {value}" for name, value in params]


def split_sentence(specs: Sequence[RunSpec]) -> str:
    """How the data was split, with k and seeds; splits that differ in their seed alone are one."""
    specs_of_split: defaultdict[Hashable, list[RunSpec]] = defaultdict(list)
    for spec in specs:
        split = (spec.split, spec.split_params, spec.k, spec.folds_sha256)
        specs_of_split[split].append(spec)
    sentences = []
    for same_split in specs_of_split.values():
        seeds = sorted({spec.seed for spec in same_split})
        sentences.append(_split_words(same_split[0], seeds))
    all_seeds = {spec.seed for spec in specs}
    if len(sentences) == 1 and len(all_seeds) == 1 and _each_algorithm_has_all_data(specs):
        sentences.append("All algorithms were evaluated on the same folds.")
    return " ".join(sentences)


def _each_algorithm_has_all_data(specs: Sequence[RunSpec]) -> bool:
    """Whether there are several algorithms, and each was evaluated on every dataset."""
    algorithms = {spec.algorithm for spec in specs}
    # Each task prepares a dataset in its own way, so that the data differ.
    data = {(spec.dataset, spec.task) for spec in specs}
    pairs = {(spec.algorithm, spec.dataset, spec.task) for spec in specs}
    return len(algorithms) > 1 and len(pairs) == len(algorithms) * len(data)


def _seed_words(seeds: Sequence[int]) -> str:
    """'seed 42', 'seeds 0 to 9', or 'seeds 1, 7 and 8'; they are given in ascending order."""
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"seeds {seeds[0]} to {seeds[-1]}"
    return f"seeds {listed([str(seed) for seed in seeds])}"


def _split_words(spec: RunSpec, seeds: Sequence[int]) -> str:
    """How the data of a run was split, and of those that differ from it in their seed alone."""
    if spec.folds_sha256 is not None:
        return (
            f"The {counted(spec.k, 'fold')} were imported (SHA-256 {spec.folds_sha256}), with "
            f"random {_seed_words(seeds)}."
        )
    folds = f"k = {spec.k} folds"
    if spec.k == 1:
        folds = "one split"
    strategy = ", ".join([f"'{titled(spec.split)}'", *_settings(spec.split_params)])
    sentence = (
        f"The data was split into {folds} with the strategy {strategy} "
        f"(random {_seed_words(seeds)})."
    )
    if spec.split in SPLITS:
        sentence += f" {SPLITS[spec.split].help}"
    return sentence


def score_sentence(specs: Sequence[RunSpec]) -> str:
    """The metric, what is ranked against what, and settings that no other sentence tells."""
    sentences = distinct(specs, _score_words)
    sentences += [sentence for sentence in distinct(specs, _other_settings) if sentence]
    return " ".join(sentences)


_IN_SENTENCES = {
    *("dataset", "data_sha256", "algorithm", "params", "tracked", "split", "split_params"),
    *("folds_sha256", "k", "only_folds", "seed", "metric", "own_metric", "n", "candidates"),
    *("negatives", "negative_sampling"),
}
"""Settings that decide scores and that sentences here tell, or that are told by the data."""


def _other_settings(spec: RunSpec) -> str:
    """Every other setting that decides scores and is not at its default, in a sentence; or ''."""
    words = []
    for name, value in spec.not_at_default(*SCORE_ROLES).items():
        if name not in _IN_SENTENCES:
            words.append(f"{SETTINGS[name].words} {value}")
    if not words:
        return ""
    return f"Other settings were {listed(words)}."


_BY_SCIKIT_LEARN = "as scikit-learn computes it"
_HOW_SCORED = {
    Task.RATINGS: "with predictions clipped to the scale",
    Task.CLASSES: _BY_SCIKIT_LEARN,
    Task.NUMBERS: _BY_SCIKIT_LEARN,
}
"""How predictions of a task are scored."""


def _score_words(spec: RunSpec) -> str:
    text = f"The score was {metric_label(spec)}"
    if spec.tracked:
        return f"{text} of '{spec.algorithm}' as that code reported it."
    if spec.metric == "ndcg":
        discount = maths("1/log2(rank + 1)", r"1/\log_2(\mathrm{rank}+1)")
        text += (
            f", with binary relevance, the discount {discount} and the ideal ranking cut at the "
            f"smaller of {spec.n} and the number of the user's held-out items, averaged over the "
            "users with held-out items"
        )
    if not spec.task.ranks:
        return f"{text}, over the held-out {spec.task.rows} of a fold, {_HOW_SCORED[spec.task]}."
    return f"{text}; {_ranking_words(spec)}."


def _ranking_words(spec: RunSpec) -> str:
    """What is ranked: the held-out items against a sample, or all items."""
    if spec.negatives is not None:
        pooled = ""
        if spec.negative_sampling == "pooled":
            pooled = ", all of a user's in one list"
        return (
            f"each held-out item was ranked against {spec.negatives:,} sampled items{pooled} "
            f"({spec.negative_sampling})"
        )
    items = "all items with a training interaction"
    if spec.candidates == "all":
        items = "all items"
    return f"{items} but those in the user's training data were ranked"


def rule_sentence(specs: Sequence[RunSpec]) -> str:
    """What stopped the evaluation, and how intervals were worked out."""
    return " ".join(distinct(specs, _rule_words))


def _rule_words(spec: RunSpec) -> str:
    """What the rule says of itself, or what can be said of any rule."""
    level = percent_text(spec.confidence, "g")
    least = counted(spec.min_folds, "fold")
    t_interval = (
        f"the {level} confidence interval of the mean of the first n fold scores (Student's t "
        f"with n - 1 degrees of freedom{_overlap_words(spec)})"
    )
    rule = RULES.get(spec.rule)
    if rule is not None and rule.sentence is not None:
        phrases = Phrases(
            k=spec.k,
            values=rule.values(spec),
            level=level,
            least=least,
            interval=t_interval,
            paper=cite(PAPER),
            maths=maths,
            unit=spec.task.unit,
        )
        return rule.sentence(phrases)
    text = f"Evaluation was stopped by the rule '{spec.rule}'."
    if rule is not None:
        text = f"Evaluation was stopped by the rule '{rule.title}': {rule.help}"
    if spec.rule_params:
        text += f" Its parameters were {listed(_settings(spec.rule_params))}."
    return f"{text} It could stop after {least} at the earliest. The interval is {t_interval}."


def _overlap_words(spec: RunSpec) -> str:
    """How an interval allows for rows that are held out in several folds; empty where none is."""
    if not spec.overlap:
        return ""
    factor = f"1/n + {spec.overlap:.3g}"
    return (
        f" and the variance of a fold score times {maths(factor, factor)}, as folds that overlap "
        "share what they learn from and what they hold out; Nadeau, Bengio 2003"
    )


def energy_sentence(runs: Sequence[RunRecord]) -> str:
    """What the folds cost, what was saved, and how both are known.

    Runs during which the machine did other work too are left out, unless there are no others.
    """
    used = energy_used_sentences(runs)
    if used == _NOT_MEASURED:
        return used
    return joined(used, _energy_saved_sentence(_runs_in_energy_sums(runs)))


_NOT_MEASURED = "Energy was not measured."


def _runs_in_energy_sums(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """Those that had the machine to themselves; where none had, all that have a fold."""
    started = [run for run in runs if run.folds]
    return runs_without_other_work(started) or started


def energy_used_sentences(runs: Sequence[RunRecord]) -> str:
    """What the folds cost, and which runs are left out; as `energy_sentence`, without savings."""
    started_runs = [run for run in runs if run.folds]
    # Runs during which other programs used the machine are left out of the sum. Where other
    # programs used it during every run, all runs are in the sum, which the text then calls too
    # high.
    summed_runs = _runs_in_energy_sums(runs)
    sources = [energy_of(run).source for run in summed_runs]
    # If the energy of one run is not known, no sum is given: readers would take a sum of the
    # other runs for that of all.
    if not sources or "none" in sources:
        return _NOT_MEASURED
    if len(summed_runs) < len(started_runs):
        scope = "of the other run"
        if len(summed_runs) > 1:
            scope = f"of the other {len(summed_runs):,} runs"
        used_sentence = _folds_used_sentence(summed_runs, sources, scope)
        return f"{excluded_energy_words(started_runs)} {used_sentence}"
    used_sentence = _folds_used_sentence(summed_runs, sources, "that ran")
    return joined(used_sentence, inflated_energy_words(summed_runs))


def _folds_used_sentence(runs: Sequence[RunRecord], sources: Sequence[str], scope: str) -> str:
    """What the folds of these runs cost, by which meter.

    Args:
        runs: With at least one fold each.
        sources: How the energy of each run is known, as of `EnergyFacts`.
        scope: Which folds these are, as the sentence says it: 'that ran'.
    """
    meters = "; ".join(distinct(sources, lambda source: SOURCES.get(source, source)))
    # Figures of these sources may be CodeCarbon's, which a paper has to name where it reports them.
    if not _SOURCES_OF_CODECARBON.isdisjoint(sources):
        meters = f"{meters}; CodeCarbon"
    countries = distinct([run.spec for run in runs], lambda spec: country_in_words(spec.country))
    folds = distinct_folds(runs)
    least, most = sum_of_ranges(fold.energy.joules_range for fold in folds)
    return (
        f"The {counted(len(folds), 'fold')} {scope} used {watt_hours_range(least, most)} "
        f"({meters}), which is {emissions_words(folds)} CO2e with the electricity of "
        f"{listed(countries)}."
    )


_SOURCES_OF_CODECARBON = frozenset({"rapl", "cpu-load", "constant", "mixed"})
"""`Energy.source` of figures that are, or may be, CodeCarbon's."""


def _energy_saved_sentence(runs: Sequence[RunRecord]) -> str:
    """What the stops of these runs saved; empty where none did."""
    energies = [energy_of(run) for run in runs]
    saved_joules = sum(energy.saved_joules or 0.0 for energy in energies)
    if not saved_joules:
        return ""
    least, most = total_saved_range(energies)
    folds_behind_forecasts = [energy.folds_ran for energy in energies if energy.has_forecast]
    about_word = ""
    source = "the energy that the folds after the stop used when they were run to check"
    if folds_behind_forecasts:
        about_word = "about "
        counted_as = forecast_words(folds_behind_forecasts)
        source = f"a forecast: a fold that did not run is counted {counted_as}"
    share = ""
    joules_of_all_folds = _joules_of_all_folds(runs, energies)
    if joules_of_all_folds:
        percent = percent_text(saved_joules / joules_of_all_folds, ".0f")
        share = f" ({about_word}{percent} of all folds)"
    return f"Stopping saves {watt_hours_range(least, most)}{share}, {source}."


def _joules_of_all_folds(runs: Sequence[RunRecord], energies: Sequence[EnergyFacts]) -> float:
    """What all folds of the runs that stopped take: those up to the stop, and those it saved."""
    joules = 0.0
    for run, energy in zip(runs, energies, strict=True):
        if run.stopped_at is not None:
            # Folds that ran after the stop are part of what is saved, so they are taken out of what
            # was used.
            after_stop = sum(fold.energy.joules for fold in run.folds[run.stopped_at :])
            joules += energy.joules - after_stop + (energy.saved_joules or 0.0)
    return joules


def file_sentence(scores: Sequence[Scores], file: str) -> str:
    """Where scores come from that e-fold has not computed."""
    sentence = (
        f"The scores of {counted(len(scores), 'system')} with {counted(scores[0].k, 'fold')} each "
        f"were computed by other software and read from the file '{file}'."
    )
    if not scores[0].higher_is_better:
        sentence += " Lower scores are better."
    return sentence


def version_sentence(made_with: MadeWith, specs: Sequence[RunSpec]) -> str:
    """What e-fold computed, in which versions; the software to cite.

    Args:
        made_with: Versions; empty where they were not recorded.
        specs: The specs of the runs; none for scores from a file.
    """
    tracked_specs = [spec for spec in specs if spec.tracked]
    if len(tracked_specs) == len(specs):
        computed = "The analysis was done"
        # No model was fitted here, so its libraries are not named.
        made_with = {name: value for name, value in made_with.items() if name != "packages"}
    elif tracked_specs:
        computed = "The other scores were computed"
    else:
        computed = "Scores were computed"
    return f"{computed} with e-fold{cite(software())} ({_version_words(made_with)})."


def _version_words(made_with: MadeWith) -> str:
    """'e-fold 0.1.0, Python 3.11.7, torch 2.13.0', or that these are several or not known."""
    if not made_with:
        return "in a version that was not recorded"
    if not made_with.get("e_fold"):
        return "in several versions, which each run's JSON names"
    words = [f"e-fold {made_with['e_fold']}"]
    if made_with.get("python"):
        words.append(f"Python {made_with['python']}")
    packages = made_with.get("packages")
    if isinstance(packages, Mapping):
        words += [f"{name} {version}" for name, version in packages.items()]
    return ", ".join(words)


# A run, a comparison, a study, an advice or a selection, as text and table.


@dataclass(frozen=True, kw_only=True)
class Description:
    """Text to take into a paper."""

    methods: str
    """A paragraph as plain text."""
    latex: str
    """The same paragraph as LaTeX, with \\cite."""
    table: str
    """A LaTeX table; empty where there is none."""
    bibtex: str
    """An entry of everything to be cited."""


def describe_runs(runs: Sequence[RunRecord], made_with: MadeWith) -> Description:
    """One run, or several that are compared.

    Args:
        runs: At least one, in the order of the table; their folds carry their users' scores where
            there are some (`Results.with_user_scores`).
        made_with: Versions, as `store.environment.environment` gives them.
    """
    if len(runs) == 1:
        table = _fold_table(runs[0])
    else:
        table = runs_latex(runs)
    return replace(describe_methods(runs, made_with), table=table)


def describe_methods(runs: Sequence[RunRecord], made_with: MadeWith) -> Description:
    """As `describe_runs`, without a table."""
    specs = [run.spec for run in runs]
    sentences = [*_setup(specs), rule_sentence(specs)]
    if len(runs) == 1:
        sentences.append(verdict(runs[0]))
        for line in interval_lines(runs[0]):
            sentences.append(as_sentence(line))
    sentences.append(energy_sentence(runs))
    folds: list[FoldResult] = []
    for run in runs:
        folds += run.folds
    sentences.append(reused_words(folds))
    sentences.append(version_sentence(made_with, specs))
    return _description_of(sentences, table="")


def describe_study(
    cells: pd.DataFrame, runs: Sequence[RunRecord], made_with: MadeWith, *, alpha: float
) -> Description:
    """Datasets x algorithms under the paper's rule at one alpha, over every order of the folds.

    Args:
        cells: One row per alpha and cell, from `tradeoff.frames.cells_frame`.
        runs: The complete runs of the cells.
    """
    cells_at_alpha = cells[cells["alpha"] == alpha]
    specs = [run.spec for run in runs]
    means = cells_at_alpha[["mean_stop", "energy_percent", "difference_percent"]].mean()
    outcome = (
        f"With e-fold cross-validation{cite(PAPER)} at alpha = {alpha_text(alpha)} (95 % "
        f"confidence intervals, Student's t, at least 3 folds), {means['mean_stop']:.2f} folds and "
        f"{percent_text(means['energy_percent'] / 100, '.1f')} of the energy were used on average "
        f"over {counted(len(cells_at_alpha), 'run')}, and the score differed from that of all "
        f"folds by {percent_text(means['difference_percent'] / 100, '.2f')}."
    )
    sentences = [
        *_setup(specs),
        _orders_sentence(specs),
        outcome,
        energy_used_sentences(runs),
        version_sentence(made_with, specs),
    ]
    texts = {
        "dataset": cells_at_alpha["dataset"].map(dataset_title),
        "algorithm": cells_at_alpha["algorithm"].map(algorithm_title),
        "k_fold_mean": cells_at_alpha["k_fold_mean"].map(score_text),
    }
    formats = {
        "dataset": "{}",
        "algorithm": "{}",
        "k_fold_mean": "{}",
        "mean_stop": "{:.2f}",
        "difference_percent": "{:.2f}",
        "energy_percent": "{:.1f}",
    }
    rows = _formatted_rows(cells_at_alpha.assign(**texts), formats)
    score_name = "score"
    metrics = distinct(specs, metric_label)
    if len(metrics) == 1:
        score_name = metrics[0]
    table = latex_table(
        ["Dataset", "Algorithm", score_name, "Folds", "Difference (%)", "Energy (%)"],
        rows,
        caption=f"e-fold cross-validation at alpha = {alpha_text(alpha)}: mean score of all folds, "
        "expected folds used, difference to the mean of all folds and energy, over every order of "
        "the folds.",
        label="e-fold-study",
    )
    return _description_of(sentences, table)


def describe_advice(
    advice: FoldsAdvice,
    runs: Sequence[RunRecord],
    made_with: MadeWith,
    *,
    cost: str,
) -> Description:
    """How many folds are enough.

    Args:
        runs: The runs of its systems; empty where they came from a file of scores.
        cost: What is spent: 'energy', or 'folds'.
    """
    specs = [run.spec for run in runs]
    promise = promise_words(advice)
    # Scores that come from a file, without runs, have the name of the file as their dataset.
    file_name = advice.systems[0].dataset
    sentences = [
        *_setup_or_file(specs, advice.systems, file_name),
        _orders_sentence(specs),
        f"Of every stopping rule, among them that of e-fold cross-validation{cite(PAPER)}, the "
        f"cheapest setting was chosen with which the mean score ended {promise}.",
        decision_sentence(advice, cost),
        acceptable_difference_sentence(advice),
        checked_sentence(advice),
    ]
    if specs and cost == "energy":
        sentences.append(energy_used_sentences(runs))
    sentences.append(version_sentence(made_with, specs))
    formats = {
        "rule": "{}",
        "setting": "{}",
        "folds": "{:.1f}",
        "cost": "{:.0f}",
        "risk": "{:.1f}",
        "kept on other datasets": "{}",
    }
    rows = _formatted_rows(options_frame(advice), formats)
    spent = f"{cost.capitalize()} (%)"
    table = latex_table(
        ["Rule", "Setting", "Folds", spent, "Risk (%)", "Kept on other datasets"],
        rows,
        caption=f"Options that end {promise}, cheapest first. Risk: share of orders that end "
        "further away.",
        label="folds-needed",
    )
    return _description_of(sentences, table)


def describe_selection(
    race: ContenderRace, made_with: MadeWith, *, file: str = "", replayed: bool = True
) -> Description:
    """Which of several is best.

    Args:
        race: Its contenders have the folds that were used.
        made_with: Versions; empty where they were not recorded.
        file: The file that the scores come from, where they are of no run.
        replayed: Whether all folds were there before.
    """
    result = race.result
    sentences = _setup_or_file(race.specs, race.contenders, file)
    if replayed:
        sentences.append(
            "All folds were there; the selection was replayed on them, in their order."
        )
    sentences += [
        methods_sentence(race.titles, race.terms, result),
        _winner_sentence(race),
        race.new_data_sentence(),
        _selection_energy_sentence(race),
        version_sentence(made_with, race.specs),
    ]
    rows = []
    for contender in result.verdict.order:
        mean = "-"
        if result.folds_used[contender]:
            mean = score_text(mean_so_far(race.contenders, result.rounds, contender))
        used = f"{result.folds_used[contender]} of {race.terms.k}"
        verdict_words = _verdict_on(contender, race.terms, result.verdict)
        rows.append([race.titles[contender], mean, used, verdict_words])
    table = latex_table(
        ["Contender", race.metric, "Folds", "Verdict"],
        rows,
        caption="Contenders, best first: mean of the folds that each used, how many these are, and "
        f"what is shown on new data with {percent_text(race.terms.confidence, 'g')} confidence.",
        label="which-is-best",
    )
    return _description_of(sentences, table)


def _winner_sentence(race: ContenderRace) -> str:
    """The mean of the winner, and what it is expected to be over all folds."""
    score = "score"
    # Scores without specs come from a file, which does not name their metric.
    if race.specs:
        score = race.metric
    mean = score_text(race.result.winner_mean)
    folds = counted(race.result.folds_used[race.leader], "fold")
    sentence = f"The mean {score} of {race.titles[race.leader]} over {folds} is {mean}"
    # A winner that was picked for its best mean was probably lucky, too (the winner's curse):
    # `optimism` says by how much. Over all folds, a mean nearer to those of the others is expected.
    luck = race.terms.sign * race.result.verdict.optimism
    likely = score_text(race.result.winner_mean - luck)
    if likely != mean:
        sentence += f" ({likely} expected over all {race.terms.k}, as it was picked for being best)"
    return f"{sentence}."


def _selection_energy_sentence(race: ContenderRace) -> str:
    """What the folds of a selection have cost; empty for scores that were never metered."""
    if race.result.joules is None:
        if race.specs:
            return "The energy of these folds is not known."
        return ""
    used, saved = race.joules_ranges()
    text = f"These folds used {watt_hours_range(*used)}"
    if race.result.joules_of_all_folds:
        whole = watt_hours_range(*sum_of_ranges([used, saved]))
        text += f"; all folds of all contenders take about {whole}"
    return f"{text}."


def _verdict_on(contender: int, terms: Terms, verdict: Verdict) -> str:
    """What is shown of the contender of this number."""
    if contender == verdict.winner:
        if is_best(terms, verdict):
            return "best"
        return "chosen"
    if contender in verdict.worse:
        return "worse"
    return "no difference shown"


def _setup_or_file(specs: Sequence[RunSpec], scores: Sequence[Scores], file: str) -> list[str]:
    """What was evaluated, and how; of scores without a run, the file that they come from."""
    if specs:
        return _setup(specs)
    return [file_sentence(scores, file)]


def _setup(specs: Sequence[RunSpec]) -> list[str]:
    """What was evaluated, and how."""
    return [
        data_sentences(specs),
        algorithm_sentence(specs),
        split_sentence(specs),
        score_sentence(specs),
    ]


def _formatted_rows(frame: pd.DataFrame, formats: Mapping[str, str]) -> list[list[str]]:
    """Some columns of a frame as text, each in its format."""
    rows = []
    for _, row in frame.iterrows():
        rows.append([form.format(row[column]) for column, form in formats.items()])
    return rows


def _description_of(sentences: Sequence[str], table: str) -> Description:
    """The sentences, which hold marks for citations and formulas, in all forms.

    Args:
        sentences: The sentences of a methods section.
        table: In LaTeX; may be empty.
    """
    text_with_marks = joined(*sentences)
    return Description(
        methods=as_text(text_with_marks),
        latex=as_latex(text_with_marks),
        table=table,
        bibtex=bibtex(*_cited_entries(text_with_marks)),
    )


def _orders_sentence(specs: Sequence[RunSpec]) -> str:
    """How the outcome of a rule was worked out over the orders of the folds."""
    start = "The"
    unit = "system"
    if specs:
        start = "All folds of every run were computed, and the"
        unit = "run"
    return (
        f"{start} outcome of a rule was worked out exactly over every order in which the folds can "
        "come (sampled only for rules that depend on the whole history); every "
        f"{unit} counts the same."
    )


def moment_numbers(moment: Moment) -> list[str]:
    """Score, mean and both ends of the interval, which are empty where there is none."""
    numbers = [score_text(moment.score), score_text(moment.mean)]
    if moment.interval is None:
        return [*numbers, "", ""]
    return [*numbers, score_text(moment.interval.low), score_text(moment.interval.high)]


def _fold_table(run: RunRecord) -> str:
    """A run fold by fold; empty where it has no fold."""
    if not run.moments:
        return ""
    caption = (
        f"{run_title(run)}, fold by fold: score, mean of the first n folds and the "
        f"{percent_text(run.spec.confidence, 'g')} interval that the rule goes by, of the "
        f"{usual_interval_kind(run.spec)}."
    )
    if run.stopped_at:
        caption += f" The evaluation stopped after fold {run.stopped_at}."
    return latex_table(
        ["n", metric_label(run.spec), "Mean", "Low", "High"],
        [[str(moment.n), *moment_numbers(moment)] for moment in run.moments],
        caption=caption,
        label=as_label(f"run-{run.run_id}"),
    )
