"""Choosing the best of several: what each way costs, how often it is right, what it loses.

python -m benchmarks.selection             prints the tables, from what is recorded
python -m benchmarks.selection --adversaries   ties, permuted labels, unstable trainings: 2,000 each
python -m benchmarks.selection --record    records the grids again (some minutes, machine idle)
python -m benchmarks.selection --size      100 contenders x 10 folds x 100,000 users: time, memory

Side by side in one run, over the same random orders of the folds: ours; an Optuna study with our
FoldPruner and with Optuna's own WilcoxonPruner, trials in random order; a Friedman race with
Conover's post-hoc test after at least five folds, as irace does; always one, two, three folds; and
the paper's rule on each contender alone, the highest mean at the stop being chosen.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.selection_ways import K, ways
from ecv_core.records import Scores
from ecv_core.runs.configurations import (
    GRIDS,
    configuration_names,
    read_configurations,
    specs_of,
    write_configurations,
)
from ecv_core.selection import Selection, Terms, play
from ecv_core.selection.differences import PairedScores
from ecv_core.selection.runs import recorded_contenders

KNN_ML_100K = (5, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 500, 800, 1200)
USER_KNN_ML_100K = (5, 10, 20, 30, 50, 70, 100, 150, 200, 300, 500)
EASE_ML_100K = (10, 25, 50, 100, 150, 250, 350, 500, 750, 1000, 2000)
KNN_HETREC = (10, 20, 50, 100, 200, 400, 800)
EASE_HETREC = (25, 50, 100, 200, 400, 800, 1600)


def compare(groups: Mapping[str, Sequence[Scores]], orders: int) -> None:
    """One table: a row per way; shares over all groups, right per group."""
    heads = " | ".join(groups)
    sys.stdout.write(f"| way | folds | joules | right | mean loss | {heads} |\n")
    sys.stdout.write("|---" * (5 + len(groups)) + "|\n")
    for name, way in ways().items():
        n = min(orders, 60) if "Optuna" in name else orders
        spent, whole, used, losses, right = 0.0, 0.0, [], [], []
        for some in groups.values():
            rng = np.random.default_rng(0)
            means = np.array([one.folds.mean() for one in some])
            best = means.max()
            joules = np.array([one.fold_joules for one in some])
            hits, cost, folds = 0, 0.0, 0
            for _ in range(n):
                found = way(some, rng.permutation(K).tolist(), rng)
                hits += bool(means[[found.winner, *found.tied]].max() >= best)
                losses.append(100 * (best - means[found.winner]) / best)
                folds += sum(map(len, found.folds))
                cost += sum(joules[place, list(ran)].sum() for place, ran in enumerate(found.folds))
            spent += cost / n
            whole += joules.sum()
            used.append(folds / n / len(some) / K)
            right.append(hits / n)
        each = " | ".join(
            f"{100 * share:.0f} %, {100 * rate:.1f} %"
            for share, rate in zip(used, right, strict=True)
        )
        sys.stdout.write(
            f"| {name} | {100 * np.mean(used):.1f} % | {100 * spent / whole:.1f} % "
            f"| {100 * np.mean(right):.2f} % | {np.mean(losses):.3f} % | {each} |\n"
        )
        sys.stdout.flush()


def adversaries(selections: int) -> None:
    """How often a wrong winner is declared where all are equal but for chance."""
    sys.stdout.write("| made data | wrong winner | folds |\n|---|---|---|\n")
    cases: dict[str, tuple[list[float], list[float], float]] = {
        "two equal, calm": ([0.5] * 2, [0] * 2, 0.0),
        "four equal, calm, folds differ": ([0.5] * 4, [0] * 4, 0.3),
        "four that draw no random numbers, partition noise x1": ([0.5] * 4, [-1] * 4, 0.3),
        "two seeds of one model, training noise x1": ([0.5] * 2, [1] * 2, 0.0),
        "two seeds, x3": ([0.5] * 2, [3] * 2, 0.0),
        "two seeds, x10": ([0.5] * 2, [10] * 2, 0.0),
        "four seeds, x10, folds differ": ([0.5] * 4, [10] * 4, 0.3),
        "three calm, one unstable x10": ([0.5] * 4, [10, 0, 0, 0], 0.3),
        "three calm, one unstable x46": ([0.5] * 4, [46, 0, 0, 0], 0.3),
        "two, one unstable x46": ([0.5] * 2, [46, 0], 0.0),
    }
    for name, (means, own, shared) in cases.items():
        wrong, folds = 0, 0
        for seed in range(selections):
            some = made(means, own, shared, seed)
            played = play(some, Terms(k=K), range(K))
            true = np.array([one.folds.mean() for one in some])
            wrong += true[[played.verdict.winner, *played.verdict.tied]].max() < true.max()
            folds += sum(played.folds_used)
        share = folds / selections / K / len(means)
        sys.stdout.write(f"| {name} | {100 * wrong / selections:.1f} % | {100 * share:.0f} % |\n")
        sys.stdout.flush()


def made(
    means: Sequence[float], own: Sequence[float], shared: float, seed: int, users: int = 40
) -> list[Scores]:
    """Contenders of these true means; `own` is what all users of a fold share,
    as a multiple of what they contribute; below 0 for models that draw no random numbers."""
    rng = np.random.default_rng(seed)
    taste, fold = rng.normal(0, 0.2, users), rng.normal(0, shared, K)
    found = []
    for place, (mean, noise) in enumerate(zip(means, own, strict=True)):
        values = mean + taste + fold[:, None] + rng.normal(0, 0.2, (K, users))
        values += rng.normal(0, np.sqrt(abs(noise) * 0.2**2 / users), K)[:, None]
        found.append(
            Scores(
                name=str(place),
                folds=values.mean(axis=1),
                users=values,
                joules=np.ones(K),
                random=noise > 0,
            )
        )
    return found


def record() -> None:
    """Compute the grids and keep them."""
    from ecv_core.energy import CodeCarbonMeter
    from ecv_core.fold import run_fold
    from ecv_core.spec import make_spec

    grids: dict[str, tuple[str, str, str, Sequence[float]]] = {
        "ml-100k--item-knn--neighbours": ("ml-100k", "item-knn", "neighbours", KNN_ML_100K),
        "ml-100k--user-knn--neighbours": ("ml-100k", "user-knn", "neighbours", USER_KNN_ML_100K),
        "ml-100k--ease--regularization": ("ml-100k", "ease", "regularization", EASE_ML_100K),
        "hetrec-lastfm--item-knn--neighbours": (
            "hetrec-lastfm", "item-knn", "neighbours", KNN_HETREC,
        ),
        "hetrec-lastfm--ease--regularization": (
            "hetrec-lastfm", "ease", "regularization", EASE_HETREC,
        ),
    }  # fmt: skip
    meter = CodeCarbonMeter("DEU")
    for name, (dataset, algorithm, parameter, values) in grids.items():
        spec = make_spec(dataset=dataset, algorithm=algorithm, rule="never", full=True)
        run_fold(spec, 0)  # what is loaded once is no fold's cost
        began = time.perf_counter()
        configurations = [{parameter: value} for value in values]
        found = [
            (params, [run_fold(one, index, meter=meter) for index in range(one.k)])
            for params, one in zip(configurations, specs_of(spec, configurations), strict=True)
        ]
        write_configurations(GRIDS / f"{name}.json", spec, found, [spec.metric_name])
        sys.stdout.write(f"{name}: {time.perf_counter() - began:.0f} s\n")


def size(contenders: int = 100, users: int = 100_000) -> None:
    """The statistics of a large selection, round by round, where nobody can be dropped."""
    import resource

    rng = np.random.default_rng(0)
    base = rng.random((K, users), dtype=np.float32)
    some = [
        Scores(
            name=str(place),
            folds=(values := base + rng.normal(0, 0.1, (K, users)).astype(np.float32))
            .mean(axis=1)
            .astype(np.float64),
            users=values,
            joules=np.ones(K),
        )
        for place in range(contenders)
    ]
    game = Selection(PairedScores(some), contenders, Terms(k=K, confidence=1 - 1e-9))
    for fold in range(K):
        began = time.perf_counter()
        left = len(game.left)
        game.after(fold)
        sys.stdout.write(f"round {fold + 1}: {left} in, {time.perf_counter() - began:.2f} s\n")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    sys.stdout.write(
        f"peak memory {peak:.2f} GiB, of which scores {4 * K * users * contenders / 2**30:.2f}\n"
    )


def main() -> None:
    """What the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adversaries", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--size", action="store_true")
    parser.add_argument("--orders", type=int, default=5000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.record:
        record()
    elif options.adversaries:
        adversaries(2000)
    elif options.size:
        size()
    else:
        sys.stdout.write("The recorded study (per dataset: folds, right)\n\n")
        compare(recorded_contenders(), options.orders)
        sys.stdout.write("\nGrids of one parameter\n\n")
        grids = {
            name: read_configurations(GRIDS / f"{name}.json").scores
            for name in configuration_names(GRIDS)
        }
        compare(grids, options.orders)


if __name__ == "__main__":
    main()
