"""However somebody writes a password into the address of a database, nobody reads it anywhere."""

from __future__ import annotations

import logging
import re
import traceback
from contextlib import suppress
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ecv_core.cli import main
from ecv_core.records.errors import StoreError
from ecv_core.store.engine import without_password
from ecv_core.store.store import open_store

WORDS = st.from_regex(r"[a-z]{2}[0-9]{2}[A-Z]{2}", fullmatch=True)
"""That occur in no sentence of ours or of a driver."""
SIGNS = st.sampled_from([*":/@?#&=+%;,!$'\" .", "%40", "://", "p@", ""])
PASSWORDS = st.lists(st.tuples(SIGNS, WORDS), min_size=1, max_size=4).map(
    lambda parts: "".join(sign + word for sign, word in parts)
)
FORMS = st.sampled_from(
    [
        "postgresql://me:{raw}@127.0.0.1:1/runs",
        "postgresql://me:{quoted}@127.0.0.1:1/runs",
        "postgresql+psycopg://:{raw}@127.0.0.1:1/runs?connect_timeout=1",
        "postgresql://127.0.0.1:1/runs?user=me&password={raw}",
        "postgresql://127.0.0.1:1/runs?user=me&password={quoted}&connect_timeout=1",
        "postgresql://127.0.0.1:1/runs?sslpassword={quoted}&passfile={quoted}",
        "postgresql://me:{quoted}@127.0.0.1:1/runs?PASSWORD={quoted}",
        "postgresql+nosuch://me:{raw}@127.0.0.1:1/runs",
        "mysql://me:{raw}@127.0.0.1:1/runs",
        "postgresql:/me:{raw}@127.0.0.1:1/runs",
        "me:{raw}@127.0.0.1:1/runs",
        "host=127.0.0.1 port=1 user=me password={raw}",
    ]
)


def pieces(password: str) -> list[str]:
    return re.findall(r"[a-z]{2}[0-9]{2}[A-Z]{2}", password)


def in_clear(password: str, *said: str) -> list[str]:
    return [piece for piece in pieces(password) for text in said if piece in text]


@pytest.mark.slow
@given(form=FORMS, password=PASSWORDS)
@example(form="postgresql://127.0.0.1:1/runs?user=me&password={raw}", password="ab12CD&ef34GH=1")
@example(form="postgresql://me:{raw}@127.0.0.1:1/runs", password="ab12CD@ef34GH/ij56KL:mn78OP")
@example(form="postgresql://127.0.0.1:1/runs?user=me&password={raw}", password="@ab12CD")
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_password_is_in_no_message_no_log_and_no_traceback(form, password, caplog):
    url = form.format(raw=password, quoted=quote(password, safe=""))
    with pytest.raises(StoreError) as error:
        open_store(url)
    logging.getLogger("ecv_core").error("no database", exc_info=error.value)
    logged = "".join(traceback.format_exception(error.value))
    without_source = re.sub(r"(?m)^ {4}.*$", "", logged)
    assert in_clear(password, str(error.value), without_source) == []


@given(form=FORMS, password=PASSWORDS)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_command_says_none(form, password, monkeypatch, capsys):
    url = form.format(raw=password, quoted=quote(password, safe=""))
    monkeypatch.setenv("ECV_DATABASE_URL", url)
    for words in (["runs", "--json"], ["show", "1234"], ["backup", "copy.sqlite"]):
        with suppress(SystemExit):
            assert main(words)
        said = capsys.readouterr()
        assert in_clear(password, said.out, said.err) == []


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:a/b:c@host:5432/runs", "postgresql://me:***@host:5432/runs"),
        ("postgresql://me:a@b@host/runs", "postgresql://me:***@host/runs"),
        (
            "postgresql://host/runs?user=u&password=a:/@b",
            "postgresql://host/runs?user=u&password=***",
        ),
        ("postgresql://me@host/runs", "postgresql://me@host/runs"),
        ("postgresql:///runs", "postgresql:///runs"),
        ("sqlite:////home/me:too@work/runs.sqlite", "sqlite:////home/me:too@work/runs.sqlite"),
    ],
)
def test_the_rest_of_an_address_is_shown(url, shown):
    assert without_password(f"at {url}: no", url) == f"at {shown}: no"


def test_a_driver_that_quotes_a_piece_of_a_password_is_not_repeated():
    url = "postgresql://me:correct/horse@host/runs"
    assert without_password("could not resolve 'horse', of correct", url) == (
        "could not resolve '***', of ***"
    )
