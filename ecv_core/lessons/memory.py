"""The same models, graded on what they have seen and on what was held out."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core import evaluation, models, splits
from ecv_core.fold import fold_seed, folds_of, prepared
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import InputError
from ecv_core.records.places import SHIPPED
from ecv_core.records.run import Progress, no_progress

if TYPE_CHECKING:
    import torch

    from ecv_core.models.base import Recommender

RECORDED = SHIPPED / "lessons" / "seen-and-held-out.json"
MEMORISER = "memoriser"
GRADED = (MEMORISER, "popular", "item-knn", "ease")
DATASET, FOLD, METRIC = "synthetic", 0, "ndcg@10"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grades:
    """One model's mean nDCG@10 over all users, both ways; in [0, 1]."""

    algorithm: str
    seen: float
    """Ranking all items, with the training interactions as the right answers."""
    held_out: float
    """As everywhere else: ranking what is not in training, held-out ones are the answers."""


class Memoriser:
    """Knows who took what, and nothing else: the worst way to be perfect on the training data."""

    def fit(self, train: csr_array, *, seed: int, progress: Progress = no_progress) -> None:
        self._train = train
        progress("fit", 1, 1)

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        import torch

        return torch.from_numpy(self._train[users].toarray())


def grades() -> list[Grades]:
    """The recorded grades, in the order of GRADED.

    Raises: InputError if the file is missing or damaged.
    """
    try:
        rows = json.loads(RECORDED.read_text(encoding="utf-8"))["grades"]
        return [Grades(**row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"the recorded grades {RECORDED.name} cannot be read ({type(error).__name__}: "
            f"{error}); restore the file from the project, or write it again with "
            "ecv_core.lessons.memory.record()"
        ) from error


def computed_grades() -> list[Grades]:
    """The grades, worked out on fold 0 of the made-up dataset; a few seconds."""
    spec = make_spec(dataset=DATASET, algorithm="popular")
    train, held_out = splits.matrices(prepared(DATASET), folds_of(spec), FOLD)
    nothing = csr_array(train.shape, dtype=train.dtype)
    found = []
    for name in GRADED:
        model = _model(name)
        model.fit(train, seed=fold_seed(spec.seed, FOLD))
        cutoffs = (spec.n,)
        seen = evaluation.evaluate(model, nothing, train, cutoffs).means[METRIC]
        held = evaluation.evaluate(model, train, held_out, cutoffs).means[METRIC]
        found.append(Grades(algorithm=name, seen=seen, held_out=held))
    return found


def record(path: Path = RECORDED) -> None:
    """Write what `grades` reads."""
    document = {
        "dataset": DATASET,
        "fold": FOLD,
        "metric": METRIC,
        "grades": [asdict(one) for one in computed_grades()],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _model(name: str) -> Recommender:
    if name == MEMORISER:
        return Memoriser()
    chosen = models.algorithm(name)
    model: Recommender = chosen.build(dict(chosen.resolve({})))
    return model
