import math

import numpy as np
import pytest

from ecv_core.analysis.selection import Terms, play, play_orders
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from tests.analysis.selection.conftest import made


def by_fold(name: str, scores: list[float]) -> Scores:
    """A contender without scores per user."""
    return Scores(name=name, folds=np.array(scores))


def test_contenders_far_behind_are_out_after_one_fold_and_the_best_wins() -> None:
    some = made([0.5, 0.9, 0.1], spread=0.01, random=False)
    played = play(some, Terms(k=10), range(10))
    assert played.folds_used == (1, 1, 1)
    assert played.verdict.winner == 1
    assert played.verdict.order == (1, 0, 2)
    assert played.verdict.tied == ()
    assert played.joules == 1 + 2 + 3
    assert played.joules_of_all_folds == 10 * (1 + 2 + 3)


def test_lower_can_be_better() -> None:
    some = made([0.5, 0.9, 0.1], spread=0.01, random=False)
    played = play(some, Terms(k=10, higher_is_better=False), range(10))
    assert played.verdict.order == (2, 0, 1)
    assert played.rounds[0].gaps[1].behind == pytest.approx(0.8, abs=0.01)


def test_gap_of_the_second_holds_the_true_distance_and_its_low_end_drops_it() -> None:
    some = made([0.5, 0.4], users=400, random=False)
    played = play(some, Terms(k=10), range(10))
    gap = played.rounds[-1].gaps[1]
    assert gap.low < 0.1 < gap.high
    assert gap.low > 0
    assert played.rounds[-1].dropped == (1,)
    assert all(one.gaps[1].low <= 0 for one in played.rounds[:-1])


def test_a_model_that_draws_random_numbers_is_not_out_as_soon_as_one_that_does_not() -> None:
    sure = made([0.5, 0.43], random=False, users=200)
    unsure = made([0.5, 0.43], random=True, users=200)
    folds = [len(play(one, Terms(k=10), range(10)).rounds) for one in (sure, unsure)]
    assert folds[0] < folds[1]


def test_contenders_within_the_indifference_are_not_told_apart() -> None:
    some = made([0.500, 0.499], spread=0.01, users=500, random=False)
    strict = play(some, Terms(k=10), range(10))
    loose = play(some, Terms(k=10, indifference=0.02), range(10))
    assert strict.verdict.winner == 0
    assert loose.verdict.tied == (1,) or loose.verdict.tied == (0,)
    assert len(loose.rounds) < len(strict.rounds) or len(strict.rounds) == 1


def test_contenders_with_the_same_score_for_every_user_are_tied_after_one_fold() -> None:
    values = made([0.5])[0]
    twin = Scores(name="twin", folds=values.folds, users=values.users, joules=values.joules)
    played = play([values, twin], Terms(k=10), range(10))
    assert played.folds_used == (1, 1)
    assert played.verdict.tied == (1,)


def test_contenders_that_nothing_separates_use_all_folds_and_are_tied() -> None:
    some = made([0.5, 0.5], seed=0)
    played = play(some, Terms(k=10), range(10))
    assert played.folds_used == (10, 10)
    assert played.rounds[-1].decided
    assert len(played.verdict.tied) == 1


def test_order_goes_on_until_every_place_is_known() -> None:
    some = made([0.5, 0.49, 0.1, 0.3], spread=0.05, users=300, random=False)
    winner = play(some, Terms(k=10), range(10))
    order = play(some, Terms(k=10, until="order"), range(10))
    assert order.verdict.order == (0, 1, 3, 2)
    assert order.verdict.ties == ()
    assert order.folds_used[2] < order.folds_used[0] == order.folds_used[1]
    assert sum(order.folds_used) >= sum(winner.folds_used)


def test_order_names_the_pairs_that_nothing_separates() -> None:
    some = made([0.5, 0.5, 0.1], spread=0.05, seed=1, random=False)
    played = play(some, Terms(k=10, until="order"), range(10))
    assert [set(pair) for pair in played.verdict.ties] == [{0, 1}]
    assert played.verdict.order[2] == 2


def test_without_scores_per_user_the_folds_decide_by_students_t() -> None:
    # Differences 1.00, 1.01, ...: two folds have mean 1.005, deviation 0.00707, one degree of
    # freedom; at error 0.05 / 9 each end is t = 57.3 times 0.00707 * sqrt(1/2 - 1/10) away: 0.256.
    better = by_fold("better", [2.00 + 0.01 * n for n in range(10)])
    other = by_fold("other", [1.0] * 10)
    played = play([better, other], Terms(k=10), range(10))
    assert len(played.rounds) == 2
    assert math.isinf(played.rounds[0].gaps[1].low)
    assert played.rounds[1].gaps[1].low == pytest.approx(1.005 - 0.256, abs=0.002)
    assert played.joules is None


def test_intervals_are_as_wide_as_all_contenders_and_looks_need() -> None:
    # Union bound: 1 - 0.95 over 3 differences and 9 looks; over 6 differences for the order.
    assert Terms(k=10).level(4) == pytest.approx(0.05 / 3 / 9)
    assert Terms(k=10, until="order").level(4) == pytest.approx(0.05 / 6 / 9)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"confidence": 1.0}, "between 0 and 1, but is 1.0"),
        ({"confidence": math.nan}, "between 0 and 1"),
        ({"indifference": 1.5}, "but is 1.5"),
        ({"indifference": -0.1}, "but is -0.1"),
        ({"until": "both"}, "winner or order, not 'both'"),
        ({"k": 1}, "at least 2 folds"),
    ],
)
def test_terms_that_cannot_be_are_refused(values: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Terms(**({"k": 10} | values))  # type: ignore[arg-type]


def test_contenders_that_cannot_be_compared_are_refused() -> None:
    some = made([0.5, 0.4])
    with pytest.raises(InputError, match="at least two contenders"):
        play(some[:1], Terms(k=10), range(10))
    with pytest.raises(InputError, match="'c0' is there twice"):
        play([some[0], some[1], some[0]], Terms(k=10), range(10))
    values = some[1].users.copy()  # type: ignore[union-attr]
    values[3, 7] = np.nan
    odd = Scores(name="odd", folds=some[1].folds, users=values, joules=some[1].joules)
    with pytest.raises(InputError, match="fold 3 of 'odd' has other users"):
        play([some[0], odd], Terms(k=10), range(10))


def test_a_missing_fold_is_said_when_it_is_needed() -> None:
    some = made([0.5, 0.5])
    cut = np.where(np.arange(10) < 2, some[1].folds, np.nan)
    short = Scores(name="short", folds=cut, users=some[1].users, joules=some[1].joules)
    with pytest.raises(InputError, match="'short' has no fold 2"):
        play([some[0], short], Terms(k=10), range(10))
    with pytest.raises(InputError, match="every order needs all folds"):
        play_orders([some[0], short], Terms(k=10), orders=3)


def test_a_dear_contender_is_spared_the_fold_that_cheaper_ones_make_unnecessary() -> None:
    # After fold 0 b leads and nothing is known of the deviations; in fold 1 a and b run first,
    # a takes the lead, and against a the dear one was far enough behind on fold 0 already.
    k = 10
    base = np.linspace(0, 1, 50)
    values = {
        "a": [base + 0.30, base + 0.60] + [base + 0.6] * 8,
        "b": [base + 0.31 + 2.0 * np.cos(40 * base), base - 0.50] + [base] * 8,
        "dear": [base + 0.20 + 0.01 * np.sin(9 * base), base + 0.2] + [base + 0.2] * 8,
    }
    cost = {"a": 1.0, "b": 2.0, "dear": 100.0}
    some = [
        Scores(
            name=name,
            folds=np.array([fold.mean() for fold in folds]),
            users=np.array(folds),
            joules=np.full(k, cost[name]),
            random=False,
        )
        for name, folds in values.items()
    ]
    played = play(some, Terms(k=k), range(k))
    assert played.rounds[0].leader == 1
    assert played.rounds[0].dropped == ()
    assert played.folds_used[2] == 1
    assert played.verdict.winner == 0


def test_over_orders_counts_right_winners_folds_and_joules() -> None:
    some = made([0.9, 0.5, 0.1], spread=0.01, random=False)
    over = play_orders(some, Terms(k=10), orders=50)
    assert over.right == over.right_order == 1.0
    assert over.folds_share == pytest.approx(0.1)
    assert over.joules_share == pytest.approx(0.1)
    assert over.mean_loss_percent == over.p95_loss_percent == 0.0
