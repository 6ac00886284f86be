"""What a role may do, written down by hand: to what is theirs, somebody else's, and nobody's."""

import pytest

from ecv_core.access.roles import OWNER, Action, Actor, PersonRole, check, refusal
from ecv_core.records.errors import RightsError

ADA = Actor(id="ada", role=PersonRole.EDITOR)
VIEWER = Actor(id="vera", role=PersonRole.VIEWER)
VISITOR = Actor(id="visitor:1", role=PersonRole.VISITOR)
NOBODY = Actor(id="", role=PersonRole.NOBODY)

PUBLIC = {Action.START, Action.GO_ON, Action.CANCEL}


@pytest.mark.parametrize("action", list(Action), ids=lambda action: action.name)
def test_every_action_of_every_role(action):
    allowed = {
        (OWNER, "somebody"): True,
        (OWNER, ""): True,
        (ADA, "ada"): True,
        (ADA, ""): True,  # of a command line, or of before there was a mode
        (ADA, "ben"): False,
        (VIEWER, "vera"): False,
        (VIEWER, ""): False,
        (VISITOR, "visitor:1"): action in PUBLIC,
        (VISITOR, "visitor:2"): False,
        (VISITOR, ""): False,
        (NOBODY, ""): False,
    }
    said = {who: refusal(action, who[0], who[1]) for who in allowed}
    assert {who: why is None for who, why in said.items()} == allowed
    for why in filter(None, said.values()):
        assert action.value in why
        assert "\n" not in why


def test_one_of_somebody_else_among_several_is_one_too_many():
    assert refusal(Action.DELETE, ADA, "ada", "", "ada") is None
    with pytest.raises(RightsError, match="belongs to somebody else"):
        check(Action.DELETE, ADA, "ada", "ben")


def test_an_editor_without_an_id_has_nothing():
    assert refusal(Action.CANCEL, Actor(id="", role=PersonRole.EDITOR), "") is not None
