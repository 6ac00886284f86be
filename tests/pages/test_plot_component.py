"""The figure component: plotly.js comes from the installed package, and there is a way without."""

import gzip

import plotly
import pytest
from streamlit.testing.v1 import AppTest

from pages.components.shared import plot


@pytest.fixture(autouse=True)
def forget():
    plot.plotly_script.cache_clear()
    yield
    plot.plotly_script.cache_clear()


def test_plotly_js_is_the_installed_packages_and_served_by_this_server(tmp_path, monkeypatch):
    monkeypatch.setattr(plot, "STATIC", tmp_path)
    address = plot.plotly_script()
    assert address == f"app/static/plotly-{plotly.__version__}.min.js"
    (copy,) = tmp_path.iterdir()
    assert b"plotly.js v" in copy.read_bytes()[:500]
    assert len(gzip.compress(copy.read_bytes())) > 500_000


def test_a_cut_copy_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(plot, "STATIC", tmp_path)
    target = tmp_path / f"plotly-{plotly.__version__}.min.js"
    target.write_bytes(b"cut")
    plot.plotly_script()
    assert target.stat().st_size > 1_000_000


def one_figure():
    import plotly.graph_objects as go

    from pages.components.shared.plot import plot

    plot(lambda dark: go.Figure(), version=1, key="f", alt="a sentence", height=300)


def test_without_a_writable_folder_streamlits_own_chart_takes_over(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setattr(plot, "STATIC", blocked / "static")
    app = AppTest.from_function(one_figure).run()
    assert not app.exception
    assert len(app.get("plotly_chart")) == 1
    assert not app.get("bidi_component")
