import os
from pathlib import Path

import numpy as np
import pytest

from ecv_core import dataset as datasets
from ecv_core.records.errors import DatasetError, UnknownName
from ecv_core.records.interactions import Interactions
from ecv_core.records.tasks import Task

# Table 1 of the e-fold paper.
PAPER = {
    "amazon-cell-phones": (27_879, 10_429, 194_439),
    "amazon-apps": (87_271, 13_209, 752_937),
    "amazon-instant-video": (5_130, 1_685, 37_126),
    "hetrec-lastfm": (1_090, 3_646, 52_551),
    "ml-100k": (943, 1_349, 99_287),
    "ml-1m": (6_040, 3_416, 999_611),
}

TABLES = {"breast-cancer", "iris", "wine", "digits", "diabetes", "friedman"}
OURS = {"synthetic", *PAPER, "ta-feng", "ml-10m"} | TABLES


def test_has_the_default_dataset_the_six_of_the_paper_and_one_with_baskets(data_folder: Path):
    assert set(datasets.catalogue()) == OURS
    assert next(iter(datasets.catalogue())) == "synthetic"


@pytest.mark.parametrize("dataset_id", PAPER)
def test_promises_the_counts_of_the_paper(dataset_id: str):
    entry = datasets.entry(dataset_id)
    assert (entry.users, entry.items, entry.interactions) == PAPER[dataset_id]


@pytest.mark.parametrize("dataset_id", PAPER)
def test_says_whose_each_dataset_is_and_where_it_comes_from(dataset_id: str):
    entry = datasets.entry(dataset_id)
    assert entry.url
    assert entry.homepage.startswith("http")
    assert "https://doi.org/" in entry.citation
    assert entry.bibtex.startswith("@")
    for sentence in (entry.description, entry.licence):
        assert sentence.endswith(".")
    assert entry.download_bytes > 0
    assert entry.file_names[-4:] == tuple(
        f"{dataset_id}{suffix}" for suffix in (".csv", ".csv.gz", ".csv.xz", ".parquet")
    )


@pytest.mark.parametrize("dataset_id", ["ml-100k", "ml-1m", "ml-10m"])
def test_says_that_movielens_may_not_be_redistributed(dataset_id: str):
    assert "no redistribution" in datasets.entry(dataset_id).licence


def test_the_synthetic_dataset_needs_no_file(data_folder: Path):
    entry = datasets.entry("synthetic")
    assert entry.generated
    assert datasets.available(entry)
    assert datasets.locate(entry) is None


def test_an_unknown_id_names_the_nearest_one():
    with pytest.raises(UnknownName, match=r"no dataset is called 'ml-10k'; did you mean 'ml-100k'"):
        datasets.entry("ml-10k")


def test_own_files_are_listed_after_the_catalogue(data_folder: Path):
    for name in ("zoo.csv", "my_shop-2.csv.xz", "alpha.parquet", "twice.csv", "twice.csv.gz"):
        (data_folder / name).touch()
    assert list(datasets.catalogue())[-4:] == ["alpha", "my_shop-2", "twice", "zoo"]
    entry = datasets.entry("zoo")
    assert entry.users is None
    assert entry.url is None
    assert datasets.locate(entry) == data_folder / "zoo.csv"


@pytest.mark.parametrize(
    "name",
    [
        "ml-100k.csv",  # another form of a dataset that is listed already
        "ratings_Apps_for_Android.csv",  # an official file under its official name
        "ml-100k.folds.csv.gz",  # released folds
        "notes.txt",
        "-dash.csv",  # would read as an option on the command line
    ],
)
def test_other_files_are_not_taken_for_datasets(data_folder: Path, name: str):
    (data_folder / name).touch()
    assert set(datasets.catalogue()) == OURS


def test_a_missing_data_folder_means_no_own_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("ECV_DATA_DIR", str(tmp_path / "none"))
    assert set(datasets.catalogue()) == OURS


def test_the_data_folder_is_searched_before_those_of_the_path(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    path = os.pathsep.join(map(str, (first, tmp_path / "missing", "", second, first)))
    monkeypatch.setenv("ECV_DATA_PATH", path)
    assert datasets.search_dirs() == (data_folder, first, second)
    entry = datasets.entry("ml-100k")
    (second / "ml-100k.zip").touch()
    assert datasets.locate(entry) == second / "ml-100k.zip"
    (first / "ml-100k.csv.gz").touch()
    assert datasets.locate(entry) == first / "ml-100k.csv.gz"
    (data_folder / "ml-100k.csv").touch()
    assert datasets.locate(entry) == data_folder / "ml-100k.csv"


def test_a_plain_file_of_the_path_is_a_dataset_and_nothing_is_written_there(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    course = tmp_path / "course"
    course.mkdir()
    rows = [f"u{user},i{item}" for user in range(6) for item in range(6)]
    (course / "lecture.csv").write_text("\n".join(["user_id,item_id", *rows]), encoding="utf-8")
    course.chmod(0o555)
    monkeypatch.setenv("ECV_DATA_PATH", str(course))
    assert list(datasets.catalogue())[-1] == "lecture"
    assert len(datasets.load("lecture")) == 36
    assert [path.name for path in course.iterdir()] == ["lecture.csv"]


def test_no_folder_is_searched_that_nobody_named(data_folder: Path):
    assert datasets.search_dirs() == (data_folder,)


def test_downloads_live_in_the_project_by_default(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ECV_DATA_DIR", raising=False)
    project = Path(__file__).resolve().parents[2]
    assert datasets.data_dir() == project / "data" / "downloads"


def test_a_dataset_that_is_nowhere_says_how_to_get_it(data_folder: Path):
    entry = datasets.entry("ml-1m")
    assert not datasets.available(entry)
    with pytest.raises(DatasetError) as caught:
        datasets.load("ml-1m")
    assert str(caught.value) == (
        "dataset 'ml-1m' is not on this machine; download it on the Run page or with 'python -m "
        "ecv_core download ml-1m'; or download it from "
        "https://files.grouplens.org/datasets/movielens/ml-1m.zip, or put your own copy into "
        f"{data_folder} as ml-1m.zip or ml-1m.csv"
    )


def test_prepared_data_with_other_counts_is_not_the_dataset():
    three = Interactions(
        dataset="ml-100k",
        users=np.array([0, 1, 1], dtype=np.int32),
        items=np.array([0, 0, 1], dtype=np.int32),
        user_ids=np.array(["1", "2"]),
        item_ids=np.array(["7", "8"]),
    )
    with pytest.raises(DatasetError, match=r"2 users, 2 items and 3 interactions .* 943 users"):
        datasets.entry("ml-100k").check_counts(Task.TOP_N, three)
