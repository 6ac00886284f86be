"""Data and models in memory: the same scores as from a file and by an id, or a sentence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix

import ecv_core as ecv
from ecv_core.records.errors import DatasetError, InputError
from ecv_core.store.store import open_store

TWO = ecv.Fixed(folds=2)


@pytest.fixture(scope="module")
def embedded() -> ecv.Interactions:
    return ecv.load("synthetic")


@pytest.fixture(scope="module")
def table(embedded) -> pd.DataFrame:
    users, items = embedded.user_ids[embedded.users], embedded.item_ids[embedded.items]
    return pd.DataFrame({"Customer ID": users, "sku": items})


class Popular:
    """Most popular, written against the documents alone."""

    def fit(self, matrix):
        self.counts = np.asarray(matrix.sum(axis=0)).ravel()

    def score(self, users):
        return np.tile(self.counts, (len(users), 1))


class LikeImplicit(Popular):
    """With the methods of implicit's models."""

    score = None

    def fit(self, matrix, show_progress=True):
        assert not show_progress
        assert isinstance(matrix, csr_matrix)
        assert matrix.dtype == np.float64
        super().fit(matrix)

    def recommend(self, users, matrix, N=10):
        assert isinstance(matrix, csr_matrix)
        scores = np.where(matrix.toarray() > 0, -np.inf, self.counts)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :N]
        return best, np.take_along_axis(scores, best, axis=1)


def by_hand(matrix):
    return np.tile(np.asarray(matrix.sum(axis=0)).ravel(), (matrix.shape[0], 1))


def test_a_frame_gives_the_scores_of_the_same_data_from_a_file(table):
    there = ecv.evaluate("synthetic", "ease", rule=TWO, keep=False)
    assert ecv.evaluate(table, "ease", rule=TWO, keep=False).scores == there.scores
    ecv.add(table, "a-frame")
    assert ecv.evaluate("a-frame", "ease", rule=TWO, keep=False).scores == there.scores


def test_every_kind_of_data_has_the_same_interactions(embedded, table):
    codes = (embedded.users, embedded.items)
    ones = np.ones(len(embedded))
    lenskit = pytest.importorskip("lenskit.data")
    numbers = pd.DataFrame({"user_id": embedded.users, "item_id": embedded.items})
    kinds = {
        "sparse": csr_array((ones, codes)),
        "dense": csr_array((ones, codes)).toarray(),
        "arrays": codes,
        "numbers": numbers,
        "floats": numbers.astype(np.float64),
        "LensKit": lenskit.from_interactions_df(numbers),
    }
    loaded = {kind: ecv.load(given) for kind, given in kinds.items()}
    for kind, found in loaded.items():
        assert len(found) == len(embedded), kind
        pairs = set(zip(found.user_ids[found.users], found.item_ids[found.items], strict=True))
        assert pairs == {(str(u), str(i)) for u, i in zip(*codes, strict=True)}, kind
    assert len({found.dataset for found in loaded.values()}) == 1  # the content names them
    assert len(ecv.load(embedded)) == len(ecv.load(table)) == len(embedded)


def test_in_a_dense_array_neither_0_nor_nan_is_an_interaction():
    ratings = np.full((6, 6), 3.5)
    ratings[0, 0] = 0
    ratings[1, 1] = np.nan
    loaded = ecv.load(ecv.Data.from_frame(as_rows(ratings)))
    assert len(ecv.load(ratings)) == len(loaded) == 34
    assert set(ecv.load(ratings).ratings) == {3.5}


def as_rows(ratings):
    there = np.nan_to_num(ratings) != 0
    users, items = np.nonzero(there)
    return pd.DataFrame({"user": users, "item": items, "rating": ratings[there]})


def test_a_lazy_frame_is_the_frame_that_it_becomes(table):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    lazy = polars.LazyFrame({name: table[name].tolist() for name in table})
    assert ecv.load(lazy).dataset == ecv.load(table).dataset


def test_times_and_ratings_come_along():
    when = pd.to_datetime(["2024-01-02", "2024-01-01", "2024-01-03"] * 40, utc=True)
    users = np.repeat(np.arange(10), 12)
    data = pd.DataFrame({"u": users, "i": np.tile(np.arange(12), 10), "stars": 4.5, "at": when})
    found = ecv.load(ecv.Data.from_frame(data, user="u", item="i"))
    assert found.timestamps.min() == 1_704_067_200  # 2024-01-01 00:00 UTC
    assert set(found.ratings) == {4.5}


def test_the_date_of_a_frame_with_months_is_its_time():
    frame = pd.DataFrame({"user": [1, 2], "item": [3, 4]})
    frame["day"] = pd.to_datetime(["2018-01-03", "2018-03-01"])
    frame["month"] = frame["day"].dt.month
    assert "timestamp" in ecv.Data.from_frame(frame).frame
    frame["day"] = frame["day"].dt.day
    assert "timestamp" not in ecv.Data.from_frame(frame).frame


def test_a_run_on_data_in_memory_is_kept_under_their_hash(table):
    run = ecv.evaluate(table, "popular", rule=TWO)
    assert run.spec.dataset == f"memory-{run.spec.data_sha256[:12]}"
    assert [one.run_id for one in ecv.runs()] == [run.run_id]
    changed = table.iloc[1:]
    assert ecv.evaluate(changed, "popular", rule=TWO).spec.dataset != run.spec.dataset


def test_a_selection_takes_data_in_memory(table):
    found = ecv.select(table, ["ease", "popular"], k=5, metric="recall@5", keep=False)
    assert found.winner == "ease"
    assert found.metric == "recall@5"


class FilledUp(LikeImplicit):
    """Gives whoever has too few candidates items that were filtered out, as implicit does."""

    def recommend(self, users, matrix, N=10):
        best, scores = self.candidates_and_others(users, matrix, N)
        return best, np.maximum(scores, np.finfo(np.float32).min)

    def candidates_and_others(self, users, matrix, n):
        """The best candidates, and behind them items that the users have."""
        best, scores = super().recommend(users, matrix, N=matrix.shape[1])
        columns = np.r_[:n, -n:0]
        return best[:, columns], scores[:, columns]


class FilledUpWithScores(FilledUp):
    """Gives such items any score after all candidates, as implicit's neighbourhood models do."""

    def recommend(self, users, matrix, N=10):
        best, scores = self.candidates_and_others(users, matrix, N)
        return best, np.where(np.isfinite(scores), scores, 0.0)


@pytest.mark.parametrize(
    "model",
    [Popular(), LikeImplicit(), FilledUp(), FilledUpWithScores(), by_hand],
    ids=["ours", "implicit", "filled up", "filled up with scores", "f"],
)
def test_a_model_in_memory_scores_as_the_same_model_of_the_package(model):
    ours = ecv.evaluate("synthetic", "popular", rule=TWO, keep=False)
    theirs = ecv.evaluate("synthetic", model, name="mine", rule=TWO, keep=False)
    assert theirs.spec.algorithm == "mine"
    assert theirs.scores == ours.scores


class Unfiltered(Popular):
    """Recommends what users have already."""

    def recommend(self, users, matrix, N=10):
        best = np.argsort(-np.tile(self.counts, (len(users), 1)), axis=1, kind="stable")[:, :N]
        return best, self.counts[best]


def test_a_model_that_recommends_what_users_have_is_refused():
    with pytest.raises(InputError, match="in training"):
        ecv.evaluate("synthetic", Unfiltered(), rule=TWO, keep=False)


# Models of the libraries themselves, where they are installed.


@pytest.mark.filterwarnings("default")
def test_a_model_of_implicit_is_better_than_popularity():
    als = pytest.importorskip("implicit.als", reason="implicit is not installed")
    model = als.AlternatingLeastSquares(factors=8, random_state=0)
    run = ecv.evaluate("synthetic", model, rule=TWO, keep=False)
    popular = ecv.evaluate("synthetic", "popular", rule=TWO, keep=False)
    assert run.mean > popular.mean


@pytest.mark.filterwarnings("default")
def test_every_item_of_implicits_neighbourhood_models_is_a_candidate():
    neighbours = pytest.importorskip("implicit.nearest_neighbours", reason="no implicit here")
    run = ecv.evaluate("synthetic", neighbours.ItemItemRecommender(), rule=TWO, keep=False)
    assert len(run.scores) == 2


@pytest.mark.filterwarnings("default")
def test_cornacs_popularity_and_average_are_those_of_the_package(rated):
    models = pytest.importorskip("cornac.models", reason="Cornac is not installed")
    theirs = ecv.evaluate("synthetic", models.MostPop(), rule=TWO, keep=False)
    ours = ecv.evaluate("synthetic", "popular", rule=TWO, keep=False)
    assert theirs.scores == pytest.approx(ours.scores, abs=2e-3)  # float32 may tie other counts
    average = ecv.evaluate(rated, models.GlobalAvg(), metric="rmse", rule=TWO, keep=False)
    assert average.scores == pytest.approx(errors_of_the_mean(rated), abs=1e-6)


@pytest.mark.filterwarnings("default")
def test_a_model_of_surprise_predicts_ratings(rated):
    surprise = pytest.importorskip("surprise", reason="Surprise is not installed")

    class Mean(surprise.AlgoBase):
        def estimate(self, user, item):
            return self.trainset.global_mean

    run = ecv.evaluate(rated, Mean(), metric="rmse", rule=TWO, keep=False)
    assert run.scores == pytest.approx(errors_of_the_mean(rated))


# Ratings.


@pytest.fixture(scope="module")
def rated(table) -> pd.DataFrame:
    ratings = np.random.default_rng(0).integers(1, 6, len(table))
    return table.assign(rating=ratings).rename(columns={"Customer ID": "user", "sku": "item"})


def errors_of_the_mean(rated) -> list[float]:
    """RMSE of the training part's mean in each fold, by hand."""
    cv = ecv.track("by hand", dataset=rated, metric="rmse", rule=TWO, keep=False)
    errors = []
    for fold in cv:
        mean = fold.train.rating.mean()
        errors.append(float(np.sqrt(((fold.test.rating - mean) ** 2).mean())))
        cv.report(fold.test[["user_id", "item_id"]].assign(prediction=mean))
    return errors


class Mean:
    """Predicts the mean of all ratings for each pair."""

    def fit(self, matrix):
        self.mean = matrix.data.mean()
        self.shape = matrix.shape

    def predict(self, users, items):
        assert users.max() < self.shape[0]
        assert items.max() < self.shape[1]
        return np.full(len(users), self.mean)


class DenseMean(Mean):
    predict = None

    def score(self, users):
        return np.full((len(users), self.shape[1]), self.mean)


def mean_of(matrix):
    return np.full(matrix.shape, matrix.data.mean())


@pytest.mark.parametrize("model", [Mean(), DenseMean(), mean_of], ids=["predict", "score", "f"])
def test_ratings_are_predicted_by_a_model_in_memory(model, rated):
    run = ecv.evaluate(rated, model, metric="rmse", rule=TWO, keep=False)
    assert run.scores == pytest.approx(errors_of_the_mean(rated))


class MeanOfUser(Mean):
    """Predicts each user's own mean."""

    def fit(self, matrix):
        self.of_user = matrix.sum(axis=1).A1 / np.maximum(matrix.getnnz(axis=1), 1)

    def predict(self, users, items):
        return self.of_user[users]


def test_pairs_are_rows_and_columns_of_the_matrix(table):
    users = pd.factorize(table["Customer ID"])[0]
    of_users = table.assign(rating=1 + users % 5).rename(columns={"Customer ID": "user"})
    of_users = of_users.rename(columns={"sku": "item"})
    run = ecv.evaluate(of_users, MeanOfUser(), metric="rmse", rule=TWO, keep=False)
    assert run.scores == pytest.approx([0, 0], abs=1e-9)  # all ratings of a user are equal


class WrongLength(Mean):
    def predict(self, users, items):
        return [1.0]


@pytest.mark.parametrize(
    ("model", "said"),
    [(LikeImplicit(), "predicts no ratings"), (WrongLength(), r"shape \(1,\)")],
)
def test_what_predicts_no_ratings_is_one_sentence(model, said, rated):
    with pytest.raises(InputError, match=said):
        ecv.evaluate(rated, model, metric="rmse", rule=TWO)
    assert open_store().runs() == []


class ItemKNN(Popular):
    """Its name is the title of an algorithm of the package."""


def test_a_class_named_as_an_algorithm_is_evaluated_beside_it():
    run = ecv.evaluate("synthetic", ItemKNN(), rule=TWO, keep=False)
    assert run.spec.algorithm == "my ItemKNN"


class FirstThree:
    """Recommends items 0, 1 and 2 alone."""

    def fit(self, matrix):
        self.scores = np.full(matrix.shape[1], -np.inf)
        self.scores[:3] = 1e300

    def score(self, users):
        return np.tile(self.scores, (len(users), 1))


def test_what_a_model_in_memory_never_recommends_is_in_no_list(embedded):
    run = ecv.evaluate("synthetic", FirstThree(), rule=TWO, keep=False)
    for fold in run.record.folds:
        assert fold.metrics["coverage@20"] == 3 / embedded.n_items


def test_what_a_reported_array_never_recommends_is_in_no_list(embedded):
    cv = ecv.track("first three", dataset="synthetic", metric="ndcg@10", rule=TWO, keep=False)
    for _ in cv:
        scores = np.full((embedded.n_users, embedded.n_items), -np.inf)
        scores[:, :3] = 1
        cv.report(scores)
    for fold in cv.run.record.folds:
        assert fold.metrics["coverage@20"] == 3 / embedded.n_items


def test_a_model_keeps_nothing_of_one_fold_for_the_next():
    class Counting(Popular):
        fits = 0

        def fit(self, matrix):
            self.fits += 1
            assert self.fits == 1
            super().fit(matrix)

    model = Counting()
    assert len(ecv.evaluate("synthetic", model, rule=TWO, keep=False).scores) == 2
    assert model.fits == 0


@pytest.mark.slow
def test_lenskits_scorer_and_its_pipeline_give_the_same(embedded, table):
    from lenskit.knn import ItemKNNScorer
    from lenskit.pipeline import topn_pipeline

    few = table[embedded.users < 150]  # LensKit takes its time for each user
    scorer = ItemKNNScorer(k=20, feedback="implicit")
    alone = ecv.evaluate(few, scorer, rule=TWO, keep=False)
    pipeline = topn_pipeline(scorer, n=20)
    named = ecv.evaluate(few, pipeline, name="kNN", rule=TWO, keep=False)
    assert alone.scores == named.scores
    popular = ecv.evaluate(few, "popular", rule=TWO, keep=False)
    assert 1.1 < alone.mean / popular.mean < 1.5


def test_report_takes_users_by_items():
    cv = ecv.track("array", dataset="synthetic", rule=TWO, keep=False)
    for fold in cv:
        cv.report(by_hand(fold.matrices.train))
    ours = ecv.evaluate("synthetic", "popular", rule=TWO, keep=False)
    assert cv.run.scores == pytest.approx(ours.scores, abs=2e-3)


def giving(array):
    class Model(Popular):
        def score(self, users):
            return array(len(users), len(self.counts))

    return Model()


def text(*shape):
    return np.full(shape, "a")


MODELS = {
    "nan": (giving(lambda n, m: np.full((n, m), np.nan)), "is nan; scores are finite"),
    "inf": (giving(lambda n, m: np.full((n, m), np.inf)), "is inf; scores are finite"),
    "shape": (giving(lambda n, _: np.zeros((n, 3))), r"gave an array of shape \(\d+, 3\)"),
    "text": (giving(text), "scores are numbers"),
    "number": (5, "type int"),
    "class": (Popular, "not an object of it"),
    "no fit": (object(), "type object"),
    "function": (lambda m: np.zeros((2, 2)), r"the scores have the shape \(2, 2\)"),
}


@pytest.mark.parametrize(("model", "said"), MODELS.values(), ids=MODELS)
def test_a_model_that_cannot_be_used_is_one_sentence_and_leaves_nothing(model, said):
    with pytest.raises(InputError, match=said):
        ecv.evaluate("synthetic", model, name="mine", rule=TWO)
    assert open_store().runs() == []


HALF = pd.DataFrame({"user_id": [1, 2, None], "item_id": ["a", "b", "c"]})
DATA = {
    "number": (5, InputError, "type int"),
    "array": (np.zeros((3, 2, 2)), InputError, "type ndarray"),
    "dense and empty": (np.zeros((3, 2)), DatasetError, "no rows"),
    "lengths": (([1], [1, 2]), InputError, r"have \(1,\), \(2,\)"),
    "no user": (HALF[["item_id"]], InputError, "recognised as the user"),
    "no such column": (lambda: ecv.Data.from_frame(HALF, user="who"), InputError, "'who'"),
    "missing id": (HALF, DatasetError, r"no user \(row 3: "),
    "empty": (HALF.iloc[:0], DatasetError, "no rows"),
    "rating": (HALF.iloc[:2].assign(rating=[1, "good"]), DatasetError, r"no rating.* \(row 2: "),
}


@pytest.mark.parametrize(("data", "kind", "said"), DATA.values(), ids=DATA)
def test_data_that_cannot_be_used_are_one_sentence(data, kind, said):
    with pytest.raises(kind, match=said):
        ecv.evaluate(data() if callable(data) else data, "popular")


@pytest.mark.parametrize("rule", [5, ecv.EFold, object()])
def test_what_is_no_rule_is_refused(rule):
    for call in (
        lambda: ecv.evaluate("synthetic", "ease", rule=rule),
        lambda: ecv.orders([1, 2], rule),
    ):
        with pytest.raises(InputError, match="cannot decide; give an id"):
            call()


def test_orders_takes_a_rule_by_its_name():
    scores = [0.301, 0.322, 0.314, 0.309, 0.318]
    assert ecv.orders(scores, "fixed").mean_stop == pytest.approx(3)  # folds=3 is its default
    assert ecv.orders(scores, "never").mean_stop == pytest.approx(5)
