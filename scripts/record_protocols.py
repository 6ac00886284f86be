"""What a way of ranking says of twelve algorithms on six datasets, for docs/metrics.md.

    python -m scripts.record_protocols ml-100k ease popular
    python -m scripts.record_protocols
    python -m scripts.record_protocols --figure docs/images/sampled-ranking.svg

The first fits the named algorithms (all twelve where none is named) on fold 0 of the dataset, once
each, and scores each fit under full ranking, under RecBole's uniN (all held-out items of a user in
one list with 100 negatives for each) and with each held-out item alone against 100 negatives. What
is recorded already is left out. The second prints the tables, the third draws which conclusions
flip: SVG, PDF or PGF.
"""

from __future__ import annotations

import sys
import time
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core import models, splits
from ecv_core.analysis.significance import holm, t_tests_over_users
from ecv_core.evaluation import Protocol, Scorer, evaluate
from ecv_core.evaluation.formulas import log_loss
from ecv_core.evaluation.pairs import ScoredPairs, calibrated_losses, pooled_auc
from ecv_core.fold import data_of, fold_seed, folds_of
from ecv_core.fold.spec import make_spec
from ecv_core.store.recorded import FOLDER
from ecv_core.untrusted.files import replacing

Floats = NDArray[np.float64]
FILE = FOLDER / "sampled" / "protocols.npz"
"""Arrays `<dataset>--<algorithm>--<protocol>`."""
DATASETS = (
    "ml-100k",
    "hetrec-lastfm",
    "amazon-instant-video",
    "ml-1m",
    "amazon-cell-phones",
    "amazon-apps",
)
ALGORITHMS = (
    "popular",
    "item-knn",
    "user-knn",
    "rp3beta",
    "ease",
    "implicit-mf",
    "nmf",
    "bpr-mf",
    "neu-mf",
    "multi-vae",
    "light-gcn",
    "ngcf",
)
FULL, POOLED, SINGLE = "full", "uniN", "single lists"
N = 100
USERS_AT_ONCE = 256


def pairs_of(model: Scorer, seen: csr_array, held_out: csr_array, seed: int) -> ScoredPairs:
    """Every held-out item, and N negatives drawn for each."""
    users = np.flatnonzero(np.diff(held_out.indptr))
    rng = np.random.default_rng([seed, N])
    scores, chosen, whose = [], [], []
    for start in range(0, len(users), USERS_AT_ONCE):
        part = users[start : start + USERS_AT_ONCE]
        values = np.asarray(model.score(part), dtype=np.float64)
        own = held_out[part].toarray() != 0
        free = ~own & (seen[part].toarray() == 0)
        for row, user in enumerate(part):
            held = np.flatnonzero(own[row])
            drawn = rng.choice(np.flatnonzero(free[row]), N * len(held))
            scores.append(values[row, np.concatenate([held, drawn])])
            chosen.append(np.arange(len(held) + len(drawn)) < len(held))
            whose.append(np.full(len(held) + len(drawn), user))
    return ScoredPairs(
        scores=np.concatenate(scores),
        is_held_out=np.concatenate(chosen),
        users=np.concatenate(whose),
    )


def record(dataset: str, algorithm: str) -> None:
    """Fit it on fold 0, and add what every protocol says of it to the file."""
    if f"{algorithm}--values" in read(dataset):
        return
    spec = make_spec(dataset=dataset, algorithm=algorithm)
    data, known = data_of(spec), models.algorithm(algorithm)
    parts = splits.fold_matrices(data, folds_of(spec), 0)
    seed = fold_seed(spec.seed, 0)
    model = known.build(dict(spec.params))
    begin = time.process_time()
    known.fit(model, parts.train, parts.history, seed=seed, progress=lambda *_: None)
    fitted = time.process_time() - begin
    found = {
        name: evaluate(
            model,
            parts.seen,
            parts.held_out,
            (10,),
            train=parts.train,
            protocol=protocol,
            metrics=("ndcg", "auc") if name == SINGLE else ("ndcg",),
        )
        for name, protocol in {
            FULL: Protocol(seed=seed),
            POOLED: Protocol(negatives=N, sampling="pooled", seed=seed),
            SINGLE: Protocol(negatives=N, seed=seed),
        }.items()
    }
    pairs = pairs_of(model, parts.seen, parts.held_out, seed)
    half = np.random.default_rng(seed).random(data.n_users)[pairs.users] < 0.5
    own = float(log_loss(pairs.scores, pairs.is_held_out).mean()) if known.log_odds else np.nan
    values = [
        found[SINGLE].means["auc"],
        pooled_auc(pairs).mean(),
        calibrated_losses(pairs.scores, pairs.is_held_out, half).mean(),
        own,
        fitted,
        time.process_time() - begin - fitted,
    ]
    kept = dict(np.load(FILE)) if FILE.exists() else {}  # others may have added to it meanwhile
    for name, one in found.items():
        kept[f"{dataset}--{algorithm}--{name}"] = one.of("ndcg@10").astype(np.float16)
    kept[f"{dataset}--{algorithm}--values"] = np.array(values, dtype=np.float32)
    with replacing(FILE, readable_by_others=True) as part, part.open("wb") as stream:
        np.savez_compressed(stream, **kept)
    sys.stderr.write(f"{dataset} {algorithm}: {fitted:.1f} s to fit, {values[-1]:.1f} s to score\n")


def read(dataset: str) -> dict[str, NDArray[np.floating]]:
    """What is recorded of it; empty where nothing is."""
    if not FILE.exists():
        return {}
    recorded = np.load(FILE)
    begin = f"{dataset}--"
    kept = {}
    for name in recorded.files:
        if name.startswith(begin):
            kept[name.removeprefix(begin)] = recorded[name]
    return kept


def algorithms_of(kept: dict[str, NDArray[np.floating]]) -> list[str]:
    """Those that are recorded, in their usual order; none where there is no pair of them."""
    names = [name for name in ALGORITHMS if f"{name}--values" in kept]
    return names if len(names) > 1 else []


Verdicts = dict[tuple[str, str], int]
"""Of two algorithms: 1 where the first is shown to be better, -1 where it is worse, else 0."""


def verdicts(kept: dict[str, NDArray[np.floating]], protocol: str) -> Verdicts:
    """By a paired t test over users of every two algorithms, corrected by Holm."""
    names = algorithms_of(kept)
    pairs = list(combinations(range(len(names)), 2))
    scores = np.array([kept[f"{name}--{protocol}"] for name in names], dtype=np.float64)
    tests = t_tests_over_users(scores, pairs)
    p_values = holm([one.p for one in tests])
    return {
        (names[one], names[other]): int(np.sign(test.difference)) if p < 0.05 else 0
        for (one, other), test, p in zip(pairs, tests, p_values, strict=True)
    }


def flips(full: Verdicts, sampled: Verdicts) -> tuple[int, int, int, int]:
    """Pairs that say the same under both; opposite; shown by full alone; by the sample alone."""
    both = [(full[pair], sampled[pair]) for pair in full]
    return (
        sum(one == other for one, other in both),
        sum(one * other < 0 for one, other in both),
        sum(bool(one) and not other for one, other in both),
        sum(not one and bool(other) for one, other in both),
    )


def recorded_datasets() -> dict[str, dict[str, NDArray[np.floating]]]:
    """Dataset -> what is kept of its algorithms, where there are any."""
    datasets = {}
    for dataset in DATASETS:
        kept = read(dataset)
        if algorithms_of(kept):
            datasets[dataset] = kept
    return datasets


def tables() -> str:
    """What docs/metrics.md shows: how often a sample turns a verdict round."""
    lines = [
        "| dataset | algorithms | first: all items | uniN | single lists | pairs "
        "| uniN: same, opposite, lost, new | single lists |"
    ]
    lines.append("|---" * 8 + "|")
    for dataset, kept in recorded_datasets().items():
        names = algorithms_of(kept)
        said = {one: verdicts(kept, one) for one in (FULL, POOLED, SINGLE)}
        first = [
            max(names, key=lambda name, one=one: kept[f"{name}--{one}"].mean(dtype=np.float64))
            for one in said
        ]
        counts = [", ".join(map(str, flips(said[FULL], said[one]))) for one in (POOLED, SINGLE)]
        cells = [dataset, str(len(names)), *first, str(len(said[FULL])), *counts]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def values() -> str:
    """AUC per user, AUC of all pairs together, and log loss, calibrated and the model's own."""
    datasets = recorded_datasets()
    lines = ["| | " + " | ".join(datasets) + " |", "|---" * (1 + len(datasets)) + "|"]
    for name in ALGORITHMS:
        cells = []
        for kept in datasets.values():
            measured = kept.get(f"{name}--values")
            if measured is None:
                cells.append("")
                continue
            by_user, pooled, loss, own_loss = measured[:4]
            cell = f"{by_user:.3f}, {pooled:.3f}, {loss:.4f}"
            if not np.isnan(own_loss):
                cell += f" ({own_loss:.3f})"
            cells.append(cell)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def figure(target: Path) -> None:
    """Places of the algorithms under full ranking and under uniN, a panel per dataset."""
    import matplotlib as mpl

    mpl.use("pgf" if target.suffix == ".pgf" else "svg" if target.suffix == ".svg" else "pdf")
    import matplotlib.pyplot as plt

    every = {one: kept for one in DATASETS if algorithms_of(kept := read(one))}
    drawn, axes = plt.subplots(2, -(-len(every) // 2), figsize=(10, 6.4), squeeze=False)
    for place in axes.flat:
        place.axis("off")
    for place, (dataset, kept) in zip(axes.flat, every.items(), strict=False):
        names = algorithms_of(kept)
        means = np.array(
            [
                [kept[f"{name}--{one}"].mean(dtype=np.float64) for one in (FULL, POOLED)]
                for name in names
            ]
        )
        ranks = (-means).argsort(axis=0).argsort(axis=0)
        said, other = verdicts(kept, FULL), verdicts(kept, POOLED)
        flipped = {name for pair in said if said[pair] * other[pair] < 0 for name in pair}
        for name, (left, right) in zip(names, ranks, strict=True):
            colour, width = ("#c0392b", 1.8) if name in flipped else ("#7f8c8d", 1.0)
            place.plot([0, 1], [-left, -right], "-o", color=colour, lw=width, ms=3)
            place.text(-0.05, -left, name, ha="right", va="center", fontsize=7)
            place.text(1.05, -right, name, ha="left", va="center", fontsize=7)
        opposite = flips(said, other)[1]
        place.set_title(f"{dataset}: {opposite} of {len(said)} pairs opposite", fontsize=9)
        place.set_xlim(-0.8, 1.8)
    drawn.suptitle(
        "nDCG@10 among all items (left) and among 100 drawn for each (right)", fontsize=10
    )
    drawn.tight_layout()
    drawn.savefig(target, metadata={"Date": None} if target.suffix == ".svg" else None)


def main() -> None:
    """Record what is named, print the tables, or draw."""
    words = sys.argv[1:]
    if words[:1] == ["--figure"]:
        figure(Path(words[1]))
    elif words:
        for algorithm in words[1:] or ALGORITHMS:
            record(words[0], algorithm)
    else:
        sys.stdout.write(f"{tables()}\n\n{values()}\n")


if __name__ == "__main__":
    main()
