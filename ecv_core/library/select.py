"""Which of several is best, from one line of Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Unpack

from ecv_core.analysis.selection.rounds import Budget, Until
from ecv_core.jobs.book import Says, refuse
from ecv_core.jobs.cluster.choose import executor_on
from ecv_core.jobs.plans.select import (
    Standing,
    compute,
    named_contenders,
    terms_for,
    tracked_names,
)
from ecv_core.library.evaluate import kept_or_not
from ecv_core.library.in_memory import dataset_id
from ecv_core.library.settings import ScoreSettings
from ecv_core.records.arguments import kinds_checked
from ecv_core.store.store import open_store

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Selected:
    """A decided selection; a notebook shows it as a sentence and a table."""

    standing: Standing
    """Everything that is known of it."""
    dataset: str
    metric: str
    """With its cut-off: 'ndcg@10'."""

    @property
    def winner(self) -> str:
        """The best contender, as it was named."""
        winner: str = self._document["winner"]
        return winner

    @property
    def tied(self) -> tuple[str, ...]:
        """Those that cannot be told from the winner; with until='order' pairs, 'a = b'."""
        return tuple(
            one if isinstance(one, str) else " = ".join(one) for one in self._document["tied"]
        )

    @property
    def order(self) -> tuple[str, ...]:
        """All of them, best first, as far as it was asked for."""
        return tuple(self._document["order"])

    @property
    def folds_used(self) -> Mapping[str, int]:
        """Of each contender."""
        used: dict[str, int] = self._document["folds_used"]
        return used

    @property
    def sentence(self) -> str:
        """The verdict, with its numbers."""
        return self.standing.sentence(self._document["contenders"], self.dataset)

    @cached_property
    def _document(self) -> dict[str, Any]:
        return self.standing.document(self.metric)

    @property
    def methods(self) -> str:
        """What a paper may say: the question that was asked, what was found and what not."""
        return str(self._document["methods"])

    def document(self) -> dict[str, Any]:
        """The selection as plain JSON values, as `select --json` writes it."""
        return dict(self._document)

    def frame(self) -> pd.DataFrame:
        """One row per contender, best first: folds used, and its difference to the leader when it
        was last looked at (contender minus leader), with the ends of its interval."""
        import pandas as pd

        last: dict[str, dict[str, Any]] = {}
        for one in self._document["rounds"]:
            last |= one["differences"]
        rows = {
            name: (
                self.folds_used[name],
                last.get(name, {}).get("difference"),
                *last.get(name, {}).get("interval", (None, None)),
            )
            for name in self.order
        }
        columns = ["folds_used", "difference", "low", "high"]
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns)

    def __repr__(self) -> str:
        return f"<Selected: {self.sentence}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.sentence)}</p>{self.frame().to_html()}"


@kinds_checked
def select(
    dataset: object,
    contenders: Sequence[str],
    *,
    until: Until = "winner",
    indifference: float = 0.0,
    confidence: float = 0.95,
    expected_loss: float | None = None,
    budget: str | None = None,
    keep: bool = True,
    on: str | None = None,
    on_fold: Callable[[Standing], None] = lambda now: None,
    **settings: Unpack[ScoreSettings],
) -> Selected:
    """Find the best of several contenders, each stopped as soon as it cannot win any more.

    Folds of the database are used; the others run one after the other, or on several nodes.

    Args:
        dataset: an id of `datasets()`, on disk, or data in memory; as of `evaluate`.
        contenders: at least two, 'ALGORITHM[:name=value[,name=value]...]' each; names of tracked
            models too, whose folds must be there.
        until: 'winner', or 'order' for the place of everybody.
        indifference: contenders closer than this share of the leader's mean are equally good.
        confidence: of the verdict, in (0, 1).
        expected_loss: which one to use: it ends once at most this share of the leader's mean is
            expected to be lost by taking it. None: it ends once it is certain who is best.
        budget: '50 Wh', '20 min' or '30 folds': the best that is found within it.
        keep: leave it in the database, where the page "Which is best?" finds it.
        on: where folds are computed, as of `evaluate`.
        on_fold: told where the selection is after every fold.
        settings: as of `fold.spec.make_spec`, the same for all: split, k, seed, metric, n, ...
    Raises: InputError for what cannot be compared or run; RunError if a fold fails.
    """
    name = dataset_id(dataset)
    tracked = tracked_names(open_store(), name)
    named = named_contenders(name, contenders, tracked=tracked, **settings)
    spec = named[0][1]
    terms = terms_for(
        spec,
        confidence=confidence,
        indifference=indifference,
        until=until,
        expected_loss=expected_loss,
        budget=None if budget is None else Budget.parse(budget),
    )
    with kept_or_not(keep) as store, closing(executor_on(on)) as executor:
        says = Says(trouble=refuse)
        _, standing = compute(store, named, terms, executor=executor, on_fold=on_fold, says=says)
    return Selected(standing, name, spec.metric_name)
