"""Recorded search spaces: does the best stay the best, what it costs, which parameter matters."""

import json
from pathlib import Path

import numpy as np
import pytest

from ecv_core.figures.spaces_study import (
    choices_frame,
    parameters_frame,
    parameters_sentence,
    points_frame,
    read_spaces,
    sentence,
    spaces_names,
    usable_splits,
)
from ecv_core.figures.tuning import spaces_scatter_figure, spaces_scatter_words
from ecv_core.records.errors import InputError

NAMES = [
    *(f"item-knn:neighbours={n},shrink={s}" for n in (10, 20) for s in ("0.0", "5.0")),
    *(f"ease:regularization={value}" for value in ("1.0", "9.0")),
]
# Under the first only the neighbours matter to ItemKNN, under the second only the shrinkage.
SCORES = {
    "user-k-fold": [0.1, 0.1, 0.2, 0.2, 0.3, 0.25],
    "leave-last-item": [0.1, 0.3, 0.1, 0.3, 0.4, 0.5],
    "temporal-global": [None, 0.3, None, None, 0.4, 0.2],
}
AGREEMENT = {"splits": ["user-k-fold", "leave-last-item"], "tau": 0.5, "interval": [0.25, 0.75]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    document = {
        "dataset": "ml-100k",
        "metric": "ndcg@10",
        "configurations": NAMES,
        "scores": SCORES,
        "agreements": [AGREEMENT | {"best_loss_percent": 20.0}],
    }
    (tmp_path / "ml-100k.json").write_text(json.dumps(document))
    return tmp_path


@pytest.fixture
def found(folder: Path):
    assert spaces_names(folder) == ["ml-100k"]
    return read_spaces(folder / "ml-100k.json")


def test_the_answer_says_whether_the_best_stays_the_best_and_how_sure_that_is(found) -> None:
    # 0.4 of the one against 0.5 of the best: 20 % below.
    assert sentence(found, "user-k-fold", "leave-last-item") == (
        "Of 6 configurations of 2 algorithms, the best under 'Per user, evenly' is EASE, "
        "regularization 1.0; under 'Last item' it has rank 2, 20 % below EASE, regularization 9.0. "
        "Kendall's tau between both rankings is 0.50 (0.25 to 0.75)."
    )
    assert sentence(found, "temporal-global", "user-k-fold") == (
        "Of 3 configurations of 2 algorithms, the best under 'One point in time' is EASE, "
        "regularization 1.0; it is the best under 'Per user, evenly' too. "
        "Kendall's tau between both rankings is not known."
    )


def test_only_configurations_with_a_score_under_both_are_points(found) -> None:
    points = points_frame(found, "user-k-fold", "temporal-global")
    assert points["configuration"].tolist() == [
        "ItemKNN, neighbours 10, shrink 5.0",
        "EASE, regularization 1.0",
        "EASE, regularization 9.0",
    ]
    assert points["rank"].tolist() == [3, 1, 2]
    assert points["other_rank"].tolist() == [2, 1, 3]
    figure = spaces_scatter_figure(points, "nDCG@10", "A", "B")
    assert [one.name for one in figure.data] == [
        *("ItemKNN", "EASE", "best under 'A'", "best under 'B'")
    ]
    assert [list(one.x) for one in figure.data] == [[0.1], [0.3, 0.25], [0.3], [0.3]]
    assert "EASE 0.2500 to 0.3000 and 0.2000 to 0.4000" in spaces_scatter_words(
        points, "nDCG@10", "A", "B"
    )


def test_every_split_chooses_and_every_other_looks_at_its_choice(found) -> None:
    frame = choices_frame(found)
    assert len(frame) == 6
    loss = {(row["split"], row["other"]): row["loss_percent"] for _, row in frame.iterrows()}
    assert loss["Last item", "Per user, evenly"] == pytest.approx(100 * 0.05 / 0.3)
    assert loss["Last item", "One point in time"] == pytest.approx(50)
    assert frame["tau"].notna().sum() == 2  # the pair that is recorded, each way round


def test_a_split_with_a_single_score_is_not_set_against_others(found) -> None:
    found.scores["temporal-global"][1:5] = np.nan
    assert usable_splits(found) == ["user-k-fold", "leave-last-item"]
    assert set(choices_frame(found)["split"]) == {"Per user, evenly", "Last item"}


def test_the_parameter_that_matters_most_is_another_under_another_split(found) -> None:
    frame = parameters_frame(found)  # not EASE, which has one parameter
    assert frame["parameter"].tolist() == ["neighbours", "shrink"]
    assert frame["Per user, evenly"].tolist() == pytest.approx([100, 0])
    assert frame["Last item"].tolist() == pytest.approx([0, 100])
    assert frame["One point in time"].isna().all()
    assert parameters_sentence(frame) == (
        "What matters most changes with the split for ItemKNN (neighbours under 'Per user, "
        "evenly', shrink under 'Last item')."
    )
    same = frame.assign(**{"Last item": frame["Per user, evenly"]})
    assert parameters_sentence(same) == "It is the same under every split for ItemKNN (neighbours)."


@pytest.mark.parametrize(
    "change",
    [
        {"scores": {"user-k-fold": [0.1]}},
        {"metric": "beauty@10"},
        {"agreements": [{"splits": ["a"]}]},
        {"configurations": None},
    ],
)
def test_a_damaged_file_is_a_sentence(folder: Path, change) -> None:
    path = folder / "ml-100k.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=r"ml-100k\.json .*restore it"):
        read_spaces(path)
