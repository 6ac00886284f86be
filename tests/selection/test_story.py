"""What a page tells of a selection: lanes and sentences by hand."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from ecv_core.figures.words import winner_new_data_line
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from ecv_core.selection.contenders import contender_name, contender_title
from ecv_core.selection.document import (
    lanes,
    methods_sentence,
    step_sentences,
    verdict_sentence,
    winner_new_data,
)
from ecv_core.selection.replay import SelectionResult, select_in_order
from ecv_core.selection.rounds import Budget, Gap, Round, Terms, Turn, Verdict
from tests.selection.conftest import made

TITLES = ["A", "B", "C", "D"]
TERMS = Terms(k=4)


def contender(name: str, scores: list[float], joules: float) -> Scores:
    return Scores(name=name, folds=np.array(scores), users=None, joules=np.full(4, joules))


def turns(*contenders_and_folds: tuple[int, int]) -> tuple[Turn, ...]:
    return tuple(Turn(contender, fold) for contender, fold in contenders_and_folds)


CONTENDERS = [
    contender("a", [0.5, 0.5, 0.5, 0.5], 1.0),
    contender("b", [0.4, 0.4, np.nan, np.nan], 2.0),
    contender("c", [0.2, np.nan, np.nan, np.nan], 10.0),
    contender("d", [0.45, np.nan, np.nan, np.nan], 100.0),
]
ROUNDS = [
    Round(
        n=1,
        fold=0,
        leader=0,
        gaps={
            1: Gap(behind=0.1, low=-0.05, high=0.25, folds=1),
            2: Gap(behind=0.3, low=0.2, high=0.4, folds=1),
            3: Gap(behind=0.05, low=-math.inf, high=math.inf, folds=1),
        },
        turns=turns((0, 0), (1, 0), (2, 0), (3, 0)),
        dropped=(2,),
        still_in=(0, 3, 1),
        decided=False,
        expected_loss=0.02,
    ),
    # D rests in the second fold: what A and B show of folds is enough for it.
    Round(
        n=2,
        fold=1,
        leader=0,
        gaps={
            1: Gap(behind=0.1, low=0.05, high=0.15, folds=2),
            3: Gap(behind=0.05, low=0.01, high=0.09, folds=1),
        },
        turns=turns((0, 1), (1, 1)),
        dropped=(1, 3),
        still_in=(0,),
        decided=True,
        expected_loss=0.001,
    ),
]
VERDICT = Verdict(winner=0, ties=(), order=(0, 1, 3, 2), worse=(2,), optimism=0.0)


def result(
    rounds: Sequence[Round] = ROUNDS,
    verdict: Verdict = VERDICT,
    folds_used: tuple[int, ...] = (2, 2, 1, 1),
    joules: float | None = None,
) -> SelectionResult:
    return SelectionResult(
        rounds=tuple(rounds),
        verdict=verdict,
        winner_mean=0.5,
        folds_used=folds_used,
        joules=joules,
        joules_of_all_folds=1000.0,
    )


def told(step: int):
    frame = lanes(CONTENDERS, TITLES, TERMS, ROUNDS, VERDICT)
    return frame[frame["step"] == step].set_index("contender")


def test_a_lane_is_its_distance_to_the_leader_in_percent_of_the_leaders_mean():
    first = told(1)
    assert first.loc["B", ["behind", "low", "high"]].tolist() == pytest.approx([20, -10, 50])
    assert first.loc["A", ["behind", "low", "high"]].tolist() == [0, 0, 0]
    assert first["state"].to_dict() == {"A": "leader", "B": "in", "C": "out", "D": "in"}
    assert first.loc["B", "says"] == "from 10.0 % ahead to 50.0 % behind"
    assert first.loc["C", "says"] == "dropped after 1 fold: at least 40.0 % behind"
    assert first.loc["D", "says"] == "10.0 % behind so far; the next fold shows how certain this is"


def test_a_round_without_the_leader_leaves_its_mean_as_it_was() -> None:
    contenders = [
        contender("a", [0.5, 0.7, np.nan, np.nan], 1.0),
        contender("b", [0.44, 0.64, np.nan, np.nan], 1.0),
    ]
    both_ran = Round(
        n=1,
        fold=0,
        leader=0,
        gaps={1: Gap(behind=0.06, low=-0.05, high=0.17, folds=1)},
        turns=turns((0, 0), (1, 0)),
        dropped=(),
        still_in=(0, 1),
        decided=False,
        expected_loss=0.02,
    )
    leader_ran = replace(both_ran, n=2, fold=1, turns=turns((0, 1)))
    other_ran = replace(
        leader_ran,
        gaps={1: Gap(behind=0.06, low=-0.03, high=0.15, folds=2)},
        turns=turns((1, 1)),
    )
    frame = lanes(contenders, ["A", "B"], TERMS, [both_ran, leader_ran, other_ran])
    behind = frame[frame["contender"] == "B"].set_index("step")["behind"]
    # In percent of the leader's mean, 0.5 after its first fold and 0.6 after its second.
    assert behind[[1, 2, 3]].tolist() == pytest.approx([12, 10, 10])


def test_who_is_out_keeps_its_interval_and_says_what_may_be_claimed():
    last = told(2)
    assert last.loc["C", ["low", "high"]].tolist() == pytest.approx([40, 80])
    assert last.loc["D", "state"] == "out"
    assert last.loc["C", "state"] == "worse"
    assert last.loc["C", "says"].endswith("at least 40.0 % behind; worse on new data too")
    assert last.loc["D", "says"] == (
        "dropped after 1 fold: at least 2.0 % behind; not shown for new data"
    )
    assert last["folds"].to_dict() == {"A": 2, "B": 2, "C": 1, "D": 1}
    assert last.loc["A", "says"] == "is best"


def test_before_the_first_fold_nobody_has_an_interval_and_lanes_never_change_places():
    assert told(0)["state"].unique().tolist() == ["waiting"]
    assert told(0)["low"].isna().all()
    # Last distances: D 10, B 20, C 60 percent.
    assert [list(told(step).index) for step in (0, 1, 2)] == [["A", "D", "B", "C"]] * 3


def test_each_round_is_a_sentence():
    assert step_sentences(TITLES, TERMS, ROUNDS) == [
        "4 contenders with up to 4 folds each: all run the first fold.",
        "After 1 fold, A leads; C is not evaluated further. 2 others can still win.",
        "After 2 folds, A leads; B and D are not evaluated further. This decides it.",
    ]


def test_all_folds_used_leaves_ties_and_places():
    last = Round(
        n=4,
        fold=3,
        leader=0,
        gaps={
            1: Gap(behind=0.001, low=0.001, high=0.001, folds=4),
            2: Gap(behind=0.3, low=0.3, high=0.3, folds=4),
        },
        turns=turns((0, 3), (1, 3), (2, 3)),
        dropped=(),
        still_in=(0, 1, 2),
        decided=True,
        expected_loss=0.0,
    )
    verdict = Verdict(winner=0, ties=((0, 1),), order=(0, 1, 2), worse=(), optimism=0.0)
    frame = lanes(CONTENDERS[:1] * 3, TITLES[:3], TERMS, [last], verdict)
    last_step = frame[frame["step"] == 1].set_index("contender")
    assert last_step["state"].to_dict() == {"A": "leader", "B": "tied", "C": "behind"}
    assert last_step.loc["B", "says"] == "no difference from A found over all folds"
    assert last_step.loc["C", "says"] == "60.0 % behind, all folds used"
    found = "No difference found between A and D: all 4 folds have run, and A has the best mean."
    verdict = replace(verdict, worse=(2,))
    three = result([last], verdict, (4, 4, 4))
    said = verdict_sentence(["A", "D", "C"], TERMS, three)
    assert said == f"{found} On new data, too, C is shown to be worse."
    two = result([last], replace(verdict, order=(0, 1)), (4, 4))
    assert verdict_sentence(["A", "D"], TERMS, two) == found
    even = replace(last, gaps=last.gaps | {1: Gap(behind=0.0, low=0.0, high=0.0, folds=4)})
    alike = verdict_sentence(["A", "D"], TERMS, result([even], two.verdict, (4, 4)))
    assert alike.endswith("all 4 folds have run, and A and D share the best mean.")
    # Until 'order' the winner need not have the best mean of those that are tied with it.
    behind_leader = Gap(behind=0.01, low=0.01, high=0.01, folds=4)
    second_leads = replace(last, leader=1, gaps={0: behind_leader, 2: last.gaps[2]})
    said = verdict_sentence(["A", "D"], TERMS, result([second_leads], two.verdict, (4, 4)))
    assert said.endswith("all 4 folds have run, and D has the best mean.")


def test_lanes_of_an_order_call_its_winner_best_whoever_leads_those_that_run_on() -> None:
    contenders = made([0.8, 0.5, 0.5], spread=0.05, seed=1)
    terms = Terms(k=10, until="order")
    played_order = select_in_order(contenders, terms, range(10))
    assert [played_order.rounds[step].leader for step in (0, 1, -1)] == [0, 0, 2]
    frame = lanes(contenders, TITLES[:3], terms, played_order.rounds, played_order.verdict)
    third_step = frame[frame["step"] == 3].set_index("contender")
    assert third_step["state"].to_dict() == {"A": "leader", "B": "in", "C": "in"}
    assert third_step.loc["A", "says"] == "its place is known after 2 folds"
    assert third_step.loc["C", "says"] == "its place is not known after 3 folds"
    # The best ran two folds, so that nothing more can be known of the distances to it.
    means = [contender.folds[:2].mean() for contender in contenders]
    for step in range(2, len(played_order.rounds) + 1):
        behind = frame[frame["step"] == step].set_index("contender")["behind"]
        percents = [100 * (means[0] - mean) / means[0] for mean in means]
        assert behind[["A", "B", "C"]].tolist() == pytest.approx(percents)
    sentences = step_sentences(TITLES[:3], terms, played_order.rounds)
    assert sentences[2].startswith("After 2 folds, A leads; the place of A is known.")
    assert sentences[3].startswith("After 3 folds, C leads those whose places are not known.")
    so_far = replace(played_order, rounds=played_order.rounds[:3])
    assert verdict_sentence(TITLES[:3], terms, so_far) == (
        "A leads after 3 folds; the places of 2 contenders are not certain yet."
    )
    last_step = frame[frame["step"] == len(played_order.rounds)].set_index("contender")
    assert last_step["state"].to_dict() == {"A": "leader", "B": "placed", "C": "placed"}
    assert last_step.loc["A", "says"] == "is best"


def test_lanes_of_an_order_come_as_the_verdict_has_the_places() -> None:
    best, second, third = made([0.8, 0.515, 0.5], spread=0.05, seed=5)
    assert second.users is not None
    # In the two folds that the best runs, whoever is second in the end is behind the third.
    users = second.users.copy()
    users[:2] -= 0.02
    second = replace(second, users=users, folds=users.mean(axis=1))
    terms = Terms(k=10, until="order")
    played_order = select_in_order([best, third, second], terms, range(10))
    assert played_order.verdict.order == (0, 2, 1)
    frame = lanes([best, third, second], TITLES[:3], terms, played_order.rounds)
    assert frame[frame["step"] == 3]["contender"].tolist() == ["A", "B", "C"]
    frame = lanes(
        [best, third, second], TITLES[:3], terms, played_order.rounds, played_order.verdict
    )
    assert frame[frame["step"] == 3]["contender"].tolist() == ["A", "C", "B"]


def test_lanes_of_an_order_say_whose_mean_is_level_with_the_winner() -> None:
    last = Round(
        n=4,
        fold=3,
        leader=1,
        gaps={0: Gap(behind=0.01, low=0.01, high=0.01, folds=4)},
        turns=turns((0, 3), (1, 3)),
        dropped=(),
        still_in=(),
        decided=True,
        expected_loss=0.0,
    )
    verdict = Verdict(winner=0, ties=((1, 0),), order=(0, 1), worse=(), optimism=0.0)
    terms = replace(TERMS, until="order")
    frame = lanes(CONTENDERS[:1] * 2, TITLES[:2], terms, [last], verdict)
    last_step = frame[frame["step"] == 1].set_index("contender")
    assert last_step["state"].to_dict() == {"A": "leader", "B": "tied"}
    assert last_step.loc["B", "says"] == "no difference from A found over all folds"


@pytest.mark.parametrize(
    ("equivalent", "sentence", "words"),
    [
        (
            (),
            "Using A loses at most 10 % of its mean over all 4 folds: decided after 2 folds. "
            "These folds do not show whether B and C are as good.",
            "at most 10 % ahead of A; not shown to be as good",
        ),
        (
            ((0, 1), (0, 2)),
            "A, with B and C as good: decided after 2 folds. B and C are within 10 % of the "
            "mean of A over all 4 folds, in either direction.",
            "as good as A: within 10 % of its mean",
        ),
        (
            ((0, 1),),
            "A, with B as good: decided after 2 folds. B is within 10 % of the mean of A "
            "over all 4 folds, in either direction. Using A loses at most 10 % of its mean over "
            "all 4 folds. These folds do not show whether C is as good.",
            "as good as A: within 10 % of its mean",
        ),
    ],
)
def test_only_who_is_shown_to_be_as_good_is_called_so(
    equivalent: tuple[tuple[int, int], ...], sentence: str, words: str
) -> None:
    last = replace(ROUNDS[1], still_in=(0, 1, 2, 3), dropped=())
    terms = replace(TERMS, indifference=0.1)
    verdict = Verdict(
        winner=0,
        ties=((0, 1), (0, 2)),
        order=(0, 1, 2, 3),
        worse=(),
        optimism=0.0,
        equivalent=equivalent,
    )
    ended = result([ROUNDS[0], last], verdict)
    titles = ["A", "B", "C", "D"]
    assert verdict_sentence(titles, terms, ended) == sentence
    assert ("as good" in methods_sentence(titles, terms, ended)) == bool(equivalent)
    frame = lanes(CONTENDERS, titles, terms, [ROUNDS[0], last], verdict)
    final = frame[frame["step"] == 2].set_index("contender")
    assert final.loc["B", "says"] == words
    assert final.loc["A", "says"] == "the contender to use"


def test_a_verdict_that_is_not_there_yet_says_how_many_can_still_win():
    said = verdict_sentence(TITLES, TERMS, result(ROUNDS[:1], joules=250.0), dataset="ML")
    assert said == "A leads on ML after 1 fold; 2 others can still win."  # D: nothing is known
    finite = Round(
        n=1,
        fold=0,
        leader=0,
        gaps={1: ROUNDS[0].gaps[1]},
        turns=turns((0, 0), (1, 0)),
        dropped=(),
        still_in=(0, 1),
        decided=False,
        expected_loss=0.1,
    )
    said = verdict_sentence(TITLES, TERMS, result([finite]))
    assert said.endswith("1 other can still win.")
    said = verdict_sentence(TITLES, TERMS, result(joules=257.0), dataset="ML")
    assert said == (
        "A is best on ML: decided after 2 folds, with 25.7 % of the energy. B, the second, is "
        "10.0 to 30.0 % behind. The folds that ran do not show whether B and D would also be "
        "behind on new data; C would be."
    )


def test_who_asks_which_to_use_is_told_what_it_may_lose_and_how_lucky_it_was():
    terms = Terms(k=4, expected_loss=0.002)
    lucky = Verdict(winner=0, ties=(), order=(0, 1, 3, 2), worse=(1, 2, 3), optimism=0.01)
    said = verdict_sentence(TITLES, terms, result(verdict=lucky))
    assert said == (
        "Use A: it has the best mean so far. Compared with whichever is best over all 4 folds, it "
        "is expected to lose at most 0.1 % of its score (allowed: 0.2 %). Decided after 2 "
        "folds, with 37.5 % of all folds. B, the second, is 10.0 to 30.0 % behind. On new data, "
        "too, all others are shown to be worse. Its score so far, 0.5000, is probably 2 % too "
        "good, because it was picked for being the best so far: its expected mean over all folds "
        "is 0.4900. This holds for these folds, not for new data."
    )
    within = Terms(k=4, budget=Budget(amount=6, unit="folds"))
    said = verdict_sentence(TITLES, within, result())
    assert said.startswith("Use A: it has the best mean so far within 6 folds. Compared with ")


@pytest.mark.parametrize(
    ("winner_mean", "higher_is_better", "expected"),
    [(0.5, True, "0.4900"), (0.5, False, "0.5100"), (-0.5, True, "-0.5100")],
)
def test_a_lucky_winner_is_expected_to_score_worse_over_all_folds(
    winner_mean: float, higher_is_better: bool, expected: str
) -> None:
    terms = Terms(k=4, expected_loss=0.002, higher_is_better=higher_is_better)
    lucky = Verdict(winner=0, ties=(), order=(0, 1, 3, 2), worse=(), optimism=0.01)
    outcome = replace(result(verdict=lucky), winner_mean=winner_mean)
    sentence = verdict_sentence(TITLES, terms, outcome)
    assert f"its expected mean over all folds is {expected}." in sentence


def test_a_contender_is_named_by_what_is_not_usual():
    usual = make_spec(dataset="synthetic", algorithm="item-knn")
    other = make_spec(dataset="synthetic", algorithm="item-knn", params={"neighbours": 50})
    assert contender_name(usual) == "item-knn"
    assert contender_name(other) == "item-knn:neighbours=50"
    assert contender_title("item-knn:neighbours=50") == "ItemKNN, neighbours 50"
    assert contender_title("mine:a=b") == "mine:a=b"
    with pytest.raises(InputError):
        make_spec(dataset="synthetic", algorithm="item-knn", params={"neighbours": "x"})


def test_a_sentence_for_a_paper_says_which_question_was_asked() -> None:
    verdict = Verdict(winner=0, ties=(), order=(0, 3, 1, 2), worse=(2,), optimism=0.0)
    ended = result(verdict=verdict)
    certain = methods_sentence(TITLES, TERMS, ended)
    assert certain == (
        "To find out which contender is best, we evaluated 4 contenders on the same folds, each "
        "until no other contender could have the best mean of all 4 folds, with 95 % confidence "
        "for all interim looks together (6 of 16 folds). We chose A. On new data, C is worse. "
        "We make no claim about the difference between A and D and B on new data."
    )
    loss = methods_sentence(TITLES, Terms(k=4, expected_loss=0.001), ended)
    assert loss.startswith("To find out which contender to use, ")
    assert "at most 0.1 % of its 4-fold mean (opportunity cost, Chick and Inoue 2001)" in loss
    budget = Terms(k=4, budget=Budget(amount=6, unit="folds"))
    assert "within a budget of 6 folds" in methods_sentence(TITLES, budget, ended)


def test_the_winners_interval_for_new_users_is_of_the_folds_that_it_ran():
    # Folds of three users with the means 2 and 3: users explain 1/3, the folds 1/2 in 2, training
    # of two folds once more 1/3; t(2) = 4.3027 times the root of 0.91667 is 4.1195 around 2.5.
    users = {"a": [[1, 2, 3], [2, 3, 4]], "b": [[3, 2, 1], [4, 3, 1.9]]}
    contenders = []
    for name, table in users.items():
        scores = np.array(table, dtype=float)
        contenders.append(Scores(name=name, folds=scores.mean(axis=1), users=scores))
    result = select_in_order(contenders, Terms(k=2), range(2))
    assert result.folds_used[0] == 2
    # To the worse side the error of 2.5 % is divided by two contenders: t(2) = 6.2053 for 1.25 %.
    interval = winner_new_data(contenders, Terms(k=2), result)
    assert (interval.low, interval.high) == pytest.approx((-3.4411, 6.6195), abs=1e-4)
    lower = winner_new_data(contenders, Terms(k=2, higher_is_better=False), result)
    assert (lower.low, lower.high) == pytest.approx((-1.6195, 8.4411), abs=1e-4)
    bounded = [replace(contenders[0], metric_range=(0, 5)), contenders[1]]
    within = winner_new_data(bounded, Terms(k=2), result)
    assert (within.low, within.high) == (0, 5)
    line = winner_new_data_line(interval, 0.95, winner=contenders[0], contender_count=2)
    assert line == (
        "95 % interval for new users: -3.4412 to 6.6195 (drawn from the same "
        "population); it allows for the choice of the best of 2."
    )
    without_users = replace(contenders[0], users=None)
    assert winner_new_data([without_users, contenders[1]], Terms(k=2), result) is None
    of_one_user = replace(contenders[0], users=contenders[0].users[:, :1])
    assert winner_new_data([of_one_user, contenders[1]], Terms(k=2), result) is None


def test_who_may_be_better_by_too_little_to_matter_is_close_and_not_behind() -> None:
    terms = Terms(k=4, expected_loss=0.01)
    gap = Gap(behind=0.01, low=-0.02, high=0.04, folds=1)
    decided = replace(ROUNDS[0], gaps={1: gap}, still_in=(0,), dropped=(1,), decided=True)
    verdict = Verdict(winner=0, ties=(), order=(0, 1), worse=(), optimism=0.0)
    last = lanes(CONTENDERS[:2], TITLES[:2], terms, [decided], verdict).set_index("contender")
    state, says = last[last["step"] == 1].loc["B", ["state", "says"]]
    assert state == "close"
    assert says.startswith("close after 1 fold: ")


def test_of_all_folds_nothing_is_expected_to_be_lost() -> None:
    last = replace(ROUNDS[-1], fold=3, n=4, decided=True, expected_loss=0.0)
    said = verdict_sentence(TITLES, Terms(k=4, expected_loss=0.002), result([last]))
    assert said.startswith("Use A: it has the best mean of all 4 folds. Decided after 4 folds")


def test_who_shares_the_best_mean_of_all_folds_is_named() -> None:
    equal = Gap(behind=0.0, low=0.0, high=0.0, folds=4)
    last = replace(ROUNDS[-1], fold=3, n=4, decided=True, expected_loss=0.0, gaps={1: equal})
    said = verdict_sentence(TITLES, Terms(k=4, expected_loss=0.002), result([last]))
    assert said.startswith("Use A: A and B share the best mean of all 4 folds. Decided after 4")


def test_until_the_expected_loss_is_low_whoever_is_clearly_behind_is_evaluated_too() -> None:
    clear = Gap(behind=0.2, low=0.1, high=0.3, folds=1)
    undecided = replace(ROUNDS[0], gaps={1: clear}, still_in=(0, 1), dropped=())
    terms = Terms(k=4, expected_loss=0.002)
    *_, said = step_sentences(TITLES[:2], terms, [undecided])
    assert "1 other is still evaluated." in said
    said = verdict_sentence(TITLES[:2], terms, result([undecided]))
    assert said == "A leads after 1 fold; 1 other is still evaluated."
