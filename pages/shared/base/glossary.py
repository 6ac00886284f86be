"""The glossary: what every term on the pages means, and how a page links to it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ecv_core.evaluation import METRICS
from ecv_core.records.errors import UnknownName
from ecv_core.splits import SPLITS
from ecv_core.stopping import RULES

_FILE = Path(__file__).parent / "glossary.toml"
_METRICS_WRITTEN = {"coverage": "item-coverage", "hit": "hit-rate"}
"""The glossary's 'coverage' is that of intervals, and its 'hit' is one item."""


@dataclass(frozen=True, kw_only=True)
class Term:
    """One entry."""

    id: str
    """In the address, `?term=`; also the entry's anchor."""
    title: str
    text: str
    """One to three plain sentences, without Markdown."""
    chapter: str = ""
    """Of the Learn page, where it is told at length."""


@cache
def terms() -> dict[str, Term]:
    """Every entry by id, in the order of the alphabet."""
    entries: dict[str, Term] = {}
    for row in tomllib.loads(_FILE.read_text("utf-8"))["term"]:
        entries[row["id"]] = Term(**row)
    # An entry of the file takes precedence over one of the library.
    for entry in _terms_of_library():
        entries.setdefault(entry.id, entry)

    def title_in_lower_case(entry: Term) -> str:
        return entry.title.lower()

    return {entry.id: entry for entry in sorted(entries.values(), key=title_in_lower_case)}


def _terms_of_library() -> Iterator[Term]:
    """Metrics, splits and rules say themselves what they are."""
    for metric in METRICS.values():
        if metric.help:  # a user's own metric may have no help
            yield Term(id=metric_term(metric.id), title=metric.title, text=metric.help)
    for split in SPLITS.values():
        yield Term(id=split.id, title=f"split: {split.title}", text=split.help, chapter="folds")
    for rule in RULES.values():
        yield Term(id=rule_term(rule.id), title=f"rule: {rule.title}", text=rule.help)


def metric_term(metric_id: str) -> str:
    """The id of a metric's entry."""
    return _METRICS_WRITTEN.get(metric_id, metric_id)


def rule_term(rule_id: str) -> str:
    """The id of a stopping rule's entry."""
    if rule_id in METRICS:
        return f"{rule_id}-rule"
    return rule_id


def term(term_id: str) -> Term:
    """The entry with this id. Raises: UnknownName."""
    if term_id not in terms():
        raise UnknownName("glossary entry", term_id, terms())
    return terms()[term_id]


def glossary_address(term_id: str) -> str:
    """Where the entry is, relative to any page. Raises: UnknownName."""
    return f"learn?chapter=glossary&term={term(term_id).id}"


def glossary_link(term_id: str, words: str = "") -> str:
    """A Markdown link to the entry, on these words or on its title. Raises: UnknownName."""
    return f"[{words or term(term_id).title}]({glossary_address(term_id)})"


def explained(text: str, *term_ids: str) -> str:
    """A `help` text with links to the entries of its terms below it. Raises: UnknownName."""
    return f"{text}\n\n{glossary_line(term_ids)}"


def glossary_line(term_ids: Iterable[str]) -> str:
    """Links to the entries of these terms, as Markdown. Raises: UnknownName."""
    return f"Glossary: {', '.join(map(glossary_link, term_ids))}."
