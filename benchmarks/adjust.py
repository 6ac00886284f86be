"""Control variates: how many folds do cheap models spare the precision rule, and is it kept?

python -m benchmarks.adjust              prints the tables of docs/method.md, in a minute or two
python -m benchmarks.adjust --recorded   only those of recorded runs

Recorded runs of the dear models (implicit-mf, bpr-mf, multi-vae, neu-mf) at a tolerance of 3 %,
exactly over every order of the ten folds; the cheap models run all ten. Made runs: a dear and a
cheap model with users that differ, and the worst that a cheap model can be.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage import PROMISED, K, table
from ecv_core.analysis.exploration import explore
from ecv_core.records import Run, UserScores
from ecv_core.runs.recorded import recorded_runs
from ecv_core.stopping.adjustment import Aids, adjusted
from ecv_core.stopping.fold_variance import fold_variance
from ecv_core.store import Results
from ecv_core.store.adjusting import aids_of

TOLERANCE = 0.03
DEAR = ("implicit-mf", "bpr-mf", "multi-vae", "neu-mf")
CHEAP = ("popular", "item-knn", "user-knn", "ease")
SETS: tuple[tuple[str, ...], ...] = (CHEAP, CHEAP[1:], CHEAP[2:], CHEAP[:2])
RELATIONS = ("alike", "unrelated", "opposite", "its folds have a luck of their own")
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What the rule does to one recorded run, over every order of its folds."""

    run: Run
    folds: float
    within: float
    differences: tuple[float, ...]
    """Mean difference to the k-fold mean after one, two and three folds, percent of it."""
    joules: float
    """Expected, of the folds used."""


def cells(cheap: Sequence[str] | None) -> Iterator[Cell]:
    """The recorded runs of the dear models.

    Args:
        cheap: by which they are adjusted; None for the plain rule.
    """
    results = Results(None)
    for run in recorded_runs():
        if run.spec.algorithm not in DEAR:
            continue
        scores = results.scores(run)
        if cheap is not None:
            aids = aids_of(results, run.spec, cheap)
            values = aids.matrix(results.user_scores(run), run.spec.metric_name)
            scores = replace(scores, aids=aids, users=values)
        walk = explore(scores, "precision", confidence=PROMISED)
        at = walk.at(TOLERANCE, within_percent=100 * TOLERANCE)
        subsets = walk.subsets
        off = [subsets.differences[subsets.lattice.levels[e]].mean() for e in (1, 2, 3)]
        yield Cell(
            run=run,
            folds=at.mean_stop,
            within=at.within or 0.0,
            differences=tuple(map(float, off)),
            joules=at.cost_percent / 100 * run.joules,
        )


def made(relation: str, share: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Scores of 300 users in ten folds with a dear and a cheap model; shapes (10, 300).

    Args:
        relation: one of RELATIONS.
        share: standard deviation of the dear model's fold mean, in the tolerance.
        rng: of the draws.
    """
    users = 300
    level, ease = rng.standard_normal(users), rng.standard_normal((K, users))
    own = rng.standard_normal((2, K, users))
    spread = share * TOLERANCE * np.sqrt(users / 1.25)
    dear = 1 + spread * (level + ease + 0.5 * own[0])
    sign = {"unrelated": 0.0, "opposite": -1.0}.get(relation, 1.0)
    cheap = 1 + sign * (level + ease) + 0.5 * own[1]
    if relation == RELATIONS[-1]:  # ten times what users explain
        cheap += np.sqrt(10 * 1.25 / users) * rng.standard_normal((K, 1))
    return dear, cheap


def made_outcome(
    relation: str, share: float, *, noise: float, random: bool, runs: int = 300
) -> tuple[float, float, float, float]:
    """The rule on made runs, plain and adjusted: share of runs within, and mean folds, of each.

    Args:
        relation: as in `made`.
        share: likewise.
        noise: variance of the dear model's training, in that of its fold mean by users.
        random: what the rule is told of the dear model.
        runs: how many.
    """
    rng = np.random.default_rng(7)
    prefixes = np.tri(K, dtype=np.bool_)
    found = np.zeros((2, 2))
    for _ in range(runs):
        dear, cheap = made(relation, share, rng)
        dear = dear + np.sqrt(noise) * share * TOLERANCE * rng.standard_normal((K, 1))
        means = dear.mean(axis=1)
        there = {
            fold: UserScores(
                users=np.arange(cheap.shape[1], dtype=np.int32),
                metrics=("score",),
                values=row[:, None].astype(np.float32),
            )
            for fold, row in enumerate(cheap)
        }
        aids = Aids({"cheap": there}, "score", random=False)
        sharper = adjusted(means, dear, aids, prefixes, random=random)
        plain = np.cumsum(means) / np.arange(1, K + 1)
        variances = (fold_variance(dear, prefixes, random=random), sharper.variance)
        for row, (mean, variance) in enumerate(zip((plain, sharper.means), variances, strict=True)):
            stops = variance.half_widths(K, PROMISED) <= TOLERANCE * np.abs(mean)
            at = int(stops.argmax())  # all ten folds always stop it
            close = abs(mean[at] - means.mean()) <= TOLERANCE * abs(means.mean())
            found[row] += close, at + 1
    (kept, used), (kept_adjusted, used_adjusted) = found / runs
    return float(kept), float(used), float(kept_adjusted), float(used_adjusted)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _print_recorded() -> None:
    plain = list(cells(None))
    whole = {run.run_id: run for run in recorded_runs()}
    by_place = {(run.spec.dataset, run.spec.algorithm): run for run in whole.values()}
    datasets = sorted({one.run.spec.dataset for one in plain})
    rows = [_row("none: the plain rule", plain, plain, 0.0)]
    for cheap in SETS:
        spent = sum(by_place[dataset, name].joules for dataset in datasets for name in cheap)
        rows.append(_row(", ".join(cheap), list(cells(cheap)), plain, spent))
    heads = ["adjusted by", "folds", "fewer", "within 3 %", "least", "off after 1, 2, 3 folds"]
    table([*heads, "energy of the runs", "and of the cheap models"], rows)
    sharper = list(cells(CHEAP))
    by_run = []
    for one, other in zip(plain, sharper, strict=True):
        spec = one.run.spec
        cost = sum(by_place[spec.dataset, name].joules for name in CHEAP)
        by_run.append(
            [
                f"{spec.algorithm}, {spec.dataset}",
                *(f"{each.folds:.2f} ({_percent(each.within)})" for each in (one, other)),
                *(f"{each.joules / 3600:.3f} Wh" for each in (one, other)),
                f"{cost / 3600:.3f} Wh",
            ]
        )
    heads = ["run", "plain: folds (within 3 %)", "adjusted", "energy, plain", "adjusted"]
    table([*heads, "all four cheap models"], by_run)


def _row(name: str, found: Sequence[Cell], plain: Sequence[Cell], spent: float) -> list[str]:
    folds, before = (float(np.mean([one.folds for one in some])) for some in (found, plain))
    kept = [one.within for one in found]
    off = np.mean([one.differences for one in found], axis=0)
    joules = sum(one.joules for one in found)
    return [
        name,
        f"{folds:.2f}",
        "" if found is plain else _percent(1 - folds / before),
        _percent(float(np.mean(kept))),
        f"{100 * min(kept):.2f} %",
        ", ".join(f"{one:.2f} %" for one in off),
        f"{joules / 3600:.1f} Wh",
        f"{(joules + spent) / 3600:.1f} Wh",
    ]


def _print_made() -> None:
    rows = []
    for relation in RELATIONS:
        for noise, random in ((0, False), (0, True), (3, True)):
            found = [
                made_outcome(relation, share, noise=noise, random=random)
                for share in (0.4, 0.7, 1.0)
            ]
            worst = np.min(found, axis=0)
            folds = np.mean(found, axis=0)
            rows.append(
                [
                    relation,
                    "yes" if random else "no",
                    f"x{noise}",
                    f"{_percent(worst[0])} ({folds[1]:.2f})",
                    f"{_percent(worst[2])} ({folds[3]:.2f})",
                ]
            )
    heads = ["the cheap model", "the dear one draws random numbers", "training noise"]
    table([*heads, "plain: within, at worst (folds)", "adjusted"], rows)


def main() -> None:
    """Measure and print."""
    _print_recorded()
    if "--recorded" not in sys.argv[1:]:
        _print_made()


if __name__ == "__main__":
    main()
