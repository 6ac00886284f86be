"""The sentence of a run: its meaning first, for every rule, by values worked out by hand."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from ecv_core import stopping
from ecv_core.figures.words import (
    decision_reason,
    interval_lines,
    interval_words,
    leaves_mean_uncertain,
    new_data_cell,
    verdict,
)
from ecv_core.fold.spec import make_spec
from ecv_core.records.run import (
    Decision,
    Interval,
    IntervalKind,
    Moment,
    RunRecord,
    RunState,
    UserScores,
)
from ecv_core.store.new_data import mean_on_new_data
from tests.fake_folds import fold_result

# Mean 0.30, deviation 0.01; t(2) = 4.3027: half the interval is 4.3027 * 0.01 / sqrt(3) = 0.0248.
THREE = (0.29, 0.30, 0.31)
# Allowing for looks after fold 3 to 10, each may err by 1.203 %: t(2) = 9.035, so 0.0522.
# Mean 0.31; deviations 0.01414, 0.01, 0.00816; t(3) = 3.1824: 3.1824 * 0.00816 / 2 = 0.0130; looks
# after fold 4 to 10, each at 1.458 %: t(3) = 5.10, so 0.0208.
FALLING = (0.30, 0.32, 0.31, 0.31)


def words_of_interval(run):
    return interval_words(run, mean_on_new_data(run, run.user_scores))


def ended(scores, *, k=10, stopped_at=None, moments=(), **settings) -> RunRecord:
    spec = make_spec(dataset="synthetic", algorithm="popular", k=k, **settings)
    return RunRecord(
        run_id="0123",
        spec=spec,
        state=RunState.FINISHED,
        moments=moments,
        folds=tuple(fold_result(index, score) for index, score in enumerate(scores)),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        stopped_at=stopped_at,
    )


def judged(scores, **settings) -> RunRecord:
    """A run of these scores, of which the rule itself says when to stop."""
    run = ended(scores, **settings)
    moments = stopping.moments(stopping.rule_for(run.spec), run.folds, run.spec.confidence)
    return replace(run, moments=moments, stopped_at=stopping.stop_of(moments, run.spec.k))


@pytest.mark.parametrize(
    ("settings", "scores", "sentence", "of_folds", "below"),
    [
        (
            {"rule": "e-fold", "alpha": 1.0},
            THREE,
            "Stopped after 3 of 10 folds: the mean, 0.3000, satisfies the rule e-fold, but is "
            "uncertain.",
            "± 0.0522 over these folds, allowing for the early stop",
            "is at most alpha = 1, so the interval is steady enough: stop.",
        ),
        (
            {"rule": "e-fold", "alpha": 1.0},
            (0.299, 0.300, 0.301),  # a tenth as far apart, so the interval is a tenth as wide
            "Stopped after 3 of 10 folds: the mean, 0.3000, has settled.",
            "± 0.0052 over these folds, allowing for the early stop",
            "is at most alpha = 1, so the interval is steady enough: stop.",
        ),
        (
            {"rule": "std-stagnation"},
            FALLING,
            "Stopped after 4 of 10 folds: the mean, 0.3100, has settled, as the spread of the "
            "scores no longer grows.",
            "± 0.0208 over these folds, allowing for the early stop",
            "in neither of these two steps did it grow by more than 5 %: stop.",
        ),
        (
            {"rule": "fixed", "min_folds": 3},
            THREE,
            "Stopped after 3 of 10 folds: the mean, 0.3000, is over the number of folds that "
            "was set.",
            "± 0.0248 over these folds",
            "After 3 of the 3 folds that the rule runs: stop.",
        ),
        (
            {"rule": "never", "k": 3},
            THREE,
            "All 3 folds have run: their mean is 0.3000.",
            "± 0.0248 over these folds",
            "",
        ),
        (
            {"rule": "e-fold", "alpha": 1e-9, "k": 3},
            THREE,
            "All 3 folds have run: their mean is 0.3000. The stopping rule was never met.",
            "± 0.0248 over these folds",
            "so the interval is not steady enough.",
        ),
        (
            {"rule": "fixed", "min_folds": 3, "k": 3},
            THREE,
            "All 3 folds have run: their mean is 0.3000. The stopping rule was met only at the "
            "last fold.",
            "± 0.0248 over these folds",
            "After 3 of the 3 folds that the rule runs: stop.",
        ),
        (  # 0.2950 and 0.3000 differ by 0.005 / 0.2975 = 1.68 %; t(1) * 0.00707 / sqrt(2) = 0.0635
            {"rule": "fixed", "min_folds": 2, "k": 3, "full": True},
            THREE,
            "Stopped after 2 of 3 folds: the mean, 0.2950, is over the number of folds that was "
            "set. Checked: the mean of all 3 folds is 0.3000, a difference of 1.68 % from the "
            "0.2950 at the stop.",
            "± 0.0635 over these folds",
            "After 2 of the 2 folds that the rule runs: stop.",
        ),
        (
            {"rule": "e-fold", "alpha": 1e-4},
            THREE[:1],
            "After 1 of 10 folds, the mean is 0.2900.",
            "",
            "and the rule can stop after fold 3 at the earliest.",
        ),
        (
            {"rule": "never", "k": 1, "split": "random-holdout"},
            THREE[:1],
            "The only fold of this run has finished: its score is 0.2900.",
            "",
            "",
        ),
    ],
)
def test_the_meaning_comes_first_and_the_rules_arithmetic_below(
    settings, scores, sentence, of_folds, below
):
    run = judged(scores, **settings)
    assert verdict(run) == sentence
    assert words_of_interval(run).partition("; ")[2] == of_folds
    small = decision_reason(run)
    assert small.endswith(below)
    assert bool(small) == bool(below)


def stop_after_two(rule: str, reason: str) -> RunRecord:
    kind = IntervalKind.K_FOLD_MEAN if rule == "precision" else IntervalKind.MEAN
    interval = Interval(low=0.2921, high=0.3039, kind=kind)
    moments = [
        Moment(
            n=n,
            fold=n - 1,
            score=0.298,
            mean=0.298,
            interval=interval,
            decision=Decision(stop=n == 2, reason=reason),
        )
        for n in (1, 2)
    ]
    settings = {"tolerance": 0.03} if rule == "precision" else {}
    return ended((0.298, 0.298), rule=rule, stopped_at=2, moments=moments, **settings)


def test_precision_says_that_what_was_asked_for_is_reached():
    run = stop_after_two("precision", "After 2 folds: known to within 2.0 %: stop.")
    assert verdict(run) == (
        "Stopped after 2 of 10 folds: the mean, 0.2980, is as precise as the tolerance requires."
    )
    assert words_of_interval(run).endswith("; at most 0.0059 from the 10-fold mean")
    assert decision_reason(run) == "After 2 folds: known to within 2.0 %: stop."


def at_the_end(scores: tuple[float, ...], interval: Interval) -> list[Moment]:
    """Where a run of these scores stood after each of them, as far as sentences look."""
    mean = sum(scores) / len(scores)
    decision = Decision(stop=False, reason="Go on.")
    return [
        Moment(n=n, fold=n - 1, score=score, mean=mean, interval=interval, decision=decision)
        for n, score in enumerate(scores, start=1)
    ]


def test_a_doubt_withdraws_the_promise():
    run = stop_after_two("precision", "After 2 folds: known to within 1.0 %: stop.")
    doubt = "Fold 1 scores 30 % below the others"
    moments = [*run.moments[:-1], replace(run.moments[-1], doubt=doubt)]
    said = verdict(replace(run, moments=moments))
    assert said == f"Stopped after 2 of 10 folds: the mean is {run.at_stop.mean:.4f}. {doubt}"


def test_every_interval_of_a_stop_has_its_name():
    # Mean 0.3, deviation 0.0141421; t(1) = 12.7062, so ± 0.1271. Each look, after fold 2 to 10, may
    # err by 0.986 % for all of them to hold at once: t(1) = 64.56, so ± 0.6456.
    scores = (0.29, 0.31)
    interval = Interval(low=0.2941, high=0.3059, kind=IntervalKind.K_FOLD_MEAN)
    moments = at_the_end(scores, interval)
    run = ended(scores, rule="precision", tolerance=0.03, stopped_at=2, moments=moments)
    assert interval_lines(run) == [
        "no interval for new users: not every fold has the scores of individual users",
        "95 % interval of these folds: 0.1729 to 0.4271 (± 0.1271, Student's t over 2 folds)",
        "95 % interval of these folds that allows for the stop: -0.3456 to 0.9456 (± 0.6456, holds "
        "wherever the rule stops)",
        "distance to the 10-fold mean: at most 0.0059 (95 % confidence)",
    ]


def test_all_folds_have_the_interval_of_their_mean_whatever_the_rule_goes_by():
    nothing = Interval(low=0.3, high=0.3, kind=IntervalKind.K_FOLD_MEAN)
    moments = at_the_end(THREE, nothing)
    settings = {"rule": "precision", "tolerance": 0.03, "k": 3}
    run = ended(THREE, stopped_at=3, moments=moments, **settings)
    assert (
        words_of_interval(run) == "95 % interval for new users not known; ± 0.0248 over these folds"
    )
    assert interval_lines(run)[1:] == [
        "95 % interval of these folds: 0.2752 to 0.3248 (± 0.0248, Student's t over 3 folds)"
    ]


def test_a_rule_that_looks_at_no_score_needs_no_allowance():
    run = ended(THREE, rule="fixed", min_folds=3, stopped_at=3)
    (of_folds,) = interval_lines(run)[1:]
    assert of_folds.startswith("95 % interval of these folds: ")


@pytest.mark.parametrize(
    ("low", "high", "mean", "uncertain"),
    [
        (0.8862, 1.0, 1.0, True),  # 11.4 % below, though no more than a fifth wide
        (0.91, 1.0, 1.0, False),
        (0.26, 0.34, 0.3, True),
        (0.28, 0.32, 0.3, False),
        (-4.2, -3.8, -4.0, False),  # a score such as a logarithm
    ],
)
def test_a_mean_is_uncertain_where_its_interval_goes_on_for_a_tenth_of_it(
    low, high, mean, uncertain
):
    assert leaves_mean_uncertain(Interval(low=low, high=high), mean) is uncertain


def test_folds_that_score_alike_are_not_certain():
    nothing = (0.0, 0.0, 0.0)  # three folds without a hit
    run = ended(nothing, stopped_at=3, moments=at_the_end(nothing, Interval(low=0.0, high=0.0)))
    assert verdict(run) == "Stopped after 3 of 10 folds: the mean, 0.0000, has settled."
    assert interval_lines(run)[1:] == [
        "no interval for these folds: all have the same score, so they do not show how "
        "uncertain the mean is"
    ]


def of_three_users(fold: int, values: tuple[float, ...]) -> UserScores:
    scores = np.array(values, dtype=np.float32)[:, None]
    return UserScores(users=np.arange(3, dtype=np.int32), metrics=("ndcg@10",), values=scores)


def test_the_interval_for_new_users_stands_first_and_that_of_the_folds_behind_its_name():
    # In tenths the means 2 and 3 of three users; users explain 1/3, the folds 1/2 in 2, training
    # (1/3)/9: the square root of 0.62037 times t(2) = 4.3027 is 3.3889 around 2.5, and nDCG never
    # is below 0. Of the folds: t(1) = 12.7062 times 0.5.
    users = {0: of_three_users(0, (0.1, 0.2, 0.3)), 1: of_three_users(1, (0.2, 0.3, 0.4))}
    run = ended((0.2, 0.3), rule="fixed", min_folds=2, stopped_at=2)
    run = replace(run, moments=at_the_end((0.2, 0.3), Interval(low=0.0, high=1.0)))
    run = run.with_user_scores(users)
    assert interval_lines(run) == [
        "95 % interval for new users: 0.0000 to 0.5889 (drawn from the same population)",
        "95 % interval of these folds: -0.3853 to 0.8853 (± 0.6353, Student's t over 2 folds)",
    ]
    words = "95 % interval for new users 0.0000 to 0.5889; ± 0.6353 over these folds"
    assert words_of_interval(run) == words
    assert new_data_cell(mean_on_new_data(run, run.user_scores)) == "0.0000 to 0.5889"
    del users[1]  # a fold whose users are not known: nothing is guessed from the other
    assert new_data_cell(mean_on_new_data(run, users)) == "-"
    assert interval_words(ended(()), None) == ""
    assert interval_lines(ended(())) == []


class Enough:
    """Stops after two folds."""

    title = "Two are enough"

    def decide(self, results):
        return Decision(stop=len(results) >= 2, reason="Two it is: stop.")


@pytest.fixture
def enough() -> Iterator[str]:
    yield stopping.register_rule(Enough()).id
    del stopping.RULES["enough"]


def test_a_rule_from_outside_is_named_and_gives_its_reason(enough):
    run = judged((0.298, 0.298), rule=enough)
    assert verdict(run) == (
        "Stopped after 2 of 10 folds: the mean, 0.2980, satisfies the rule Two are enough."
    )
    assert decision_reason(run) == "Two it is: stop."


def test_a_rule_that_is_not_known_here_is_named_by_its_id(enough):
    run = stop_after_two(enough, "Two it is: stop.")
    run = replace(run, spec=replace(run.spec, rule="theirs"))
    assert "the mean, 0.2980, satisfies the rule theirs." in verdict(run)
