"""What one fold's evaluation works on: users, parts, candidates, and scores, block by block."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ecv_core.evaluation.formulas import Popularity
from ecv_core.evaluation.metrics import METRICS, Kind
from ecv_core.evaluation.without_torch import best_of
from ecv_core.records.errors import InputError, RunError

if TYPE_CHECKING:
    import torch
    from scipy.sparse import csr_array

# What each held-out item is ranked against: the candidates, all of them or sampled negatives.


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


Floats = NDArray[np.float64]
Columns = dict[str, Floats]
"""Metric -> its values: (users, cutoffs) with a cut-off, (users,) without, (cutoffs,) of lists."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EvaluatedFold:
    """One fold under one protocol; matrices have shape (users, items)."""

    model: Any
    """An `evaluation.Scorer`; None where only lists are evaluated."""
    seen: csr_array
    held_out: csr_array
    users: NDArray[np.intp]
    """Rows with something held out, ascending; shape (evaluated users,)."""
    cutoffs: tuple[int, ...]
    """Ascending."""
    candidates: NDArray[np.bool_]
    """Which items may be recommended; shape (items,)."""
    popularity: Popularity
    protocol: Protocol
    metrics: tuple[str, ...]
    report: Callable[[int], None]
    """Called with the number of users that are done."""

    def of_kind(self, kind: Kind) -> list[str]:
        """The metrics of this kind that are to be computed."""
        return [name for name in self.metrics if METRICS[name].kind is kind]


# A model and training data -> scores of blocks of users and their top-n, never users x items.


BLOCK_CELLS = 2_000_000
"""Scores in one block: 8 MB, so that scoring, masking and top-n find them in cache."""

ScoreBlock = Callable[[NDArray[np.intp]], "NDArray[np.float32] | torch.Tensor"]


def candidate_scores(
    score: ScoreBlock,
    seen: csr_array,
    users: NDArray[np.intp],
    candidates: NDArray[np.bool_] | None = None,
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32] | torch.Tensor]]:
    """Scores of blocks of users, -inf where an item is no candidate.

    Args:
        score: users (block,) -> float32 scores (block, items), on any device; overwritten. An
            array becomes a tensor where torch is loaded.
        seen: shape (users, items), nonzero where the user has the item; sorted indices.
        users: row numbers of `seen`, any order; shape (users,).
        candidates: which items may be recommended at all; shape (items,); by default every one.
    Returns: (users (block,), scores (block, items)) in the order of `users`.
    Raises: RunError if a score is not finite.
    """
    outside = np.flatnonzero(~candidates) if candidates is not None else None
    size = max(1, BLOCK_CELLS // seen.shape[1])
    for start in range(0, len(users), size):
        part = users[start : start + size]
        scores = score(part)
        own = seen[part]
        cells = np.repeat(np.arange(len(part)), np.diff(own.indptr)) * seen.shape[1] + own.indices
        if "torch" in sys.modules:
            import torch

            scores = torch.as_tensor(scores).contiguous()
            refuse_not_finite(scores)
            places = torch.from_numpy(cells).to(scores.device)
            scores.view(-1).index_fill_(0, places, -torch.inf)
            if outside is not None:
                scores.index_fill_(1, torch.from_numpy(outside).to(scores.device), -torch.inf)
        else:
            scores = cast("NDArray[np.float32]", scores)
            refuse_not_finite(scores)
            np.put(scores, cells, -np.inf)
            if outside is not None:
                scores[:, outside] = -np.inf
        yield part, scores


COMPILED_CELLS = 20_000_000
"""Users x items from which on compiled ranking saves more than loading numba takes."""
_KERNELS = "ecv_core.evaluation.kernels"
SHARE = 8
"""One of so many items, the longest, are multiplied first."""
HEAP = 64
"""Up to an item of so many in a list, `torch.topk` has equal scores in the order of a heap."""


def load_compiled(cells: int) -> None:
    """Load the compiled ranking, which no fold should pay for, if users x items are so many.

    Nothing is done without numba: the lists are the same.
    """
    if cells >= COMPILED_CELLS and find_spec("numba"):
        import_module(_KERNELS)


def best_without_scores(task: EvaluatedFold, n: int) -> Callable[[NDArray[np.intp]], Any] | None:
    """Ranks a block of users without a score for every item; None where that cannot be.

    What it gives is as of `best_items`.
    Raises: RunError if a score is not finite.
    """
    users, items = task.seen.shape
    load_compiled(users * items)
    if _KERNELS not in sys.modules or n * HEAP > items:
        return None
    from ecv_core.evaluation import kernels

    nothing = np.where(task.candidates, 0, -np.inf).astype(np.float32)
    seen = _arrays(task.seen)[:2]
    common, product = (getattr(task.model, name, None) for name in ("common", "product"))
    if common is not None:
        refuse_not_finite(common)
        row = common + nothing
        ranking = np.argsort(-row)
        return lambda users: _on_every_core(
            lambda part: kernels.best_of_common(part, row, *seen, ranking, n), users
        )
    if product is None:
        return None
    if not hasattr(product[0], "indptr"):
        return _best_of_factors(task, product[0], product[1].T, n)
    left, right = map(_arrays, product)
    refuse_not_finite(left[2])
    refuse_not_finite(right[2])
    return lambda users: _on_every_core(
        lambda part: kernels.best_of_product(part, *left, *right, *seen, nothing, n), users
    )


def _best_of_factors(
    task: EvaluatedFold, users: torch.Tensor, items: torch.Tensor, n: int
) -> Callable[[NDArray[np.intp]], NDArray[np.int64]] | None:
    """As `best_without_scores`, of products of factors: of the longest items, where these will do.

    A score is at most the product of both lengths (Cauchy, Schwarz). Sums may differ in their last
    digits from those of other blocks: whoever has scores so near to each other that it could matter
    is ranked by every score, as is whoever may need a shorter item.
    """
    import torch

    most, largest = int(task.candidates.sum()), users.abs().max() * items.abs().max() * len(items.T)
    if len(users) * len(items) < 10 * COMPILED_CELLS or most <= n or not torch.isfinite(largest):
        return None
    size = max(n + 1, most // SHARE)
    lengths = np.where(task.candidates, items.double().norm(dim=1).numpy(), -1.0)
    order = np.argsort(-lengths)
    lengths, longest = np.append(lengths[order], -1.0), items[torch.from_numpy(order[:size])].T
    places = np.argsort(order).astype(np.int32)[task.seen.indices]
    seen = type(task.seen)((task.seen.data, places, task.seen.indptr), task.seen.shape)[:, :size]
    digits = items.shape[1] * float(np.finfo(np.float32).eps)
    everything = None if task.candidates.all() else task.candidates

    def of_longest(part: NDArray[np.intp]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
        """Lists of the longest items, and which of them are sure to be those of all items."""
        for some, scores in candidate_scores(
            lambda some: users[torch.from_numpy(some)] @ longest, seen, part
        ):
            best = best_items(scores, n + 1)
            worth = np.take_along_axis(np.asarray(scores), best, axis=1)
            far = lengths[best]
            far[:, -1] = lengths[0]  # whatever is not in the list
            apart = digits * (far[:, :-1] + far[:, 1:])
            reach = users[torch.from_numpy(some)].double().norm(dim=1).numpy()
            with np.errstate(invalid="ignore"):  # where there are too few candidates
                sure = (worth[:, :-1] - worth[:, 1:] > reach[:, None] * apart).all(axis=1)
            sure &= (worth[:, -1] > (1 + digits) * reach * lengths[size]) & (best[:, -1] >= 0)
            yield order[best[:, :n]], sure

    def ranked(part: NDArray[np.intp]) -> NDArray[np.int64]:
        lists, sure = map(np.concatenate, zip(*of_longest(part), strict=True))
        near = np.flatnonzero(~sure)
        blocks = candidate_scores(task.model.score, task.seen, part[near], everything)
        lists[near] = np.concatenate([lists[:0], *(best_items(one, n) for _, one in blocks)])
        return lists

    return ranked


def _on_every_core(
    rank: Callable[[NDArray[Any]], NDArray[np.int64]], rows: NDArray[Any]
) -> NDArray[np.int64]:
    """Lists of some rows, parts of them at once: compiled code leaves Python to other threads."""
    from numba import config

    parts = np.array_split(rows, config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    return np.concatenate([*_threads(len(parts)).map(rank, parts)])


_threads = cache(ThreadPoolExecutor)


def _arrays(matrix: csr_array) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
    """What it is made of, with the numbers that the kernels take."""
    starts, columns = (one.astype(np.int32, copy=False) for one in (matrix.indptr, matrix.indices))
    return starts, columns, matrix.data


def best_items(scores: NDArray[np.float32] | torch.Tensor, n: int) -> NDArray[np.int64]:
    """The n items with the highest scores, best first, -1 where no candidate is left.

    Args:
        scores: shape (users, items), -inf where an item is no candidate.
        n: at most the number of items.
    Returns: shape (users, n).
    """
    here = isinstance(scores, np.ndarray) or scores.device.type == "cpu"
    if here and _KERNELS in sys.modules and n * HEAP <= scores.shape[1]:
        from ecv_core.evaluation.kernels import best_of_scores

        return _on_every_core(lambda part: best_of_scores(part, n), np.asarray(scores))
    if isinstance(scores, np.ndarray):
        return best_of(scores, n)
    import torch

    best = torch.topk(scores, n, dim=1)
    return best.indices.masked_fill_(best.values == -torch.inf, -1).cpu().numpy()


def refuse_not_finite(scores: NDArray[np.float32] | torch.Tensor) -> None:
    """Raises: RunError if a score is NaN or infinite."""
    if isinstance(scores, np.ndarray):
        finite = bool(np.isfinite(scores).all())
    else:
        import torch

        # A sum is finite only if all its terms are, and it is several times faster than isfinite().
        # It may overflow on huge but finite scores, so a suspect sum is looked at again.
        finite = bool(torch.isfinite(scores.sum()) or torch.isfinite(scores).all())
    if not finite:
        raise RunError(
            "the model gave scores that are not finite (NaN or infinite), so nothing can be "
            "ranked; its training has diverged: try a lower learning rate or more regularization"
        )


_LAST_BITS = (1 << 20) - 1


def hits_of(
    users: NDArray[np.intp], items: NDArray[np.integer], held_out: csr_array
) -> NDArray[np.bool_]:
    """Which of the recommended items are held out.

    Args:
        users: rows of `held_out`; shape (block,).
        items: of each, -1 for none; shape (block, n).
        held_out: shape (users, items), nonzero where the user has the item held out.
    Returns: shape (block, n).
    """
    columns = held_out.shape[1]
    relevant = held_out[users]
    if not relevant.has_sorted_indices:
        relevant.sort_indices()
    row = np.arange(len(users))
    # One number per cell of the block, so that one sorted search looks all of them up.
    known = np.repeat(row, np.diff(relevant.indptr)) * columns + relevant.indices
    wanted = np.where(items < 0, -1, row[:, None] * columns + items)
    # Most are not there, and of most of these the last bits say so.
    there = np.zeros(_LAST_BITS + 1, dtype=np.bool_)
    there[known & _LAST_BITS] = True
    places = np.nonzero(there[wanted & _LAST_BITS])
    hits = np.zeros(wanted.shape, dtype=np.bool_)
    at = np.searchsorted(known, wanted[places])
    hits[places] = np.append(known, -2)[at] == wanted[places]
    return hits


# Scores of any kind of array, or of anybody's model -> what ranking takes.


class AnyScores:
    """Scores of users x items: an array, or a fitted model with `score(users)`; all checked.

    Arrays may be of numpy, torch or scipy.sparse. -inf says that an item is never recommended.
    """

    def __init__(self, given: Any, shape: tuple[int, int]) -> None:  # noqa: ANN401  any array or model
        """Args: given: the scores or the model; shape: of the whole, (users, items).

        Raises: InputError for an array of another shape.
        """
        self._given, self._items = given, shape[1]
        self._model = callable(getattr(given, "score", None))
        if not self._model and tuple(np.shape(given)) != shape:
            raise InputError(
                f"the scores have the shape {tuple(np.shape(given))}, but there are {shape[0]:,} "
                f"users and {shape[1]:,} items; give one row per user and one column per item"
            )

    def score(self, users: NDArray[np.intp]) -> NDArray[np.float32]:
        """As `Scorer.score`. Raises: InputError for a wrong shape, or a score that is no number."""
        given: Any = self._given.score(users) if self._model else self._given[users]
        if hasattr(given, "detach"):  # of torch
            given = given.detach().cpu()
        rows = np.asarray(given.toarray() if hasattr(given, "toarray") else given)
        if rows.shape != (len(users), self._items):
            raise InputError(
                f"score(users) gave an array of shape {rows.shape} for {len(users):,} users and "
                f"{self._items:,} items; give one row per user and one column per item"
            )
        try:
            scores = rows.astype(np.float32)
        except (TypeError, ValueError) as error:
            raise InputError(f"scores are numbers, but these are {rows.dtype}: {error}") from error
        wrong = np.isnan(scores) | (scores == np.inf)
        if wrong.any():
            row, item = np.argwhere(wrong)[0]
            raise InputError(
                f"the score of user {users[row]} (row) and item {item} (column) is "
                f"{scores[row, item]}; scores are finite numbers, or -inf for what is never "
                "recommended"
            )
        return np.maximum(scores, np.finfo(np.float32).min)
