"""Every setting of a run is declared once, and what it says of itself holds."""

from dataclasses import fields, replace

import pytest

from ecv_core.cli import parse
from ecv_core.cli.run_command import spec_of
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import InputError
from ecv_core.records.spec import (
    SCORE_ROLES,
    SETTINGS,
    Role,
    RunSpec,
    Setting,
    setting,
    settings_of,
)

SPEC = RunSpec(dataset="d", algorithm="a")


def test_every_field_of_a_spec_is_a_setting_with_its_role() -> None:
    assert set(SETTINGS) == {field.name for field in fields(RunSpec)}
    assert {name for name, one in SETTINGS.items() if one.role is Role.REPORT} == {
        "cutoffs",
        "country",
        "processor_watts",
        "memory_watts",
        "share_machine",
        "wait_for_quiet",
        "no_energy",
    }


@pytest.mark.parametrize(
    ("change", "same_scores"),
    [
        ({"rule_params": (("alpha", 1.0),), "rule": "fixed", "full": True, "country": "FRA"}, True),
        ({"params": (("neighbours", 3),)}, False),
        ({"only_folds": (0, 1)}, False),
        ({"negatives": 100}, False),
        ({"seed": 7}, False),
    ],
)
def test_roles_say_which_runs_have_the_same_scores(change: dict, same_scores: bool) -> None:
    assert (
        SPEC.settings_with_roles(*SCORE_ROLES)
        == replace(SPEC, **change).settings_with_roles(*SCORE_ROLES)
    ) is same_scores


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"n": 0}, "n, the length of the recommendation list, must be at least 1, but is 0"),
        ({"n": "ten"}, "must be a whole number, but is 'ten'"),
        ({"seed": -1}, "the seed must be from 0 to 4294967295, but is -1"),
        ({"negatives": 0}, "negatives must be at least 1, but is 0; leave it out for full ranking"),
        ({"candidates": "training"}, "no candidate set is called 'training'"),
        ({"negative_sampling": "even"}, "no way to sample negatives is called 'even'"),
        (
            {"confidence": 95},
            "confidence must be between 0 and 1, but is 95.0; use for example 0.9",
        ),
        ({"alhpa": 1e-3}, "no setting of a run is called 'alhpa'; did you mean 'alpha'?"),
        ({"cutoffs": (3,)}, "no setting of a run is called 'cutoffs'"),
    ],
)
def test_a_setting_that_cannot_be_is_one_sentence(asked: dict, message: str) -> None:
    with pytest.raises(InputError) as error:
        make_spec(dataset="synthetic", algorithm="popular", **asked)
    assert message in str(error.value)


def test_the_axis_of_another_rule_is_passed_over() -> None:
    asked = make_spec(dataset="synthetic", algorithm="popular", tolerance=5.0)
    assert asked.rule_params == (("alpha", 1e-4),)


def test_parameters_of_a_rule_are_said_shorter_or_by_name() -> None:
    asked = {"dataset": "synthetic", "algorithm": "popular"}
    short = make_spec(**asked, rule="precision", tolerance="0.02", adjust_by=["item-knn"])
    named = {"tolerance": 0.02, "adjust_by": "item-knn"}
    assert short == make_spec(**asked, rule="precision", rule_params=named)
    assert short.rule_params == (("adjust_by", "item-knn"), ("tolerance", 0.02))
    with pytest.raises(InputError, match="tolerance is said twice"):
        make_spec(**asked, rule="precision", tolerance=0.1, rule_params={"tolerance": 0.2})
    with pytest.raises(InputError, match="no parameter of the rule fixed is called 'alpha'"):
        make_spec(**asked, rule="fixed", rule_params={"alpha": 1e-4})


@pytest.mark.parametrize(
    ("low", "high", "open_", "good", "bad", "words"),
    [
        (1, 3, False, (1, 3), (0, 4, float("nan")), "from 1 to 3"),
        (0, 1, True, (0.5,), (0, 1), "between 0 and 1"),
        (0, None, True, (1e9,), (0, float("inf")), "a positive number"),
        (None, 5, False, (-1e9, 5), (6,), "at most 5"),
        (2, None, False, (2, 1e9), (1,), "at least 2"),
    ],
)
def test_bounds_hold_what_they_say(low, high, open_, good, bad, words) -> None:
    one = Setting(name="x", kind=float, default=1.0, role=Role.STOP, low=low, high=high, open=open_)
    for value in good:
        one.check(value)
    for value in bad:
        with pytest.raises(InputError, match=f"the x must be {words}, but is {value}"):
            one.check(value)


def test_an_option_that_was_not_given_is_the_default_of_the_setting() -> None:
    assert spec_of(parse(["run", "synthetic", "popular"])) == make_spec(
        dataset="synthetic", algorithm="popular"
    )


def test_a_declaration_with_an_unknown_word_is_refused() -> None:
    from dataclasses import dataclass

    @dataclass
    class Odd:
        x: int = setting(1, Role.STOP, colour="red")

    with pytest.raises(TypeError, match="colour"):
        settings_of(Odd)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"folds_sha256": "0" * 64, "split": "temporal-global"}, "leave --split out"),
        ({"folds_sha256": "0" * 64, "split_params": {"a": 1}}, "leave --split out"),
        ({"negative_sampling": "pooled"}, "'negative_sampling' means nothing without"),
    ],
)
def test_settings_that_would_have_no_effect_are_refused(asked, said):
    with pytest.raises(InputError, match=said):
        make_spec(dataset="synthetic", algorithm="popular", **asked)
