"""What the dashboard's server has besides Streamlit: addresses, plotly.js, limits of uploads."""

import gzip

import plotly
import pytest
import streamlit as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from pages.shared.live.server import PLOTLY, middleware, routes

UPLOAD = "/_stcore/upload_file/session/file"


async def taken(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"{len(await request.body())} bytes")


@pytest.fixture
def client() -> TestClient:
    uploads = Route(UPLOAD, taken, methods=["PUT", "DELETE"])
    return TestClient(Starlette(routes=[*routes(), uploads], middleware=middleware()))


def test_plotly_js_is_the_installed_packages_and_browsers_keep_it(client):
    answer = client.get(f"/plotly-{plotly.__version__}.min.js")
    assert b"plotly.js v" in answer.content[:500]
    assert len(gzip.compress(answer.content)) > 500_000
    assert "javascript" in answer.headers["content-type"]
    assert "max-age=31536000" in answer.headers["cache-control"]


@pytest.mark.parametrize(("path", "begin"), [("", "/"), ("e-fold", "/e-fold/"), ("/a/b/", "/a/b/")])
def test_addresses_are_below_the_path_that_the_server_is_given(monkeypatch, path, begin):
    monkeypatch.setattr(st, "get_option", {"server.baseUrlPath": path}.get)
    assert [route.path for route in routes()] == [f"{begin}events", f"{begin}{PLOTLY}"]


def test_a_file_may_be_as_large_as_the_environment_says(client, monkeypatch):
    monkeypatch.setenv("ECV_MAX_UPLOAD_MB", "3")
    assert client.put(UPLOAD, content=b"x" * (3 << 20)).text == f"{3 << 20} bytes"
    refused = client.put(UPLOAD, content=b"x" * (5 << 20))
    assert (refused.status_code, refused.text) == (
        413,
        "A file may have up to 3,145,728 bytes here.",
    )
    assert client.delete(UPLOAD).status_code == 200


def test_a_file_without_a_length_or_with_two_is_refused(client):
    assert client.put(UPLOAD, content=iter([b"x", b"y"])).status_code == 411
    lengths = {"Transfer-Encoding": "chunked", "Content-Length": "1"}
    assert client.put(UPLOAD, content=b"x", headers=lengths).status_code == 411


def test_a_public_dashboard_takes_no_files(client, monkeypatch):
    monkeypatch.setenv("ECV_MODE", "public")
    assert client.put(UPLOAD, content=b"x").status_code == 403


@pytest.mark.parametrize("wrong", [("ECV_MODE", "pubic"), ("ECV_MAX_UPLOAD_MB", "lots")])
def test_where_nobody_knows_what_is_allowed_nothing_is(client, monkeypatch, wrong):
    monkeypatch.setenv(*wrong)
    refused = client.put(UPLOAD, content=b"x")
    assert refused.status_code == 403
    assert wrong[1] in refused.text
