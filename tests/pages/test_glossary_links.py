"""Every page links its words to the glossary, and every link leads to an entry."""

import re

import pytest

from ecv_core.records.run import RunState
from pages.shared.base.glossary import explained, terms

LINK = re.compile(r"learn\?chapter=glossary&(?:amp;)?term=([\w-]*)")
SCORES = (0.30, 0.34, 0.31, 0.33, 0.32)
PAGES = {
    "home": {"e-fold", "fold", "k-fold", "energy-saved"},
    "run": {"fold", "alpha", "stopping-rule", "k-core"},
    "a run": {"ndcg", "confidence-interval", "e", "energy", "emissions", "energy-saved", "stop"},
    "studies": {"alpha", "difference", "k-fold-mean"},
    "best": {"fold", "energy-saved"},
    "folds": {"alpha", "order", "fold"},
    "compare": {"paired-test", "confidence-interval", "fold"},
    "runs compared": {"paired-test", "multiple-comparisons", "stop", "energy", "e"},
    "replay": {"alpha", "order", "seed", "energy"},
    "race": {"fold", "carbon-intensity", "energy"},
    "runs": {"run"},
    "empty runs": {"run"},
    "splits": {"split", "leakage", "validation-part", "fold-in", "k", "seed"},
    "ranks under splits": {"kendalls-tau", "bootstrap", "rank", "user"},
}
"""What each page must link to, at the least."""


def texts(app):
    """What is shown, and the tooltips."""
    for element in app:
        if not element.__class__.__name__.startswith("Block"):
            yield str(getattr(element, "value", ""))
            yield str(getattr(element, "help", ""))
            yield str(getattr(element, "proto", ""))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_links_its_words_and_every_link_has_an_entry(page, app, a_run):
    if page not in ("run", "compare", "empty runs"):
        first = a_run(SCORES, stopped_at=4, k=5)
        second = a_run(SCORES, stopped_at=4, k=5, algorithm="popular", state=RunState.FINISHED)
    match page:
        case "a run":
            app.query_params["run"] = first.run_id
            app.run()
        case "runs compared":
            app.switch_page("runs/runs.py")
            app.query_params["view"] = "Compare"
            third = a_run(SCORES, stopped_at=4, k=5, algorithm="ease")  # several comparisons
            app.query_params["runs"] = f"{first.run_id},{second.run_id},{third.run_id}"
            app.run()
        case "compare":
            app.switch_page("runs/runs.py")
            app.query_params["view"] = "Compare"
            app.run()
        case "ranks under splits":
            app.switch_page("studies/studies.py")
            app.query_params["view"] = "Splits and ranks"
            app.run()
        case "replay" | "race":
            app.switch_page("replay/replay.py")
            app.query_params["view"] = "Race" if page == "race" else "Fold by fold"
            app.query_params["run"] = first.run_id
            app.run()
        case "studies" | "folds":
            app.switch_page(f"{page}/{page}.py")
            app.query_params["study_datasets" if page == "studies" else "datasets"] = "ml-100k"
            app.run()
        case _:
            app.switch_page(f"{page.split()[-1]}/{page.split()[-1]}.py").run()
    assert not app.exception
    linked = {term for text in texts(app) for term in LINK.findall(text)}
    assert linked - set(terms()) == set()
    assert PAGES[page] - linked == set()


def test_a_tooltip_ends_with_its_terms():
    assert explained("Small.", "alpha", "stop") == (
        "Small.\n\nGlossary: [alpha](learn?chapter=glossary&term=alpha), "
        "[stop](learn?chapter=glossary&term=stop)."
    )
