"""For a paper: a run, a comparison, a study, an advice or a selection as text and table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ecv_core import stopping
from ecv_core.analysis.selection import Played, Terms
from ecv_core.analysis.selection.document import methods_sentence, winner_mean
from ecv_core.analysis.selection.rounds import Verdict
from ecv_core.analysis.tradeoff.decision import FoldsAdvice
from ecv_core.figures.report.advice import (
    checked_sentence,
    decision_sentence,
    options_frame,
    promise_words,
    way_out_sentence,
)
from ecv_core.figures.report.latex import PAPER, bibtex, latex_table, software
from ecv_core.figures.report.methods import (
    algorithm_sentence,
    as_latex,
    as_text,
    cite,
    cited,
    data_sentences,
    energy_sentence,
    file_sentence,
    rule_sentence,
    score_sentence,
    split_sentence,
    version_sentence,
)
from ecv_core.figures.words import (
    algorithm_title,
    alpha_text,
    counted,
    dataset_title,
    metric_label,
    rule_words,
    run_title,
    uncertainty,
    uncertainty_after_stop,
    watt_hours,
)
from ecv_core.records.run import Run, Scores
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import RULES, usual_kind


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


def describe_runs(runs: Sequence[Run], made_with: Mapping[str, Any]) -> Description:
    """One run, or several that are compared.

    Args:
        runs: at least one, in the order of the table.
        made_with: versions, as `store.environment.environment` gives them.
    """
    results = [_result(run) for run in runs] if len(runs) == 1 else []
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
    cells: pd.DataFrame, runs: Sequence[Run], made_with: Mapping[str, Any], *, alpha: float
) -> Description:
    """Datasets x algorithms under the paper's rule at one alpha, over every order of the folds.

    Args:
        cells: one row per alpha and cell, from `tradeoff.frames.cells_frame`.
        runs: the complete runs of the cells.
        made_with: versions.
        alpha: one that `cells` holds.
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
    rows = [
        [
            dataset_title(str(row["dataset"])),
            algorithm_title(str(row["algorithm"])),
            f"{row['k_fold_mean']:.4f}",
            f"{row['mean_stop']:.2f}",
            f"{row['difference_percent']:.2f}",
            f"{row['energy_percent']:.1f}",
        ]
        for row in at.to_dict("records")
    ]
    label = metric_label(specs[0]) if len({metric_label(one) for one in specs}) == 1 else "score"
    table = latex_table(
        ["Dataset", "Algorithm", label, "Folds", "Difference (%)", "Energy (%)"],
        rows,
        caption=f"e-fold cross-validation at alpha = {alpha_text(alpha)}: mean score of all folds, "
        "expected folds used, difference to the mean of all folds and energy, over every order of "
        "the folds.",
        label="e-fold-study",
    )
    return _described(text, table)


def describe_advice(
    found: FoldsAdvice, runs: Sequence[Run], made_with: Mapping[str, Any], *, cost: str = "energy"
) -> Description:
    """How many folds are enough.

    Args:
        found: the decision.
        runs: of its systems; empty where they came from a file of scores.
        made_with: versions.
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
    frame = options_frame(found)
    rows = [
        [
            str(row["rule"]),
            str(row["setting"]),
            f"{row['folds']:.1f}",
            f"{row['cost']:.0f}",
            f"{row['risk']:.1f}",
            str(row["kept on data left out"]),
        ]
        for row in frame.to_dict("records")
    ]
    table = latex_table(
        [
            "Rule",
            "Setting",
            "Folds",
            f"{cost.capitalize()} (%)",
            "Risk (%)",
            "Kept on data left out",
        ],
        rows,
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
        titles: of them, as people read them.
        terms: what was asked.
        played: to its end.
        specs: of the contenders; none for scores from a file.
        file: its name.
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


def _complete_energy_sentence(runs: Sequence[Run]) -> str:
    """Of runs whose stop is imagined, what all folds cost."""
    sentence = energy_sentence(runs)
    return sentence.partition(" Stopping saves ")[0]


def _result(run: Run) -> str:
    at, k, e = run.at_stop, run.k, run.stopped_at
    if at is None:
        return f"No fold of {k} was finished."
    interval = ""
    if plain := uncertainty(run):
        level = f"{100 * run.spec.confidence:g} %"
        interval = f"{level} confidence interval {plain.low:.4f} to {plain.high:.4f}"
        if wide := uncertainty_after_stop(run):
            interval += (
                f"; {wide.low:.4f} to {wide.high:.4f} where it allows for the rule's repeated looks"
            )
        interval = f" ({interval})"
    score = f"a mean {metric_label(run.spec)} of {at.mean:.4f}{interval}"
    if e is None:
        return f"After {len(run.folds)} of {k} folds the run had {score}."
    text = f"The evaluation used {e} of {counted(k, 'fold')} and gave {score}."
    whole = run.k_fold_mean
    if run.stopped_early and whole is not None:
        off = stopping.difference_percent(at.mean, whole)
        text += (
            f" The other folds were run to check: the mean of all {k} is {whole:.4f}, a difference "
            f"of {off:.2f} %."
        )
    return text


def _fold_table(run: Run) -> str:
    rows = []
    for moment in run.moments:
        ends = moment.interval
        rows.append(
            [
                str(moment.n),
                f"{moment.score:.4f}",
                f"{moment.mean:.4f}",
                f"{ends.low:.4f}" if ends else "",
                f"{ends.high:.4f}" if ends else "",
            ]
        )
    if not rows:
        return ""
    stop = f" The evaluation stopped after fold {run.stopped_at}." if run.stopped_at else ""
    return latex_table(
        ["n", metric_label(run.spec), "Mean", "Low", "High"],
        rows,
        caption=f"{run_title(run)}, fold by fold: score, mean of the "
        f"first n folds and the {100 * run.spec.confidence:g} % interval that the rule goes by, of "
        f"the {usual_kind(run.spec)}.{stop}",
        label=f"run-{run.run_id}",
    )


def _runs_table(runs: Sequence[Run]) -> str:
    rows = []
    for run in runs:
        at, interval = run.at_stop, uncertainty_after_stop(run) or uncertainty(run)
        rows.append(
            [
                dataset_title(run.spec.dataset),
                algorithm_title(run.spec.algorithm),
                f"{rule.title if (rule := RULES.get(run.spec.rule)) else run.spec.rule}, "
                f"{rule_words(run.spec)}",
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
