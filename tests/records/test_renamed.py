"""Public fields under new names: the old ones still work, and say what takes their place."""

import pytest

import ecv_core as ecv
from ecv_core.records.errors import InputError


def test_a_rule_written_for_a_release_before_is_still_understood():
    with pytest.warns(DeprecationWarning, match="run_settings"):
        rule = ecv.Rule(
            id="old", title="Old", help="Old.", source="test", kind=ecv.Never, told=("k",)
        )
    assert rule.run_settings == ("k",)
    with pytest.warns(DeprecationWarning, match="run_settings"):
        assert rule.told == ("k",)


def test_a_parameter_written_for_a_release_before_is_still_understood():
    with pytest.warns(DeprecationWarning, match="error_name") as warned:
        width = ecv.Parameter("width", 0.1, "Of the interval.", low=0, said="the width")
    assert [warning.filename for warning in warned] == [__file__]  # of who has to change it
    with pytest.warns(DeprecationWarning, match="error_name"):
        assert width.said == "the width"
    with pytest.raises(InputError, match=r"^the width"):
        width.parse(-1)


def test_a_parameter_may_still_say_which_values_are_tried():
    with pytest.warns(DeprecationWarning, match="search_values"):
        width = ecv.Parameter("width", 0.1, "Of the interval.", tried=(0.1, 0.2))
    assert width.search_values == (0.1, 0.2)
    with pytest.warns(DeprecationWarning, match="search_values"):
        assert width.tried == (0.1, 0.2)


def test_a_parameter_that_came_later_may_still_say_so():
    with pytest.warns(DeprecationWarning, match="added_later"):
        width = ecv.Parameter("width", 0.1, "Of the interval.", later=True)
    assert width.added_later
