"""The view Papers: the answer of a table first, then its cells; another paper has other tables."""

from streamlit.testing.v1 import AppTest


def section():
    from pages.shared.live.state import errors_as_sentences
    from pages.studies.estimators_view import show_papers

    with errors_as_sentences():
        show_papers()


def test_a_table_is_shown_with_its_answer_and_another_paper_has_other_tables() -> None:
    app = AppTest.from_function(section, default_timeout=60)
    app.run()
    assert not app.exception
    bodies = [one.proto.body for one in app.get("html")]
    assert any("All 24 cells are" in body for body in bodies)
    assert "| MovieLens 1M | 6040: same | 3416: same |" in app.markdown[0].value
    app.selectbox[1].set_value("figure 2").run()
    app.selectbox[0].set_value("recbole-evaluation").run()
    assert not app.exception
    assert app.selectbox[1].value == "table"
    assert "| full | full ranking with all item candidates: same" in app.markdown[0].value
