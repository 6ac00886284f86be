"""What each held-out item is ranked against: the candidates, all of them or sampled negatives."""

from __future__ import annotations

from dataclasses import dataclass

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
    """A choice of `RunSpec.candidates`."""
    negatives: int | None = None
    """None ranks all candidates. A number draws so many once for each user, and ranks each of the
    user's held-out items alone against them."""
    sampling: str = "uniform"
    """A choice of `RunSpec.negative_sampling`."""
    seed: int = 0
    """Fixes the negatives and the order of ties; the model has no say in either."""

    @property
    def sampled(self) -> bool:
        """Whether each held-out item is ranked against sampled negatives only."""
        return self.negatives is not None
