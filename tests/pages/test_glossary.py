"""The glossary explains every word that pages use, and pages can link to it."""

from dataclasses import replace

import pytest

from ecv_core.evaluation import METRICS
from ecv_core.records.errors import UnknownName
from ecv_core.splits import SPLITS
from ecv_core.stopping import RULES
from pages.learn.course import CHAPTERS
from pages.shared.base.glossary import (
    glossary_address,
    glossary_link,
    metric_term,
    rule_term,
    term,
    terms,
)

VOCABULARY = (
    "user item interaction rating k-core fold held-out top-n ndcg fit score evaluate stopping-rule "
    "alpha confidence-interval interval-width stop e difference run study energy emissions"
)
"""The project's words, and below what else pages say."""
ON_PAGES = (
    "k k-fold e-fold k-fold-mean mean confidence coverage min-folds tolerance precision-rule seed "
    "split leakage recorded-run replay race trade-off baseline estimated energy-saved "
    "carbon-intensity order dataset optional-stopping dependent-folds paired-test p-value"
)


@pytest.mark.parametrize("name", f"{VOCABULARY} {ON_PAGES}".split())
def test_every_word_of_the_pages_is_explained(name):
    assert len(term(name).text) > 20


def test_every_metric_split_and_rule_is_explained():
    for metric in METRICS.values():
        assert term(metric_term(metric.id)).title.startswith(metric.title.split()[0])
    for split in SPLITS:
        assert term(split).text
    for rule in RULES:
        assert term(rule_term(rule)).text


@pytest.mark.usefixtures("registries_as_they_were")
def test_a_metric_of_ones_own_that_says_nothing_of_itself_has_no_entry():
    METRICS["takings"] = replace(METRICS["ndcg"], id="takings", title="Takings", help="")
    terms.cache_clear()
    assert "takings" not in terms()


def test_item_coverage_is_not_mixed_up_with_that_of_intervals():
    assert "interval" in term("coverage").text
    assert "interval" not in term(metric_term("coverage")).text
    assert "stops folding" in term("precision").text or "Precision@n" in term("precision").title


def test_entries_are_plain_text_in_alphabetical_order_and_short():
    titles = [entry.title.lower() for entry in terms().values()]
    assert titles == sorted(titles)
    for name, entry in terms().items():
        assert entry.id == name
        assert name == name.lower()
        assert " " not in name
        assert entry.text.endswith(".")
        assert "\n" not in entry.text
        assert len(entry.text) < 320
        assert not entry.chapter or entry.chapter in CHAPTERS


def test_pages_link_terms_to_their_entries():
    assert glossary_address("alpha") == "learn?chapter=glossary&term=alpha"
    assert glossary_link("alpha") == "[alpha](learn?chapter=glossary&term=alpha)"
    assert glossary_link("e", "folds used").startswith("[folds used](")


def test_a_link_to_an_unknown_term_is_a_mistake_that_names_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'alpha'"):
        glossary_link("alpa")
