"""A model in memory -> what a fold of it gives, as `Tracked.report` takes it."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from ecv_core.evaluation.any_scores import AnyScores
from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from ecv_core.jobs.tracked_fold import TrackedFold
    from ecv_core.records.spec import RunSpec

_MODELS = (
    "give the id of an algorithm, or an object with fit(matrix) and score(users) -> users x items, "
    "or with fit(matrix) and recommend(users, matrix, N=...) as implicit's, a model of Cornac, a "
    "scorer or pipeline of LensKit, or a function of the training matrix that returns users x items"
)
_RATING_MODELS = (
    "ratings are predicted by the id of an algorithm, an object with fit(matrix) and "
    "predict(users, items) or score(users), a model of Surprise or Cornac, or a function of the "
    "training matrix that returns users x items"
)
ComputesFold = Callable[["RunSpec", "TrackedFold"], object]
"""Computes a fold: gives what `Tracked.report` takes."""
Ways = Sequence[tuple[Callable[[object], bool], Callable[..., object]]]
"""Whether a model can be used in a way, and what computes a fold so: (model, spec, fold)."""


def check_model(model: object) -> None:
    """Refuse what neither ranks items nor predicts ratings. Raises: InputError."""
    if isinstance(model, type):
        raise InputError(
            f"a model of the type type (the class {model.__name__}, not an object of it) cannot be "
            f"used; {_MODELS}"
        )
    if not any(can_be_used(model) for can_be_used, _ in (*_RANKING, *_RATING)):
        raise InputError(f"a model of the type {type(model).__name__} cannot be used; {_MODELS}")


def fold_computer(model: object, *, ranks: bool) -> ComputesFold:
    """How a model in memory computes a fold; each fold fits a copy of its own.

    Args:
        model: As of `evaluate`.
        ranks: Whether items are ranked; otherwise ratings are predicted.

    Raises:
        InputError: For what is no model, or none that does this.
    """
    check_model(model)
    if ranks:
        return _first_usable_way(model, _RANKING, f"cannot be used; {_MODELS}")
    return _first_usable_way(model, _RATING, f"predicts no ratings; {_RATING_MODELS}")


def _first_usable_way(model: object, ways: Ways, otherwise: str) -> ComputesFold:
    """The first way that this model has. Raises: InputError with `otherwise` where it has none."""
    for can_be_used, compute in ways:
        if can_be_used(model):
            return partial(compute, model)
    raise InputError(f"a model of the type {type(model).__name__} {otherwise}")


def name_of(model: object) -> str:
    """What a model is called where nobody says otherwise: as its class, which an algorithm of the
    package may be called too."""
    name = str(getattr(model, "__name__", type(model).__name__))
    for algorithm in ALGORITHMS.values():
        if name.casefold() in (algorithm.id.casefold(), algorithm.title.casefold()):
            return f"my {name}"
    return name


# What a model can do, by its methods.


def _has_methods(model: object, *methods: str) -> bool:
    return all(callable(getattr(model, method, None)) for method in methods)


def _parameters_of(model: Any, method: str) -> Mapping[str, Any]:  # noqa: ANN401  any object
    return signature(getattr(model, method)).parameters


def _is_of_lenskit(model: object) -> bool:
    return _has_methods(model, "train") and type(model).__module__.startswith("lenskit")


def _is_of_surprise(model: object) -> bool:
    """Whether it is fitted on Surprise's kind of data."""
    return _has_methods(model, "fit") and "trainset" in _parameters_of(model, "fit")


def _is_of_cornac(model: object) -> bool:
    """Whether it is fitted on Cornac's kind of data."""
    return _has_methods(model, "fit") and "train_set" in _parameters_of(model, "fit")


def _can_recommend(model: object) -> bool:
    return _has_methods(model, "fit", "recommend")


def _can_predict(model: object) -> bool:
    return _has_methods(model, "fit", "predict")


def _scores_users(model: object) -> bool:
    """Whether it has `score(users)`; `score(X, y)` is an estimator's."""
    return _has_methods(model, "fit", "score") and len(_parameters_of(model, "score")) == 1


def _is_function(model: object) -> bool:
    return callable(model) and not _has_methods(model, "fit")


# Models of users x items.


def _function_scores(model: Any, _spec: RunSpec, fold: TrackedFold) -> object:  # noqa: ANN401
    return model(fold.matrices.train)


def _fitted_scorer(model: Any, _spec: RunSpec, fold: TrackedFold) -> object:  # noqa: ANN401
    return _fit_copy(model, fold.matrices.train, fold)


def _fit_copy(model: Any, matrix: Any, fold: TrackedFold) -> Any:  # noqa: ANN401  any object
    """A copy, fitted on a matrix; quietly, and with the fold's seed, if it can."""
    parameters = _parameters_of(model, "fit")
    options: dict[str, Any] = {}
    if "show_progress" in parameters:
        options["show_progress"] = False
    if "seed" in parameters:
        options["seed"] = fold.seed
    fitted = copy.deepcopy(model)
    fitted.fit(matrix, **options)
    return fitted


def _recommend_lists(model: Any, spec: RunSpec, fold: TrackedFold) -> pd.DataFrame:  # noqa: ANN401
    """The lists of a model of implicit, or of one that has its `recommend(users, matrix, N=...)`.

    Returns:
        A row for each recommendation: user_id, item_id and score.
    """
    import pandas as pd

    # implicit takes no csr_array, and some of its models no float32.
    train = csr_matrix(fold.matrices.train, dtype=np.float64)
    fitted = _fit_copy(model, train, fold)
    users = np.unique(fold.matrices.held_out.nonzero()[0])
    items, scores = fitted.recommend(users, train[users], N=max(spec.cutoffs))
    # Items and scores have a row for each user and a column for each place in the list. A list
    # that is too short is filled up with -1.
    items = np.asarray(items)
    scores = np.asarray(scores)
    # -1 is no item that could be looked up. Item 0 takes its place here, and `_is_recommended`
    # leaves it out.
    existing_items = np.maximum(items, 0)
    is_in_training = train[users[:, None], existing_items].toarray() != 0
    is_recommended = _is_recommended(items, scores, is_in_training)
    # For each recommendation, this is the row of its user.
    rows, _ = np.nonzero(is_recommended)
    lists = pd.DataFrame({"user_id": fold.data.user_ids[users[rows]]})
    lists["item_id"] = fold.data.item_ids[items[is_recommended]]
    lists["score"] = scores[is_recommended]
    return lists


def _is_recommended(
    items: NDArray[np.integer], scores: NDArray[np.floating], is_in_training: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which places of implicit's lists hold a recommendation; shape (users, n), as all arguments.

    Where a user has too few candidates, implicit fills up with -1, or with items that it has
    filtered out, whose score is the least float32 or, after all candidates, any.
    """
    is_item = (items >= 0) & (scores > np.finfo(np.float32).min)
    is_candidate = is_item & ~is_in_training
    # What stands at or before the last candidate of a list is recommended; the filling comes after.
    from_the_end = np.flip(is_candidate, axis=1)
    candidate_follows = np.flip(np.logical_or.accumulate(from_the_end, axis=1), axis=1)
    return is_item & candidate_follows


# Predicted ratings.


def _predictions(fold: TrackedFold, predicted: Any) -> pd.DataFrame:  # noqa: ANN401  any array
    """The held-out pairs with what is predicted for each. Raises: InputError for a wrong shape."""
    values = np.asarray(predicted)
    pairs = fold.test[["user_id", "item_id"]]
    if values.shape != (len(pairs),):
        raise InputError(
            f"predict(users, items) gave an array of shape {values.shape} for {len(pairs):,} "
            "pairs; give one rating for each"
        )
    return pairs.assign(prediction=values)


def _ratings(fold: TrackedFold) -> csr_matrix:
    """The ratings to learn from, users x items; only those that are stored are known."""
    ratings = fold.matrices.train_ratings
    # Runs that predict ratings are refused where the data have none.
    assert ratings is not None
    return csr_matrix(ratings)


def _held_out_users(fold: TrackedFold) -> NDArray[np.intp]:
    """Users of the held-out pairs, as rows of the matrix; shape (pairs,)."""
    return fold.data.users[fold.matrices.tested].astype(np.intp)


def _held_out_items(fold: TrackedFold) -> NDArray[np.intp]:
    """Likewise items, as columns."""
    return fold.data.items[fold.matrices.tested].astype(np.intp)


def _predict_pairs(model: Any, _spec: RunSpec, fold: TrackedFold) -> pd.DataFrame:  # noqa: ANN401
    """Ratings of a model with `predict(users, items)`."""
    fitted = _fit_copy(model, _ratings(fold), fold)
    return _predictions(fold, fitted.predict(_held_out_users(fold), _held_out_items(fold)))


def _scored_ratings(model: Any, _spec: RunSpec, fold: TrackedFold) -> pd.DataFrame:  # noqa: ANN401
    """Ratings of a model with `score(users)`."""
    return _predictions_by_scores(fold, _fit_copy(model, _ratings(fold), fold))


def _function_ratings(model: Any, _spec: RunSpec, fold: TrackedFold) -> pd.DataFrame:  # noqa: ANN401
    """Ratings of a function of the training matrix."""
    return _predictions_by_scores(fold, model(_ratings(fold)))


def _predictions_by_scores(fold: TrackedFold, scores: Any) -> pd.DataFrame:  # noqa: ANN401
    """Predictions out of scores of users x items, given as `AnyScores` takes them."""
    # Only users with held-out pairs are asked for; a pair is in the row of its user.
    users, row_of_pair = np.unique(_held_out_users(fold), return_inverse=True)
    scores_of_users = AnyScores(scores, fold.matrices.train.shape).score(users)
    return _predictions(fold, scores_of_users[row_of_pair, _held_out_items(fold)])


# Models of other libraries.


def _surprise_ratings(model: Any, _spec: RunSpec, fold: TrackedFold) -> pd.DataFrame:  # noqa: ANN401
    """Ratings of a model of Surprise, for users and items by their ids."""
    from surprise import Dataset, Reader

    ratings = fold.train["rating"]
    reader = Reader(rating_scale=(ratings.min(), ratings.max()))
    columns = fold.train[["user_id", "item_id", "rating"]]
    fitted = copy.deepcopy(model)
    fitted.fit(Dataset.load_from_df(columns, reader).build_full_trainset())
    predicted = []
    for user, item in zip(fold.test.user_id, fold.test.item_id, strict=True):
        predicted.append(fitted.predict(user, item).est)
    return _predictions(fold, predicted)


def _fit_copy_on_cornac(model: Any, fold: TrackedFold, values: NDArray[Any]) -> Any:  # noqa: ANN401
    """A copy of a model of Cornac, fitted on training interactions with these values."""
    from cornac.data import Dataset

    learnt = fold.matrices.learnt
    users = fold.data.users[learnt].tolist()
    items = fold.data.items[learnt].tolist()
    triples = zip(users, items, values.tolist(), strict=True)
    # Maps that name every user and item have Cornac number them as the matrix does.
    train_set = Dataset.build(
        list(triples),
        global_uid_map=_same_codes(fold.data.n_users),
        global_iid_map=_same_codes(fold.data.n_items),
        seed=fold.seed,
    )
    fitted = copy.deepcopy(model)
    fitted.verbose = False
    fitted.fit(train_set)
    return fitted


def _same_codes(count: int) -> OrderedDict[int, int]:
    """Code -> the same code."""
    codes = range(count)
    return OrderedDict(zip(codes, codes, strict=True))


def _cornac_ratings(model: Any, _spec: RunSpec, fold: TrackedFold) -> pd.DataFrame:  # noqa: ANN401
    """Ratings of a model of Cornac; of whom it does not know what it takes by default."""
    # Runs that predict ratings are refused where the data have none.
    assert fold.data.ratings is not None
    fitted = _fit_copy_on_cornac(model, fold, fold.data.ratings[fold.matrices.learnt])
    predicted = []
    for user, item in zip(_held_out_users(fold), _held_out_items(fold), strict=True):
        predicted.append(fitted.rate(user, item))
    return _predictions(fold, predicted)


class _CornacScores:
    """A model of Cornac, fitted on who has what, as one with `score(users)`."""

    def __init__(self, model: Any, _spec: RunSpec, fold: TrackedFold) -> None:  # noqa: ANN401
        """Fit a copy."""
        self._items = fold.data.n_items
        self._fitted = _fit_copy_on_cornac(model, fold, np.ones(fold.matrices.learnt.sum()))

    def score(self, users: NDArray[np.intp]) -> NDArray[np.float64]:
        """Scores of all items; shape (users, items), -inf of items that training does not know."""
        scores = np.full((len(users), self._items), -np.inf)
        for row, user in enumerate(users):
            scores_of_user = np.asarray(self._fitted.score(user))
            scores[row, : len(scores_of_user)] = scores_of_user
        return scores


def _lenskit_lists(model: Any, spec: RunSpec, fold: TrackedFold) -> pd.DataFrame:  # noqa: ANN401
    """Lists of a scorer or a pipeline of LensKit."""
    from lenskit.batch import recommend
    from lenskit.data import from_interactions_df
    from lenskit.pipeline import Pipeline, topn_pipeline

    length = max(spec.cutoffs)
    if isinstance(model, Pipeline):
        pipeline = model.clone()
    else:
        pipeline = topn_pipeline(copy.deepcopy(model), n=length)
    pipeline.train(from_interactions_df(fold.train))
    return recommend(pipeline, fold.test.user_id.unique(), n=length, n_jobs=1).to_df()


_RANKING: Ways = (
    (_is_of_lenskit, _lenskit_lists),
    (_is_of_cornac, _CornacScores),
    (_can_recommend, _recommend_lists),
    (_scores_users, _fitted_scorer),
    (_is_function, _function_scores),
)
"""How a model ranks items; the first that serves is taken."""
_RATING: Ways = (
    (_is_of_surprise, _surprise_ratings),
    (_is_of_cornac, _cornac_ratings),
    (_can_predict, _predict_pairs),
    (_scores_users, _scored_ratings),
    (_is_function, _function_ratings),
)
"""How a model predicts ratings, alike."""
