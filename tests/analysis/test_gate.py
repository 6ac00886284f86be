"""Whether a candidate passes: by values worked out by hand, and by drawn users."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ecv_core as ecv
from ecv_core.analysis.gate import GateVerdict, gate
from ecv_core.analysis.gate_sides import gate_sides, side_of_file
from ecv_core.records.errors import InputError

BASELINE = [0.50, 0.52, 0.48, 0.50]


def test_the_interval_over_folds_is_nadeaus_and_bengios_for_all_looks():
    # Differences 0.00, 0.02: mean 0.01, deviation 0.014142; 1/2 + 1/3 of k = 4: error 0.012910; an
    # end errs by 0.05 / 4, so t(1) at 0.9875 is 25.4517: half the interval is 0.32858.
    decided = gate(BASELINE[:2], [0.50, 0.54], margin=0.4, k=4, planned_folds=4)
    assert decided.verdict is GateVerdict.PASSES
    assert (decided.low, decided.high) == pytest.approx((0.01 - 0.32858, 0.01 + 0.32858), abs=1e-5)
    assert (
        gate(BASELINE[:2], [0.50, 0.54], margin=0.3, k=4, planned_folds=4).verdict
        is GateVerdict.UNKNOWN
    )


@pytest.mark.parametrize(
    ("loss", "higher_is_better", "verdict"),
    [
        (0.0, True, GateVerdict.PASSES),
        (0.2, True, GateVerdict.FAILS),
        (-0.2, True, GateVerdict.PASSES),
        (-0.2, False, GateVerdict.FAILS),
        (0.2, False, GateVerdict.PASSES),
    ],
)
def test_a_clear_candidate_is_decided_before_the_last_fold(loss, higher_is_better, verdict):
    users = np.random.default_rng(1).normal(0.5, 0.1, (10, 400))
    noise = np.random.default_rng(2).normal(0, 0.01, (10, 400))
    decided = gate(users, users - loss + noise, margin=0.01, higher_is_better=higher_is_better)
    assert decided.verdict is verdict
    assert decided.folds < 3
    assert decided.of == "users"


def test_what_these_folds_cannot_tell_is_an_answer_of_its_own():
    decided = gate(BASELINE, [0.45, 0.56, 0.47, 0.53])
    assert decided.verdict is GateVerdict.UNKNOWN
    assert decided.folds == 4
    assert decided.margin == pytest.approx(0.005)  # 1 % of 0.5
    assert decided.sentence.startswith("These folds cannot tell")


def test_folds_that_differ_alike_tell_nothing_and_the_same_model_passes():
    decided = gate(BASELINE, [score - 0.1 for score in BASELINE])
    assert (decided.verdict, decided.low) == (GateVerdict.UNKNOWN, -math.inf)
    assert decided.sentence.endswith(
        "the difference is -0.1000, for new data (from the fold scores alone) it is not known."
    )
    assert gate(BASELINE, BASELINE).verdict is GateVerdict.PASSES
    assert gate(BASELINE[:2], BASELINE[:2], planned_folds=4).verdict is GateVerdict.UNKNOWN


def test_a_few_users_who_score_alike_do_not_show_that_all_do():
    some = np.full((3, 20), 0.5)
    assert gate(some, some, margin=0.01).verdict is GateVerdict.UNKNOWN
    many = np.full((3, 20_000), 0.5)
    assert gate(many, many, margin=0.01).verdict is GateVerdict.PASSES


@pytest.mark.parametrize(
    ("baseline", "candidate", "words"),
    [
        ([0.5], [0.5], "at least two folds"),
        ([0.5, 0.4], [0.5], "their shapes are (2,) and (1,)"),
        ([0.5, "x"], [0.5, 0.4], "scores must be numbers"),
        ([0.5, math.inf], [0.5, 0.4], "a score is infinite"),
        ([0.5, math.nan], [0.5, 0.4], "leave the fold out"),
        ([], [], "their shapes are (0,)"),
    ],
)
def test_bad_scores_are_one_sentence(baseline, candidate, words):
    with pytest.raises(InputError) as refused:
        gate(baseline, candidate)
    assert words in str(refused.value)


def test_a_candidate_worse_by_the_margin_seldom_passes_and_seldom_fails():
    """Users of whom most score nothing, and folds with a luck of their own."""
    random = np.random.default_rng(7)
    verdicts = []
    for _ in range(200):
        scores = random.beta(0.3, 2, (5, 300)) * (random.random((5, 300)) < 0.5)
        luck = random.normal(0, 0.003, (5, 1))
        candidate = scores + random.normal(-0.01, 0.08, (5, 300)) + luck
        verdicts.append(gate(scores, candidate, margin=0.01).verdict)
    # Each is to err in 5 % at most: 19 of 200 and more would be seen in 1 of 200 such tests.
    assert verdicts.count(GateVerdict.PASSES) < 19
    assert verdicts.count(GateVerdict.FAILS) < 19


def test_where_lower_is_better_the_sentence_says_that_the_difference_is_turned_round():
    # The RMSE of the candidate is higher by 0.20 and 0.21, which two folds show to be worse.
    decided = gate(
        [0.90, 0.91, 0.89], [1.10, 1.12, 1.08], higher_is_better=False, scored_unit="folds"
    )
    assert decided.difference == pytest.approx(-0.205)
    assert "the difference, turned round as lower is better, is -0.2050, for" in decided.sentence
    assert "the difference is -" in gate(BASELINE, [0.45, 0.50, 0.47, 0.53]).sentence


def gate_files(
    folder: Path, baseline: str, candidate: str, metric: str | None = None
) -> GateVerdict:
    sides = []
    for name, text in (("baseline.csv", baseline), ("candidate.csv", candidate)):
        path = folder / name
        path.write_text(text)
        sides.append(side_of_file(path, "", metric))
    return gate_sides(*sides, margin=None, confidence=0.95).verdict


def test_files_of_other_metrics_units_or_numbers_of_folds_are_not_compared(tmp_path: Path) -> None:
    errors = "fold,rmse\n0,.90\n1,.92\n2,.91\n"
    gains = "fold,ndcg@10\n0,.30\n1,.32\n2,.31\n"
    assert gate_files(tmp_path, errors, errors.replace("rmse", "test_rmse"))
    assert gate_files(tmp_path, gains, gains.replace("@10", ""))
    shares = gains.replace("ndcg@10", "accuracy")
    assert gate_files(tmp_path, shares, shares.replace("accuracy", "acc"))
    f_scores = gains.replace("ndcg", "f1")  # the 1 is no cut-off
    assert gate_files(tmp_path, f_scores, f_scores.replace("@10", ""))
    with pytest.raises(InputError, match="the baseline are rmse and those of the candidate mae"):
        gate_files(tmp_path, errors, errors.replace("rmse", "mae"))
    with pytest.raises(InputError, match="ndcg@10 and those of the candidate ndcg@5"):
        gate_files(tmp_path, gains, gains.replace("@10", "@5"))
    with pytest.raises(InputError, match=r"is 0\.31 and that of the candidate 31, so one of"):
        gate_files(tmp_path, gains, gains.replace(",.", ","))
    rates = gains.replace("ndcg@10", "error_rate")
    with pytest.raises(InputError, match=r"is 0\.31 and that of the candidate 31, so one of"):
        gate_files(tmp_path, rates, rates.replace(",.", ","))
    assert gate_files(tmp_path, errors, errors.replace(",.", ","))  # an RMSE has any size


def test_files_that_are_of_two_datasets_or_of_two_metrics_however_called_are_not_compared(
    tmp_path: Path,
) -> None:
    of_ml = "dataset,model,fold,rmse\nml,A,0,.9\nml,A,1,.8\n"
    assert gate_files(tmp_path, of_ml, of_ml)
    with pytest.raises(InputError, match="baseline are of the dataset ml and those of the cand"):
        gate_files(tmp_path, of_ml, of_ml.replace("ml", "amazon"))
    with pytest.raises(InputError, match="baseline are rmse and those of the candidate mae"):
        gate_files(tmp_path, of_ml, of_ml.replace("rmse", "mae"), "rmse")


@pytest.mark.parametrize("name", ["{}", "fold {}", "Fold{}", "{}.0"])
def test_folds_that_may_be_numbered_from_0_and_from_1_are_not_paired(tmp_path, name) -> None:
    scores = (0.80, 0.82, 0.81, 0.83, 0.79)

    def file_of(numbers: list[int]) -> str:
        rows = [f"{name.format(number)},{scores[number]}" for number in numbers]
        return "\n".join(["fold,accuracy", *rows])

    from_0 = file_of([0, 1, 2, 3, 4])
    for numbers in ([1, 2, 3], [1, 2, 3, 4], [1]):
        with pytest.raises(InputError, match="baseline are numbered from 0, and"):
            gate_files(tmp_path, from_0, file_of(numbers))
        with pytest.raises(InputError, match="baseline are numbered from 1, and"):
            gate_files(tmp_path, file_of(numbers), from_0)
    assert gate_files(tmp_path, from_0, file_of([0, 1, 2]))
    assert gate_files(tmp_path, from_0, file_of([0, 2]))
    assert gate_files(tmp_path, file_of([1, 2, 3, 4]), file_of([1, 2]))
    assert gate_files(tmp_path, from_0, file_of([2, 3, 4]))


def test_tables_of_pandas_are_paired_by_their_labels() -> None:
    users = [f"u{user}" for user in range(30)]
    folds = ["a", "b", "c", "d"]
    scores = pd.DataFrame(np.random.default_rng(0).random((4, 30)), index=folds, columns=users)
    assert gate(scores, scores.loc[folds[::-1], users[::-1]]) == gate(scores, scores)
    means = scores.mean(axis=1)
    assert ecv.gate(means, means.iloc[::-1]).low == 0
    assert gate(means, means.set_axis([7, 8, 9, 10])).low == 0  # no label in common
    with pytest.raises(InputError, match="have 3 labels in common, such as 'a'"):
        gate(means, means.rename({"d": "e"}))
