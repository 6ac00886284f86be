"""What each held-out item is ranked against: the candidates, all of them or sampled negatives."""

from __future__ import annotations

from dataclasses import dataclass

from ecv_core.errors import InputError, UnknownName

CANDIDATES = {
    "all": "All items of the prepared dataset, also those that no user has in training.",
    "train": "Items with at least one training interaction in the fold. A held-out item that has "
    "none stays held out and counts as missed.",
}
"""Which items may be recommended, by id, as pages explain them."""

NEGATIVE_SAMPLING = {
    "uniform": "Every candidate is as likely as any other.",
    "popularity": "A candidate is as likely as its share of the training interactions: popular "
    "items are harder to tell from what a user likes.",
}
"""How negatives are drawn, by id, as pages explain them."""

SAMPLED_WARNING = (
    "A sampled metric is not a small version of the full one: it is another metric, with other "
    "values, and it may order algorithms differently, the more so the fewer negatives are drawn. "
    "Use it to compare with work that reports it, and full ranking otherwise "
    "(Krichene, Rendle 2020: On Sampled Metrics for Item Recommendation)."
)
"""What sampling does to a metric, said wherever it is chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How held-out items are ranked; the default is full ranking of all items."""

    candidates: str = "all"
    """One of CANDIDATES."""
    negatives: int | None = None
    """None ranks all candidates. A number draws so many once for each user, and ranks each of the
    user's held-out items alone against them."""
    sampling: str = "uniform"
    """One of NEGATIVE_SAMPLING."""
    seed: int = 0
    """Fixes the negatives and the order of ties; the model has no say in either."""

    @property
    def sampled(self) -> bool:
        """Whether each held-out item is ranked against sampled negatives only."""
        return self.negatives is not None


def check_protocol(candidates: str, negatives: int | None, sampling: str) -> None:
    """Refuse what no data can serve.

    Raises: UnknownName; InputError for a number of negatives below 1.
    """
    if candidates not in CANDIDATES:
        raise UnknownName("candidate set", candidates, CANDIDATES)
    if sampling not in NEGATIVE_SAMPLING:
        raise UnknownName("way to sample negatives", sampling, NEGATIVE_SAMPLING)
    if negatives is not None and negatives < 1:
        raise InputError(
            f"the number of negatives must be at least 1, but is {negatives}; "
            "leave it out for full ranking"
        )
