"""The numbers of docs/reproduction.md, from the recorded runs, between markers.

python -m scripts.reproduction           writes them, in a minute or two
python -m scripts.reproduction --check   exit code 1 where the page says something else
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ecv_core.analysis.exploration import explore
from ecv_core.analysis.tradeoff.curves import (
    PAPER_ALGORITHMS,
    PAPER_STOP,
    Tradeoff,
    explorable,
    tradeoff,
)
from ecv_core.analysis.tradeoff.frames import cells_frame, headline_frame, stability_frame
from ecv_core.analysis.tradeoff.rankings import rankings
from ecv_core.analysis.tradeoff.rule_curves import compared_curves, curves_by_rule, curves_of_run
from ecv_core.analysis.tradeoff.rules_compared import rules_frame
from ecv_core.figures.study_summary import recorded_study, scores_frame
from ecv_core.figures.words import alpha_text
from ecv_core.models import ALGORITHMS
from ecv_core.records.run import RunRecord, Scores
from ecv_core.store.recorded import FOLDER, recorded_runs, recorded_stopped_runs
from ecv_core.store.results import Results, scores_of_run

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reproduction.md"
ALPHA = 1e-4
TOLERANCES = (0.02, 0.03, 0.05)
PROMISED = 0.95
"""By the precision rule."""
LATER = ("nmf", "rp3beta", "light-gcn", "ngcf", "amazon-apps, neu-mf", "amazon-apps, multi-vae")
"""Algorithms recorded after the constants of the precision rule were chosen."""
_WITHIN_PERCENT = 2.0


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _study() -> list[Scores]:
    runs = [run for run in recorded_runs() if explorable(run)]
    return list(map(scores_of_run, runs))


def headline() -> str:
    """Difference, folds and energy at alpha 1e-4 and where the mean stop is the paper's."""
    systems = _study()
    papers = [one for one in systems if one.algorithm in PAPER_ALGORITHMS]
    rows = [["paper (30 runs)", "1.81 %", "4.15", "41.5 %", "", ""]]
    others = [one for one in systems if one not in papers]
    spans = {"all": systems, "the paper's algorithms": papers, "the other algorithms": others}
    for name, some in spans.items():
        explored = tradeoff(some, within_percent=_WITHIN_PERCENT)
        stops = explored.average.mean_stop
        nearest = float(explored.alphas[int(np.abs(stops - PAPER_STOP).argmin())])
        for alpha, why in ((ALPHA, ""), (nearest, ", mean stop nearest to the paper's")):
            words = f"{name} ({len(some)} runs), alpha {alpha_text(float(f'{alpha:.1e}'))}{why}"
            rows.append([words, *_headline(explored, alpha)])
    heads = ["", "difference to 10-fold", "folds", "energy per run"]
    heads += ["of the processor time together", "of the joules together"]
    return _table(heads, rows)


def _headline(explored: Tradeoff, alpha: float) -> list[str]:
    at = headline_frame(explored, [alpha]).iloc[0]
    return [
        f"{at['difference_percent']:.2f} %",
        f"{at['mean_stop']:.2f}",
        f"{at['energy_percent']:.1f} %",
        f"{at['processor_percent']:.1f} % ({at['processor_runs']:.0f} runs)",
        f"{at['joules_percent']:.1f} % ({at['joules_runs']:.0f} runs)",
    ]


def datasets() -> str:
    """Per dataset: the span of differences and stops, and what stays of the ranks."""
    systems = _study()
    explored = tradeoff(systems, within_percent=_WITHIN_PERCENT)
    at = float(explored.alphas[max(int((explored.alphas <= ALPHA).sum()) - 1, 0)])
    cells = cells_frame(explored, [at])
    stays = stability_frame(rankings(systems, [at])).set_index("dataset")
    rows = []
    for dataset, here in cells.groupby("dataset"):
        stop, off = here["mean_stop"], here["difference_percent"]
        worst = here.loc[off.idxmax(), "algorithm"]
        rows.append(
            [
                str(dataset),
                str(len(here)),
                f"{off.min():.2f} to {off.max():.2f} % ({worst})",
                f"{stop.min():.1f} to {stop.max():.1f}",
                f"{stays.loc[dataset, 'same_order_percent']:.0f} %",
                f"{stays.loc[dataset, 'same_winner_percent']:.0f} %",
            ]
        )
    heads = ["dataset", "algorithms", "difference (largest)", "folds", "same order", "same winner"]
    return _table(heads, rows)


def rules() -> str:
    """The rules beside each other at alpha 1e-4."""
    runs = [run for run in recorded_runs() if explorable(run)]
    systems = list(map(scores_of_run, runs))
    results = Results(None)
    curves = curves_by_rule(
        curves_of_run(results.scores(run), within_percent=_WITHIN_PERCENT) for run in runs
    )
    explored = tradeoff(systems, within_percent=_WITHIN_PERCENT)
    at = float(explored.alphas[max(int((explored.alphas <= ALPHA).sum()) - 1, 0)])
    frame = rules_frame(explored, compared_curves(systems, curves), [at])
    by = frame.set_index(["rule", "weighting"])
    rows = []
    for rule in dict.fromkeys(frame["rule"]):
        cells = []
        for column in ("equal_energy_difference_percent", "equal_difference_energy_percent"):
            digits = 3 if column.startswith("equal_energy") else 1
            for weighting in ("cells", "joules"):
                value = by.loc[(rule, weighting), column]
                cells.append("out of reach" if np.isnan(value) else f"{value:.{digits}f} %")
        rows.append([rule, *cells])
    heads = ["rule", "off at equal energy", "by joules", "energy at equal difference", "by joules"]
    return _table(heads, rows)


def recorded(folder: Path = FOLDER) -> dict[str, Scores]:
    """The runs of a folder that have per-user scores, by name."""
    results = Results(None, recorded_folder=folder)
    scores_by_name = {}
    for run in recorded_runs(folder):
        scores = results.scores(run)
        if scores.users is not None:
            scores_by_name[_name(run)] = scores
    return scores_by_name


def _name(run: RunRecord) -> str:
    """A run by its dataset, its algorithm and the parameters that are not the defaults."""
    defaults = ALGORITHMS[run.spec.algorithm].resolve({})
    words = [run.spec.dataset, run.spec.algorithm]
    for parameter in run.spec.params:
        if parameter not in defaults:
            name, value = parameter
            words.append(f"{name} {value}")
    return ", ".join(words)


class OverOrders(NamedTuple):
    """What the precision rule does over all orders of a run's folds."""

    within: float
    """Share of the orders that end within the tolerance."""
    folds: float


def over_orders(scores: Scores) -> list[OverOrders]:
    """The precision rule over the orders of the folds, at each of the tolerances."""
    orders = explore(scores, "precision", confidence=PROMISED)
    outcomes = []
    for tolerance in TOLERANCES:
        outcome = orders.at(tolerance, within_percent=100 * tolerance)
        outcomes.append(OverOrders(outcome.within or 0.0, outcome.mean_stop))
    return outcomes


def promise() -> str:
    """The precision rule: within the tolerance, and folds."""
    outcomes = {name: over_orders(scores) for name, scores in recorded().items()}
    later = {name: one for name, one in outcomes.items() if name.endswith(LATER)}
    rows = []
    for words, some in (("all", outcomes), ("recorded later", later)):
        for place, tolerance in enumerate(TOLERANCES):
            kept = {name: found[place][0] for name, found in some.items()}
            folds = np.mean([found[place][1] for found in some.values()])
            least = min(kept, key=kept.__getitem__)
            rows.append(
                [
                    f"{words} ({len(some)})",
                    f"{100 * tolerance:g} %",
                    f"{folds:.2f}",
                    f"{100 * np.mean(list(kept.values())):.1f} %",
                    f"{100 * kept[least]:.1f} % ({least})",
                    str(sum(one < PROMISED for one in kept.values())),
                ]
            )
    return _table(["runs", "asked for", "folds", "within", "least", "runs below 95 %"], rows)


def scores() -> str:
    """Every score; of a run that ended at its stop with how many folds it is of."""
    frame = scores_frame([*recorded_study(FOLDER), *recorded_stopped_runs()], ids=True)
    algorithms = list(dict.fromkeys(sorted(frame["algorithm"])))
    rows = []
    for dataset, here in frame.groupby("dataset"):
        cells = {}
        for row in here.to_dict("records"):
            score = f"{row['score']:.4f}"
            if row["of_best_percent"] == 100.0:
                score = f"**{score}**"
            if row["folds"] < row["k"]:
                score = f"{score} ({row['folds']} folds)"
            cells[row["algorithm"]] = score
        rows.append([str(dataset), *(cells.get(name, "") for name in algorithms)])
    return _table(["dataset", *algorithms], rows)


def more() -> str:
    """Each run on a dataset that the paper does not have, at alpha 1e-4."""
    runs = recorded_runs(FOLDER / "more")
    explored = tradeoff(list(map(scores_of_run, runs)), within_percent=_WITHIN_PERCENT)
    at = float(explored.alphas[max(int((explored.alphas <= ALPHA).sum()) - 1, 0)])
    rows = [
        [
            row["dataset"],
            row["algorithm"],
            f"{row['k_fold_mean']:.4f}",
            f"{row['difference_percent']:.2f} %",
            f"{row['mean_stop']:.2f}",
        ]
        for row in cells_frame(explored, [at]).to_dict("records")
    ]
    heads = ["dataset", "algorithm", "nDCG@10 over ten folds", "difference to 10-fold", "folds"]
    return _table(heads, rows)


SECTIONS: dict[str, Callable[[], str]] = {
    "headline": headline,
    "more": more,
    "scores": scores,
    "datasets": datasets,
    "rules": rules,
    "promise": promise,
}


def section(text: str, name: str) -> str:
    """What the page has between the markers of a section."""
    found = _between(name).search(text)
    if found is None:
        raise ValueError(f"{PAGE.name} has no markers of the section '{name}'")
    return found[2].strip()


def _between(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- generated: {name} -->\n)(.*?)(\n<!-- end -->)", re.DOTALL)


def main() -> None:
    """Write or check the page."""
    text = PAGE.read_text(encoding="utf-8")
    stale = []
    for name, made in SECTIONS.items():
        now = made()
        if section(text, name) != now:
            stale.append(name)
            text = _between(name).sub(lambda found, now=now: found[1] + now + found[3], text)
    if "--check" in sys.argv[1:]:
        sys.stdout.write(f"stale: {', '.join(stale) or 'nothing'}\n")
        sys.exit(1 if stale else 0)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
