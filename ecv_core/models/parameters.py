"""Algorithms as users know them, with the parameters that they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ecv_core.models.base import Recommender
from ecv_core.parameters import Parameter, Params, resolve
from ecv_core.records import ParamValue

__all__ = ["Algorithm", "Parameter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm:
    """A model as users know it, before any of its code (torch, LensKit) is loaded."""

    id: str
    title: str
    summary: str
    """What it does, its cost and when to use it, in at most three sentences."""
    paper: str
    parameters: tuple[Parameter, ...]
    build: Callable[[Mapping[str, ParamValue]], Recommender]
    """Makes an unfitted model; imports what it needs only when called."""
    paper_default: Mapping[str, ParamValue] = field(default_factory=dict)
    """Values of the paper, or of the system that made the model known, where they are not ours."""
    log_odds: bool = False
    """Whether its scores are log-odds of an interaction, so that they have a log loss."""
    random: bool = True
    """Whether fitting draws random numbers: all users of a fold then share the luck of its
    training, of which the scores of one fold tell nothing."""

    @property
    def presets(self) -> dict[str, dict[str, ParamValue]]:
        """Named sets of values for every parameter; 'tuned' are the defaults."""
        tuned = {parameter.name: parameter.default for parameter in self.parameters}
        return {"tuned": tuned, "paper default": tuned | dict(self.paper_default)}

    def resolve(self, given: Mapping[str, ParamValue]) -> Params:
        """Every parameter with its value: the given ones checked, the rest by default.

        Raises: InputError for an unknown name or a bad value.
        """
        return resolve(self.parameters, given, of=self.id)
