"""The protocol with a part put aside: what is said of it."""

from ecv_core.analysis.tuning.nested import Aside, aside_sentence


def test_a_difference_that_is_no_flattery_is_said_as_such() -> None:
    found = Aside(run_id="a", score=0.5, cross_validated=0.4, configurations_met=1)
    assert "gave 0.4000, 20 % below that: later" in aside_sentence(found, "nDCG@10")
