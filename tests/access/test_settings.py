"""The environment -> mode, limits and roles; whatever means nothing is one sentence."""

import pytest

from ecv_core.access.roles import OWNER, PersonRole
from ecv_core.access.settings import AccessSettings, Mode, member, settings, visitor
from ecv_core.records.errors import InputError

ISSUER = "https://id.example.org"
SIGNED_IN = 1_750_000_000
"""Unix seconds of it, as the token has them."""
CLAIMS = {"iss": ISSUER, "sub": "1234", "name": "Ada", "is_logged_in": True, "iat": SIGNED_IN}


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    for name in ("MODE", "EDITORS", "VIEWERS", "PUBLIC_SECONDS", "PUBLIC_QUEUE"):
        monkeypatch.delenv(f"ECV_{name}", raising=False)


def test_nothing_set_is_one_person_without_a_limit():
    assert settings() == AccessSettings()
    assert settings().mode is Mode.PRIVATE
    assert settings().seconds_per_run is None
    assert OWNER.role is PersonRole.OWNER


def test_a_public_dashboard_has_limits_and_each_can_be_set(monkeypatch):
    monkeypatch.setenv("ECV_MODE", "public")
    usual = settings().limits
    assert (usual.seconds, usual.quota.runs_per_hour, usual.quota.waiting) == (60, 10, 10)
    assert "multi-vae" not in usual.algorithms
    monkeypatch.setenv("ECV_PUBLIC_ALGORITHMS", "ease, popular,")
    monkeypatch.setenv("ECV_PUBLIC_DATASETS", "synthetic")
    monkeypatch.setenv("ECV_PUBLIC_SECONDS", "7")
    monkeypatch.setenv("ECV_PUBLIC_RUNS_PER_HOUR", "3")
    monkeypatch.setenv("ECV_PUBLIC_QUEUE", "2")
    now = settings().limits
    assert (now.algorithms, now.datasets) == (("ease", "popular"), ("synthetic",))
    assert (now.seconds, now.quota.runs_per_hour, now.quota.waiting) == (7, 3, 2)
    assert settings().seconds_per_run == 7


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("ECV_MODE", "pubic", "ECV_MODE must be 'public' or 'team'.* is 'pubic'"),
        ("ECV_MODE", "Team", "is 'Team'"),
        ("ECV_MODE", "team", "ECV_MODE=team needs ECV_EDITORS"),
        ("ECV_EDITORS", "ada", "ECV_EDITORS says who of a team .* set ECV_MODE=team"),
        ("ECV_VIEWERS", "*", "ECV_VIEWERS says who of a team .* set ECV_MODE=team"),
        ("ECV_PUBLIC_SECONDS", "0", "ECV_PUBLIC_SECONDS must be a whole number .* is '0'"),
        ("ECV_PUBLIC_RUNS_PER_HOUR", "many", "is 'many'"),
        ("ECV_PUBLIC_QUEUE", "1e3", "is '1e3'"),
        ("FORWARDED_ALLOW_IPS", "*", "FORWARDED_ALLOW_IPS .* has '\\*'"),
        ("FORWARDED_ALLOW_IPS", "127.0.0.1,0.0.0.0/0", "has '0.0.0.0/0'"),
        ("FORWARDED_ALLOW_IPS", "::/0", "has '::/0'"),
        ("FORWARDED_ALLOW_IPS", "my-proxy", "has 'my-proxy'"),
        ("ECV_PUBLIC_ALGORITHMS", "ease,eaze", "names 'eaze', which is no algorithm"),
    ],
)
def test_a_value_that_means_nothing_is_one_sentence(monkeypatch, name, value, said):
    monkeypatch.setenv("ECV_MODE", "public")
    monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=said) as error:
        settings()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("editors", "viewers", "claims", "role"),
    [
        ("*", "", {}, PersonRole.EDITOR),
        (
            "ada@example.org",
            "",
            {"email": "ada@example.org", "email_verified": True},
            PersonRole.EDITOR,
        ),
        (
            "Ada@Example.org",
            "",
            {"email": "ADA@example.org", "email_verified": True},
            PersonRole.EDITOR,
        ),
        (
            "@example.org",
            "",
            {"email": "ada@example.org", "email_verified": True},
            PersonRole.EDITOR,
        ),
        (
            "@example.org",
            "",
            {"email": "a@evil-example.org", "email_verified": True},
            PersonRole.VIEWER,
        ),
        # An address that nobody has verified is a claim of whoever signed in.
        ("ada@example.org", "", {"email": "ada@example.org"}, PersonRole.VIEWER),
        (
            "ada@example.org",
            "",
            {"email": "ada@example.org", "email_verified": False},
            PersonRole.VIEWER,
        ),
        ("1234", "", {}, PersonRole.EDITOR),
        ("ben@example.org", "1234", {}, PersonRole.VIEWER),
        ("ben@example.org", "carl@example.org", {}, PersonRole.NOBODY),
    ],
    ids=range(10),
)
def test_who_has_which_role(monkeypatch, editors, viewers, claims, role):
    monkeypatch.setenv("ECV_MODE", "team")
    monkeypatch.setenv("ECV_EDITORS", editors)
    monkeypatch.setenv("ECV_VIEWERS", viewers)
    found = member(CLAIMS | claims, settings(), SIGNED_IN + 60)
    assert (found.role, found.id) == (role, "https://id.example.org#1234")
    assert found.name == "Ada"


@pytest.mark.parametrize(
    ("listed", "claims"),
    [
        ("ada@example.org", {"sub": "ada@example.org"}),
        ("@example.org", {"sub": "@example.org"}),
        ("@example.org", {"sub": "x@example.org"}),
        ("1234", {"sub": "other", "email": "1234", "email_verified": True}),
        ("@example.org", {"email": "@example.org", "email_verified": True}),
        ("@example.org", {"email": "a@evil.org@example.org", "email_verified": True}),
        # lower() makes the Kelvin sign a k.
        ("bok@example.org", {"email": "bo\u212a@example.org", "email_verified": True}),
    ],
    ids=range(7),
)
def test_what_looks_like_somebody_on_the_list_is_not_them(monkeypatch, listed, claims):
    monkeypatch.setenv("ECV_MODE", "team")
    monkeypatch.setenv("ECV_EDITORS", listed)
    monkeypatch.setenv("ECV_VIEWERS", "nobody")
    assert member(CLAIMS | claims, settings(), SIGNED_IN).role is PersonRole.NOBODY


def test_a_subject_with_an_at_sign_is_listed_with_its_issuer(monkeypatch):
    monkeypatch.setenv("ECV_MODE", "team")
    monkeypatch.setenv("ECV_EDITORS", f"{ISSUER}#ada@example.org")
    found = member(CLAIMS | {"sub": "ada@example.org"}, settings(), SIGNED_IN)
    assert found.role is PersonRole.EDITOR
    elsewhere = {"sub": "ada@example.org", "iss": "https://evil.example"}
    assert member(CLAIMS | elsewhere, settings(), SIGNED_IN).role is PersonRole.VIEWER


@pytest.mark.parametrize(("seconds", "known"), [(0, True), (3599, True), (3600, False)])
def test_who_signed_in_an_hour_ago_is_nobody(monkeypatch, seconds, known):
    monkeypatch.setenv("ECV_MODE", "team")
    monkeypatch.setenv("ECV_EDITORS", "*")
    assert bool(member(CLAIMS, settings(), SIGNED_IN + seconds).id) is known
    undated = {name: value for name, value in CLAIMS.items() if name != "iat"}
    assert member(undated, settings(), SIGNED_IN).role is PersonRole.NOBODY


def test_who_is_not_signed_in_is_nobody(monkeypatch):
    monkeypatch.setenv("ECV_MODE", "team")
    monkeypatch.setenv("ECV_EDITORS", "*")
    assert member({}, settings(), 0).role is PersonRole.NOBODY
    assert member({"email": "ada@example.org", "email_verified": True}, settings(), 0).id == ""


def test_a_visitor_is_known_again_by_a_secret_that_nobody_can_read_off():
    one, again, other = visitor("s" * 32), visitor("s" * 32), visitor("t" * 32)
    assert one == again != other
    assert one.role is PersonRole.VISITOR
    assert "s" * 32 not in one.id
