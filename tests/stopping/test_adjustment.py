"""Means corrected by cheap models: hand-worked values, adversaries, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import InputError
from ecv_core.records.run import Energy, FoldResult, UserScores
from ecv_core.stopping import Precision, moments
from ecv_core.stopping.adjustment import CheapModels, adjusted_means

METRIC = "ndcg@10"


def scores_of(values):
    """Shape (folds, users), NaN where a user is not there -> fold -> UserScores."""
    found = {}
    for fold, row in enumerate(np.asarray(values, dtype=np.float64)):
        users = np.flatnonzero(~np.isnan(row)).astype(np.int32)
        found[fold] = UserScores(
            users=users, metrics=(METRIC,), values=row[users, None].astype(np.float32)
        )
    return found


def cheap_of(*models):
    named = {f"cheap-{place}": scores_of(one) for place, one in enumerate(models)}
    return CheapModels(named, METRIC)


def results_of(values):
    return [
        FoldResult(
            fold=fold,
            score=float(one.of(METRIC).mean(dtype=np.float64)),
            metrics={},
            users=len(one.users),
            fit_seconds=0.0,
            evaluate_seconds=0.0,
            total_seconds=0.0,
            energy=Energy.none(),
            user_scores=one,
        )
        for fold, one in scores_of(values).items()
    ]


CHEAP = [[0.2, 0.2, 0.2], [0.4, 0.2, 0.6], [0.6, 0.5, 0.4]]
DEAR = [[0.5, 0.1, 0.3], [0.6, 0.2, 0.5], [0.4, 0.4, 0.4]]


def test_two_of_three_folds_worked_by_hand():
    # From fold 0 to 1 users gain .2, 0, .4 with the cheap model and .1, .1, .2 with the dear one:
    # slope (.02 + 0 + .08) / (.04 + .16) = 1/2. Z = half the cheap score: fold means .1, .2, .25.
    # Its users explain .25 * (.22 / 6) / 3 = .0030556 of a variance; the fold means have .0058333;
    # together (12 * .0030556 + 2 * .0058333) / 14 = .0034524, so .00039683 is its folds' own.
    # Shared: .5 * (.1 / 2 / 3) / 3 = .0027778. Fold means seen: .066667 * .05 * 2 and 2 * .05^2.
    weight = (12 * 0.0027777778 + 0.0066666667) / (12 * (0.0027777778 + 0.00039682540) + 0.005)
    mean = 0.36666667 - weight * (0.15 - 0.55 / 3)
    values = np.array(DEAR)
    values[2] = np.nan
    fold_means = np.array([0.3, 1.3 / 3, np.nan])
    found = adjusted_means(fold_means, values, cheap_of(CHEAP), np.array([[True, True, False]]))
    assert found.weights == pytest.approx([weight], rel=1e-6)
    assert weight == pytest.approx(0.928177, abs=1e-6)
    assert found.means == pytest.approx([mean], rel=1e-6)
    # Residual steps of the users: .1 - w .1, .1, .2 - w .2; within (sum of squares / 2 / 3) / 3.
    steps = np.array([0.1 - weight * 0.1, 0.1, 0.2 - weight * 0.2])
    users = (steps**2).sum() / 2 / 3 / 3
    # One slope from three users' steps: 3 / 2 for the freedom it takes, and its own error, with
    # (mean_e - mean_k)^2 / variance of the cheap fold mean, over (1/e - 1/k) and 2 degrees.
    leverage = (0.3 - 1.1 / 3) ** 2 / (0.2 / 2 / 3 / 3) / (1 / 2 - 1 / 3) / 2
    users = users * (3 / 2 + weight**2 * leverage) + weight**2 * 0.00039682540
    assert found.variance.by_users == pytest.approx([users], rel=1e-6)
    apart = 0.4 / 3 - weight * 0.1  # of the corrected means of the two folds
    assert found.variance.of_fold_means == pytest.approx([apart**2 / 2], rel=1e-6)


def test_all_folds_give_the_plain_mean_and_nothing_is_left():
    everything = np.ones((1, 3), dtype=np.bool_)
    means = np.array(DEAR).mean(axis=1)
    found = adjusted_means(means, np.array(DEAR), cheap_of(CHEAP), everything)
    assert found.means[0] == pytest.approx(means.mean(), rel=1e-12)
    assert found.variance.half_widths(3, 0.95)[0] == 0


def made(rng, relation, users=300, k=10):
    """A dear and a cheap model on the same folds; users have levels, folds and users their luck."""
    level, ease = rng.standard_normal(users), rng.standard_normal((k, users))
    own = rng.standard_normal((2, k, users))
    dear = 10 + level + ease + 0.5 * own[0]
    cheap = {
        "alike": 5 + level + ease + 0.5 * own[1],
        "opposite": 5 - level - ease + 0.5 * own[1],
        "unrelated": 5 + own[1],
        "own fold effects": 5 + level + ease + 0.5 * own[1] + 0.3 * rng.standard_normal((k, 1)),
    }[relation]
    return dear, cheap


@pytest.mark.parametrize(
    ("relation", "least", "most"),
    [
        ("alike", 0.2, 0.7),
        ("opposite", 0.2, 0.7),  # the slope is negative, and helps as much
        ("unrelated", 0.9, 1.05),
        ("own fold effects", 0.5, 1.05),  # of 0.3, where users explain 0.06
    ],
)
def test_errors_shrink_where_the_cheap_model_helps_and_do_not_grow_elsewhere(relation, least, most):
    rng = np.random.default_rng(1)
    sets = np.tri(10, dtype=np.bool_)[[0, 1, 3]]
    errors, kept = [], []
    for _ in range(60):
        dear, cheap = made(rng, relation)
        means = dear.mean(axis=1)
        found = adjusted_means(means, dear, cheap_of(cheap), sets)
        plain = np.array([means[one].mean() for one in sets])
        errors.append((found.means - means.mean(), plain - means.mean()))
        half = found.variance.half_widths(10, 0.95)
        kept.append(np.abs(found.means - means.mean()) <= half)
    corrected, plain = np.sqrt((np.array(errors) ** 2).mean(axis=(0, 2)))
    assert least < corrected / plain < most
    assert np.mean(kept) >= 0.93


def test_a_handful_of_users_is_not_corrected():
    values = np.array([[0.5, 0.1], [np.nan, np.nan], [np.nan, np.nan]])
    cheap = [[0.2, 0.3], [0.4, 0.1], [0.1, 0.2]]
    only = np.array([[True, False, False]])
    found = adjusted_means(np.array([0.3, np.nan, np.nan]), values, cheap_of(cheap), only)
    assert found.weights[0] == 0
    assert found.means[0] == pytest.approx(0.3)


def test_the_rule_goes_by_the_corrected_mean_and_says_so():
    rng = np.random.default_rng(2)
    dear, cheap = made(rng, "alike")
    results = results_of(dear)[:4]
    rule = Precision(tolerance=0.01, k=10, adjust_by=["cheap-0"], cheap_models=cheap_of(cheap))
    plain = Precision(tolerance=0.01, k=10)
    whole = dear.mean()
    one, other = moments(rule, results, 0.95), moments(plain, results, 0.95)
    off = [abs(at[-1].mean - whole) for at in (one, other)]
    assert off[0] < off[1]
    assert one[-1].interval.width < other[-1].interval.width
    middle = (one[-1].interval.low + one[-1].interval.high) / 2
    assert middle == pytest.approx(one[-1].mean)
    said = f"the mean adjusted from {other[-1].mean:.4f} to {one[-1].mean:.4f}"
    assert said in one[-1].decision.reason


@pytest.mark.parametrize("seed", range(20))
def test_a_model_that_the_cheap_one_explains_completely_has_an_interval_after_each_fold(seed):
    cheap = np.random.default_rng(seed).random((6, 12)).astype(np.float32)
    rule = Precision(tolerance=0.001, k=6, adjust_by=["cheap-0"], cheap_models=cheap_of(cheap))
    for moment in moments(rule, results_of(cheap), 0.95):
        assert moment.interval is not None


def test_the_order_of_the_folds_does_not_matter():
    dear, cheap = made(np.random.default_rng(3), "alike")
    results = results_of(dear)
    rule = Precision(tolerance=0.01, k=10, adjust_by=["cheap-0"], cheap_models=cheap_of(cheap))
    assert rule.mean([results[at] for at in (7, 2, 5)]) == pytest.approx(
        rule.mean([results[at] for at in (2, 5, 7)]), rel=1e-12
    )


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (Precision(tolerance=0.1, k=3, adjust_by=["ease"]), "adjusted by ease, which needs all 3"),
        (
            Precision(tolerance=0.1, k=3, adjust_by=["cheap-0"], cheap_models=cheap_of(CHEAP[:2])),
            "all 3 folds",
        ),
        (
            Precision(
                tolerance=0.1,
                k=3,
                adjust_by=["cheap-0"],
                cheap_models=cheap_of([[0.2, np.nan, 0.2], *CHEAP[1:]]),
            ),
            r"fold 0 has other users than the same fold of 'cheap-0' \(1 differ\)",
        ),
    ],
)
def test_what_cannot_be_adjusted_is_refused(rule, said):
    with pytest.raises(InputError, match=said):
        rule.decide(results_of(DEAR)[:1])


def test_one_fold_alone_cannot_be_adjusted():
    asked = {"dataset": "synthetic", "algorithm": "item-knn", "rule": "precision", "tolerance": 0.1}
    with pytest.raises(InputError, match="only one fold is asked for; leave adjust_by out"):
        make_spec(**asked, adjust_by=("popular",), only_folds=(2,))


def test_cheap_models_must_have_the_same_folds():
    with pytest.raises(
        InputError, match="to adjust by 'b', its ndcg@10 for every user in the folds"
    ):
        CheapModels({"a": scores_of(CHEAP), "b": scores_of(CHEAP[:2])}, METRIC)
