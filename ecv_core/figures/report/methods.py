"""Runs -> the sentences of a methods section: data, split, score, rule, energy, versions.

Sentences hold marks, `cite` and `maths`, that become words in plain text and commands in LaTeX.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import ecv_core.dataset as datasets
from ecv_core import models
from ecv_core.energy.meter import SOURCES, country_in_words
from ecv_core.energy.parts import left_in_words, left_out_words, with_own_joules
from ecv_core.energy.savings import energy_of
from ecv_core.figures.report.latex import escaped, key_of, short
from ecv_core.figures.report.provenance import version_words
from ecv_core.figures.words import (
    FORECAST,
    counted,
    grams,
    joined,
    metric_label,
    watt_hours,
    watt_hours_range,
)
from ecv_core.records.run import Run, Scores
from ecv_core.records.spec import RunSpec, Task
from ecv_core.splits import SPLITS
from ecv_core.stopping import RULES
from ecv_core.stopping.base import Phrases

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
    rated = all(spec.task is Task.RATINGS for spec in specs)
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
    if rated:
        return f"We used {joined(parts)}, with all ratings as they are given."
    if specs[0].task.of_table:
        return (
            f"We used {joined(parts)}. Missing numbers were replaced by the median of the training "
            "part, and each text of a column became a feature of its own."
        )
    return (
        f"We used {joined(parts)}. Every interaction counts as positive feedback, whatever its "
        "rating; users and items with fewer than five interactions were removed repeatedly until "
        "none was left (5-core), and sizes are those after this filtering."
    )


def algorithm_sentence(specs: Sequence[RunSpec]) -> str:
    """Which algorithms, with the parameters that decide their scores."""

    def words(spec: RunSpec) -> str:
        title = models.of(spec).title
        params = ", ".join(f"{name} = {value}" for name, value in spec.params)
        return f"{title} ({params})" if params else title

    algorithms = distinct(specs, words)
    own = distinct([spec for spec in specs if spec.tracked], words)
    said = f"The algorithm{'s were' if len(algorithms) > 1 else ' was'} {joined(algorithms)}."
    if own:
        said += (
            f" The folds of {joined(own)} were computed by code outside e-fold, which reported "
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
        strategy = SPLITS.get(spec.split)
        params = "".join(f", {name} = {value}" for name, value in spec.split_params)
        how = f" {strategy.help}" if strategy is not None else ""
        title = strategy.title if strategy is not None else spec.split
        folds = "one split" if spec.k == 1 else f"k = {spec.k} folds"
        return (
            f"The data was split into {folds} with the strategy '{title}'{params} "
            f"(random seed {spec.seed}).{how}"
        )

    sentences = " ".join(distinct(specs, words))
    several = len({spec.algorithm for spec in specs}) > 1 and len(distinct(specs, words)) == 1
    return f"{sentences} All algorithms were evaluated on the same folds." if several else sentences


def score_sentence(specs: Sequence[RunSpec]) -> str:
    """The metric, and what is ranked against what."""

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
            return (
                f"{text}; each held-out item was ranked against {spec.negatives:,} sampled items "
                f"({spec.negative_sampling})."
            )
        if spec.task.of_table:
            return f"{text}, over the held-out samples of a fold, as scikit-learn computes it."
        if spec.task is Task.RATINGS:
            return (
                f"{text}, over all held-out ratings of a fold, with predictions clipped to the "
                "scale."
            )
        what = "all items" if spec.candidates == "all" else "all items with a training interaction"
        return f"{text}; {what} but those in the user's training data were ranked."

    return " ".join(distinct(specs, words))


def rule_sentence(specs: Sequence[RunSpec], paper: str) -> str:
    """What stopped the evaluation, and how intervals were worked out.

    Args:
        specs: of the runs.
        paper: the BibTeX entry of e-fold cross-validation.
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
        chosen = f" Its parameters were {joined(params)}." if params else ""
        return (
            f"Evaluation was stopped by the rule {what}{chosen} It could stop after {least} at the "
            f"earliest. The interval is {t_interval}."
        )

    return " ".join(distinct(specs, words))


def energy_sentence(runs: Sequence[Run]) -> str:
    """What the folds cost, what was saved, and how both are known."""
    every = [run for run in runs if run.folds]
    ran = with_own_joules(every) or every
    facts = [energy_of(run) for run in ran]
    if not facts or any(one.source == "none" for one in facts):
        return "Energy was not metered."
    joules = sum(one.joules for one in facts)
    sources = distinct([one.source for one in facts], lambda name: SOURCES.get(name, name))
    folds = sum(len(run.folds) for run in ran)
    out = left_out_words(every) if len(ran) < len(every) else left_in_words(every)
    countries = distinct([run.spec for run in ran], lambda spec: country_in_words(spec.country))
    of = "that ran " if len(ran) == len(every) else f"of the other {counted(len(ran), 'run')} "
    codecarbon = {"rapl", "cpu-load", "constant", "mixed"} & {one.source for one in facts}
    meter = "; CodeCarbon" if codecarbon else ""
    text = (
        f"The {counted(folds, 'fold')} {of}used {watt_hours(joules)} "
        f"({'; '.join(sources)}{meter}), which is {grams(sum(f.grams_co2e for f in facts))} "
        f"CO2e with the electricity of {joined(countries)}."
    )
    text = f"{out} {text}" if len(ran) < len(every) else f"{text} {out}".strip()
    saved = [one.saved_joules for one in facts if one.saved_joules]
    if not saved:
        return text
    whole = sum(
        one.joules
        + (one.saved_joules or 0.0)
        - sum(fold.energy.joules for fold in run.folds[run.stopped_at :])
        for one, run in zip(facts, ran, strict=True)
        if run.stopped_at is not None
    )
    forecast = any(one.forecast for one in facts)
    how = (
        f"a forecast: a fold that did not run is counted {FORECAST}"
        if forecast
        else "the energy that the folds after the stop used when they were run to check"
    )
    about = "about " * forecast
    share = f" ({about}{100 * sum(saved) / whole:.0f} % of all folds)" if whole else ""
    ends = [one.saved_range or (0.0, 0.0) for one in facts]
    amount = watt_hours_range(sum(low for low, _ in ends), sum(high for _, high in ends))
    return f"{text} Stopping saves {amount}{share}, {how}."


def file_sentence(scores: Sequence[Scores], file: str) -> str:
    """Where scores come from that e-fold has not computed."""
    return (
        f"The scores of {counted(len(scores), 'system')} with {counted(scores[0].k, 'fold')} each "
        f"were computed by other software and read from the file '{file}'."
    )


def version_sentence(
    made_with: Mapping[str, Any], software: str, specs: Sequence[RunSpec] = ()
) -> str:
    """What e-fold computed, in which versions; the software to cite.

    Args:
        made_with: versions; empty where they were not recorded.
        software: its BibTeX entry.
        specs: of the runs; none for scores from a file.
    """
    others = sum(spec.tracked for spec in specs)
    if others == len(specs):  # no model was fitted here, so its libraries are not named
        made_with = {name: one for name, one in made_with.items() if name != "packages"}
        what = "The analysis was done"
    else:
        what = "The other scores were computed" if others else "Scores were computed"
    versions = version_words(made_with)
    if not made_with.get("e_fold"):
        several = "in several versions, which each run's JSON names"
        versions = several if made_with else "in a version that was not recorded"
    return f"{what} with e-fold{cite(software)} ({versions})."


def distinct(items: Iterable[_Item], words: Callable[[_Item], str]) -> list[str]:
    """What is said of each, every text once."""
    return list(dict.fromkeys(words(one) for one in items))
