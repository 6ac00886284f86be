"""`compare`: two or more runs from the command line, as sentences and as JSON."""

import json

import pytest

from ecv_core import cli

RECORDED = ("ml-100k--popular", "ml-100k--item-knn", "ml-100k--ease")
ON_ANOTHER = ("ml-1m--popular", "ml-1m--item-knn", "ml-1m--ease")


def test_runs_are_compared_in_words_and_as_json(capsys):
    assert cli.main(["compare", *RECORDED[:2]]) == 0
    words = capsys.readouterr().out
    assert "item-knn is better than popular" in words
    assert "fitted models, on new users" in words
    assert cli.main(["compare", *RECORDED[:2], "--rope", "1", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    (pair,) = document["pairs"]
    assert sorted(document["runs"]) == sorted([pair["first"], pair["second"]])
    assert pair["fitted"] is pair["fitted_p_holm"] is None  # they are of tables
    # nDCG is at most 1, so no two differ by more than that.
    further = pair["further"]
    assert further["chances"]["equivalent"] == pytest.approx(1)
    assert further["margin"] == 1
    assert pair["test"]["pairs"] == further["pairs"] == 943
    assert further["signed_rank_p"] < 0.001
    assert further["randomization_p"] < 0.001


def test_learners_on_several_datasets_are_ranked(capsys):
    assert cli.main(["compare", *RECORDED, *ON_ANOTHER, "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["pairs"]) == 6
    (ranks,) = document["datasets"]
    assert ranks["datasets"] == ["ml-100k", "ml-1m"]
    assert ranks["mean_ranks"] == [3, 2, 1]
    # 12 N / (k (k + 1)) * sum of (rank - 2)^2, of two datasets and three learners.
    assert ranks["friedman_statistic"] == pytest.approx(12 * 2 / (3 * 4) * 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (RECORDED[:1], "at least two runs"),
        ((*RECORDED[:2], "--rope", "-0.1"), "at least 0"),
        ((RECORDED[0], "nowhere"), "nowhere"),
    ],
)
def test_what_cannot_be_compared_is_a_sentence(capsys, arguments, words):
    assert cli.main(["compare", *arguments]) == cli.BAD_INPUT
    assert words in capsys.readouterr().err
