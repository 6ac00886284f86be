"""Finished folds of several systems -> what each alpha costs and gives, one by one and on average.

Averages are over systems, each counting the same, as the paper averages over its 30 pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ecv_core.analysis import exploration
from ecv_core.analysis.exploration import Scores
from ecv_core.analysis.orders import Curve, Orders
from ecv_core.errors import InputError
from ecv_core.evaluation import METRICS
from ecv_core.models import ALGORITHMS
from ecv_core.records import Run, RunSpec
from ecv_core.splits import exchangeable

PAPER_STOP, PAPER_COST_PERCENT, PAPER_DIFFERENCE_PERCENT = 4.15, 41.5, 1.81
"""The paper's averages: folds used, energy, difference to 10-fold."""

PER_DECADE = 40
"""Alphas of a curve per factor of ten: neighbours differ by 6 %."""
PER_STEP = 4
"""Every fourth of them is a step of a slider: ten per factor of ten."""
MAX_K = 20
"""Folds up to which whole curves are worked out."""
_FINE_K = 16
"""Folds up to which a curve has PER_DECADE alphas; beyond, only those of a slider."""
_MOST_DECADES = 9
_NEARLY_ALL = 0.97


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class System:
    """All k fold scores of an algorithm on a dataset, or of anything else."""

    name: str
    dataset: str
    """What it was evaluated on: systems of one dataset are left out together."""
    metric: str
    scores: Scores
    algorithm: str = ""
    """What was evaluated; empty where only the name is known."""
    source: str = "none"
    """How the costs are known, as in Energy; 'none' where folds are counted instead."""
    run_id: str | None = None
    higher_is_better: bool = True
    other_work: bool = False
    """Whether its costs hold other work of the machine too: then they are in no sum of joules."""

    @property
    def k(self) -> int:
        """Number of folds."""
        return len(self.scores.folds)

    def renamed(self, name: str) -> System:
        """The same under another name."""
        return replace(self, name=name)

    @property
    def content(self) -> str:
        """A hash of all that a curve depends on."""
        costs = b"" if self.scores.costs is None else self.scores.costs.tobytes()
        head = f"{self.name}\0{self.dataset}\0{self.metric}\0{self.source}\0{self.run_id}\0"
        return sha256(head.encode() + self.scores.folds.tobytes() + costs).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tradeoff:
    """The paper's rule on some systems, for a grid of alphas."""

    systems: tuple[System, ...]
    curves: tuple[Curve, ...]
    """One per system, all with the same settings: the alphas, ascending."""
    average: Curve
    baseline: Curve | None
    """Always e folds, averaged; None where systems differ in k."""

    @property
    def alphas(self) -> NDArray[np.float64]:
        """Ascending; shape (alphas,)."""
        return self.average.settings

    def alpha_at(self, alpha: float) -> float:
        """The alpha of the grid that holds there: the nearest that is not above it."""
        (row,) = self.average.rows(alpha)
        return float(self.alphas[row])


class _Whole(Protocol):
    """A run, or its row in the list."""

    @property
    def spec(self) -> RunSpec: ...
    @property
    def whole(self) -> bool: ...


def explorable(run: _Whole) -> bool:
    """Whether every order of the run's folds is known, and any could have been."""
    return run.whole and exchangeable(run.spec.split)


def system_of(run: Run, metric: str) -> System:
    """A whole run as a system.

    Args:
        run: see `explorable`.
        metric: the score's name as shown.
    """
    folds = run.folds_in_order
    joules = np.array([fold.energy.joules for fold in folds])
    metered = all(fold.energy.source != "none" and fold.energy.joules > 0 for fold in folds)
    model = ALGORITHMS.get(run.spec.algorithm)  # none for a run of another program
    return System(
        name=f"{run.spec.algorithm} on {run.spec.dataset}",
        dataset=run.spec.dataset,
        algorithm=run.spec.algorithm,
        metric=metric,
        scores=Scores(
            folds=np.array([fold.score for fold in folds]),
            costs=joules if metered else None,
            results=tuple(folds),
            random=model is None or model.random,
        ),
        source=folds[0].energy.source if metered else "none",
        run_id=run.run_id,
        other_work=bool(run.other_work),
        higher_is_better=METRICS[run.spec.metric].higher_is_better,
    )


def tradeoff(
    systems: Sequence[System], *, within_percent: float, confidence: float = 0.95
) -> Tradeoff:
    """Work out every curve, exactly, at the alphas of `alpha_grid`.

    Args:
        systems: at least one.
        within_percent: the difference to count as close enough.
        confidence: of the intervals.
    Raises: InputError for scores that cannot be explored.
    """
    k = max(system.k for system in systems)
    if k > MAX_K:
        raise InputError(
            f"curves are worked out for up to {MAX_K} folds, but there are {k}; take the first "
            f"{MAX_K}, or ask for one alpha with: python -m ecv_core orders"
        )
    walks = [exploration.explore(one.scores, confidence=confidence) for one in systems]
    alphas = alpha_grid(walks)
    if k > _FINE_K:
        alphas = alphas[::PER_STEP]
    curves = [walk.curve(alphas, within_percent=within_percent) for walk in walks]
    same_k = len({one.k for one in systems}) == 1
    return Tradeoff(
        systems=tuple(systems),
        curves=tuple(curves),
        average=averaged(curves),
        baseline=averaged(
            [
                exploration.fixed(one.scores, confidence=confidence, within_percent=within_percent)
                for one in systems
            ]
        )
        if same_k
        else None,
    )


def joules_of(systems: Sequence[System]) -> NDArray[np.float64] | None:
    """The energy of all k folds of each system, to weigh them by; None if some have none.

    Returns: shape (systems,); 0 for those with other work in their costs, unless all are so.
    """
    costs = [one.scores.costs for one in systems]
    known = np.array([float(cost.sum()) for cost in costs if cost is not None])
    if len(known) < len(costs):
        return None
    own = np.array([not one.other_work for one in systems])
    return known * own if own.any() else known


def alpha_grid(walks: Sequence[Orders]) -> NDArray[np.float64]:
    """Alphas over whole factors of ten, from where nearly all folds are used to where none is.

    Every PER_STEP-th is a round number, the first and the last too.
    """
    breakpoints = [walk.breakpoints()[-1] for walk in walks]
    top = math.ceil(math.log10(max([*breakpoints, 1e-12])) - 1e-9)
    decades = 10.0 ** np.arange(top - _MOST_DECADES, top)
    used = np.min([walk.curve(decades).mean_stop / walk.subsets.k for walk in walks], axis=0)
    enough = np.flatnonzero(used >= _NEARLY_ALL)
    bottom = top - _MOST_DECADES + (int(enough[-1]) if len(enough) else 0)
    points = range(bottom * PER_DECADE, top * PER_DECADE + 1)
    return np.array([_grid_point(point) for point in points])


def slider_alphas(alphas: NDArray[np.float64]) -> list[float]:
    """Those of a grid that are a slider's steps: the round ones."""
    return [alpha for alpha in alphas.tolist() if alpha == _step(alpha)]


def averaged(curves: Sequence[Curve]) -> Curve:
    """The mean over systems of everything a curve says, row by row.

    Args:
        curves: of equal settings; k may differ, then `stop_distribution` has the most folds.
    """
    k = max(curve.k for curve in curves)
    within = [curve.within for curve in curves if curve.within is not None]

    def mean(arrays: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.mean(arrays, axis=0)
        return found

    return Curve(
        k=k,
        settings=curves[0].settings,
        stop_distribution=mean(
            [np.pad(curve.stop_distribution, ((0, 0), (0, k - curve.k))) for curve in curves]
        ),
        mean_difference_percent=mean([curve.mean_difference_percent for curve in curves]),
        difference_quantiles=mean([curve.difference_quantiles for curve in curves]),
        coverage=mean([curve.coverage for curve in curves]),
        cost_percent=mean([curve.cost_percent for curve in curves]),
        within=mean(within) if len(within) == len(curves) else None,
    )


def _grid_point(point: int) -> float:
    """Three digits, so that an alpha means what is read; two for a step of a slider."""
    exact = 10.0 ** (point / PER_DECADE)
    return float(f"{exact:.1e}" if point % PER_STEP == 0 else f"{exact:.2e}")


def _step(alpha: float) -> float:
    """The step of a slider that is nearest to an alpha."""
    steps = PER_DECADE // PER_STEP
    return _grid_point(round(math.log10(alpha) * steps) * PER_STEP)
