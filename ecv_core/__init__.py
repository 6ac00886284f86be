"""e-fold cross-validation for recommender systems: stop folding once the score is trusted.

    import ecv_core as ecv

    run = ecv.evaluate("ml-100k", "ease", rule=ecv.EFold(alpha=1e-4))

Everything that a notebook needs is here and loads when it is first used; see docs/library.md.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

from ecv_core.records import __version__

if "OMP_WAIT_POLICY" not in os.environ:  # read when OpenMP is loaded, here and by workers
    # Threads of GCC's OpenMP that wait give up their core after so many turns, not 300,000: beside
    # other programs a fold then costs the processor seconds of an idle machine (docs/method.md).
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")

if TYPE_CHECKING:
    from ecv_core.estimators.search import EFoldSearchCV as EFoldSearchCV
    from ecv_core.estimators.validation import CrossValidated as CrossValidated
    from ecv_core.estimators.validation import cross_validate as cross_validate
    from ecv_core.evaluation.metrics import Metric as Metric
    from ecv_core.evaluation.metrics import register_metric as register_metric
    from ecv_core.evaluation.scoring import sample_scores as sample_scores
    from ecv_core.jobs.plans.select import Selected as Selected
    from ecv_core.library.data import Data as Data
    from ecv_core.library.data import add as add
    from ecv_core.library.data import algorithms as algorithms
    from ecv_core.library.data import datasets as datasets
    from ecv_core.library.data import load as load
    from ecv_core.library.data import metrics as metrics
    from ecv_core.library.data import split as split
    from ecv_core.library.evaluate import evaluate as evaluate
    from ecv_core.library.evaluate import orders as orders
    from ecv_core.library.evaluate import power as power
    from ecv_core.library.evaluate import select as select
    from ecv_core.library.evaluate import study as study
    from ecv_core.library.evaluate import tune as tune
    from ecv_core.library.run import Run as Run
    from ecv_core.library.run import Runs as Runs
    from ecv_core.library.run import figure as figure
    from ecv_core.library.run import report as report
    from ecv_core.library.run import runs as runs
    from ecv_core.library.track import Tracked as Tracked
    from ecv_core.library.track import track as track
    from ecv_core.models.base import Algorithm as Algorithm
    from ecv_core.records import errors as errors
    from ecv_core.records.interactions import Folds as Folds
    from ecv_core.records.interactions import Interactions as Interactions
    from ecv_core.records.parameters import Parameter as Parameter
    from ecv_core.records.run import Decision as Decision
    from ecv_core.records.run import FoldResult as FoldResult
    from ecv_core.selection.pruner import FoldPruner as FoldPruner
    from ecv_core.splits import Strategy as Strategy
    from ecv_core.splits import fold_matrices as fold_matrices
    from ecv_core.splits import register_split as register_split
    from ecv_core.stopping import EFold as EFold
    from ecv_core.stopping import Fixed as Fixed
    from ecv_core.stopping import Never as Never
    from ecv_core.stopping import Precision as Precision
    from ecv_core.stopping import Rule as Rule
    from ecv_core.stopping import StdStagnation as StdStagnation
    from ecv_core.stopping import StoppingRule as StoppingRule
    from ecv_core.stopping import register_rule as register_rule

_HOMES = {
    "ecv_core.selection.pruner": "FoldPruner",
    "ecv_core.evaluation.scoring": "sample_scores",
    "ecv_core.estimators.search": "EFoldSearchCV",
    "ecv_core.estimators.validation": "CrossValidated cross_validate",
    "ecv_core.evaluation.metrics": "Metric register_metric",
    "ecv_core.library.data": "Data add algorithms datasets load metrics split",
    "ecv_core.library.evaluate": "evaluate orders power select study tune",
    "ecv_core.library.run": "Run Runs figure report runs",
    "ecv_core.jobs.plans.select": "Selected",
    "ecv_core.library.track": "Tracked track",
    "ecv_core.models.base": "Algorithm",
    "ecv_core.records.interactions": "Folds Interactions",
    "ecv_core.records.parameters": "Parameter",
    "ecv_core.records.run": "Decision FoldResult",
    "ecv_core.splits": "Strategy fold_matrices register_split",
    "ecv_core.stopping": "EFold Fixed Never Precision Rule StdStagnation StoppingRule "
    "register_rule",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
_MODULES = {"errors": "ecv_core.records.errors"}
"""Offered as they are."""

__all__ = ["__version__", *_HOME_OF, *_MODULES]


def __getattr__(name: str) -> object:
    if name in _HOME_OF:
        found: object = getattr(import_module(_HOME_OF[name]), name)
    elif name in _MODULES:
        found = import_module(_MODULES[name])
    else:
        raise AttributeError(f"module 'ecv_core' has no attribute '{name}'")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
