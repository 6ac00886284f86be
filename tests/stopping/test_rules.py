import itertools
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.analysis.exploration import explore
from ecv_core.figures.threshold import threshold_figure
from ecv_core.records.errors import InputError, UnknownName
from ecv_core.records.parameters import Parameter
from ecv_core.records.run import Decision, Scores
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import (
    RULES,
    EFold,
    EFoldRelative,
    Fixed,
    Never,
    StdStagnation,
    moments,
    rule,
    rule_for,
    stop_of,
)
from ecv_core.stopping.base import Rule, Watched, check_numbers
from ecv_core.stopping.efold import ALPHA

SPEC = RunSpec(dataset="synthetic", algorithm="popular")
scores = st.lists(st.integers(0, 1000).map(lambda n: n / 1000), min_size=3, max_size=8)


@contextmanager
def registered(rule):
    RULES[rule.id] = rule
    try:
        yield
    finally:
        del RULES[rule.id]


def stops(rule, results):
    return [moment.n for moment in moments(rule, results, 0.95) if moment.decision.stop]


# Widths by hand, t(0.975; 1, 2, 3) = 12.7062, 4.30265, 3.18245:
# 0.30 0.32: c2 = 2 * 12.7062 * 0.01 = 0.254124
# + 0.31: s = 0.01, c3 = 2 * 4.30265 * 0.01 / sqrt 3 = 0.0496828; c3 * |c2 - c3| = 0.0101572
# + 0.31: s^2 = 0.0002 / 3, c4 = 2 * 3.18245 * 0.00816497 / 2 = 0.0259846
#         c4 * |c3 - c4| = 0.0259846 * 0.0236982 = 0.000615788
@pytest.mark.parametrize(
    ("alpha", "min_folds", "expected"),
    [
        (0.01016, 3, [3, 4]),
        (0.01015, 3, [4]),
        (0.00061580, 3, [4]),
        (0.00061577, 3, []),
        (0.01016, 2, [3, 4]),  # a change needs two widths, so 3 stays the first
        (0.01016, 4, [4]),
        (0.01016, 5, []),
    ],
)
def test_e_fold_stops_where_hand_work_says(fold_results, alpha, min_folds, expected):
    rule = EFold(alpha=alpha, min_folds=min_folds)
    assert stops(rule, fold_results([0.30, 0.32, 0.31, 0.31])) == expected


@pytest.mark.parametrize(
    ("confidence", "alpha", "stop"),
    # t(0.95; 1, 2) = 6.31375, 2.91999: c2 = 0.126275, c3 = 0.0337171, product 0.00312077
    [(0.90, 0.003121, True), (0.90, 0.003120, False)],
)
def test_e_fold_uses_its_confidence(fold_results, confidence, alpha, stop):
    rule = EFold(alpha=alpha, confidence=confidence)
    assert rule.decide(fold_results([0.30, 0.32, 0.31])).stop is stop


# In shares of the means 0.31, 0.31: w2 = 0.819755, w3 = 0.160267, product 0.105694.
@pytest.mark.parametrize("unit", [1.0, 10.0, -0.001])
@pytest.mark.parametrize(("alpha", "stop"), [(0.10570, True), (0.10569, False)])
def test_relative_e_fold_stops_at_the_same_fold_whatever_the_unit(fold_results, unit, alpha, stop):
    decision = EFoldRelative(alpha=alpha).decide(
        fold_results([unit * score for score in (0.30, 0.32, 0.31)])
    )
    assert decision.stop is stop
    assert "the interval is 16.0 % of the mean wide (82.0 % of the mean before)" in decision.reason


def test_relative_e_fold_goes_on_about_a_mean_of_zero(fold_results):
    assert stops(EFoldRelative(alpha=1.0), fold_results([0.0] * 4)) == []
    walk = explore(Scores(folds=np.zeros(4)), "e-fold-relative").at(1.0)
    assert walk.mean_stop == 4


@pytest.mark.parametrize("score", [0.0, 0.3, 1 / 3, -2.0])
def test_e_fold_stops_at_once_when_the_scores_are_equal(fold_results, score):
    assert stops(EFold(alpha=0.0), fold_results([score] * 4)) == [3, 4]


def test_e_fold_can_stop_on_a_width_that_grew(fold_results):
    # c3 = 0, then c4 = 2 * 3.18245 * 0.0005 / 2 = 0.00159123: product 2.5320e-06
    results = fold_results([0.3, 0.3, 0.3, 0.301])
    assert stops(EFold(alpha=2.54e-6), results) == [3, 4]
    assert stops(EFold(alpha=2.52e-6), results) == [3]


@given(scores=scores, data=st.data(), alpha=st.floats(1e-7, 1e-1))
def test_the_order_of_the_earlier_folds_does_not_matter(fold_results, scores, data, alpha):
    earlier = data.draw(st.permutations(scores[:-1]))
    rule = EFold(alpha=alpha)
    one = rule.decide(fold_results(scores))
    assert rule.decide(fold_results([*earlier, scores[-1]])) == one


@given(scores=scores, alpha=st.floats(1e-7, 1e-1), power=st.integers(-10, 10))
def test_scaling_the_scores_scales_alpha_by_its_square(fold_results, scores, alpha, power):
    scale = 2.0**power  # exact in binary, so that not even ties can move
    scaled = fold_results([score * scale for score in scores])
    assert stops(EFold(alpha=alpha * scale**2), scaled) == stops(
        EFold(alpha=alpha), fold_results(scores)
    )


@given(scores=scores, alpha=st.floats(1e-7, 1e-1), more=st.floats(1, 100))
def test_a_larger_alpha_never_stops_later(fold_results, scores, alpha, more):
    results = fold_results(scores)
    assert set(stops(EFold(alpha=alpha), results)) <= set(stops(EFold(alpha=alpha * more), results))


def test_e_fold_agrees_with_an_independent_working_of_the_paper(fold_results):
    from scipy import stats

    rng = np.random.default_rng(0)
    for alpha in (1e-5, 1e-4, 1e-3):
        drawn = rng.normal(0.3, 0.01, 10)
        widths = [2 * stats.t.ppf(0.975, n - 1) * stats.sem(drawn[:n]) for n in range(2, 11)]
        expected = [
            n
            for n, (before, now) in enumerate(itertools.pairwise(widths), start=3)
            if abs(before - now) <= alpha / now
        ]
        assert stops(EFold(alpha=alpha), fold_results(drawn.tolist())) == expected


@pytest.mark.parametrize(
    ("given_scores", "sentence"),
    [
        (
            [0.3],
            "After 1 fold: one score gives no interval yet, and the rule can stop after fold 3 "
            "at the earliest: go on.",
        ),
        (
            [0.30, 0.32],
            "After 2 folds: the interval is 0.254 wide, and the rule can stop after fold 3 at "
            "the earliest: go on.",
        ),
        (
            [0.30, 0.32, 0.31],
            "After 3 folds: the interval is 0.0497 wide (0.254 before); width x change = 0.0102 "
            "is above alpha = 1e-3, so the interval is not steady enough: go on.",
        ),
        (
            [0.30, 0.32, 0.31, 0.31],
            "After 4 folds: the interval is 0.026 wide (0.0497 before); width x change = "
            "6.16e-4 is at most alpha = 1e-3, so the interval is steady enough: stop.",
        ),
        (
            [0.25, 0.25, 0.25],
            "After 3 folds: the interval is 0 wide (0 before); width x change = 0 is at most "
            "alpha = 1e-3, so the interval is steady enough: stop.",
        ),
    ],
)
def test_e_fold_gives_its_reason_with_the_numbers(fold_results, given_scores, sentence):
    assert EFold(alpha=1e-3).decide(fold_results(given_scores)).reason == sentence


# Deviations by hand: of (0, 2) 1.4142; (0, 2, 1) 1; (0, 2, 1, 1) 0.8165
@pytest.mark.parametrize(
    ("given_scores", "expected"),
    [
        ([0.0, 2.0, 1.0, 1.0, 1.0], [4, 5]),  # falls from fold 3 on: two in a row at fold 4
        ([1.0, 1.0, 1.0, 1.0], [4]),  # standing at 0
        ([0.0, 2.0, 4.0, 2.0, 2.0], [5]),  # 1.414 -> 2 (grew) -> 1.633 -> 1.414
        ([0.0, 2.0, 1.0, 5.0, 1.0, 1.0], [6]),  # 1.414, 1, 2.16 (grew), 1.924, 1.751
    ],
)
def test_stagnation_stops_where_hand_work_says(fold_results, given_scores, expected):
    assert stops(StdStagnation(), fold_results(given_scores)) == expected


def test_stagnation_forgives_five_percent_of_growth_and_no_more(fold_results):
    # +-1 has s = sqrt 2; a third score d away from the middle gives s = sqrt((2 + 2 d^2 / 3) / 2).
    # 4.9 % more: d^2 = 3 (2 * 1.049^2 - 1); 5.1 % more alike.
    def third(growth):
        return float(np.sqrt(3 * (2 * growth**2 - 1)))

    for growth, expected in ((1.049, [4]), (1.051, [])):
        results = fold_results([-1.0, 1.0, third(growth), third(growth) / 3])
        assert stops(StdStagnation(), results) == expected


def test_stagnation_waits_for_the_minimum(fold_results):
    assert stops(StdStagnation(min_folds=6), fold_results([1.0] * 7)) == [6, 7]


def test_stagnation_gives_its_reason_with_the_numbers(fold_results):
    reasons = [
        moment.decision.reason
        for moment in moments(StdStagnation(), fold_results([0.0, 2.0, 4.0, 2.0, 2.0]), 0.95)
    ]
    assert reasons == [
        "After 1 fold: one score shows no spread yet, and the rule can stop after fold 4 at "
        "the earliest: go on.",
        "After 2 folds: the standard deviation is 1.41, and the rule can stop after fold 4 at "
        "the earliest: go on.",
        "After 3 folds: the standard deviation is 2, and the rule can stop after fold 4 at "
        "the earliest: go on.",
        "After 4 folds: the standard deviation went from 1.41 to 2 to 1.63; in at least one of the "
        "last two steps it grew by more than 5 %: go on.",
        "After 5 folds: the standard deviation went from 2 to 1.63 to 1.41; in neither of these "
        "two steps did it grow by more than 5 %: stop.",
    ]


def test_fixed_stops_after_its_folds(fold_results):
    assert stops(Fixed(folds=2), fold_results([0.1, 0.9, 0.2])) == [2, 3]
    assert stops(Fixed(folds=4), fold_results([0.1, 0.9, 0.2])) == []


@given(scores=scores)
def test_never_never_stops(fold_results, scores):
    assert stops(Never(), fold_results(scores)) == []


@pytest.mark.parametrize("name", [name for name in RULES if not rule(name).needs_user_scores])
@given(scores=st.lists(st.floats(-1, 1), min_size=1, max_size=10))
def test_every_rule_decides_on_any_scores_in_one_sentence(fold_results, name, scores):
    spec = replace(SPEC, rule=name, min_folds=3)
    for moment in moments(rule_for(spec), fold_results(scores), 0.95):
        reason = moment.decision.reason
        assert reason.startswith(f"After {moment.n} ")
        assert reason.endswith("stop." if moment.decision.stop else "go on.")
        assert moment.decision.stop is False or moment.n >= 3


@pytest.mark.parametrize("name", RULES)
def test_every_rule_is_registered_under_its_own_id_and_explained(name):
    assert rule(name).id == name
    assert rule(name).title
    assert rule(name).help.endswith(".")
    assert rule(name).source
    assert set(rule(name).run_settings) <= {"confidence", "min_folds", "k", "metric"}
    assert rule(name).build(replace(SPEC, rule=name))


def test_the_settings_reach_the_rule():
    spec = replace(SPEC, rule_params=(("alpha", 0.25),), confidence=0.8, min_folds=4)
    assert rule_for(spec) == EFold(alpha=0.25, confidence=0.8, min_folds=4)
    assert rule_for(replace(spec, rule="std-stagnation", rule_params=())) == StdStagnation(
        min_folds=4
    )
    assert rule_for(replace(spec, rule="fixed", rule_params=())) == Fixed(folds=4)
    assert rule_for(replace(spec, rule="never", rule_params=())) == Never()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rule_params": (("alpha", 0.0),)}, "alpha must be a positive number, but is 0.0"),
        ({"rule_params": (("alpha", -1e-5),)}, "alpha must be a positive number, but is -1e-05"),
        (
            {"rule_params": (("alpha", float("nan")),)},
            "alpha must be a positive number, but is nan",
        ),
        (
            {"rule_params": (("alpha", float("inf")),)},
            "alpha must be a positive number, but is inf",
        ),
        ({"confidence": 0.0}, "confidence must be between 0 and 1, but is 0.0"),
        ({"confidence": 1.0}, "confidence must be between 0 and 1, but is 1.0"),
        ({"confidence": 95.0}, "confidence must be between 0 and 1, but is 95.0"),
        ({"confidence": float("nan")}, "confidence must be between 0 and 1, but is nan"),
        ({"min_folds": 1}, "from 2 to k = 10 for the rule 'e-fold', but is 1"),
        ({"min_folds": 11}, "from 2 to k = 10 for the rule 'e-fold', but is 11"),
        ({"rule": "fixed", "min_folds": 0}, "from 1 to k = 10 for the rule 'fixed', but is 0"),
    ],
)
def test_a_setting_that_cannot_work_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        rule_for(replace(SPEC, **change))


def test_an_unknown_rule_is_refused():
    with pytest.raises(UnknownName, match="no stopping rule is called 'efold'; did you mean"):
        rule_for(replace(SPEC, rule="efold"))


def test_moments_tell_the_way_of_a_run(fold_results):
    results = list(reversed(fold_results([0.31, 0.32, 0.30])))  # folds 2, 1, 0
    way = moments(EFold(alpha=0.011), results, 0.95)
    assert [(moment.n, moment.fold, moment.score) for moment in way] == [
        (1, 2, 0.30),
        (2, 1, 0.32),
        (3, 0, 0.31),
    ]
    assert [moment.mean for moment in way] == pytest.approx([0.30, 0.31, 0.31])
    assert way[0].interval is None
    assert [moment.interval.width for moment in way[1:]] == pytest.approx([0.254124, 0.0496828])
    assert [moment.decision.stop for moment in way] == [False, False, True]
    assert moments(Never(), [], 0.95) == []


@pytest.mark.parametrize(
    ("rule", "folds", "k", "stop"),
    [
        (Fixed(folds=3), 5, 10, 3),  # the first stop counts
        (Fixed(folds=3), 2, 10, None),  # not yet
        (Never(), 9, 10, None),
        (Never(), 10, 10, 10),  # all in, and never stopped
        (Never(), 0, 10, None),
    ],
)
def test_the_stop_is_the_first_or_k(fold_results, rule, folds, k, stop):
    assert stop_of(moments(rule, fold_results([0.1] * folds), 0.95), k) == stop


def test_a_score_that_is_no_number_is_refused(fold_results):
    with pytest.raises(InputError, match="must be a finite number, but is nan"):
        moments(Never(), fold_results([0.1, float("nan")]), 0.95)


@dataclass(frozen=True, kw_only=True)
class Patient:
    """Stops once `patience` scores in a row were above `bar`."""

    bar: float
    patience: int

    def __post_init__(self) -> None:
        check_numbers(self, bar=0, patience=1)

    def decide(self, results):
        return Decision(stop=False, reason="Go on.")


PATIENT = Rule(
    id="patient",
    title="Patient",
    help="Of this test.",
    source="this test",
    kind=Patient,
    parameters=(
        Parameter("bar", 0.1, "Above it.", low=0),
        Parameter("patience", 2, "In a row.", low=1, scale="folds"),
    ),
    run_settings=(),
    default_folds=1,
    watched=Watched(
        label="Score over the bar",
        help="Of this test.",
        after_folds=lambda moments, values: [moment.score - values["bar"] for moment in moments],
    ),
    picture="threshold",
)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("patience", 1.5, "patience of Patient is a whole number from 1 on, but is 1.5"),
        ("patience", 0, "patience of Patient is a whole number from 1 on, but is 0"),
        ("bar", -0.5, "bar of Patient is a number from 0 on, but is -0.5"),
    ],
)
def test_a_setting_is_whole_where_its_class_declares_it_so(name, value, message):
    with pytest.raises(InputError, match=message):
        Patient(**{"bar": 0.5, "patience": 1, name: value})


def test_a_parameter_in_folds_is_at_most_k():
    spec = replace(SPEC, rule="patient", k=5, min_folds=1)
    with registered(PATIENT):
        most = replace(spec, rule_params=(("bar", 0.1), ("patience", 5)))
        assert rule_for(most) == Patient(bar=0.1, patience=5)
        with pytest.raises(InputError, match=r"patience must be at most k = 5 .* is 6"):
            rule_for(replace(spec, rule_params=(("bar", 0.1), ("patience", 6))))


def test_the_picture_of_a_rule_knows_what_the_rule_is_set_to(fold_results):
    spec = replace(SPEC, rule="patient", k=2, min_folds=1, rule_params=(("bar", 0.25),))
    with registered(PATIENT):
        figure = threshold_figure(moments(rule_for(spec), fold_results([0.5, 0.75]), 0.95), spec)
    assert list(figure.data[0].y) == [0.25, 0.5]


@pytest.mark.parametrize(
    ("low", "value", "message"),
    [
        (2, 1, "must be at least 2, but is 1"),
        (2, 2**53 + 2, "from -9,007,199,254,740,992 to 9,007,199,254,740,992, but is 90071"),
        (None, -(2**53) - 2, "from -9,007,199,254,740,992 to 9,007,199,254,740,992, but is -90"),
    ],
)
def test_a_range_without_an_end_is_said_plainly(low, value, message):
    with pytest.raises(InputError, match=message):
        Parameter("patience", 2, "In a row.", low=low).parse(value)


@pytest.mark.parametrize(
    ("alpha", "number"),
    [
        (1e-4, "Alpha 1e-4 is 0.0001: "),
        (0.01, "Alpha 0.01: "),
        (1.5e-12, "Alpha 1.5e-12 is 0.0000000000015: "),
        (1e-13, "Alpha 1e-13 is 0.0000000000001: "),
        (1e20, "Alpha 1e+20 is 100000000000000000000: "),
    ],
)
def test_an_alpha_is_written_out_as_it_is(alpha: float, number: str) -> None:
    assert ALPHA.meaning is not None
    assert ALPHA.meaning(alpha).startswith(number)
