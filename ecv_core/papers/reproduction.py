"""Every table and figure of the five papers, cell by cell, beside what is recorded here.

`data/papers.toml` has what the papers print, and why a cell differs or is not to be had.
"""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from itertools import groupby
from typing import Any, Literal, cast

import numpy as np
import pandas as pd

from ecv_core import dataset as datasets
from ecv_core import models
from ecv_core.analysis.tradeoff.curves import PAPER_ALGORITHMS, PAPER_STOP, explorable
from ecv_core.analysis.tradeoff.frames import headline_frame
from ecv_core.figures.study_summary import summary, systems_of
from ecv_core.figures.words import counted, titled
from ecv_core.models.bayesian import BAYESIAN
from ecv_core.papers.published import recorded
from ecv_core.papers.rating_figures import dimension_frame, steps_frame
from ecv_core.records.errors import UnknownName
from ecv_core.records.places import SHIPPED
from ecv_core.selection.tuning.power import dominance, expected_curve, paired_p_values
from ecv_core.store.recorded import FOLDER, SPACES, TUNINGS, read_configurations, recorded_runs

ALPHA = 1e-4
"""Of the paper's rule: its paper does not say which it took."""
PICTURE, NO_CELL, DRAWN = "?", "-", "no number"
NOT_HERE = "what was recorded of it is not on this machine; get data/recorded from the project"

Label = Literal["same", "differs", "not computed", "impossible"]
Value = float | str
Part = Mapping[str, Any]
"""A table or figure, or a part of it, as the file has it."""
Frames = Mapping[str, pd.DataFrame]
"""Our tables of a paper, by the names that the file calls them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperCell:
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
    return _file()["papers"]


def tables(paper: str) -> list[str]:
    """The tables and figures of a paper."""
    return list(dict.fromkeys(one["table"] for one in _file()["parts"] if one["paper"] == paper))


def reproduced(
    paper: str | None = None, table: str | None = None, *, having: str = ""
) -> list[PaperCell]:
    """Work out our side of every cell from what is recorded, in seconds, and label it.

    Args:
        paper: an id, or how it begins; all papers by default.
        table: one of its tables or figures; all of them by default.
        having: keeps rows that have this text in their name, in a cell, or over a cell with a yes.
    Raises: UnknownName.
    """
    chosen = [name for name in papers() if name.startswith(paper or "")]
    if paper is not None and len(chosen) != 1:
        raise UnknownName("paper", paper, papers())
    if table is not None and table not in tables(chosen[0]):
        raise UnknownName(f"table or figure of {chosen[0]}", table, tables(chosen[0]))
    wanted = [one for one in _file()["parts"] if one["paper"] in chosen]
    cells = [cell for one in wanted if table in (None, one["table"]) for cell in _cells(one)]
    kept = {(cell.part, cell.row) for cell in cells if _has(cell, having.casefold())}
    return [cell for cell in cells if (cell.part, cell.row) in kept]


def _has(cell: PaperCell, text: str) -> bool:
    said = [cell.row, cell.published or "", cell.column if cell.published == "yes" else ""]
    return any(text in one.casefold() for one in (*said, *map(titled, said)))


def markdown(cells: Sequence[PaperCell]) -> str:
    """The answer in a line, then each table as the paper has it, with a label in every cell."""
    if not cells:
        return "No row or value holds these words."
    labels = Counter(_word(cell) for cell in cells)
    counts = [f"{labels[label]} {words}" for label, words in _KINDS.items() if labels[label]]
    lines = [f"{counted(len(cells), 'cell')}: {', '.join(counts)}."]
    for (paper, table, part), group in groupby(cells, lambda one: (one.paper, one.table, one.part)):
        here = list(group)
        columns = {cell.column: _head(cell.column) for cell in here}
        reasons = list(dict.fromkeys(cell.why for cell in here if cell.why))
        texts = {(cell.row, cell.column): _text(cell, reasons) for cell in here}
        if f"\n## {papers()[paper]}" not in lines:
            lines.append(f"\n## {papers()[paper]}")
        lines += [f"\n### {table.capitalize()}: {part}\n", f"| | {' | '.join(columns.values())} |"]
        lines.append("|---" * (len(columns) + 1) + "|")
        for row in dict.fromkeys(cell.row for cell in here):
            shown = " | ".join(texts.get((row, one), "") for one in columns)
            lines.append(f"| {_head(row)} | {shown} |")
        lines.append(f"\nHere: {here[0].source}.")
        lines += [f"\n({number}) {reason}." for number, reason in enumerate(reasons, start=1)]
    return "\n".join(lines)


def _head(text: str) -> str:
    """A row or column as people read it; RecBole's RO_RS stays."""
    return titled(text if text.isupper() else text.replace("_percent", " %").replace("_", " "))


_KINDS = {
    "same": "the same here",
    "differs": "different",
    DRAWN: "ours alone, where the paper has a picture and no number",
    "not computed": "not computed yet",
    "impossible": "impossible here",
}


def _word(cell: PaperCell) -> str:
    """The label in words: a picture has nothing to compare ours with."""
    return DRAWN if cell.published is None and cell.ours is not None else cell.label


def _text(cell: PaperCell, reasons: Sequence[str]) -> str:
    """The paper's value, the label, ours where they do not say it, and the reason's number."""
    shown = f"{titled(cell.published or 'picture')}: {_word(cell)} {cell.by}".rstrip()
    if isinstance(cell.ours, str) and cell.ours != cell.published:
        shown += f", here {titled(cell.ours)}"
    elif isinstance(cell.ours, float) and cell.published is None:
        shown += f", here {cell.ours:.4g}"
    return f"{shown} ({reasons.index(cell.why) + 1})" if cell.why else shown


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads((SHIPPED / "papers.toml").read_text(encoding="utf-8"))


def _cells(part: Part) -> Iterator[PaperCell]:
    ours = _OURS[part["paper"]]()[part["ours"]] if "ours" in part else pd.DataFrame()
    for row, text in part["rows"].items() if "rows" in part else _held(part["held"]):
        printed = text.split(" | ") if text != PICTURE else [PICTURE] * len(part["columns"])
        for column, value in zip(part["columns"], printed, strict=True):
            if value == NO_CELL:
                continue
            mine = ours[column].get(row) if column in ours else part.get("here", {}).get(row)
            if not isinstance(mine, str):
                mine = None if pd.isna(mine) else float(mine)
            label, by, why = _labelled(part, (row, column), value, mine)
            yield PaperCell(
                **{name: part[name] for name in ("paper", "table", "part", "source")},
                row=row,
                column=column,
                published=None if value == PICTURE else value,
                ours=mine,
                label=label,
                by=by,
                why=why,
            )


def _held(name: str) -> Iterator[tuple[str, str]]:
    text = (SHIPPED / "published" / name).read_text(encoding="utf-8")
    for one in tomllib.loads(text, parse_float=str)["results"]:
        row = ", ".join(one[name] for name in ("method", "split") if name in one)
        yield row, " | ".join(one[name] for name in ("rmse", "reported_in") if name in one)


def _labelled(
    part: Part, place: tuple[str, str], printed: str, ours: Value | None
) -> tuple[Label, str, str]:
    """Label, by how much, and why."""
    if ours is not None and printed == PICTURE:
        return "impossible", "", _file()["reasons"]["picture"]
    if ours is None:
        label: Label
        for label in ("impossible", "not computed"):
            for pattern, reason in part.get(label, {}).items():
                if pattern == printed or fnmatchcase(", ".join(place), pattern):
                    return label, "", _file()["reasons"].get(reason, reason)
        return "impossible", "", NOT_HERE
    if isinstance(ours, str):
        same = "here" in part or printed == ours
        return ("same", "", "") if same else ("differs", "", part["differs"])
    there, decimals = float(printed), len(printed.partition(".")[2])
    if there == round(ours, decimals):
        return "same", "", ""
    share = f" ({100 * (ours - there) / abs(there):+.0f} %)" if there else ""
    return "differs", f"by {ours - there:+.{decimals}f}{share}", part["differs"]


# Ours: what is recorded -> the tables by name, rows and columns as in the file.


def _counts(*, rated: bool) -> pd.DataFrame:
    """Of ratings as they are given, or of prepared interactions; a row per dataset."""
    counts = {
        name: entry.rated if rated else (entry.users, entry.items, entry.interactions)
        for name, entry in datasets.catalogue().items()
    }
    known = {name: three for name, three in counts.items() if three and all(three)}
    frame = pd.DataFrame(known, index=["users", "items", "interactions"], dtype=float).T
    frame["ratings"] = frame["interactions"]
    frame["density %"] = 100 * frame["interactions"] / (frame["users"] * frame["items"])
    frame["sparsity %"] = 100 - frame["density %"]
    return frame


def _table(frame: pd.DataFrame, across: str, value: str) -> pd.DataFrame:
    return frame.pivot(index="algorithm", columns=across, values=value)


def _efold() -> Frames:
    runs = [run for run in recorded_runs() if run.spec.algorithm in PAPER_ALGORITHMS]
    study = summary(systems_of([run for run in runs if explorable(run)], ids=True), ALPHA)
    explored = study.tradeoff
    nearest = explored.alphas[np.abs(explored.average.mean_stop - PAPER_STOP).argmin()]
    averages = headline_frame(explored, [*study.alphas, float(nearest)])
    averages.index = pd.Index(["alpha 1e-4", "alpha where the mean stop is nearest to the paper's"])
    off = _table(study.cells, "dataset", "difference_percent")
    stops = _table(study.cells, "dataset", "mean_stop")
    e_fold = _table(study.ranks, "dataset", "rank_e_fold")
    k_fold = _table(study.ranks, "dataset", "rank_k_fold")
    algorithms, sets = off.mean(axis=1).sort_values().index, off.mean().sort_values().index
    late = stops.mean() > stops.mean().mean()
    kept = (e_fold.rank() == k_fold).all()
    said = {
        "algorithm with the least difference": algorithms[0],
        "two algorithms with the largest": ", ".join(sorted(algorithms[-2:])),
        "two datasets with the least": ", ".join(sorted(sets[:2])),
        "stop later than the average": ", ".join(late.index[late]),
        "mean ranks in the order of 10 folds": f"{kept.sum()} of {len(kept)} datasets",
    }
    return {
        "counts": _counts(rated=False),
        "averages": averages,
        "differences": off,
        "stops": stops,
        "e-fold ranks": e_fold,
        "10-fold ranks": k_fold,
        "said": pd.DataFrame({"text": said}),
    }


def _splits() -> Frames:
    counts, frames = [], {}
    runs = recorded_runs(FOLDER / "sampled" / "splits")
    for dataset in ("ta-feng", "dunnhumby"):
        file = FOLDER / "parts" / f"{dataset}.json"
        counts.append(pd.read_json(file, orient="index").add_prefix(f"{dataset}, ", axis=0))
        for metric in ("ndcg@10", "recall@10"):
            scores = {
                (run.spec.algorithm, run.spec.split): run.folds[0].metrics[metric]
                for run in runs
                if run.spec.dataset == dataset
            }
            frames[f"{dataset}, {metric}"] = pd.Series(scores).unstack()
            ranks = frames[f"{dataset}, {metric}"].dropna().rank(ascending=False)
            if len(ranks) < 7:  # a place among some of the paper's models is none
                ranks = ranks[:0]
            frames[f"{dataset}, {metric}, places"] = ranks.rsub(ranks["leave-last-item"], axis=0)
    taus = {
        (path.stem, ", ".join(one["splits"])): one["tau"]
        for path in SPACES.glob("*.json")
        for one in pd.read_json(path, typ="series")["agreements"]
    }
    return frames | {"counts": pd.concat(counts), "taus": pd.Series(taus).unstack()}


def _baselines() -> Frames:
    names = ["sgd-mf", *(one.id for one in BAYESIAN)]
    short = {"time": "t", "items_of_user": "iu", "users_of_item": "ii"}
    features = {
        one.id: ",".join(["u", "i", *(short[name] for name in cast("Any", one.build).args[0])])
        for one in BAYESIAN
    }
    orders = {}
    for dataset in ("ml-100k", "ml-1m"):
        runs = [run for run in recorded(dataset) if len(run.folds) > 1]
        scores = {run.spec.algorithm: {one.fold: one.score for one in run.folds} for run in runs}
        means = pd.DataFrame(scores)[names].dropna().mean()
        orders[dataset] = ", ".join(means.sort_values(ascending=False).index)
    runs = [run for run in recorded("ml-100k") if "dimension" in dict(run.spec.params)]
    longest = [run for run in runs if dict(run.spec.params)["dimension"] == 128]
    sizes = _table(dimension_frame(runs, names), "dimension", "rmse")
    steps = _table(steps_frame(longest), "step", "rmse")
    best = {
        "best dimension": sizes[[16, 32, 64, 128]].dropna().idxmin(axis=1),
        "best steps": steps[[16, 32, 64, 128, 256, 512]].dropna().idxmin(axis=1),
    }
    better = sizes.loc[["bayesian-mf", "sgd-mf"]].dropna(axis=1).idxmin()
    return {
        "dimensions": sizes.rename(columns=str),
        "steps": steps.rename(columns=str),
        "features": pd.DataFrame({"features": features}),
        "order": pd.DataFrame({"order": orders}),
        "learnt": pd.DataFrame({name: one.astype(str) for name, one in best.items()}),
        "better": better.rename(str).to_frame("better").T,
    }


def _power() -> Frames:
    p_values: dict[str, dict[str, Any]] = defaultdict(dict)
    for key, recorded_here in np.load(FOLDER / "nested-power.npz").items():
        name, _, metric = key.rpartition("--")
        p_values[name][metric] = recorded_here
    with_set: dict[str, Any] = {}
    if (path := TUNINGS / "ml-1m--bpr-mf.json").exists():
        scores = read_configurations(path)
        with_set = dominance(paired_p_values(scores.values["ndcg@10"]), scores.configurations)
    tables: dict[str, dict[str, Any]] = {}
    for name, of_metrics in p_values.items():
        curves = {metric: expected_curve(found) for metric, found in of_metrics.items()}
        dp: dict[str, Any] = {metric: curve.dp for metric, curve in curves.items()}
        best, *_, worst = sorted(set(dp) - {"efd@10", "epc@10"}, key=dp.__getitem__)
        dp |= {"best": best, "worst": worst, "best, DP": dp[best], "worst, DP": dp[worst]}
        tables[name.replace("--", ", ")] = dp | {"best, DP + sd": curves[best].dp_plus_sd}
    spaces = [models.algorithm(name).spaces["paper"] for name in ("bpr-mf", "item-knn")]
    grid = pd.DataFrame({name: pd.Series(one) for space in spaces for name, one in space.items()})
    return {
        "counts": _counts(rated=True),
        "power": pd.DataFrame(tables).T,
        "with one set": pd.DataFrame(with_set).T.add_prefix("ml-1m, ", axis=0),
        "grid": grid.set_axis([str(at + 1) for at in grid.index]),
    }


_OURS: Mapping[str, Callable[[], Frames]] = {
    "e-fold-cross-validation": cache(_efold),
    "data-splitting-strategies": cache(_splits),
    "difficulty-of-evaluating-baselines": cache(_baselines),
    "discriminative-power-of-hyperparameters": cache(_power),
}
