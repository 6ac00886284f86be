"""Rating prediction from data to stop: the same pipeline as for ranked items."""

import sys
import zipfile
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from ecv_core import dataset as datasets
from ecv_core import fold, stopping
from ecv_core.cli import parse
from ecv_core.cli.run_command import spec_of
from ecv_core.dataset.loading import read_file
from ecv_core.dataset.preparation import for_task
from ecv_core.dataset.rating_scale import scale_of
from ecv_core.dataset.sources import FileSource
from ecv_core.fold import spec
from ecv_core.fold.computing import run_fold
from ecv_core.models import algorithm, serving
from ecv_core.models.bayesian import feature_blocks
from ecv_core.records.errors import Cancelled, DatasetError, InputError
from ecv_core.records.interactions import Pairs, Part, Ratings
from ecv_core.records.tasks import Task
from ecv_core.store.document import command_for

HAVE_ML_100K = datasets.available(datasets.entry("ml-100k"))
QUICK = {"bayesian-mf": {"dimension": 2, "steps": 8}, "sgd-mf": {"dimension": 4, "epochs": 3}}


def rating_spec(algorithm="bias", dataset="synthetic", **given):
    params = QUICK.get(algorithm, {})
    return spec.make_spec(**dict(dataset=dataset, algorithm=algorithm, params=params) | given)


def test_ratings_are_scored_by_rmse_on_random_tenths_unless_asked_otherwise():
    known = rating_spec()
    assert (known.metric_name, known.split, known.k) == ("rmse", "record-k-fold", 10)
    assert known.task is Task.RATINGS
    assert spec.make_spec(dataset="synthetic", algorithm="popular").task is Task.TOP_N


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"metric": "ndcg"}, "nDCG is of ranked items, but bias predicts ratings; choose mae or"),
        (
            {"rule": "precision", "tolerance": 0.01, "adjust_by": ("popular",)},
            "'popular' ranks items and bias predicts ratings, so it tells nothing of it",
        ),
        ({"negatives": 50}, "'negatives' is for ranked items, but bias"),
        (
            {"algorithm": "ease", "metric": "rmse"},
            "RMSE is of predicted ratings, but",
        ),
    ],
)
def test_a_model_asked_for_what_it_does_not_serve_is_one_sentence(given, message):
    with pytest.raises(InputError, match=message):
        rating_spec(**given)


def test_the_command_of_a_run_says_it_again_and_leaves_out_what_is_usual():
    known = rating_spec("sgd-mf", metric="mae", seed=7)
    words = command_for(known).split()
    assert "--split" not in words
    assert spec_of(parse(words[3:])) == known
    assert "--metric" not in command_for(replace(known, metric="rmse"))


@pytest.mark.skipif(not HAVE_ML_100K, reason="needs ml-100k")
def test_ratings_of_movielens_are_all_there_as_given():
    data = for_task(datasets.entry("ml-100k"), Task.RATINGS)
    assert (len(data), data.n_users, data.n_items) == (100_000, 943, 1682)
    # README of the dataset: 6,110 11,370 27,145 34,174 21,201 ratings of 1 to 5
    assert np.bincount(data.ratings.astype(int))[1:].tolist() == [6110, 11370, 27145, 34174, 21201]


def test_movielens_10m_is_read_in_its_own_format(tmp_path):
    known = datasets.entry("ml-10m")
    path = tmp_path / "ml-10m.zip"
    rows = "1::122::5::838985046\n1::185::4.5::838983525\n2::122::0.5::868244562\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ml-10M100K/ratings.dat", rows)
    file = replace(known.files[0], rows=None)
    data = read_file(FileSource(path=path, form=file), known.id)
    assert data.ratings.tolist() == [5, 4.5, 0.5]
    assert data.timestamps.tolist() == [838985046, 838983525, 868244562]
    assert scale_of(data, known.scale) == (0.5, 5)
    with pytest.raises(DatasetError, match=r"2 users, 2 items and 3 ratings"):
        known.check_counts(Task.RATINGS, data)


def test_rmse_of_damped_means_agrees_with_the_formula_written_out():
    known = rating_spec()
    data = for_task(datasets.entry("synthetic"), Task.RATINGS)
    held = fold.folds_of(known).assignment == 0
    users, items, given = data.users, data.items, data.ratings.astype(float)
    mean = given[~held].mean()
    item_sum, item_count = np.zeros(data.n_items), np.full(data.n_items, 5.0)
    for item, rating in zip(items[~held], given[~held], strict=True):
        item_sum[item] += rating - mean
        item_count[item] += 1
    of_item = item_sum / item_count
    user_sum, user_count = np.zeros(data.n_users), np.full(data.n_users, 5.0)
    for user, item, rating in zip(users[~held], items[~held], given[~held], strict=True):
        user_sum[user] += rating - mean - of_item[item]
        user_count[user] += 1
    predicted = mean + of_item[items[held]] + (user_sum / user_count)[users[held]]
    error = predicted.clip(1, 5) - given[held]
    result = run_fold(known, 0)
    assert result.score == pytest.approx(np.sqrt(np.mean(error**2)))
    assert result.metrics["mae"] == pytest.approx(np.abs(error).mean())
    assert result.user_scores.of("rmse").mean() == pytest.approx(result.score, abs=1e-6)


@pytest.mark.parametrize("algorithm", ["sgd-mf", "bayesian-mf"])
def test_one_fit_gives_the_rmse_after_every_step_and_the_last_is_the_score(algorithm):
    steps = []
    known = rating_spec(algorithm)

    def progress(phase, step, of):
        if phase == "fit":
            steps.append(step)

    result = run_fold(known, 1, progress=progress)
    assert len(result.inner_curve) == steps[-1]
    assert result.inner_curve[-1] == pytest.approx(result.score, abs=1e-6)
    # fewer steps are the beginning of the same fit
    name = "epochs" if algorithm == "sgd-mf" else "steps"
    params = dict(known.params) | {name: steps[-1] - 1}
    fewer = run_fold(replace(known, params=tuple(sorted(params.items()))), 1)
    assert fewer.inner_curve == result.inner_curve[:-1]
    assert fewer.score == pytest.approx(result.inner_curve[-2], abs=1e-6)


def test_a_cancel_takes_effect_in_the_middle_of_the_sampling():
    def progress(phase, step, of):
        if (phase, step) == ("fit", 2):
            raise Cancelled("enough")

    with pytest.raises(Cancelled):
        run_fold(rating_spec("bayesian-mf"), 0, progress=progress)


def test_the_precision_rule_stops_on_rmse_by_users_squared_errors():
    known = rating_spec(rule="precision", tolerance=0.01)
    results = [run_fold(known, index) for index in range(3)]
    moments = stopping.moments(stopping.rule_for(known), results, 0.95)
    assert moments[2].interval.low < moments[2].mean < moments[2].interval.high
    # what users add has this spread, after three folds of ten of a model that folds tell little of
    values = results[0].user_scores.of("rmse")
    error = values.std(ddof=1) / np.sqrt(3 * len(values)) * np.sqrt(1 - 3 / 10)
    half = moments[2].interval.high - moments[2].mean
    assert 1.9 * error < half < 3.0 * error


def a_file(monkeypatch, folder, text, name="own"):
    monkeypatch.setenv("ECV_DATA_DIR", str(folder))
    monkeypatch.setenv("ECV_DATA_PATH", "")
    (folder / f"{name}.csv").write_text("user_id,item_id,rating\n" + text, encoding="utf-8")


ROWS = "".join(f"u{n % 7},i{n // 7},{1 + n % 4}\n" for n in range(40))


@pytest.mark.parametrize(
    ("name", "text", "algorithm", "message"),
    [
        (
            "own",
            ROWS.replace("u3,i2,2", "u3,i2,nan"),
            "bias",
            "1 of its 40 rows has no rating, or a rating that is not a number .*row 18: ",
        ),
        (
            "own",
            ROWS.replace("u3,i2,2", "u3,i2,inf"),
            "bias",
            "1 of its 40 rows has no rating, or a rating that is not a number .*row 18: ",
        ),
        ("own", "a,x,3\na,y,3\nb,x,3\n", "bias", "every rating of own is 3, so there is nothing"),
        ("ml-100k", ROWS.replace("u3,i2,2", "u3,i2,9"), "bias", "a rating of 9, but its scale"),
        ("ml-100k", ROWS, "bias", "is not ml-100k: .* 7 users, 6 items and 40 ratings"),
        ("own", ROWS, "bayesian-time-svd", "own has no timestamps, which bayesian-time-svd learns"),
    ],
)
def test_data_that_cannot_serve_are_one_sentence(
    name, text, algorithm, message, monkeypatch, tmp_path
):
    a_file(monkeypatch, tmp_path, text, name)
    with pytest.raises(DatasetError, match=message):
        fold.check_needs(rating_spec(algorithm, dataset=name))


def test_a_dataset_without_ratings_is_one_sentence(monkeypatch, tmp_path):
    a_file(monkeypatch, tmp_path, "")
    rows = "user_id,item_id\n" + "".join(f"u{n % 7},i{n // 7}\n" for n in range(40))
    (tmp_path / "own.csv").write_text(rows, encoding="utf-8")
    with pytest.raises(DatasetError, match=r"own has no ratings .* there is nothing to predict"):
        fold.check_needs(rating_spec(dataset="own"))


def test_features_are_those_of_the_papers_table():
    pairs = Pairs(
        users=np.array([0, 0, 1], dtype=np.int32),
        items=np.array([0, 1, 1], dtype=np.int32),
        timestamps=np.array([5, 90_000, 100]),
    )
    train = Ratings(pairs=pairs, values=np.array([1.0, 2, 3]), n_users=3, n_items=2, low=1, high=5)
    asked = Pairs(
        users=np.array([2], dtype=np.int32),
        items=np.array([1], dtype=np.int32),
        timestamps=np.array([90_001]),
    )
    users, items, times = feature_blocks(
        train, asked, time=True, items_of_user=True, users_of_item=True, days_per_period=1
    )
    half = 1 / np.sqrt(2)
    # u, then iu; user 2 has no rating
    assert users.features.toarray().tolist() == [[1, 0, half, half], [0, 1, 0, 1], [0, 0, 0, 0]]
    assert items.features.toarray().tolist() == [[1, 0, 1, 0], [0, 1, half, half]]  # i, then ii
    assert (times.train_rows.tolist(), times.asked_rows.tolist()) == ([0, 1, 0], [1])
    assert (users.group_sizes, items.group_sizes, times.group_sizes) == ((2, 2), (2, 2), (2,))


@pytest.mark.skipif(not HAVE_ML_100K, reason="needs ml-100k")
def test_bayesian_mf_is_as_good_as_myfm_called_directly(monkeypatch):
    unused = SimpleNamespace(get_distribution=None, DistributionNotFound=LookupError)
    monkeypatch.setitem(sys.modules, "pkg_resources", unused)  # myFM 0.4.0 asks for its names
    from myfm import MyFMGibbsRegressor
    from scipy.sparse import csr_matrix

    known = rating_spec("bayesian-mf", "ml-100k", params={"dimension": 4, "steps": 25})
    data = for_task(datasets.entry("ml-100k"), Task.RATINGS)
    held = fold.folds_of(known).parts(0) == Part.TEST
    rows = np.repeat(np.arange(len(data)), 2)
    columns = np.stack([data.users, data.n_users + data.items], axis=1).ravel()
    shape = len(data), data.n_users + data.n_items
    features = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)
    direct = MyFMGibbsRegressor(rank=4, random_seed=42)
    given = data.ratings.astype(float)
    sizes = [data.n_users, data.n_items]
    direct.fit(features[~held], given[~held], n_iter=25, n_kept_samples=20, group_shapes=sizes)
    predicted = direct.predict(features[held]).clip(1, 5)
    theirs = np.sqrt(np.mean((predicted - given[held]) ** 2))
    assert run_fold(known, 0).score <= theirs + 0.002


def test_no_rating_model_is_asked_to_rank():
    assert not set(serving(Task.RATINGS)) & set(serving(Task.TOP_N))


def test_a_fit_that_takes_hours_is_said_before_it_starts():
    # 10 million ratings, 128 dimensions, 512 steps: the paper's largest flipped model
    known = algorithm("bayesian-time-svd++-flipped")
    params = dict(known.resolve({"dimension": 128}))
    assert 10 < known.rough_seconds(params, 10_000_054) / 3600 < 40
    # measured: 455 s for 900,188 ratings, 32 dimensions, 512 steps
    known = algorithm("bayesian-mf")
    assert known.rough_seconds(dict(known.resolve({})), 900_188) == pytest.approx(455, rel=0.05)
    assert algorithm("bias").rough_seconds({}, 10_000_054) == 0
