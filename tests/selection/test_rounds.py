import math
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from ecv_core.selection.evidence import level_of_looks
from ecv_core.selection.replay import select_in_order, select_in_random_orders
from ecv_core.selection.rounds import Budget, Terms, Until
from tests.selection.conftest import made


def by_fold(name: str, scores: list[float]) -> Scores:
    """A contender without scores per user."""
    return Scores(name=name, folds=np.array(scores))


def test_contenders_far_behind_are_out_after_one_fold_and_the_best_wins() -> None:
    some = made([0.5, 0.9, 0.1], spread=0.01)
    result = select_in_order(some, Terms(k=10), range(10))
    assert result.folds_used == (1, 1, 1)
    assert result.verdict.winner == 1
    assert result.verdict.order == (1, 0, 2)
    assert result.verdict.tied == ()
    assert result.joules == 1 + 2 + 3
    assert result.joules_of_all_folds == 10 * (1 + 2 + 3)


def test_lower_can_be_better() -> None:
    some = made([0.5, 0.9, 0.1], spread=0.01)
    result = select_in_order(some, Terms(k=10, higher_is_better=False), range(10))
    assert result.verdict.order == (2, 0, 1)
    assert result.rounds[0].gaps[1].behind == pytest.approx(0.8, abs=0.01)


def test_gap_of_the_second_holds_the_true_distance_and_its_low_end_drops_it() -> None:
    some = made([0.5, 0.4], users=400)
    result = select_in_order(some, Terms(k=10), range(10))
    gap = result.rounds[-1].gaps[1]
    assert gap.low < 0.1 < gap.high
    assert gap.low > 0
    assert result.rounds[-1].dropped == (1,)
    assert all(one.gaps[1].low <= 0 for one in result.rounds[:-1])


def test_contenders_within_the_indifference_are_not_told_apart() -> None:
    some = made([0.500, 0.499], spread=0.01, users=500)
    strict = select_in_order(some, Terms(k=10), range(10))
    loose = select_in_order(some, Terms(k=10, indifference=0.02), range(10))
    assert strict.verdict.winner == 0
    assert loose.verdict.tied == (1,) or loose.verdict.tied == (0,)
    assert len(loose.rounds) < len(strict.rounds) or len(strict.rounds) == 1


@pytest.mark.parametrize("until", ["winner", "order"])
def test_as_good_is_who_is_within_the_indifference_above_and_below(until: Until) -> None:
    # Differences 0.00 and 0.01: as in the test of Student's t below the interval is 0.005 plus and
    # minus 0.164, from -0.159 to 0.169; the leader's mean is 100.005.
    better = by_fold("better", [100.00 + 0.01 * n for n in range(10)])
    other = by_fold("other", [100.0] * 10)
    as_good = select_in_order(
        [better, other], Terms(k=10, indifference=0.0018, until=until), range(10)
    )
    assert as_good.folds_used == (2, 2)
    assert as_good.verdict.as_good == as_good.verdict.tied == (1,)


def test_who_may_be_behind_by_more_than_the_indifference_is_not_as_good() -> None:
    # The interval of the test above reaches 0.169 behind, and 0.165 is the indifference.
    better = by_fold("better", [100.00 + 0.01 * n for n in range(10)])
    other = by_fold("other", [100.0] * 10)
    result = select_in_order([better, other], Terms(k=10, indifference=0.00165), range(10))
    assert result.folds_used == (2, 2)
    assert result.verdict.tied == (1,)
    assert result.verdict.as_good == ()


def test_equal_means_of_all_folds_without_an_indifference_are_not_called_as_good() -> None:
    scores = [0.5 + 0.01 * n for n in range(10)]
    for until in get_args(Until):
        terms = Terms(k=10, until=until)
        result = select_in_order([by_fold("a", scores), by_fold("b", scores)], terms, range(10))
        assert len(result.verdict.ties) == 1
        assert result.verdict.equivalent == ()


def test_two_without_a_hit_in_the_first_fold_are_not_tied_by_it() -> None:
    some = made([0.0, 0.3], spread=0.05)
    for one in some:
        one.users[0] = one.folds[0] = 0.0
    result = select_in_order(some, Terms(k=10), range(10))
    assert result.verdict.winner == 1
    assert min(result.folds_used) > 1


@pytest.mark.parametrize("users", [True, False], ids=["users", "fold scores alone"])
def test_a_difference_that_is_the_same_so_far_is_not_certain(users: bool) -> None:
    # One of 60 users may yet differ by the whole scale, 0.017 of the mean, and 0.001 is asked.
    first = made([0.5])[0]
    values = first.users + 0.001 if users else None
    second = Scores(name="second", folds=first.folds + 0.001, users=values, joules=first.joules)
    first = first if users else replace(first, users=None)
    result = select_in_order([first, second], Terms(k=10), range(10))
    assert result.verdict.winner == 1
    assert min(result.folds_used) > 8


def test_contenders_that_nothing_separates_use_all_folds_and_are_tied() -> None:
    some = made([0.5, 0.5], seed=0)
    result = select_in_order(some, Terms(k=10), range(10))
    assert result.folds_used == (10, 10)
    assert result.rounds[-1].decided
    assert len(result.verdict.tied) == 1


def test_order_goes_on_until_every_place_is_known() -> None:
    some = made([0.5, 0.49, 0.1, 0.3], spread=0.05, users=300)
    winner = select_in_order(some, Terms(k=10), range(10))
    order = select_in_order(some, Terms(k=10, until="order"), range(10))
    assert order.verdict.order == (0, 1, 3, 2)
    assert order.verdict.ties == ()
    assert order.folds_used[2] < order.folds_used[0] == order.folds_used[1]
    assert sum(order.folds_used) >= sum(winner.folds_used)


def test_order_names_the_pairs_that_nothing_separates() -> None:
    some = made([0.5, 0.5, 0.1], spread=0.05, seed=1)
    result = select_in_order(some, Terms(k=10, until="order"), range(10))
    assert [set(pair) for pair in result.verdict.ties] == [{0, 1}]
    assert result.verdict.order[2] == 2


def test_of_those_that_are_better_than_as_many_the_best_mean_wins_an_order() -> None:
    made_alike = made([0.5, 0.5], spread=0.05, seed=1)
    lower, higher = sorted(made_alike, key=lambda contender: float(contender.folds.mean()))
    for higher_is_better, best in ((True, higher), (False, lower)):
        terms = Terms(k=10, until="order", higher_is_better=higher_is_better)
        for contenders in ([lower, higher], [higher, lower]):
            verdict = select_in_order(contenders, terms, range(10)).verdict
            assert len(verdict.ties) == 1
            assert contenders[verdict.winner] is best
            assert contenders[verdict.order[0]] is best


def test_without_scores_per_user_the_folds_decide_by_students_t() -> None:
    # Differences 1.00, 1.01, ...: two folds have mean 1.005, deviation 0.00707, one degree of
    # freedom; at error 0.00868 each end is t = 1 / tan(0.00868 pi) = 36.7 times
    # 0.00707 * sqrt(1/2 - 1/10) away: 0.164.
    better = by_fold("better", [2.00 + 0.01 * n for n in range(10)])
    other = by_fold("other", [1.0] * 10)
    result = select_in_order([better, other], Terms(k=10), range(10))
    assert len(result.rounds) == 2
    assert math.isinf(result.rounds[0].gaps[1].low)
    assert result.rounds[1].gaps[1].low == pytest.approx(1.005 - 0.164, abs=0.002)
    assert result.joules is None


def test_the_error_is_spread_over_looks_and_for_an_order_over_all_pairs() -> None:
    assert Terms(k=10).level(4) == pytest.approx(level_of_looks(0.05, 10))
    of_pairs = pytest.approx(level_of_looks(0.05 / 6, 10))
    assert Terms(k=10, until="order").level(4) == of_pairs
    assert Terms(k=10).level_of_pairs(4) == of_pairs


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"confidence": 1.0}, "between 0 and 1, but is 1.0"),
        ({"confidence": math.nan}, "between 0 and 1"),
        ({"indifference": 1.5}, "but is 1.5"),
        ({"indifference": -0.1}, "but is -0.1"),
        ({"until": "both"}, "winner or order, but is 'both'"),
        ({"k": 1}, "at least 2 folds"),
        ({"expected_loss": 0.0}, "between 0 and 1, but is 0.0"),
        ({"expected_loss": 0.1, "indifference": 0.1}, "leave out the indifference"),
        ({"expected_loss": 0.1, "until": "order"}, "leave out the whole order"),
    ],
)
def test_terms_that_cannot_be_are_refused(values: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Terms(**({"k": 10} | values))  # type: ignore[arg-type]


def test_contenders_that_cannot_be_compared_are_refused() -> None:
    some = made([0.5, 0.4])
    with pytest.raises(InputError, match="at least two contenders"):
        select_in_order(some[:1], Terms(k=10), range(10))
    with pytest.raises(InputError, match="'c0' is listed twice"):
        select_in_order([some[0], some[1], some[0]], Terms(k=10), range(10))
    values = some[1].users.copy()  # type: ignore[union-attr]
    values[3, 7] = np.nan
    values[5, 1:4] = np.nan
    odd = Scores(name="odd", folds=some[1].folds, users=values, joules=some[1].joules)
    with pytest.raises(InputError, match=r"fold 3 of 'odd' has other users.* \(1 differ\)"):
        select_in_order([some[0], odd], Terms(k=10), range(10))


def test_a_missing_fold_is_said_when_it_is_needed() -> None:
    some = made([0.5, 0.5])
    cut = np.where(np.arange(10) < 2, some[1].folds, np.nan)
    short = Scores(name="short", folds=cut, users=some[1].users, joules=some[1].joules)
    with pytest.raises(InputError, match="'short' has no fold 2"):
        select_in_order([some[0], short], Terms(k=10), range(10))
    with pytest.raises(InputError, match="every order needs all folds"):
        select_in_random_orders([some[0], short], Terms(k=10), orders=3)


def test_whoever_is_out_comes_back_when_folds_differ_more_than_it_seemed() -> None:
    # c is 50 standard errors of the users behind and out after a fold; then the difference of a
    # and b jumps by 150 of them, so one fold of c says little.
    users = np.linspace(-1e-3, 1e-3, 50)
    jumps = [0.0, 0.03, -0.03, 0.02, 0.0, 0.01, -0.02, 0.03, 0.01, 0.02]
    values = {
        "a": [0.5 + 0 * users] * 10,
        "b": [0.499 + users + jump for jump in jumps],
        "c": [0.49 - users] * 10,
    }
    some = [
        Scores(name=name, folds=np.array([one.mean() for one in folds]), users=np.array(folds))
        for name, folds in values.items()
    ]
    result = select_in_order(some, Terms(k=10), range(10))
    assert result.rounds[0].dropped == (2,)
    assert 2 not in result.rounds[0].still_in
    assert 2 in result.rounds[1].still_in
    assert result.folds_used[2] > 1


def test_by_expected_loss_less_is_run_and_no_more_than_asked_is_expected_to_be_lost() -> None:
    some = made([0.500, 0.499, 0.45, 0.2], spread=0.05, users=200)
    certain = select_in_order(some, Terms(k=10), range(10))
    enough = select_in_order(some, Terms(k=10, expected_loss=0.01), range(10))
    assert sum(enough.folds_used) < sum(certain.folds_used)
    assert enough.rounds[-1].expected_loss <= 0.01
    assert all(one.expected_loss > 0.01 for one in enough.rounds[:-1])


def test_a_budget_of_folds_is_kept_and_spent_on_those_that_may_win() -> None:
    some = made([0.500, 0.499, 0.498, 0.2], spread=0.05, users=100)
    result = select_in_order(some, Terms(k=10, budget=Budget(amount=15, unit="folds")), range(10))
    assert sum(result.folds_used) == result.spent == 15
    assert result.folds_used[3] == 1
    assert result.rounds[-1].decided


def test_a_budget_of_joules_is_passed_by_less_than_a_fold() -> None:
    some = made([0.500, 0.499, 0.498], spread=0.2)  # a fold takes 1, 2, 3 J
    result = select_in_order(some, Terms(k=10, budget=Budget(amount=20, unit="joules")), range(10))
    assert 20 <= result.joules == result.spent < 23  # type: ignore[operator]


def test_a_budget_that_ends_before_everybody_ran_says_that_the_loss_is_not_known() -> None:
    some = made([0.5, 0.6, 0.7])
    result = select_in_order(some, Terms(k=10, budget=Budget(amount=2, unit="folds")), range(10))
    assert result.folds_used == (1, 1, 0)
    assert result.verdict.winner == 1
    assert math.isinf(result.rounds[-1].expected_loss)


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [("50Wh", 180_000, "joules"), ("20 min", 1200, "seconds"), ("30 folds", 30, "folds")],
)
def test_a_budget_is_read_with_its_unit(text: str, amount: float, unit: str) -> None:
    assert Budget.parse(text) == Budget(amount=amount, unit=unit)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["50", "Wh", "50 apples", "0 folds", "-3 folds", "1e999 Wh", ""])
def test_a_budget_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="budget"):
        Budget.parse(text)


def test_the_mean_of_a_winner_among_equals_is_corrected_for_having_been_picked() -> None:
    left = []
    for seed in range(60):
        some = made([0.5] * 6, users=30, seed=seed)
        result = select_in_order(some, Terms(k=10, expected_loss=0.2), range(10))
        winner = some[result.verdict.winner]
        n = result.folds_used[result.verdict.winner]
        lucky = winner.folds[:n].mean() - winner.folds.mean()
        shared = np.mean([one.folds[:n].mean() - one.folds.mean() for one in some])
        left.append((lucky - shared, result.verdict.optimism))
    lucky, corrected = np.mean(left, axis=0)
    assert lucky > 0.005  # the curse is there
    assert abs(lucky - corrected) < lucky / 2  # and most of it is known


def test_of_no_joules_there_is_no_share() -> None:
    some = [replace(contender, joules=np.zeros(10)) for contender in made([0.5, 0.2])]
    assert select_in_random_orders(some, Terms(k=10), orders=2).joules_share is None


def test_over_orders_counts_right_winners_folds_and_joules() -> None:
    some = made([0.9, 0.5, 0.1], spread=0.01)
    over = select_in_random_orders(some, Terms(k=10), orders=50)
    assert over.right_share == 1.0
    assert over.folds_share == pytest.approx(0.1)
    assert over.joules_share == pytest.approx(0.1)
    assert over.mean_loss_percent == over.p95_loss_percent == 0.0


def test_nothing_is_certain_of_scores_without_a_bound_before_all_folds_have_run() -> None:
    contenders = made([0.5, 0.9, 0.1], spread=0.01)
    result = select_in_order(contenders, Terms(k=10, has_worst_score=False), range(10))
    assert result.folds_used == (10, 10, 10)
    assert result.verdict.winner == 1
    ranked = select_in_order(
        contenders, Terms(k=10, has_worst_score=False, until="order"), range(10)
    )
    assert ranked.folds_used == (10, 10, 10)
    assert ranked.verdict.order == (1, 0, 2)


def turned_bad() -> list[Scores]:
    """Losses: two are a little ahead, and each has a sample that costs 20 in every later fold."""
    contenders = made([0.30, 0.301, 0.36], k=6, spread=0.02, users=20)
    for contender in contenders[:2]:
        assert contender.users is not None
        contender.users[2:, 0] += 20
        contender.folds[:] = contender.users.mean(axis=1)
    return contenders


def test_who_was_put_out_is_judged_anew_where_the_leader_turned_bad() -> None:
    terms = Terms(k=6, higher_is_better=False, expected_loss=0.001)
    trusting = select_in_order(turned_bad(), terms, range(6))
    assert trusting.folds_used[2] == 1
    assert trusting.verdict.winner != 2
    wary = select_in_order(turned_bad(), replace(terms, has_worst_score=False), range(6))
    assert wary.rounds[0].dropped == (2,)
    assert wary.verdict.winner == 2
