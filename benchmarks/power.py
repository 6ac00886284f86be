"""Discriminative power: the recorded tunings (--record), and how long a large one takes.

python -m benchmarks.power [--orders [NAME ...] | --record [ml-100k--item-knn ...]]
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

import numpy as np

from ecv_core.models.parameters import PAPER_COUNTS
from ecv_core.records import FoldResult, ParamValue
from ecv_core.tuning.power import expected_curve, paired_p_values

CONFIGURATIONS, USERS, K, METRICS = 225, 6040, 10, 6

COUNTS: dict[str, tuple[ParamValue, ...]] = {"neighbours": PAPER_COUNTS}
RP3BETA: dict[str, tuple[ParamValue, ...]] = {
    "neighbours": (50, 100, 200),
    "alpha": (0.25, 0.5, 1.0),
    "beta": (0.2, 0.4, 0.6),
}
"""Around our defaults; three parameters, for their dominance."""
BPR_MF: dict[str, tuple[ParamValue, ...]] = {
    "factors": (28, 40, 57, 80, 113),
    "epochs": (6, 8, 11),
    "learning_rate": (0.05000097, 0.02500049, 0.01250024),
}
"""As the paper's sub-grid (5 x 3 x 3 of its values), around those next to our defaults."""
RECORDED: dict[str, dict[str, tuple[ParamValue, ...]]] = {
    "ml-100k--item-knn": COUNTS,
    "ml-100k--user-knn": COUNTS,
    "hetrec-lastfm--item-knn": COUNTS,
    "hetrec-lastfm--user-knn": COUNTS,
    "ml-100k--rp3beta": RP3BETA,
    "ml-100k--bpr-mf": BPR_MF,
    "ml-1m--item-knn": COUNTS,
    "ml-1m--user-knn": COUNTS,
    "ml-1m--bpr-mf": BPR_MF,
    "hetrec-lastfm--bpr-mf": BPR_MF,
}


def record(names: list[str]) -> None:
    """Compute all folds of these tunings and keep them; what is in the database already is used.

    Cut off, it goes on at the next missing fold when it is started again: set ECV_DATABASE_URL to a
    file of its own.
    """
    from ecv_core.runner import work_shared
    from ecv_core.tuning.tune import make_plan, tune

    from ecv_core.runs.configurations import TUNINGS, specs_of, write_configurations
    from ecv_core.store import open_store
    from ecv_core.tuning.scores import STUDIED

    store = open_store()
    for name in names:
        dataset, algorithm = name.split("--")
        plan = make_plan(dataset=dataset, algorithm=algorithm, own=RECORDED[name], all_folds=True)
        began, done = time.perf_counter(), 0

        def told(name: str = name, began: float = began) -> None:
            nonlocal done
            done += 1
            sys.stdout.write(f"{name}, fold {done}: {time.perf_counter() - began:.0f} s\n")
            sys.stdout.flush()

        tuned = tune(store, plan, shared=work_shared, on_fold=told)
        runs = store.runs()
        found = []
        for one, spec in zip(
            tuned.configurations, specs_of(plan.spec, tuned.configurations), strict=True
        ):
            results: dict[int, FoldResult] = {}
            for run in runs:
                if run.spec.same_scores(spec):
                    users = store.user_scores(run.run_id)
                    results |= {
                        fold.fold: replace(fold, user_scores=users[fold.fold]) for fold in run.folds
                    }
            found.append((one, [results[fold] for fold in range(spec.k)]))
        metrics = [f"{metric}@{plan.spec.n}" for metric in STUDIED]
        write_configurations(TUNINGS / f"{name}.json", plan.spec, found, metrics)


def orders(names: list[str], count: int = 200) -> None:
    """What a selection among the recorded configurations chooses, over orders of the folds."""
    from ecv_core.runs.configurations import TUNINGS, read_configurations
    from ecv_core.selection import Terms, play_orders

    for name in names:
        found = read_configurations(TUNINGS / f"{name}.json")
        contenders = [replace(one, joules=np.ones(one.k)) for one in found.scores]
        for indifference in (0.0, 0.01):
            terms = Terms(k=found.spec.k, indifference=indifference)
            over = play_orders(contenders, terms, orders=count, seed=1)
            near = float((over.losses_percent <= 100 * indifference + 1e-9).mean())
            sys.stdout.write(
                f"{name}, indifference {indifference}: {100 * over.folds_share:.0f} % of the "
                f"folds, at most that lost in {100 * near:.1f} % of {count} orders\n"
            )


def timed() -> None:
    """225 configurations x 6,040 users x 10 folds x 6 metrics, of random scores."""
    rng = np.random.default_rng(0)
    values = rng.random((CONFIGURATIONS, K, USERS), dtype=np.float32)
    began = time.perf_counter()
    for _ in range(METRICS):
        expected_curve(paired_p_values(values))
    sys.stdout.write(
        f"{CONFIGURATIONS} configurations x {USERS:,} users x {K} folds x {METRICS} metrics: "
        f"{time.perf_counter() - began:.1f} s\n"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", nargs="*", choices=list(RECORDED), metavar="NAME")
    parser.add_argument("--orders", nargs="*", choices=list(RECORDED), metavar="NAME")
    options = parser.parse_args()
    if options.orders is not None:
        orders(options.orders or list(RECORDED))
    elif options.record is None:
        timed()
    else:
        record(options.record or list(RECORDED))
