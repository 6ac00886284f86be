"""Public fields under new names: the old ones still work, and say what takes their place."""

import pytest

import ecv_core as ecv
from ecv_core.evaluation import METRICS
from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import InputError
from ecv_core.stopping import RULES


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


@pytest.mark.parametrize(
    ("record", "old", "new"),
    [
        (ecv.Precision(0.02, adjust_by="popular"), "aids", "cheap_models"),
        (ecv.Precision(0.02, adjust_by="popular"), "needs_aids", "needed_cheap_models"),
        (ecv.Precision(0.02, adjust_by="popular"), "with_aids", "with_cheap_models"),
        (METRICS["ndcg"], "in_samples", "works_with_sampled_negatives"),
        (METRICS["ndcg"], "is_bounded", "has_worst_score"),
        (ALGORITHMS["item-knn"], "shares_with", "common_params_of"),
        (RULES["precision"], "by_sets", "decides_by_sets"),
        (RULES["precision"], "looks", "decides_by_scores"),
    ],
)
def test_what_a_release_before_can_ask_is_still_answered(record, old, new):
    with pytest.warns(DeprecationWarning, match=new):
        assert getattr(record, old) == getattr(record, new)


def test_what_a_selection_knows_is_still_read_under_its_old_names():
    chosen = ecv.select("synthetic", ["popular", "item-knn"], k=2, keep=False)
    with pytest.warns(DeprecationWarning, match="state"):
        state = chosen.standing
    assert state is chosen.state
    with pytest.warns(DeprecationWarning, match="result"):
        assert state.played is state.result


def test_the_cost_of_a_fold_is_still_read_under_its_old_names():
    run = ecv.evaluate("synthetic", "popular", k=2, keep=False)
    fold = run.record.folds[0]
    with pytest.warns(DeprecationWarning, match="if_computed_alone"):
        assert fold.seconds_alone == fold.seconds_if_computed_alone > 0
    with pytest.warns(DeprecationWarning, match="if_computed_alone"):
        assert fold.joules_alone == fold.joules_if_computed_alone
