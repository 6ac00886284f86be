"""Which runs may be compared, what is paired, and names and settings that tell runs apart."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from scipy import stats

from ecv_core.analysis.comparison.fairness import why_unfair
from ecv_core.analysis.comparison.further import further_tests
from ecv_core.analysis.comparison.names import distinct_names
from ecv_core.analysis.comparison.paired_runs import compare_runs, comparison_frame, user_means
from ecv_core.analysis.comparison.settings import ABSENT, compared_settings
from ecv_core.figures.verdicts import further_sentence
from ecv_core.records.run import Energy, FoldResult, RunRecord, RunState, UserScores
from ecv_core.records.spec import RunSpec

SPEC = RunSpec(dataset="ml-100k", algorithm="item-knn", params=(("neighbours", 100),))


def users(values, ids=None, metric="ndcg@10"):
    ids = range(len(values)) if ids is None else ids
    return UserScores(
        users=np.array(ids, dtype=np.int32),
        metrics=("other@10", metric),
        values=np.array([[-1, value] for value in values], dtype=np.float32),
    )


def run(scores, spec=SPEC, run_id="abcdef123456"):
    folds = tuple(
        FoldResult(
            fold=fold,
            score=score,
            metrics={},
            users=3,
            fit_seconds=0,
            evaluate_seconds=0,
            total_seconds=0,
            energy=Energy.none(),
        )
        for fold, score in scores.items()
    )
    return RunRecord(
        run_id=run_id,
        spec=spec,
        state=RunState.FINISHED,
        folds=folds,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def with_users(name, scores, kept=None, spec=SPEC):
    found = run(scores, spec, name)
    folds = [replace(fold, user_scores=(kept or {}).get(fold.fold)) for fold in found.folds]
    return replace(found, folds=tuple(folds))


def test_each_users_mean_is_over_the_folds_that_hold_something_of_them_out():
    scores = {0: users([0.0, 1.0], [7, 3]), 1: users([0.5], [3]), 2: users([9.0], [7])}
    assert user_means(scores, (0, 1), "ndcg@10").to_dict() == {3: 0.75, 7: 0.0}


def test_users_are_paired_over_the_folds_that_both_runs_have():
    a = {0: users([0.5, 0.25, 0.75]), 1: users([0.5, 0.75, 0.25]), 2: users([0.0, 0.0, 0.0])}
    b = {0: users([0.25, 0.25, 0.5]), 1: users([0.25, 0.25, 0.25])}
    tested, untested = compare_runs(
        [with_users("low", {0: 0.1, 1: 0.1}, b), with_users("high", {1: 0.2, 0: 0.2, 2: 0.9}, a)]
    )
    assert untested == []
    (one,) = tested
    assert (one.first, one.second, one.folds) == ("high", "low", (0, 1))
    assert (one.test.over, one.test.pairs) == ("users", 3)
    # Users' means 0.5, 0.5, 0.5 against 0.25, 0.25, 0.375.
    assert one.test.difference == pytest.approx((0.25 + 0.25 + 0.125) / 3)
    expected = stats.ttest_rel([0.5, 0.5, 0.5], [0.25, 0.25, 0.375]).pvalue
    assert one.p_holm == pytest.approx(expected)


def test_no_interval_reaches_further_than_two_scores_can_differ():
    # Two users differ by 0.25 and 0.5: t gives 0.375 and 12.7062 * 0.125 to each side.
    # nDCG is from 0 to 1.
    runs = [
        with_users("high", {0: 0.6}, {0: users([0.5, 0.75])}),
        with_users("low", {0: 0.25}, {0: users([0.25, 0.25])}),
    ]
    ((one,), _) = compare_runs(runs)
    assert (one.test.low, one.test.high) == (-1, 1)
    # An error has no greatest value.
    spec = replace(SPEC, metric="rmse")
    runs = [
        with_users("high", {0: 0.6}, {0: users([0.5, 0.75], metric="rmse")}, spec),
        with_users("low", {0: 0.25}, {0: users([0.25, 0.25], metric="rmse")}, spec),
    ]
    ((one,), _) = compare_runs(runs)
    assert one.test.high == pytest.approx(0.375 + 12.7062 * 0.125, rel=1e-5)


def test_without_users_scores_folds_are_paired():
    high = with_users("high", {0: 0.3, 1: 0.4, 2: 0.5})
    low = with_users("low", {2: 0.2, 1: 0.2, 0: 0.2}, {0: users([0.1, 0.2])})
    ((one,), _) = compare_runs([high, low])
    assert (one.test.over, one.test.pairs) == ("folds", 3)
    assert one.test.difference == pytest.approx(0.2)


TABLE = RunSpec(
    dataset="wine", algorithm="decision-tree", split="stratified-k-fold", metric="accuracy", k=3
)


def table_runs(samples):
    """Two runs of three folds with accuracies 0.2, 0.4, 0.6 and 0.1, 0.2, 0.3, and samples."""
    kept = {}
    for name, values in samples.items():
        kept[name] = {fold: users(part, ids, "accuracy") for fold, (ids, part) in values.items()}
    return [
        with_users("high", {0: 0.2, 1: 0.4, 2: 0.6}, kept.get("high"), TABLE),
        with_users("low", {0: 0.1, 1: 0.2, 2: 0.3}, kept.get("low"), TABLE),
    ]


def test_learners_on_a_table_are_paired_by_folds_and_their_fitted_models_by_samples():
    high = {0: ([0, 1], [1.0, 0.0]), 1: ([2, 3], [1.0, 1.0]), 2: ([4, 5], [1.0, 0.0])}
    low = {0: ([0, 1], [0.0, 0.0]), 1: ([2, 3], [1.0, 0.0]), 2: ([4, 5], [0.0, 1.0])}
    ((pair,), _) = compare_runs(table_runs({"high": high, "low": low}))
    # Differences 0.1, 0.2, 0.3: variance (1/3 + 1/2) * 0.01, so t = 0.2 / sqrt(1/120), and
    # Student's distribution with 2 degrees of freedom has a closed form.
    t = 0.2 / np.sqrt(1 / 120)
    assert (pair.first, pair.test.over, pair.test.pairs) == ("high", "folds", 3)
    assert pair.test.p == pytest.approx(1 - t / np.sqrt(t**2 + 2))
    assert "learners" in pair.test.speaks_of
    assert (pair.test_of_fitted_models.over, pair.test_of_fitted_models.pairs) == ("samples", 6)
    expected = stats.ttest_rel([1, 0, 1, 1, 1, 0], [0, 0, 1, 0, 0, 1]).pvalue
    assert pair.test_of_fitted_models.p == pytest.approx(expected)
    assert "fitted models" in pair.test_of_fitted_models.speaks_of


def test_where_samples_put_the_other_first_their_difference_is_turned_round():
    high = {0: ([0], [0.0]), 1: ([1], [0.0]), 2: ([2], [0.5])}
    low = {0: ([0], [1.0]), 1: ([1], [0.5]), 2: ([2], [1.0])}
    ((pair,), _) = compare_runs(table_runs({"high": high, "low": low}))
    assert pair.first == "high"
    assert pair.test_of_fitted_models.difference == pytest.approx(-2 / 3)
    assert (
        pair.test_of_fitted_models.low
        <= pair.test_of_fitted_models.difference
        <= pair.test_of_fitted_models.high
    )
    assert pair.test_of_fitted_models.effect < 0


def test_one_fold_of_a_table_tells_of_fitted_models_alone():
    of_fold = {
        name: {0: users([value, 0.0], metric="accuracy")}
        for name, value in (("a", 1.0), ("b", 0.5))
    }
    runs = [with_users(name, {0: 0.5}, scores, TABLE) for name, scores in of_fold.items()]
    ((pair,), _) = compare_runs(runs)
    assert pair.test.speaks_of == "these fitted models, on new samples"
    assert pair.test_of_fitted_models is None


def test_all_pairs_of_a_call_are_corrected_together():
    rng = np.random.default_rng(3)
    kept = {
        name: {0: users(np.clip(rng.random(40) + shift, 0, 2))}
        for name, shift in (("a", 0.0), ("b", 0.1), ("c", 0.3))
    }
    tested, _ = compare_runs([with_users(name, {0: 0.5}, kept[name]) for name in kept])
    raw = sorted(one.test.p for one in tested)
    assert sorted(one.p_holm for one in tested)[0] == pytest.approx(3 * raw[0])
    frame = comparison_frame(tested)
    assert frame["better"].tolist() == ["b", "c", "c"]
    assert frame["folds"].tolist() == ["0", "0", "0"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"dataset": "ml-1m"}, "different datasets (ml-1m and ml-100k)"),
        ({"metric": "recall"}, "different metrics (ndcg@10 and recall@10)"),
        ({"n": 5}, "different metrics (ndcg@5 and ndcg@10)"),
        ({"k": 5}, "different numbers of folds (5 and 10)"),
        ({"seed": 7}, "different seeds, so other draws (7 and 42)"),
        ({"split": "record-k-fold"}, "fold strategies (user-k-fold and record-k-fold)"),
        ({"split_params": (("share", 0.2),)}, "different settings of the split"),
        ({"folds_sha256": "f" * 64}, "different fold files"),
        ({"candidates": "train"}, "different candidates (all and train)"),
        ({"negatives": 100}, "different numbers of sampled negatives (100 and None)"),
    ],
)
def test_what_does_not_share_its_folds_is_not_tested_and_says_why(change, reason):
    other = replace(SPEC, **change)
    assert reason in why_unfair(SPEC, other)
    assert why_unfair(SPEC, other) == why_unfair(other, SPEC)
    tested, (one,) = compare_runs(
        [with_users("a", {0: 0.1, 1: 0.2}), with_users("b", {0: 0.1, 1: 0.2}, spec=other)]
    )
    assert tested == []
    assert reason in one.reason
    assert one.on_other_data == (other.dataset != "ml-100k" or other.metric_name != "ndcg@10")


@pytest.mark.parametrize(
    "change",
    [
        {"algorithm": "popular", "params": ()},
        {"rule_params": (("alpha", 1e-3),)},
        {"rule": "never", "full": True, "country": "FRA", "only_folds": (0, 1)},
    ],
)
def test_other_models_and_other_stops_are_a_fair_comparison(change):
    assert why_unfair(SPEC, replace(SPEC, **change)) == ""


def test_where_lower_is_better_the_lower_run_is_better_by_a_positive_difference():
    errors = replace(SPEC, metric="rmse")
    for kept in ({}, {fold: users([0.25, 0.5], metric="rmse") for fold in (0, 1)}):
        more = {fold: users([0.5, 0.5], metric="rmse") for fold in kept}
        ((one,), _) = compare_runs(
            [
                with_users("more", {0: 0.5, 1: 0.5}, more, errors),
                with_users("less", {0: 0.25, 1: 0.5}, kept, errors),
            ]
        )
        assert (one.first, one.second) == ("less", "more")
        assert one.test.difference == pytest.approx(0.125)


def test_users_for_whom_a_metric_is_not_defined_are_left_out():
    nan = float("nan")
    a, b = {0: users([0.5, nan, 0.5, 0.5])}, {0: users([0.25, 0.5, nan, 0.125])}
    ((one,), _) = compare_runs([with_users("a", {0: 0.5}, a), with_users("b", {0: 0.3}, b)])
    assert one.test.pairs == 2


def test_sampled_negatives_are_drawn_by_the_seed_also_with_imported_folds():
    one = replace(SPEC, split="imported", folds_sha256="a" * 64, negatives=50)
    assert "different seeds" in why_unfair(one, replace(one, seed=1))
    assert "ways to sample" in why_unfair(one, replace(one, negative_sampling="popularity"))


def test_imported_folds_are_the_same_folds_whatever_the_seed():
    one = replace(SPEC, split="imported", folds_sha256="a" * 64)
    assert why_unfair(one, replace(one, seed=1)) == ""


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (({0: 0.1}, None), ({1: 0.1}, None), "no fold in common"),
        (({0: 0.1}, None), ({0: 0.1}, None), "only one fold in common"),
        (
            ({0: 0.1}, {0: users([0.1, 0.2])}),
            ({0: 0.1}, {0: users([0.1, 0.2], [0, 5])}),
            "the dataset was not the same",
        ),
        (({0: 0.1}, {0: users([0.1])}), ({0: 0.1}, {0: users([0.2])}), "fewer than two users"),
    ],
)
def test_too_little_in_common_is_not_tested(first, second, reason):
    tested, (one,) = compare_runs([with_users("a", *first), with_users("b", *second)])
    assert tested == []
    assert reason in one.reason


def test_folds_that_are_not_k_fold_are_not_paired():
    spec = replace(SPEC, split="random-holdout")
    scores = {0: 0.1, 1: 0.2, 2: 0.3}
    _, (one,) = compare_runs([with_users(name, scores, spec=spec) for name in "ab"])
    assert "not those of a k-fold split" in one.reason


def test_settings_that_differ_come_first_and_those_of_one_algorithm_next():
    specs = [SPEC, replace(SPEC, algorithm="popular", params=(), seed=7)]
    fields = compared_settings(specs)
    assert [one.name for one in fields if one.differs] == ["algorithm", "seed"]
    assert [one.name for one in fields[:3]] == ["algorithm", "seed", "item-knn: neighbours"]
    assert fields[2].values == ("100", ABSENT)
    assert [one.name for one in fields if one.some_runs_lack_it] == ["item-knn: neighbours"]
    assert not any(one.differs or one.some_runs_lack_it for one in compared_settings([SPEC, SPEC]))


def test_a_setting_that_the_rule_does_not_use_is_no_difference():
    never = replace(SPEC, rule="never")
    fields = compared_settings([never, replace(never, min_folds=5)])
    assert not any(one.differs for one in fields)


def test_names_are_as_short_as_they_can_be():
    popular = replace(SPEC, algorithm="popular", params=())
    few = replace(SPEC, params=(("neighbours", 50),))
    runs = [run({}, spec, run_id=f"{at}00000") for at, spec in enumerate([SPEC, few, popular])]
    assert distinct_names(runs) == [
        "item-knn, neighbours 100",
        "item-knn, neighbours 50",
        "popular",
    ]
    again = [*runs, run({}, popular, run_id="abcdef99")]
    assert distinct_names(again)[2:] == ["popular (200000)", "popular (abcdef)"]
    apart = [run({}, SPEC), run({}, replace(SPEC, dataset="ml-1m"))]
    assert distinct_names(apart) == ["item-knn", "item-knn"]


ALPHA = {"rule_params": (("alpha", 1e-4),)}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ((ALPHA, {"rule_params": (("alpha", 1e-3),)}), ["alpha 1e-4", "alpha 1e-3"]),
        (
            (ALPHA, {"rule": "precision", "rule_params": (("tolerance", 0.03),)}),
            ["alpha 1e-4", "precision 3 %"],
        ),
        (
            (
                {"rule": "fixed", "rule_params": (), "min_folds": 5},
                {"rule": "never", "rule_params": ()},
                {"min_folds": 3},
            ),
            ["fixed 5", "all folds", "alpha 1e-4"],
        ),
        (({"seed": 1, "country": "FRA"}, {"seed": 2}), ["seed 1", "seed 2"]),
        (({"country": "FRA"}, {"country": "DEU"}), ["item-knn (0)", "item-knn (1)"]),
    ],
)
def test_runs_of_one_algorithm_are_named_by_what_differs_in_short(settings, told):
    base = replace(SPEC, rule="e-fold", **ALPHA)
    runs = [run({}, replace(base, **one), run_id=str(at)) for at, one in enumerate(settings)]
    assert distinct_names(runs) == told


def test_the_same_run_twice_is_told_apart_by_its_id():
    runs = [run({}, SPEC, run_id=run_id) for run_id in ("abcdef99", "12345678")]
    assert distinct_names(runs) == [f"{SPEC.algorithm} (abcdef)", f"{SPEC.algorithm} (123456)"]


def test_repetitions_of_a_split_do_not_make_its_training_sets_differ_more():
    # Four folds of two 2-fold partitions: each trains on half of the rows and tests on the other.
    repeated = replace(TABLE, split="imported", folds_sha256="a" * 64, k=4, overlap=1.0)
    first = with_users("high", {0: 0.2, 1: 0.4, 2: 0.6, 3: 0.8}, spec=repeated)
    second = with_users("low", {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4}, spec=repeated)
    ((pair,), _) = compare_runs([first, second])
    # Differences 0.1 to 0.4: mean 0.25, variance 1/60, times 1/4 for the folds and 1/1 for what is
    # tested over what is learnt from.
    t = 0.25 / np.sqrt((1 / 4 + 1) / 60)
    assert pair.test.p == pytest.approx(2 * stats.t.sf(t, 3))
    (further,) = further_tests([pair], [first, second], margin=0.0)
    assert further.chances.first == pytest.approx(stats.t.cdf(t, 3))


def test_folds_that_all_differ_by_the_same_do_not_tell_of_learners():
    scores = ({0: 0.9, 1: 0.8, 2: 0.7}, {0: 0.8, 1: 0.7, 2: 0.6})
    without_samples = [
        with_users(name, fold_scores, spec=TABLE)
        for name, fold_scores in zip("ab", scores, strict=True)
    ]
    tested, (untested,) = compare_runs(without_samples)
    assert tested == []
    assert "in all 3 folds they differ by the same" in untested.reason
    right = {
        fold: users([1.0, 1.0, 0.0], [3 * fold, 3 * fold + 1, 3 * fold + 2]) for fold in range(3)
    }
    wrong = {
        fold: users([1.0, 0.0, 0.0], [3 * fold, 3 * fold + 1, 3 * fold + 2]) for fold in range(3)
    }
    runs = [
        with_users("a", scores[0], kept_as_accuracy(right), TABLE),
        with_users("b", scores[1], kept_as_accuracy(wrong), TABLE),
    ]
    ((pair,), _) = compare_runs(runs)
    assert pair.test.speaks_of == "these fitted models, on new samples"
    (further,) = further_tests([pair], runs)
    assert further.chances is None


def test_users_who_all_differ_by_the_same_do_not_tell_of_others():
    first = {fold: users([1.0, 0.75, 0.5]) for fold in range(2)}
    second = {fold: users([0.75, 0.5, 0.25]) for fold in range(2)}
    runs = [with_users("a", {0: 0.75, 1: 0.75}, first), with_users("b", {0: 0.5, 1: 0.5}, second)]
    tested, (untested,) = compare_runs(runs)
    assert tested == []
    assert untested.reason.startswith("in all 3 users they differ by the same")


def test_folds_with_the_same_scores_do_not_show_that_learners_are_equivalent():
    scores = {0: 0.5, 1: 0.5}
    without_samples = [with_users(name, scores, spec=TABLE) for name in "ab"]
    ((pair,), _) = compare_runs(without_samples)
    assert pair.test.p == 1
    (further,) = further_tests([pair], without_samples)
    assert further.chances is None
    assert further_sentence(further) == "No other test tells anything of a and b."
    # Each is right where the other is wrong, so that on new samples either may be better by much.
    first = {fold: users([1.0, 0.0], [2 * fold, 2 * fold + 1]) for fold in range(2)}
    second = {fold: users([0.0, 1.0], [2 * fold, 2 * fold + 1]) for fold in range(2)}
    runs = [
        with_users("a", scores, kept_as_accuracy(first), TABLE),
        with_users("b", scores, kept_as_accuracy(second), TABLE),
    ]
    ((pair,), _) = compare_runs(runs)
    assert pair.test.speaks_of == "these fitted models, on new samples"
    assert pair.test.low < 0 < pair.test.high
    (further,) = further_tests([pair], runs)
    assert further.chances is None


@pytest.mark.parametrize(
    ("split", "is_k_fold"),
    [("user-k-fold", True), ("user-fold-in", True), ("random-holdout", False)],
)
def test_chances_over_folds_are_given_where_each_is_one_of_k_parts(split, is_k_fold):
    # random-holdout tests on a fifth of the data in each of ten folds, which overlap.
    spec = replace(SPEC, split=split, k=10)
    scores = {fold: users([0.1 * fold, 0.5, 0.3]) for fold in range(3)}
    runs = [
        with_users("a", {0: 0.2, 1: 0.4, 2: 0.7}, scores, spec),
        with_users("b", {0: 0.1, 1: 0.2, 2: 0.3}, scores, spec),
    ]
    (further,) = further_tests(compare_runs(runs)[0], runs)
    assert (further.chances is not None) == is_k_fold


def kept_as_accuracy(of_folds):
    return {
        fold: replace(scores, metrics=("other", "accuracy")) for fold, scores in of_folds.items()
    }


def test_one_user_with_far_scores_hides_no_difference_of_the_others():
    high = {0: users([1_000_000, 1.5, 2.5, 3.5, 4.5, 5.5])}
    low = {0: users([999_992, 1.4, 2.3, 3.2, 4.1, 5.0])}
    runs = [with_users("high", {0: 0.2}, high), with_users("low", {0: 0.1}, low)]
    (further,) = further_tests(compare_runs(runs)[0], runs)
    # All six differ the same way, of 2^6 ways that are equally likely by chance.
    assert (further.pairs, further.signed_rank_p) == (6, pytest.approx(2 / 2**6))
