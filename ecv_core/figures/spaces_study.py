"""Recorded search spaces under several splits -> does the best stay the best, and what matters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecv_core.analysis.selection.names import contender_title, parse_contender
from ecv_core.analysis.tuning.under_splits import Agreement, Floats, UnderSplits
from ecv_core.evaluation import METRICS
from ecv_core.figures.words import algorithm_title, counted
from ecv_core.records.errors import InputError
from ecv_core.records.frames import with_columns
from ecv_core.records.parameters import ParamValue
from ecv_core.splits import SPLITS
from ecv_core.store.recorded import FOLDER

if TYPE_CHECKING:
    import pandas as pd

SPACES = FOLDER / "spaces"


def spaces_names(folder: Path = SPACES) -> list[str]:
    """Datasets whose search spaces are recorded under several splits; none of them read."""
    return sorted(path.stem for path in folder.glob("*.json"))


def read_spaces(path: Path) -> UnderSplits:
    """What `UnderSplits.document` wrote; configurations or splits may lack some of their scores.

    Raises: InputError if the file is missing or damaged.
    """
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        names = tuple(str(name) for name in found["configurations"])
        scores = {
            str(split): np.array(
                [np.nan if value is None else value for value in values], dtype=np.float64
            )
            for split, values in found["scores"].items()
        }
        agreements = tuple(_agreement(one) for one in found["agreements"])
        dataset, metric = str(found["dataset"]), str(found["metric"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path.name} cannot be read ({error}); restore it") from error
    if any(len(values) != len(names) for values in scores.values()):
        raise InputError(f"{path.name} has not one score for each configuration; restore it")
    if metric.partition("@")[0] not in METRICS:
        raise InputError(f"{path.name} is of an unknown metric, '{metric}'; restore it")
    return UnderSplits(
        dataset=dataset, metric=metric, names=names, scores=scores, agreements=agreements
    )


def _agreement(found: Mapping[str, Any]) -> Agreement:
    split, other = found["splits"]
    numbers = (found["tau"], *found["interval"], found["best_loss_percent"])
    tau, low, high, loss = (np.nan if one is None else float(one) for one in numbers)
    return Agreement(
        split=str(split), other=str(other), tau=tau, low=low, high=high, best_loss_percent=loss
    )


def split_title(split: str) -> str:
    """As people read it; an id that is not known stays as it is."""
    return SPLITS[split].title if split in SPLITS else split


def usable_splits(found: UnderSplits) -> list[str]:
    """The splits that can be set against another: two configurations are scored under both."""
    both = {
        split
        for pair in permutations(found.scores, 2)
        if _under(found, *pair).sum() > 1
        for split in pair
    }
    return [split for split in found.scores if split in both]


def agreement_of(found: UnderSplits, split: str, other: str) -> Agreement | None:
    """Of these two, whichever comes first; None where it is not recorded."""
    pairs = {frozenset((one.split, one.other)): one for one in found.agreements}
    return pairs.get(frozenset((split, other)))


def sentence(found: UnderSplits, split: str, other: str) -> str:
    """Whether the best under one split is the best under another, and how alike the two rank."""
    points = points_frame(found, split, other)
    best, there = points[points["rank"] == 1].iloc[0], points[points["other_rank"] == 1].iloc[0]
    kinds = points["algorithm"].nunique()
    text = (
        f"Of {counted(len(points), 'configuration')} of {counted(kinds, 'algorithm')}, the best "
        f"under '{split_title(split)}' is {best['configuration']}; "
    )
    if best["other_rank"] == 1:
        text += f"it is the best under '{split_title(other)}' too."
    else:
        loss = best_loss_percent(found, split, other)
        text += (
            f"under '{split_title(other)}' it has rank {best['other_rank']:g}, {loss:.2g} % below "
            f"{there['configuration']}."
        )
    return f"{text} {tau_sentence(agreement_of(found, split, other))}"


def tau_sentence(one: Agreement | None) -> str:
    """Kendall's tau with its interval."""
    if one is None or np.isnan(one.tau):
        return "Kendall's tau between both rankings is not known."
    text = f"Kendall's tau between both rankings is {one.tau:.2f}"
    return f"{text} ({one.low:.2f} to {one.high:.2f})." if not np.isnan(one.low) else f"{text}."


def best_loss_percent(found: UnderSplits, split: str, other: str) -> float:
    """How far the best under `split` is from the best under `other`, there; in percent of that."""
    here = _under(found, split, other)
    sign = 1.0 if _higher(found) else -1.0
    mine, there = (sign * found.scores[one][here] for one in (split, other))
    best, chosen = float(there.max()), float(there[mine.argmax()])
    return 100 * (best - chosen) / abs(best) if best else 0.0


@with_columns(
    {
        "configuration": "An algorithm and the parameters that were tried",
        "algorithm": "Its title",
        "score": "Under the first split, mean over folds",
        "other_score": "Under the second",
        "rank": "By the score under the first split, 1 is best; equal scores share the best rank",
        "other_rank": "Under the second",
    }
)
def points_frame(found: UnderSplits, split: str, other: str) -> pd.DataFrame:
    """One row per configuration that has a score under both."""
    import pandas as pd

    here = _under(found, split, other)
    names = [name for name, one in zip(found.names, here, strict=True) if one]
    frame = pd.DataFrame(
        {
            "configuration": [contender_title(name) for name in names],
            "algorithm": [algorithm_title(parse_contender(name)[0]) for name in names],
            "score": found.scores[split][here],
            "other_score": found.scores[other][here],
        }
    )
    for rank, score in (("rank", "score"), ("other_rank", "other_score")):
        frame[rank] = frame[score].rank(ascending=not _higher(found), method="min").astype(int)
    return frame


@with_columns(
    {
        "split": "The split that chooses",
        "best": "Its best configuration",
        "other": "The split under which it is looked at",
        "other_rank": "Its rank there; 1 where it is the best there too",
        "loss_percent": "How far it is below the best there, in percent of that",
        "tau": "Kendall's tau-b between both rankings",
        "low": "Lower end of its 95 % interval",
        "high": "Upper end",
    }
)
def choices_frame(found: UnderSplits) -> pd.DataFrame:
    """What choosing by one split costs under another: a row for each way round."""
    import pandas as pd

    rows = []
    for split, other in permutations(usable_splits(found), 2):
        if _under(found, split, other).sum() < 2:
            continue
        points = points_frame(found, split, other)
        best = points[points["rank"] == 1].iloc[0]
        one = agreement_of(found, split, other)
        rows.append(
            {
                "split": split_title(split),
                "best": best["configuration"],
                "other": split_title(other),
                "other_rank": best["other_rank"],
                "loss_percent": best_loss_percent(found, split, other),
                "tau": one.tau if one else np.nan,
                "low": one.low if one else np.nan,
                "high": one.high if one else np.nan,
            }
        )
    return pd.DataFrame(rows)


def parameters_frame(found: UnderSplits) -> pd.DataFrame:
    """What each parameter explains under each split: algorithm, parameter, a column per split.

    In percent of the variance of the scores of that algorithm's configurations, by itself; missing
    where under a split not every one of them has a score, or all are equal. Algorithms with one
    parameter are left out.
    """
    import pandas as pd

    rows = []
    for algorithm, places, configurations in _families(found):
        space = {
            name: tuple(dict.fromkeys(one[name] for one in configurations))
            for name in configurations[0]
        }
        space = {name: values for name, values in space.items() if len(values) > 1}
        if len(space) < 2:
            continue
        for name, values in space.items():
            at = np.array([values.index(one[name]) for one in configurations])
            rows.append(
                {"algorithm": algorithm_title(algorithm), "parameter": name.replace("_", " ")}
                | {
                    split_title(split): 100 * _explained(scores[places], at)
                    for split, scores in found.scores.items()
                }
            )
    splits = [split_title(split) for split in found.scores]
    return pd.DataFrame(rows, columns=["algorithm", "parameter", *splits])


def _explained(scores: Floats, values: NDArray[np.intp]) -> float:
    """Share of the variance of scores that a parameter explains by itself, its main effect.

    Args:
        scores: of all configurations of a grid.
        values: the place of the parameter's value in each of them.
    """
    total = float(scores.var())
    if not total > 0:  # unknown, or nothing to explain
        return np.nan
    count = np.bincount(values)
    means = np.bincount(values, weights=scores) / count
    return float(np.average((means - scores.mean()) ** 2, weights=count)) / total


def parameters_sentence(frame: pd.DataFrame) -> str:
    """Whether the parameter that matters most is another one under another split."""
    splits = [name for name in frame.columns if name not in ("algorithm", "parameter")]
    changes, same = [], []
    for algorithm, own in frame.groupby("algorithm", sort=False):
        known = own.set_index("parameter")[splits].dropna(axis="columns")
        most = known.idxmax()
        if len(most) < 2:
            continue
        if most.nunique() == 1:
            same.append(f"{algorithm} ({most.iloc[0]})")
        else:
            changes.append(
                f"{algorithm} ("
                + ", ".join(f"{name} under '{split}'" for split, name in most.items())
                + ")"
            )
    parts = []
    if changes:
        parts.append(f"What matters most changes with the split for {', '.join(changes)}.")
    if same:
        parts.append(f"It is the same under every split for {', '.join(same)}.")
    return " ".join(parts) or "No algorithm has all its scores under two splits."


def _families(
    found: UnderSplits,
) -> Iterator[tuple[str, list[int], Sequence[Mapping[str, ParamValue]]]]:
    """Algorithm, the places of its configurations, and their parameters."""
    places: dict[str, list[int]] = {}
    parsed = [parse_contender(name) for name in found.names]
    for at, (algorithm, _) in enumerate(parsed):
        places.setdefault(algorithm, []).append(at)
    for algorithm, own in places.items():
        yield algorithm, own, [parsed[at][1] for at in own]


def _under(found: UnderSplits, split: str, other: str) -> NDArray[np.bool_]:
    """Which configurations have a score under both."""
    return np.asarray(~np.isnan(found.scores[split]) & ~np.isnan(found.scores[other]))


def _higher(found: UnderSplits) -> bool:
    return METRICS[found.metric.partition("@")[0]].higher_is_better
