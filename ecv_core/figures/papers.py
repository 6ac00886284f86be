"""Every table and figure of the five papers, cell by cell, beside what is recorded here.

`data/papers.toml` has what the papers print, and why a cell differs or is not to be had.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, partial
from itertools import groupby
from typing import Any, Literal, cast

import numpy as np
import pandas as pd

from ecv_core import dataset as datasets
from ecv_core import models
from ecv_core.analysis.baselines import published, recorded
from ecv_core.analysis.tradeoff.curves import PAPER_ALGORITHMS, PAPER_STOP, explorable
from ecv_core.analysis.tradeoff.study_frames import headline_frame
from ecv_core.analysis.tuning.power import dominance, expected_curve, paired_p_values
from ecv_core.figures.baselines import dimension_frame, steps_frame
from ecv_core.figures.study_summary import Summary, summary, systems_of
from ecv_core.records.errors import UnknownName
from ecv_core.records.places import SHIPPED
from ecv_core.store.configurations import TUNINGS, configuration_names, read_configurations
from ecv_core.store.recorded import FOLDER, recorded_runs

ALPHA = 1e-4
"""Of the paper's rule: its paper does not say which it took."""
PICTURE, NO_CELL = "?", "-"
NOT_HERE = "what was recorded of it is not on this machine; get data/recorded from the project"

Label = Literal["same", "differs", "impossible"]
Value = float | str
Part = Mapping[str, Any]
"""A table or figure, or a part of it, as the file has it."""
Found = Mapping[tuple[str, str], Value]
"""(row, column) -> our value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of a table or figure, the paper's and ours."""

    paper: str
    table: str
    part: str
    """What is shown, where a table has several parts."""
    source: str
    """Where our side is recorded, and what computes or draws it."""
    row: str
    column: str
    published: str | None
    """As printed; None where there is a picture and no number."""
    ours: Value | None
    label: Label
    by: str
    """How far ours is from the paper's: 'by +0.155 (+9 %)'; '' where that is no number."""
    why: str
    """Why it differs, or what it would take to compute it; '' where it is the same."""


def papers() -> dict[str, str]:
    """Ids of the papers and their titles."""
    titles: dict[str, str] = _file()["papers"]
    return titles


def tables(paper: str) -> list[str]:
    """The tables and figures of a paper."""
    return list(dict.fromkeys(one["table"] for one in _file()["parts"] if one["paper"] == paper))


def reproduced(paper: str | None = None, table: str | None = None) -> list[Cell]:
    """Work out our side of every cell from what is recorded, in seconds, and label it.

    Args:
        paper: an id, or how it begins; all papers by default.
        table: one of its tables or figures; all of them by default.
    Raises: UnknownName.
    """
    chosen = [name for name in papers() if name.startswith(paper or "")]
    if paper is not None and len(chosen) != 1:
        raise UnknownName("paper", paper, papers())
    if table is not None and table not in tables(chosen[0]):
        raise UnknownName(f"table or figure of {chosen[0]}", table, tables(chosen[0]))
    wanted = [one for one in _file()["parts"] if one["paper"] in chosen]
    return [cell for one in wanted if table in (None, one["table"]) for cell in _cells(one)]


def answer(cells: Sequence[Cell]) -> str:
    """How many of the cells are the same, in a sentence."""
    labels = Counter(cell.label for cell in cells)
    return (
        f"{len(cells)} cells: {labels['same']} are the same here, {labels['differs']} differ, and "
        f"{labels['impossible']} are impossible here or not computed."
    )


def markdown(cells: Sequence[Cell]) -> str:
    """The answer, then each table as the paper has it, with a label in every cell."""
    lines = [answer(cells)]
    for (paper, table, part), group in groupby(cells, lambda one: (one.paper, one.table, one.part)):
        here = list(group)
        columns = list(dict.fromkeys(cell.column for cell in here))
        reasons = list(dict.fromkeys(cell.why for cell in here if cell.why))
        texts = {(cell.row, cell.column): _text(cell, reasons) for cell in here}
        if f"\n## {papers()[paper]}" not in lines:
            lines.append(f"\n## {papers()[paper]}")
        lines += [f"\n### {table.capitalize()}: {part}\n", f"| | {' | '.join(columns)} |"]
        lines.append("|---" * (len(columns) + 1) + "|")
        for row in dict.fromkeys(cell.row for cell in here):
            lines.append(f"| {row} | {' | '.join(texts.get((row, one), '') for one in columns)} |")
        lines.append(f"\nHere: {here[0].source}.")
        lines += [f"\n({number}) {reason}." for number, reason in enumerate(reasons, start=1)]
    return "\n".join(lines)


def _text(cell: Cell, reasons: Sequence[str]) -> str:
    """The paper's value, the label, ours where the label does not say it, the reason's number."""
    label = f"{cell.label} {cell.by}".rstrip()
    if cell.why:
        shown = cell.ours if isinstance(cell.ours, str) else f"{cell.ours or 0:.2f}"
        ours = "" if cell.by or cell.ours is None else f", here {shown}"
        label += f"{ours} ({reasons.index(cell.why) + 1})"
    return f"{cell.published or 'picture'}: {label}"


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads((SHIPPED / "papers.toml").read_text(encoding="utf-8"))


def _cells(part: Part) -> Iterator[Cell]:
    ours = _OURS[part["ours"]](part) if "ours" in part else {}
    for row, text in part["rows"].items() if "rows" in part else _held(part["held"]):
        printed = text.split(" | ") if text != PICTURE else [PICTURE] * len(part["columns"])
        for column, value in zip(part["columns"], printed, strict=True):
            if value == NO_CELL:
                continue
            mine = part["here"][row] if "here" in part else ours.get((row, column))
            label, by, why = _labelled(part, (row, column), value, mine)
            yield Cell(
                **{name: part[name] for name in ("paper", "table", "part", "source")},
                row=row,
                column=column,
                published=None if value == PICTURE else value,
                ours=mine,
                label=label,
                by=by,
                why=why,
            )


def _held(dataset: str) -> Iterator[tuple[str, str]]:
    about = published(dataset)
    for one in reversed(about.entries):
        apart = "" if one.protocol == about.protocol else f", {one.protocol}"
        yield one.method + apart, str(one.rmse)


def _labelled(
    part: Part, place: tuple[str, str], printed: str, ours: Value | None
) -> tuple[Label, str, str]:
    """Label, by how much, and why."""
    if ours is None or printed == PICTURE:
        for pattern, reason in part.get("impossible", {}).items():
            if pattern == printed or fnmatchcase(", ".join(place), pattern):
                return "impossible", "", _file()["reasons"].get(reason, reason)
        return "impossible", "", NOT_HERE
    if isinstance(ours, str):
        same = place[0] not in part["but"] if "here" in part else printed == ours
        return ("same", "", "") if same else ("differs", "", part["differs"])
    there, decimals = float(printed), _decimals(printed)
    if there == round(ours, decimals):
        return "same", "", ""
    share = f" ({100 * (ours - there) / abs(there):+.0f} %)" if there else ""
    return "differs", f"by {ours - there:+.{decimals}f}{share}", part["differs"]


def _decimals(printed: str) -> int:
    return len(printed.partition(".")[2])


def _by_place(frame: pd.DataFrame) -> Found:
    """What a table holds, but what is missing."""
    rows = frame.to_dict("index").items()
    return {
        (str(row), str(column)): value
        for row, values in rows
        for column, value in values.items()
        if not pd.isna(value)
    }


# Ours, of e-fold cross-validation.


@cache
def _study() -> Summary:
    runs = [run for run in recorded_runs() if run.spec.algorithm in PAPER_ALGORITHMS]
    return summary(systems_of([run for run in runs if explorable(run)], ids=True), ALPHA)


def _averages(part: Part) -> Found:
    explored = _study().tradeoff
    nearest = int(np.abs(explored.average.mean_stop - PAPER_STOP).argmin())
    frame = headline_frame(explored, [*_study().alphas, float(explored.alphas[nearest])])
    frame = frame[["difference_percent", "mean_stop", "energy_percent"]]
    return _by_place(frame.set_axis(part["columns"], axis=1).set_axis([*part["rows"]]))


def _pairs(value: str) -> pd.DataFrame:
    """A row per algorithm, a column per dataset."""
    return _study().cells.pivot(index="algorithm", columns="dataset", values=value)


def _ranks(_part: Part) -> Found:
    ranks = _study().ranks.pivot(index="algorithm", columns="dataset")
    both = [ranks[f"rank_{kind}_fold"].add_suffix(f", {kind}-fold", axis=0) for kind in ("e", "k")]
    return _by_place(pd.concat(both))


def _said(_part: Part) -> Found:
    """What the text says of figures 2 to 4."""
    off, stops = _pairs("difference_percent"), _pairs("mean_stop").mean()
    algorithms, sets = off.mean(axis=1).sort_values().index, off.mean().sort_values().index
    kept = [
        rows.sort_values("rank_e_fold")["rank_k_fold"].is_monotonic_increasing
        for _, rows in _study().ranks.groupby("dataset")
    ]
    said = {
        "algorithm with the least difference": algorithms[0],
        "two algorithms with the largest": ", ".join(sorted(algorithms[-2:])),
        "two datasets with the least": ", ".join(sorted(sets[:2])),
        "stop later than the average": ", ".join(stops.index[stops > stops.mean()]),
        "mean ranks in the order of 10 folds": f"{sum(kept)} of {len(kept)} datasets",
    }
    return {(row, "text"): value for row, value in said.items()}


# Ours, of datasets and splits.


def _counts(part: Part) -> Found:
    """Of prepared interactions, or of ratings as they are given."""
    found: dict[tuple[str, str], Value] = {}
    rated = "ratings" in part["columns"]
    for name, entry in datasets.catalogue().items():
        counts = entry.rated if rated else (entry.users, entry.items, entry.interactions)
        users, items, number = counts or (None, None, None)
        if users and items and number:
            share = 100 * number / (users * items)
            values = (users, items, number, 100 - share if rated else share)
            found |= {
                (name, one): value for one, value in zip(part["columns"], values, strict=True)
            }
    return found


def _part_counts(_part: Part) -> Found:
    counts = json.loads((FOLDER / "parts" / "ta-feng.json").read_text(encoding="utf-8"))
    return _by_place(pd.DataFrame(counts).T.add_prefix("ta-feng, ", axis=0))


def _split_scores(part: Part) -> pd.DataFrame:
    """A row per algorithm, a column per split: of its one fold, among 100 drawn items."""
    scores = {
        (run.spec.algorithm, run.spec.split): run.folds[0].metrics[part["metric"]]
        for run in recorded_runs(FOLDER / "sampled" / "splits")
    }
    return pd.Series(scores).unstack()


def _places_moved(part: Part) -> Found:
    ranks = _split_scores(part).rank(ascending=False)
    return _by_place(ranks.rsub(ranks["leave-last-item"], axis=0))


# Ours, of rating prediction.


def _features(part: Part) -> Found:
    short = {"time": "t", "items_of_user": "iu", "users_of_item": "ii"}
    found = {}
    for name in part["rows"]:
        (features,) = cast("partial[Any]", models.algorithm(name).build).args
        found[name, "features"] = ",".join(["u", "i", *(short[one] for one in features)])
    return found


def _order(part: Part) -> Found:
    found = {}
    for dataset, order in part["rows"].items():
        runs = [run for run in recorded(dataset) if len(run.folds) > 1]
        scores = {run.spec.algorithm: {one.fold: one.score for one in run.folds} for run in runs}
        means = pd.DataFrame(scores)[order.split(", ")].dropna().mean()
        found[dataset, "order"] = ", ".join(means.sort_values(ascending=False).index)
    return found


def _learnt(_part: Part) -> Found:
    """Of fold 0 of ml-100k: the best dimension and steps of each model, and the better learner."""
    runs = [run for run in recorded("ml-100k") if "dimension" in dict(run.spec.params)]
    long = [run for run in runs if dict(run.spec.params)["dimension"] == 128]
    across = dimension_frame(runs, [run.spec.algorithm for run in runs])
    sizes = across.pivot(index="algorithm", columns="dimension", values="rmse")
    steps = steps_frame(long).pivot(index="algorithm", columns="step", values="rmse")
    best = {
        "best of 16, 32, 64 and 128 dimensions": sizes[[16, 32, 64, 128]],
        "best of 16, 32, 64, 128, 256 and 512 steps": steps[[16, 32, 64, 128, 256, 512]],
    }
    found: dict[tuple[str, str], Value] = {}
    for column, frame in best.items():
        settings = frame.dropna().idxmin(axis=1)
        found |= {(str(name), column): str(setting) for name, setting in settings.items()}
    better = sizes.loc[["bayesian-mf", "sgd-mf"]].dropna(axis=1).idxmin()
    return found | {("better", str(size)): name for size, name in better.items()}


# Ours, of discriminative power.


def _grid(_part: Part) -> Found:
    return {
        (str(at), name): cast("float", value)
        for algorithm in ("bpr-mf", "item-knn")
        for name, values in models.algorithm(algorithm).spaces["paper"].items()
        for at, value in enumerate(values, start=1)
    }


@cache
def _power() -> Found:
    """Tables 3 to 5, of the recorded tunings on ml-1m."""
    found: dict[tuple[str, str], Value] = {}
    for name in configuration_names(TUNINGS):
        if not name.startswith("ml-1m--"):
            continue
        scores = read_configurations(TUNINGS / f"{name}.json")
        p_values = {metric: paired_p_values(cube) for metric, cube in scores.values.items()}
        curves = {metric: expected_curve(found) for metric, found in p_values.items()}
        accuracy = [metric for metric in curves if metric not in ("efd@10", "epc@10")]
        best, *_, worst = sorted(accuracy, key=lambda metric: curves[metric].dp)
        row: dict[str, Value] = {metric: curve.dp for metric, curve in curves.items()}
        row |= {"best": best, "worst": worst, "best, DP": row[best], "worst, DP": row[worst]}
        row |= {"best, DP + sd": curves[best].dp_plus_sd}
        found |= {(name.replace("--", ", "), column): value for column, value in row.items()}
        for parameter, values in dominance(p_values["ndcg@10"], scores.configurations).items():
            found |= {(f"ml-1m, {parameter}", value): dp for value, dp in values.items()}
    return found


_OURS: Mapping[str, Callable[[Part], Found]] = {
    "averages": _averages,
    "pairs": lambda part: _by_place(_pairs(part["value"])),
    "ranks": _ranks,
    "said": _said,
    "counts": _counts,
    "part_counts": _part_counts,
    "split_scores": lambda part: _by_place(_split_scores(part)),
    "places_moved": _places_moved,
    "features": _features,
    "order": _order,
    "learnt": _learnt,
    "grid": _grid,
    "power": lambda _part: _power(),
}
