"""For a paper: a run, a comparison, a study, an advice or a selection as text and table."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pandas as pd

from ecv_core import dataset as datasets
from ecv_core import models
from ecv_core.analysis.tradeoff.decision import FoldsAdvice
from ecv_core.energy.meter import SOURCES, country_in_words
from ecv_core.energy.parts import left_in_words, left_out_words, with_own_joules
from ecv_core.energy.savings import EnergyFacts, energy_of
from ecv_core.figures.report.advice import (
    checked_sentence,
    decision_sentence,
    options_frame,
    promise_words,
    way_out_sentence,
)
from ecv_core.figures.report.latex import (
    PAPER,
    bibtex,
    escaped,
    key_of,
    latex_table,
    short,
    software,
)
from ecv_core.figures.words import (
    FORECAST,
    algorithm_title,
    alpha_text,
    counted,
    dataset_title,
    grams,
    interval_lines,
    metric_label,
    rule_words,
    run_title,
    titled,
    uncertainty,
    uncertainty_after_stop,
    verdict,
    watt_hours,
    watt_hours_range,
)
from ecv_core.records.parameters import listed
from ecv_core.records.run import Moment, RunRecord, Scores
from ecv_core.records.spec import SCORES, SETTINGS, RunSpec
from ecv_core.records.tasks import Task
from ecv_core.selection.document import methods_sentence, winner_mean
from ecv_core.selection.replay import Played
from ecv_core.selection.rounds import Terms, Verdict
from ecv_core.splits import SPLITS
from ecv_core.stopping import RULES, usual_kind
from ecv_core.stopping.base import Phrases

# The sentences of a methods section: data, split, score, rule, energy, versions. They hold marks,
# `cite` and `maths`, that become words in plain text and commands in LaTeX.


_Item = TypeVar("_Item")
_MARK = re.compile(r"⟦(cite|maths):(.*?)⟧", re.DOTALL)


def cite(entry: str) -> str:
    """A mark for a BibTeX entry; nothing for an empty one."""
    return f"⟦cite:{entry.strip()}⟧" if entry.strip() else ""


def maths(plain: str, latex: str) -> str:
    """A mark for a formula: as text, and in LaTeX between dollars."""
    return f"⟦maths:{plain}::{latex}⟧"


def as_text(marked: str) -> str:
    """Plain text: citations as (author, year)."""

    def word(mark: re.Match[str]) -> str:
        kind, what = mark.groups()
        return f" ({short(what)})" if kind == "cite" else what.partition("::")[0]

    return _MARK.sub(word, marked)


def as_latex(marked: str) -> str:
    """LaTeX: citations as \\cite, formulas between dollars, everything else escaped."""
    parts, end = [], 0
    for found in _MARK.finditer(marked):
        parts.append(escaped(marked[end : found.start()]))
        kind, what = found.groups()
        parts.append(
            rf"~\cite{{{key_of(what)}}}" if kind == "cite" else f"${what.partition('::')[2]}$"
        )
        end = found.end()
    return "".join([*parts, escaped(marked[end:])])


def cited(marked: str) -> list[str]:
    """The BibTeX entries of a text, each once, in its order."""
    return list(dict.fromkeys(what for kind, what in _MARK.findall(marked) if kind == "cite"))


def data_sentences(specs: Sequence[RunSpec]) -> str:
    """Which data, how large after preparation, and how it was filtered."""
    entries = datasets.catalogue()
    parts = []
    for name in dict.fromkeys(spec.dataset for spec in specs):
        entry = entries.get(name)
        if entry is None:
            parts.append(f"the dataset '{name}'")
            continue
        words = entry.size_words(specs[0].task)
        size = f" ({', '.join(words)})" if len(words) > 1 else ""
        title = entry.title if entry.title != name else f"the dataset '{name}'"
        parts.append(f"{title}{cite(entry.bibtex)}{size}")
    filtering = distinct(specs, lambda spec: _FILTERING[spec.task])
    return f"We used {listed(parts)}. {' '.join(filtering)}"


_OF_SAMPLES = (
    "Missing numbers were replaced by the median of the training part, and each text of a column "
    "became a feature of its own."
)
_FILTERING = {
    Task.TOP_N: "Every interaction counts as positive feedback, whatever its rating; users and "
    "items with fewer than five interactions were removed repeatedly until none was left (5-core), "
    "and sizes are those after this filtering.",
    Task.RATINGS: "All ratings were used as they are given.",
    Task.CLASSES: _OF_SAMPLES,
    Task.NUMBERS: _OF_SAMPLES,
}
"""What was done to the data before they were dealt into folds."""


def algorithm_sentence(specs: Sequence[RunSpec]) -> str:
    """Which algorithms, with the parameters that decide their scores."""

    def words(spec: RunSpec) -> str:
        title = models.of(spec).title
        params = ", ".join(f"{name} = {value}" for name, value in spec.params)
        return f"{title} ({params})" if params else title

    algorithms = distinct(specs, words)
    own = distinct([spec for spec in specs if spec.tracked], words)
    said = f"The algorithm{'s were' if len(algorithms) > 1 else ' was'} {listed(algorithms)}."
    if own:
        said += (
            f" The folds of {listed(own)} were computed by code outside e-fold, which reported "
            "their scores."
        )
    return said


def split_sentence(specs: Sequence[RunSpec]) -> str:
    """How the data was split, with k and seed."""

    def words(spec: RunSpec) -> str:
        if spec.folds_sha256 is not None:
            return (
                f"The {counted(spec.k, 'fold')} were imported (SHA-256 {spec.folds_sha256}); "
                f"the random seed was {spec.seed}."
            )
        params = "".join(f", {name} = {value}" for name, value in spec.split_params)
        how = f" {SPLITS[spec.split].help}" if spec.split in SPLITS else ""
        folds = "one split" if spec.k == 1 else f"k = {spec.k} folds"
        return (
            f"The data was split into {folds} with the strategy '{titled(spec.split)}'{params} "
            f"(random seed {spec.seed}).{how}"
        )

    sentences = " ".join(distinct(specs, words))
    several = len({spec.algorithm for spec in specs}) > 1 and len(distinct(specs, words)) == 1
    return f"{sentences} All algorithms were evaluated on the same folds." if several else sentences


_IN_SENTENCES = {
    *("dataset", "data_sha256", "algorithm", "params", "tracked", "split", "split_params"),
    *("folds_sha256", "k", "only_folds", "seed", "metric", "own_metric", "n", "candidates"),
    *("negatives", "negative_sampling"),
}
"""Settings that decide scores and that sentences here tell, or that are told by the data."""


def _other_settings(spec: RunSpec) -> str:
    """Every other setting that decides scores and is not at its default, in a sentence; or ''."""
    values = []
    for name, value in spec.told(*SCORES).items():
        if name not in _IN_SENTENCES:
            values.append(f"{SETTINGS[name].words} {value}")
    if not values:
        return ""
    return f" Other settings were {listed(values)}."


def score_sentence(specs: Sequence[RunSpec]) -> str:
    """The metric, what is ranked against what, and settings that no other sentence tells."""

    def words(spec: RunSpec) -> str:
        text = f"The score was {metric_label(spec)}"
        if spec.tracked:
            return f"{text} of '{spec.algorithm}' as that code reported it."
        if spec.metric == "ndcg":
            discount = maths("1/log2(rank + 1)", r"1/\log_2(\mathrm{rank}+1)")
            text += (
                f", with binary relevance, the discount {discount} and the ideal ranking "
                f"cut at the smaller of {spec.n} and the number of the user's held-out items, "
                "averaged over the users with held-out items"
            )
        if spec.negatives is not None:
            pooled = ", all of a user's in one list" if spec.negative_sampling == "pooled" else ""
            return (
                f"{text}; each held-out item was ranked against {spec.negatives:,} sampled items"
                f"{pooled} ({spec.negative_sampling})."
            )
        if not spec.task.ranks:
            return f"{text}, over the held-out {spec.task.rows} of a fold{_PREDICTED[spec.task]}."
        what = "all items" if spec.candidates == "all" else "all items with a training interaction"
        return f"{text}; {what} but those in the user's training data were ranked."

    return " ".join(distinct(specs, lambda spec: words(spec) + _other_settings(spec)))


_BY_SCIKIT_LEARN = ", as scikit-learn computes it"
_PREDICTED = {
    Task.RATINGS: ", with predictions clipped to the scale",
    Task.CLASSES: _BY_SCIKIT_LEARN,
    Task.NUMBERS: _BY_SCIKIT_LEARN,
}
"""How predictions are scored, after what the score is over."""


def rule_sentence(specs: Sequence[RunSpec], paper: str) -> str:
    """What stopped the evaluation, and how intervals were worked out.

    Args: paper: the BibTeX entry of e-fold cross-validation.
    """

    def words(spec: RunSpec) -> str:
        level = f"{100 * spec.confidence:g} %"
        least = counted(spec.min_folds, "fold")
        t_interval = (
            f"the {level} confidence interval of the mean of the first n fold scores (Student's t "
            "with n - 1 degrees of freedom)"
        )
        known = RULES.get(spec.rule)
        if known is not None and known.sentence is not None:
            say = Phrases(
                k=spec.k,
                values=known.values(spec),
                level=level,
                least=least,
                interval=t_interval,
                paper=cite(paper),
                maths=maths,
                unit=spec.task.unit,
            )
            return known.sentence(say)
        what = f"'{known.title}': {known.help}" if known else f"'{spec.rule}'."
        params = [f"{name} = {value}" for name, value in spec.rule_params]
        chosen = f" Its parameters were {listed(params)}." if params else ""
        return (
            f"Evaluation was stopped by the rule {what}{chosen} It could stop after {least} at the "
            f"earliest. The interval is {t_interval}."
        )

    return " ".join(distinct(specs, words))


def energy_sentence(runs: Sequence[RunRecord]) -> str:
    """What the folds cost, what was saved, and how both are known.

    Runs during which the machine did other work too are left out, unless there are no others.
    """
    started = [run for run in runs if run.folds]
    counted_runs = with_own_joules(started) or started
    facts = [energy_of(run) for run in counted_runs]
    if not facts or any(of_run.source == "none" for of_run in facts):
        return "Energy was not metered."
    used = _energy_used_sentence(counted_runs, facts, others=len(started) > len(counted_runs))
    if len(started) > len(counted_runs):
        text = f"{left_out_words(started)} {used}"
    else:
        text = f"{used} {left_in_words(started)}".strip()
    return f"{text} {_energy_saved_sentence(counted_runs, facts)}".strip()


def _energy_used_sentence(
    runs: Sequence[RunRecord], facts: Sequence[EnergyFacts], *, others: bool
) -> str:
    """What the folds of these runs cost, by which meter.

    Args:
        runs: with at least one fold each.
        facts: of each run.
        others: whether there are runs that are not among these.
    """
    which = "that ran"
    if others:
        which = f"of the other {counted(len(runs), 'run')}"
    sources = [of_run.source for of_run in facts]
    meters = "; ".join(distinct(sources, lambda source: SOURCES.get(source, source)))
    if not _SOURCES_OF_CODECARBON.isdisjoint(sources):
        meters = f"{meters}; CodeCarbon"
    countries = distinct([run.spec for run in runs], lambda spec: country_in_words(spec.country))
    folds = sum(len(run.folds) for run in runs)
    joules = sum(of_run.joules for of_run in facts)
    emissions = sum(of_run.grams_co2e for of_run in facts)
    return (
        f"The {counted(folds, 'fold')} {which} used {watt_hours(joules)} ({meters}), which is "
        f"{grams(emissions)} CO2e with the electricity of {listed(countries)}."
    )


_SOURCES_OF_CODECARBON = frozenset({"rapl", "cpu-load", "constant", "mixed"})
"""`Energy.source` of figures that are, or may be, CodeCarbon's."""


def _energy_saved_sentence(runs: Sequence[RunRecord], facts: Sequence[EnergyFacts]) -> str:
    """What the stops of these runs saved; empty where none did.

    Args:
        runs: with at least one fold each.
        facts: of each run.
    """
    saved = 0.0
    least = 0.0
    most = 0.0
    all_folds = 0.0
    for run, of_run in zip(runs, facts, strict=True):
        if run.stopped_at is not None:
            checked = sum(fold.energy.joules for fold in run.folds[run.stopped_at :])
            all_folds += of_run.joules - checked + (of_run.saved_joules or 0.0)
        saved += of_run.saved_joules or 0.0
        low, high = of_run.saved_range or (0.0, 0.0)
        least += low
        most += high
    if not saved:
        return ""
    about = ""
    how = "the energy that the folds after the stop used when they were run to check"
    if any(of_run.forecast for of_run in facts):
        about = "about "
        how = f"a forecast: a fold that did not run is counted {FORECAST}"
    share = ""
    if all_folds:
        share = f" ({about}{100 * saved / all_folds:.0f} % of all folds)"
    return f"Stopping saves {watt_hours_range(least, most)}{share}, {how}."


def file_sentence(scores: Sequence[Scores], file: str) -> str:
    """Where scores come from that e-fold has not computed."""
    return (
        f"The scores of {counted(len(scores), 'system')} with {counted(scores[0].k, 'fold')} each "
        f"were computed by other software and read from the file '{file}'."
        f"{'' if scores[0].higher_is_better else ' Lower scores are better.'}"
    )


def version_sentence(
    made_with: Mapping[str, Any], software: str, specs: Sequence[RunSpec] = ()
) -> str:
    """What e-fold computed, in which versions; the software to cite.

    Args:
        made_with: versions; empty where they were not recorded.
        specs: of the runs; none for scores from a file.
    """
    others = sum(spec.tracked for spec in specs)
    if others == len(specs):  # no model was fitted here, so its libraries are not named
        made_with = {name: one for name, one in made_with.items() if name != "packages"}
        what = "The analysis was done"
    else:
        what = "The other scores were computed" if others else "Scores were computed"
    versions = _version_words(made_with)
    if not made_with.get("e_fold"):
        several = "in several versions, which each run's JSON names"
        versions = several if made_with else "in a version that was not recorded"
    return f"{what} with e-fold{cite(software)} ({versions})."


def _version_words(made_with: Mapping[str, Any]) -> str:
    """'e-fold 0.1.0, Python 3.11.7, torch 2.13.0'; 'unknown' where nothing was recorded."""
    words = [f"e-fold {made_with['e_fold']}"] if made_with.get("e_fold") else []
    words += [f"Python {made_with['python']}"] if made_with.get("python") else []
    packages = made_with.get("packages")
    if isinstance(packages, Mapping):
        words += [f"{name} {version}" for name, version in packages.items()]
    return ", ".join(words) or "unknown"


def distinct(items: Iterable[_Item], words: Callable[[_Item], str]) -> list[str]:
    """What is said of each, every text once."""
    return list(dict.fromkeys(words(one) for one in items))


# A run, a comparison, a study, an advice or a selection, as text and table.


@dataclass(frozen=True, slots=True, kw_only=True)
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


def describe_runs(runs: Sequence[RunRecord], made_with: Mapping[str, Any]) -> Description:
    """One run, or several that are compared.

    Args:
        runs: at least one, in the order of the table.
        made_with: versions, as `store.environment.environment` gives them.
    """
    results = []
    if len(runs) == 1:
        intervals = [f"{line[0].upper()}{line[1:]}." for line in interval_lines(runs[0])]
        results = [verdict(runs[0]), *intervals]
    specs = [run.spec for run in runs]
    text = [
        *_setup(specs),
        rule_sentence(specs, PAPER),
        *results,
        energy_sentence(runs),
        version_sentence(made_with, software(), specs),
    ]
    return _described(text, _fold_table(runs[0]) if len(runs) == 1 else _runs_table(runs))


def describe_study(
    cells: pd.DataFrame, runs: Sequence[RunRecord], made_with: Mapping[str, Any], *, alpha: float
) -> Description:
    """Datasets x algorithms under the paper's rule at one alpha, over every order of the folds.

    Args:
        cells: one row per alpha and cell, from `tradeoff.frames.cells_frame`.
        runs: the complete runs of the cells.
    """
    at = cells[cells["alpha"] == alpha]
    specs = [run.spec for run in runs]
    means = {name: float(at[name].mean()) for name in ("mean_stop", "difference_percent")}
    text = [
        *_setup(specs),
        _orders_sentence(specs),
        f"With e-fold cross-validation{cite(PAPER)} at alpha = {alpha_text(alpha)} (95 % "
        f"confidence intervals, Student's t, at least 3 folds), {means['mean_stop']:.2f} folds and "
        f"{float(at['energy_percent'].mean()):.1f} % of the energy were used on average over "
        f"{counted(len(at), 'run')}, and the score differed from that of all folds by "
        f"{means['difference_percent']:.2f} %.",
        _complete_energy_sentence(runs),
        version_sentence(made_with, software(), specs),
    ]
    titled = at.assign(
        dataset=at["dataset"].map(dataset_title), algorithm=at["algorithm"].map(algorithm_title)
    )
    numbers = {"mean_stop": ".2f", "difference_percent": ".2f", "energy_percent": ".1f"}
    forms = {"dataset": "", "algorithm": "", "k_fold_mean": ".4f"} | numbers
    label = metric_label(specs[0]) if len({metric_label(one) for one in specs}) == 1 else "score"
    table = latex_table(
        ["Dataset", "Algorithm", label, "Folds", "Difference (%)", "Energy (%)"],
        _rows(titled, forms),
        caption=f"e-fold cross-validation at alpha = {alpha_text(alpha)}: mean score of all folds, "
        "expected folds used, difference to the mean of all folds and energy, over every order of "
        "the folds.",
        label="e-fold-study",
    )
    return _described(text, table)


def describe_advice(
    found: FoldsAdvice,
    runs: Sequence[RunRecord],
    made_with: Mapping[str, Any],
    *,
    cost: str = "energy",
) -> Description:
    """How many folds are enough.

    Args:
        runs: of its systems; empty where they came from a file of scores.
        cost: what is spent: 'energy', or 'folds'.
    """
    specs = [run.spec for run in runs]
    systems = found.systems
    text = [
        *(_setup(specs) if specs else [file_sentence(systems, systems[0].dataset)]),
        _orders_sentence(specs),
        "Of every stopping rule, among them that of e-fold cross-validation"
        f"{cite(PAPER)}, the cheapest setting was chosen with which the mean score ended "
        f"{promise_words(found)}.",
        decision_sentence(found, whose="On these data", cost=cost),
        *[one for one in (way_out_sentence(found),) if one],
        checked_sentence(found),
        *([_complete_energy_sentence(runs)] if specs and cost == "energy" else []),
        version_sentence(made_with, software(), specs),
    ]
    numbers = {"folds": ".1f", "cost": ".0f", "risk": ".1f"}
    forms = {"rule": "", "setting": ""} | numbers | {"kept on data left out": ""}
    table = latex_table(
        [
            "Rule",
            "Setting",
            "Folds",
            f"{cost.capitalize()} (%)",
            "Risk (%)",
            "Kept on data left out",
        ],
        _rows(options_frame(found), forms),
        caption=f"Options that end {promise_words(found)}, cheapest first. Risk: share of orders "
        "that end further away.",
        label="folds-needed",
    )
    return _described(text, table)


def describe_selection(
    contenders: Sequence[Scores],
    titles: Sequence[str],
    terms: Terms,
    played: Played,
    *,
    specs: Sequence[RunSpec] = (),
    file: str = "",
    made_with: Mapping[str, Any],
    replayed: bool = True,
) -> Description:
    """Which of several is best.

    Args:
        contenders: with the folds that were used.
        specs: of the contenders; none for scores from a file.
        made_with: versions; empty where they were not recorded.
        replayed: whether all folds were there before.
    """
    label = metric_label(specs[0]) if specs else "Score"
    best, sign = played.verdict.winner, 1 if terms.higher_is_better else -1
    means = [
        winner_mean(one, played.rounds, at) if used else math.nan
        for at, (one, used) in enumerate(zip(contenders, played.folds_used, strict=True))
    ]
    likely = means[best] - sign * played.verdict.optimism
    text = [
        *(_setup(specs) if specs else [file_sentence(contenders, file)]),
        *["All folds were there; the selection was replayed on them, in their order."] * replayed,
        methods_sentence(titles, terms, played),
        f"The mean {label if specs else 'score'} of {titles[best]} over "
        f"{counted(played.folds_used[best], 'fold')} "
        f"is {means[best]:.4f}"
        + f" ({likely:.4f} expected over all, as it was picked for being best)"
        * (f"{likely:.4f}" != f"{means[best]:.4f}")
        + ".",
    ]
    if played.joules is not None:
        whole = played.joules_of_all_folds
        rest = f"; all folds of all contenders take about {watt_hours(whole)}" if whole else ""
        text.append(f"These folds used {watt_hours(played.joules)}{rest}.")
    elif specs:
        text.append("The energy of these folds is not known.")
    text.append(version_sentence(made_with, software(), specs))
    rows = [
        [
            titles[at],
            f"{means[at]:.4f}" if played.folds_used[at] else "-",
            f"{played.folds_used[at]} of {terms.k}",
            _verdict_on(at, terms, played.verdict),
        ]
        for at in played.verdict.order
    ]
    table = latex_table(
        ["Contender", label, "Folds", "Verdict"],
        rows,
        caption="Contenders, best first: mean of the folds that each used, how many these are, and "
        f"what is shown on new data with {100 * terms.confidence:g} % confidence.",
        label="which-is-best",
    )
    return _described(text, table)


def _verdict_on(at: int, terms: Terms, verdict: Verdict) -> str:
    if at == verdict.winner:
        return "best" if terms.certain else "chosen"
    return "worse" if at in verdict.worse else "no difference shown"


def _setup(specs: Sequence[RunSpec]) -> list[str]:
    """What was evaluated, and how."""
    return [
        data_sentences(specs),
        algorithm_sentence(specs),
        split_sentence(specs),
        score_sentence(specs),
    ]


def _rows(frame: pd.DataFrame, forms: Mapping[str, str]) -> list[list[str]]:
    """Some columns as text, each in its format."""
    rows = frame.to_dict("records")
    return [[format(row[name], form) for name, form in forms.items()] for row in rows]


def _described(sentences: Sequence[str], table: str) -> Description:
    marked = " ".join(sentences)
    own = (PAPER.strip(), software().strip())
    data = [entry for entry in cited(marked) if entry not in own]
    return Description(
        methods=as_text(marked), latex=as_latex(marked), table=table, bibtex=bibtex(*data)
    )


def _orders_sentence(specs: Sequence[RunSpec]) -> str:
    done = "All folds of every run were computed, and the" if specs else "The"
    return (
        f"{done} outcome of a rule was worked out exactly over every order in which the folds can "
        "come (sampled only for rules that depend on the whole history); every "
        f"{'run' if specs else 'system'} counts the same."
    )


def _complete_energy_sentence(runs: Sequence[RunRecord]) -> str:
    """Of runs whose stop is imagined, what all folds cost."""
    sentence = energy_sentence(runs)
    return sentence.partition(" Stopping saves ")[0]


def moment_numbers(moment: Moment) -> list[str]:
    """Score, mean and both ends of the interval, which are empty where there is none."""
    ends = (moment.interval.low, moment.interval.high) if moment.interval else ()
    texts = [f"{number:.4f}" for number in (moment.score, moment.mean, *ends)]
    return texts if ends else [*texts, "", ""]


def _fold_table(run: RunRecord) -> str:
    if not run.moments:
        return ""
    rows = [[str(moment.n), *moment_numbers(moment)] for moment in run.moments]
    stop = f" The evaluation stopped after fold {run.stopped_at}." if run.stopped_at else ""
    return latex_table(
        ["n", metric_label(run.spec), "Mean", "Low", "High"],
        rows,
        caption=f"{run_title(run)}, fold by fold: score, mean of the "
        f"first n folds and the {100 * run.spec.confidence:g} % interval that the rule goes by, of "
        f"the {usual_kind(run.spec)}.{stop}",
        label=f"run-{run.run_id}",
    )


def _runs_table(runs: Sequence[RunRecord]) -> str:
    rows = []
    for run in runs:
        at, interval = run.at_stop, uncertainty_after_stop(run) or uncertainty(run)
        rows.append(
            [
                dataset_title(run.spec.dataset),
                algorithm_title(run.spec.algorithm),
                f"{titled(run.spec.rule)}, {rule_words(run.spec)}",
                f"{run.folds_used} of {run.k}",
                f"{at.mean:.4f}" if at else "-",
                f"± {interval.width / 2:.4f}" if interval else "-",
                watt_hours(run.joules) if run.joules else "-",
            ]
        )
    labels = {metric_label(run.spec) for run in runs}
    label = labels.pop() if len(labels) == 1 else "Score"
    return latex_table(
        ["Dataset", "Algorithm", "Rule", "Folds", label, "Interval", "Energy"],
        rows,
        caption="Mean score at the stop with its confidence interval (Student's t, allowing for "
        "the stop), folds used, and energy of the folds that ran.",
        label="runs",
    )
