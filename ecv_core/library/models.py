"""A model in memory -> what a fold of it gives, as `Tracked.report` takes it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from ecv_core.records.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from ecv_core.jobs.tracked_fold import TrackedFold
    from ecv_core.records.spec import RunSpec

_MODELS = (
    "give the id of an algorithm, or an object with fit(matrix) and score(users) -> users x items, "
    "or with fit(matrix) and recommend(users, matrix, N=...) as implicit's, a scorer or pipeline "
    "of LensKit, or a function of the training matrix that returns users x items"
)
ComputesFold = Callable[["RunSpec", "TrackedFold"], object]
"""Computes a fold: gives what `Tracked.report` takes."""


def fold_computer(model: object) -> ComputesFold:
    """How a model in memory computes a fold; each fold fits a copy of its own.

    Raises:
        InputError: for what is no model.
    """
    if isinstance(model, type):
        raise InputError(
            f"a model of the type type (the class {model.__name__}, not an object of it) cannot be "
            f"used; {_MODELS}"
        )
    if hasattr(model, "train") and type(model).__module__.startswith("lenskit"):
        return lambda spec, fold: _lenskit_lists(model, spec, fold)
    if callable(getattr(model, "fit", None)):
        if callable(getattr(model, "recommend", None)):
            return lambda spec, fold: _recommended(copy.deepcopy(model), spec, fold)
        if callable(getattr(model, "score", None)) and len(_arguments(model, "score")) == 1:
            return lambda spec, fold: _fitted(copy.deepcopy(model), fold)
    elif callable(model):
        return lambda spec, fold: model(fold.matrices.train)
    raise InputError(f"a model of the type {type(model).__name__} cannot be used; {_MODELS}")


def name_of(model: object) -> str:
    """What a model is called where nobody says otherwise."""
    return str(getattr(model, "__name__", type(model).__name__))


def _arguments(model: Any, method: str) -> Mapping[str, Any]:  # noqa: ANN401  any object
    return signature(getattr(model, method)).parameters


def _fitted(model: Any, fold: TrackedFold) -> Any:  # noqa: ANN401  any object
    """The model, fitted on the training part; quietly, and with the fold's seed, if it can."""
    arguments = _arguments(model, "fit")
    options: dict[str, Any] = {}
    if "show_progress" in arguments:
        options["show_progress"] = False
    if "seed" in arguments:
        options["seed"] = fold.seed
    model.fit(fold.matrices.train, **options)
    return model


def _recommended(model: Any, spec: RunSpec, fold: TrackedFold) -> pd.DataFrame:  # noqa: ANN401
    """Lists of a model with `recommend(users, matrix, N=...)`, which gives items and scores."""
    import pandas as pd

    _fitted(model, fold)
    users = np.unique(fold.matrices.held_out.nonzero()[0])
    items, scores = model.recommend(users, fold.matrices.train[users], N=_longest_list(spec))
    items = np.asarray(items)
    scores = np.asarray(scores)
    # Where a user has too few candidates, implicit fills up with -1, or with items that it has
    # filtered out, whose score is the least float32.
    is_item = (items >= 0) & (scores > np.finfo(np.float32).min)
    rows, _ = np.nonzero(is_item)
    return pd.DataFrame(
        {
            "user_id": fold.data.user_ids[users[rows]],
            "item_id": fold.data.item_ids[items[is_item]],
            "score": scores[is_item],
        }
    )


def _lenskit_lists(model: Any, spec: RunSpec, fold: TrackedFold) -> pd.DataFrame:  # noqa: ANN401
    """Lists of a scorer or a pipeline of LensKit."""
    from lenskit.batch import recommend
    from lenskit.data import from_interactions_df
    from lenskit.pipeline import Pipeline, topn_pipeline

    length = _longest_list(spec)
    if isinstance(model, Pipeline):
        pipeline = model.clone()
    else:
        pipeline = topn_pipeline(copy.deepcopy(model), n=length)
    pipeline.train(from_interactions_df(fold.train))
    return recommend(pipeline, fold.test.user_id.unique(), n=length, n_jobs=1).to_df()


def _longest_list(spec: RunSpec) -> int:
    return max(*spec.cutoffs, spec.n)
