"""Every metric that a run can be scored by: formula, source, direction, and what it needs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from ecv_core.evaluation.formulas import HIT_METRICS, Ranked
from ecv_core.records.arrays import AnyArray, AnyFloats, Counts, Floats, Mask
from ecv_core.records.errors import DatasetError, InputError, UnknownName
from ecv_core.records.parameters import Params
from ecv_core.records.plugins import Registry, check_id, code_of
from ecv_core.records.renamed import renamed_fields
from ecv_core.records.run import LARGEST_SCORE
from ecv_core.records.spec import RunSpec
from ecv_core.records.tasks import WITHOUT_CUTOFF, Task


class Kind(StrEnum):
    """What a metric is computed from."""

    HITS = "hits"
    """Which places of a user's list hold a held-out item."""
    GAINS = "gains"
    """Those hits, and how the user rated the items."""
    NOVELTY = "novelty"
    """Those hits, and how popular the items are in training."""
    POPULARITY = "popularity"
    """How popular the items of a user's list are in training, hit or not."""
    LISTS = "lists"
    """All users' lists together: there is one value per fold, and none per user."""
    RANKS = "ranks"
    """Where each held-out item is among all candidates."""
    PROBABILITIES = "probabilities"
    """Probabilities of an interaction, from a model that predicts them."""
    PAIRS = "pairs"
    """All users' held-out items and sampled negatives together."""
    RATINGS = "ratings"
    """Predicted ratings, all of a fold together, from a model that predicts them."""
    CLASSES = "classification"
    """What an estimator says of the classes of samples; scikit-learn's own score."""
    NUMBERS = "regression"
    """Numbers that an estimator predicts of samples; scikit-learn's own score."""


_KINDS_FOR_SAMPLED_NEGATIVES = frozenset(
    {Kind.HITS, Kind.GAINS, Kind.RANKS, Kind.PROBABILITIES, Kind.PAIRS}
)
"""What means something where held-out items are ranked against sampled negatives."""


@renamed_fields(in_samples="works_with_sampled_negatives", is_bounded="has_worst_score")
@dataclass(frozen=True)
class Metric:
    """A metric: of the project, as pages and the site explain it, or of one's own.

        halves = ecv.Metric("upper-half", lambda hits, held_out: hits[:, :5].sum(axis=1))
        clicks = ecv.Metric("clicks", unit="per visit")  # that other code reports, with track

    Raises:
        InputError: For what is no metric, and for a function that does not give numbers.

    >>> import ecv_core as ecv
    >>> ecv.Metric("clicks", unit="per visit").id
    'clicks'
    """

    id: str
    """Small letters, digits and hyphens; what it is called in runs, options and tables."""
    compute: Callable[..., Any] | None = None
    """Of the kind 'hits': (hits, held_out) -> a number for each user, shape (users,);
    hits has shape (users, n), True where the item at that rank is held out, for any n; held_out
    counts each user's held-out items, shape (users,). Of the kind 'ratings': (predicted, given),
    both of shape (ratings,), -> a number for each rating, whose mean counts, or one for the fold.
    None: of the project's, `formulas` and `full` have it; of one's own, other code computes it,
    and `track` reports it."""
    _: KW_ONLY
    kind: Kind = Kind.HITS
    title: str = ""
    """By default made of the id."""
    higher_is_better: bool = True
    low: float = -math.inf
    """The least that it can be; what is reported below it is refused."""
    high: float = math.inf
    """The most that it can be."""
    unit: str = ""
    """What its values are in, such as 'EUR'; empty for a plain number."""
    formula: str = ""
    """LaTeX, for one user (for one fold where the kind is LISTS or RATINGS). H: the held-out items,
    or ratings; i_r: the item at rank r; rel_r: 1 where it is held out, else 0; n: the cut-off."""
    help: str = ""
    source: str = ""
    elsewhere: str = ""
    """How other libraries define it otherwise."""
    code: str = ""
    """Of one's own: names what `compute` does, so that folds scored by other code are not used."""
    probabilities: bool = False
    """Of samples: whether an estimator has to predict probabilities."""
    whole: bool = False
    """Whether `compute` gives one number for the fold, and so none per user."""
    usual: bool = True
    """Whether a run has it that is not scored by it."""
    descriptive: bool = False
    """Whether no value of it is better than another, so that no run is scored by it."""

    def __post_init__(self) -> None:
        check_id(self.id, "a metric")
        self._check_texts()
        if not self.title:
            self._set_frozen_field("title", self.id.replace("-", " ").capitalize())
        if self.kind not in tuple(Kind) or not isinstance(self.higher_is_better, bool):
            raise InputError(
                f"a metric of one's own is of the kind 'hits' or 'ratings', and higher_is_better "
                f"True or False, but '{self.id}' has {self.kind!r} and {self.higher_is_better!r}"
            )
        self._set_frozen_field("kind", Kind(self.kind))
        self._check_range()
        if self.compute is not None:
            self._try_function()

    def _set_frozen_field(self, name: str, value: object) -> None:
        """Complete a field while the metric is made; it is frozen afterwards."""
        object.__setattr__(self, name, value)

    def _check_texts(self) -> None:
        for name in ("title", "unit", "help", "formula", "source", "elsewhere"):
            text = getattr(self, name)
            if not isinstance(text, str) or not (text.isprintable() or name == "help"):
                raise InputError(f"the {name} of a metric is a line of text, but is {text!r}")

    def _check_range(self) -> None:
        are_numbers = all(isinstance(bound, int | float) for bound in self.range)
        if not are_numbers or not self.low < self.high:
            raise InputError(
                f"the metric '{self.id}' is from {self.low!r} to {self.high!r}; its low is a "
                "number below its high"
            )

    def _try_function(self) -> None:
        """Call the function on small arrays, so that a wrong one is refused before any run."""
        if not callable(self.compute) or self.kind not in (Kind.HITS, Kind.RATINGS):
            raise InputError(
                f"the metric '{self.id}' is computed by {self.compute!r} of the kind "
                f"'{self.kind}'; give a function of ranked hits (hits, held_out), or one of "
                "predictions (predicted, given) with kind='ratings'"
            )
        self._set_frozen_field("code", code_of(self.compute))
        # Three users, each with a list of four items and a hit; or three ratings.
        if self.kind is Kind.HITS:
            self.of_hits(np.eye(3, 4, dtype=np.bool_), np.arange(1, 4))
        else:
            values = self.of_ratings(np.array([1.0, 2.5, 4.0]), np.array([2, 3, 4]))
            self._set_frozen_field("whole", values.ndim == 0)

    def of_hits(self, hits: Mask, held_out: Counts) -> Floats:
        """`compute` for users' lists, checked; shape (users,)."""
        return self._computed("user", [held_out.shape], hits, held_out)

    def at_cutoffs(self, ranked: Ranked) -> Floats:
        """A metric of hits for every list length; shape (users, cutoffs)."""
        if self.compute is None:  # A formula of the project looks at every length at once.
            return HIT_METRICS[self.id](ranked)
        columns = []
        for n in ranked.cutoffs:
            columns.append(self.of_hits(ranked.hits[:, :n], ranked.held_out))
        return np.stack(columns, axis=1)

    def of_ratings(self, predicted: Floats, given: AnyFloats) -> Floats:
        """`compute` for predicted ratings, checked; shape (ratings,), or () for one number."""
        return self._computed("rating", [predicted.shape, ()], predicted, given)

    def _computed(
        self, unit: str, allowed_shapes: list[tuple[int, ...]], *arrays: AnyArray
    ) -> Floats:
        """What `compute` gives for some arrays.

        Args:
            unit: What there is one number for: 'user' or 'rating'.
            allowed_shapes: Which the numbers may have.
            arrays: The arguments of the function.

        Raises:
            InputError: Where it fails, or gives anything but finite numbers of such a shape.
        """
        assert self.compute is not None  # only metrics with a function come here
        name = f"the metric '{self.id}'"
        try:
            result = self.compute(*arrays)
        except Exception as error:
            sizes = " and ".join(str(array.shape) for array in arrays)
            reason = f"{type(error).__name__}: {error}"
            raise InputError(f"{name} failed on arrays of shape {sizes}, with {reason}") from error
        values = np.asarray(result)
        if values.dtype.kind not in "buif":
            raise InputError(f"{name} gave {result!r:.80}; it has to give numbers")
        numbers: Floats = values.astype(np.float64)
        # NaN is refused too, because it is not at most any number.
        not_finite = numbers[~(np.abs(numbers) <= LARGEST_SCORE)]
        if len(not_finite):
            raise InputError(f"{name} gave {not_finite[0]}; it has to give finite numbers")
        if values.shape not in allowed_shapes:
            unit_count = len(arrays[-1])  # the last argument has an entry for each user or rating
            raise InputError(
                f"{name} gave numbers of shape {values.shape} for {unit_count:,} {unit}s; "
                f"give one number for each {unit}"
            )
        return numbers

    @property
    def task(self) -> Task:
        """What a model does whose results it scores."""
        return Task.of_metric(self.id, self.kind)

    @property
    def has_cutoff(self) -> bool:
        """Whether it looks at the top n only, and so is named with n."""
        if self.is_custom:
            return self.kind is Kind.HITS and bool(self.code)
        return self.id not in WITHOUT_CUTOFF

    @property
    def has_worst_score(self) -> bool:
        """Whether it can be only so bad; predicted ratings are clipped to their scale."""
        if self.kind is Kind.RATINGS and not self.is_custom:
            return True
        if self.higher_is_better:
            return math.isfinite(self.low)
        return math.isfinite(self.high)

    @property
    def range(self) -> tuple[float, float]:
        """The least and the most that it can be."""
        return self.low, self.high

    @property
    def is_custom(self) -> bool:
        """Whether somebody else than the project has made it."""
        return self.id not in _PROJECT_METRICS

    @property
    def description(self) -> Params:
        """What a run keeps of a metric of one's own, as `RunSpec.own_metric`; () of the project's.

        So a run can be read where the code of its metric is not.
        """
        if not self.is_custom:
            return ()
        facts: dict[str, Any] = {
            "code": self.code,
            "higher_is_better": self.higher_is_better,
            "kind": self.kind.value,
            "title": self.title,
            "unit": self.unit,
            "whole": self.whole,
        }
        return tuple(facts.items())

    @property
    def per_user(self) -> bool:
        """Whether every user has a value."""
        return self.kind is not Kind.LISTS and not self.whole

    @property
    def needs_ratings(self) -> bool:
        """Whether what is held out has to be rated, although nothing is predicted of ratings."""
        return self.kind is Kind.GAINS

    @property
    def works_with_sampled_negatives(self) -> bool:
        """Whether it means something where held-out items are ranked against sampled negatives."""
        return self.kind in _KINDS_FOR_SAMPLED_NEGATIVES


_PROJECT_METRICS: dict[str, Metric] = {}
"""The project's own metrics by id, in the order in which pages list them."""


def _define(metric: Metric) -> None:
    """Make a metric one of the project's own."""
    _PROJECT_METRICS[metric.id] = metric


# A new metric of hits is an entry here, with its function as `compute`: (hits, held_out) -> a
# number for each user, 0 where there is no hit. The kernels of the metrics below, which need
# more or are computed at all cut-offs at once, are in `formulas` and `full`.

_define(
    Metric(
        "ndcg",
        low=0,
        high=1,
        title="nDCG",
        formula=r"\frac{\sum_{r=1}^{n} rel_r / \log_2(r+1)}"
        r"{\sum_{r=1}^{\min(n,|H|)} 1 / \log_2(r+1)}",
        help="How many held-out items are found, and how high in the list; 1 is a perfect list.",
        source="Järvelin, Kekäläinen (2002), with discount 1/log2(r + 1)",
        elsewhere="LensKit's default gives ranks 1 and 2 the same weight. Elliot's gain grows with "
        "the rating.",
    )
)
_define(
    Metric(
        "recall",
        low=0,
        high=1,
        formula=r"\frac{1}{|H|} \sum_{r=1}^{n} rel_r",
        help="Share of the held-out items that are in the list.",
        source="Cleverdon (1967)",
        elsewhere="LensKit, and RecPack's CalibratedRecallK, divide by min(n, |H|).",
    )
)
_define(
    Metric(
        "precision",
        low=0,
        high=1,
        formula=r"\frac{1}{n} \sum_{r=1}^{n} rel_r",
        help="Share of the list that is held out; users with few held-out items cannot reach 1.",
        source="Cleverdon (1967)",
        elsewhere="LensKit divides by the list's real length where it is shorter than n.",
    )
)
_define(
    Metric(
        "mrr",
        low=0,
        high=1,
        title="MRR",
        formula=r"\max_{r \leq n} \frac{rel_r}{r}",
        help="1 / the rank of the first held-out item in the list; 0 without one.",
        source="Voorhees (1999)",
        elsewhere="LensKit's has no cut-off by default; Cornac's, and pytrec_eval's recip_rank, "
        "never have.",
    )
)
_define(
    Metric(
        "hit",
        low=0,
        high=1,
        title="Hit rate",
        formula=r"\max_{r \leq n} rel_r",
        help="Share of the users with at least one held-out item in the list.",
        source="Deshpande, Karypis (2004)",
        elsewhere="RecPack's HitK counts the hits.",
    )
)
_define(
    Metric(
        "map",
        low=0,
        high=1,
        title="MAP",
        formula=r"\frac{1}{\min(n,|H|)} \sum_{r=1}^{n} rel_r"
        r" \cdot \frac{1}{r} \sum_{q=1}^{r} rel_q",
        help="The precision at the rank of each hit, summed and divided by min(n, held-out "
        "items); rewards early hits.",
        source="Buckley, Voorhees (2000), divided by min(n, |H|)",
        elsewhere="LensKit divides by min(the list's real length, |H|); pytrec_eval, ranx and "
        "recommenders' map by |H|. Elliot averages the precision at every rank, hit or "
        "not.",
    )
)
_define(
    Metric(
        "f1",
        low=0,
        high=1,
        title="F1",
        formula=r"\frac{2}{n + |H|} \sum_{r=1}^{n} rel_r",
        help="Harmonic mean of the list's precision and recall: the hits, over the mean of n and "
        "the number of held-out items.",
        source="van Rijsbergen (1979)",
    )
)
_define(
    Metric(
        "graded-ndcg",
        low=0,
        high=1,
        title="Graded nDCG",
        kind=Kind.GAINS,
        formula=r"\frac{\sum_{r=1}^{n} g_r / \log_2(r+1)}"
        r"{\sum_{r=1}^{\min(n,|H|)} g^*_r / \log_2(r+1)}",
        help="As nDCG, but a held-out item gains as much as the user rated it; a rating below 0 "
        "gains nothing. It needs ratings.",
        source="Järvelin, Kekäläinen (2002), with discount 1/log2(r + 1)",
        elsewhere="LensKit's default gives ranks 1 and 2 the same weight.",
        usual=False,
    )
)
_define(
    Metric(
        "graded-ndcg-exponential",
        low=0,
        high=1,
        title="Graded nDCG, exponential",
        kind=Kind.GAINS,
        formula=r"\frac{\sum_{r=1}^{n} (2^{g_r} - 1) / \log_2(r+1)}"
        r"{\sum_{r=1}^{\min(n,|H|)} (2^{g^*_r} - 1) / \log_2(r+1)}",
        help="As graded nDCG, but an item that is rated one higher gains about twice as much. It "
        "needs ratings.",
        source="Burges et al. (2005), with discount 1/log2(r + 1)",
        elsewhere="Elliot's nDCG raises 2 to the power of the rating less its threshold, plus 1.",
        usual=False,
    )
)
_define(
    Metric(
        "r-precision",
        low=0,
        high=1,
        title="R-precision",
        kind=Kind.RANKS,
        formula=r"\frac{1}{|H|} \sum_{r=1}^{|H|} rel_r",
        help="Share of a list as long as the user has held-out items that is held out; precision "
        "and recall of that list are the same.",
        source="Buckley, Voorhees (2000)",
        elsewhere="recommenders' r_precision_at_k has lists of at most k.",
        usual=False,
    )
)
_define(
    Metric(
        "auc",
        low=0,
        high=1,
        title="AUC",
        kind=Kind.RANKS,
        formula=r"\frac{1}{|H||C \setminus H|} \sum_{i \in H} \sum_{j \in C \setminus H} "
        r"\left([s_i > s_j] + \tfrac{1}{2}[s_i = s_j]\right)",
        help="Chance that a held-out item has a higher score than another candidate; 0.5 is "
        "guessing. It has no cut-off: a swap at rank 1,000 counts as much as one at the top.",
        source="Hanley, McNeil (1982); per user as Rendle et al. (2009)",
        elsewhere="Cornac counts a tie as a loss. RecBole's AUC pools all users; its GAUC weighs "
        "users by |H|.",
    )
)
_define(
    Metric(
        "grouped-auc",
        low=0,
        high=1,
        title="Grouped AUC",
        kind=Kind.RANKS,
        formula=r"\frac{1}{\sum_u |H_u|} \sum_u |H_u| \, AUC_u",
        help="AUC of each user, weighted by the number of held-out items: who has more held out "
        "counts for more.",
        source="Zhu et al. (2017); RecBole's GAUC",
        elsewhere="Elliot's GAUC is a mean over users without weights.",
        usual=False,
    )
)
_define(
    Metric(
        "pooled-auc",
        low=0,
        high=1,
        title="Pooled AUC",
        kind=Kind.PAIRS,
        formula=r"\frac{1}{|H||N|} \sum_{p \in H} \sum_{q \in N} "
        r"\left([s_p > s_q] + \tfrac{1}{2}[s_p = s_q]\right)",
        help="Chance that a held-out item of any user has a higher score than a negative of any "
        "user, so scores of different users are compared. It needs sampled negatives.",
        source="Hanley, McNeil (1982); RecBole's AUC",
        usual=False,
    )
)
_define(
    Metric(
        "calibrated-log-loss",
        low=0,
        higher_is_better=False,
        title="Calibrated log loss",
        kind=Kind.PAIRS,
        formula=r"-\frac{1}{|H| + |N|} \sum_{p} \log\left(c(s_p)^{[p \in H]} "
        r"(1-c(s_p))^{[p \in N]}\right), \quad c(s) = \frac{1}{1 + e^{-(a s + b)}}",
        help="Log loss of any model's scores, which a logistic curve turns into probabilities; the "
        "curve is learnt on half of the users and scored on the others, both ways. It needs "
        "sampled negatives.",
        source="Platt (1999), without his prior",
        usual=False,
    )
)
_define(
    Metric(
        "log-loss",
        low=0,
        higher_is_better=False,
        title="Log loss",
        kind=Kind.PROBABILITIES,
        formula=r"-\frac{1}{|C|} \sum_{i \in C} \log\left(p_i^{[i \in H]} (1-p_i)^{[i \notin H]}"
        r"\right)",
        help="How surprised the model's probabilities are by what was held out, in nats. Only for "
        "models that predict probabilities. It falls with the share of negatives.",
        source="Good (1952), as binary cross-entropy",
        elsewhere="RecBole and scikit-learn average over all pairs, ours over users.",
    )
)
_define(
    Metric(
        "epc",
        low=0,
        high=1,
        title="EPC",
        kind=Kind.NOVELTY,
        formula=r"\frac{\sum_{r=1}^{n} rel_r \left(1 - p(seen \mid i_r)\right) / \log_2(r+1)}"
        r"{\sum_{r=1}^{n} 1 / \log_2(r+1)}",
        help="Novelty of the hits, high in the list above all: the share of the users who do not "
        "have the item yet, 1 for an item never seen in training.",
        source="Vargas, Castells (2011), expected popularity complement",
        elsewhere="Elliot divides by the discounts of the list's real length. RecBole's average "
        "popularity and LensKit's mean popularity rank look at all items of the list, "
        "hit or not.",
    )
)
_define(
    Metric(
        "efd",
        title="EFD",
        kind=Kind.NOVELTY,
        low=0,
        formula=r"\frac{\sum_{r=1}^{n} rel_r \left(-\log_2 p(i_r \mid seen)\right) / \log_2(r+1)}"
        r"{\sum_{r=1}^{n} 1 / \log_2(r+1)}",
        help="Novelty of the hits in bits: the rarer an item among all training interactions, the "
        "more. Values can be above 1, so alpha must be larger.",
        source="Vargas, Castells (2011), expected free discovery",
        elsewhere="Elliot divides by the discounts of the list's real length, and gives an item "
        "without training interactions the novelty of the rarest one.",
    )
)
_define(
    Metric(
        "average-popularity",
        title="Average popularity",
        kind=Kind.POPULARITY,
        higher_is_better=False,
        low=0,
        formula=r"\frac{1}{|L|} \sum_{i \in L} x_i",
        help="How many training interactions an item of the list has, on average, hit or not. It "
        "describes lists: no value is better than another, and no run is scored by it.",
        source="Yin et al. (2012), average recommendation popularity",
        descriptive=True,
    )
)
_define(
    Metric(
        "tail-share",
        low=0,
        high=1,
        title="Tail share",
        kind=Kind.POPULARITY,
        formula=r"\frac{1}{|L|} \sum_{i \in L} [i \in T]",
        help="Share of the list that is of the long tail: the items outside the most popular ones "
        "that have 80 % of the training interactions.",
        source="Abdollahpouri, Burke, Mobasher (2017), average percentage of long tail items",
        elsewhere="RecBole's tail is the least popular tenth of the items in training, or those "
        "with at most so many interactions.",
    )
)
_define(
    Metric(
        "coverage",
        low=0,
        high=1,
        title="Item coverage",
        kind=Kind.LISTS,
        formula=r"\frac{1}{|C|} \left| \bigcup_u \{i_1^u, \ldots, i_n^u\} \right|",
        help="Share of the candidate items that are in anybody's list. It grows with the number "
        "of users.",
        source="Ge, Delgado-Battenfeld, Jannach (2010), catalogue coverage",
        elsewhere="RecBole divides by one item more, its padding; recommenders by the items in "
        "training. Elliot gives the number of items.",
    )
)
_define(
    Metric(
        "gini",
        low=0,
        high=1,
        title="Gini index",
        kind=Kind.LISTS,
        higher_is_better=False,
        formula=r"\frac{1}{|C|} \sum_{j=1}^{|C|} (2j - |C| - 1) \frac{x_j}{\sum_k x_k}, "
        r"\quad x_1 \leq \ldots \leq x_{|C|}",
        help="How unevenly the lists' places are spread over the candidate items: 0 is evenly, "
        "near 1 is all on a few.",
        source="Adomavicius, Kwon (2012), with x_j the number of lists that item j is in",
        elsewhere="RecBole counts its padding as one item more, which is in no list. Elliot "
        "divides by |C| - 1 and gives 1 - Gini, where higher is better.",
    )
)
_define(
    Metric(
        "mae",
        low=0,
        higher_is_better=False,
        title="MAE",
        kind=Kind.RATINGS,
        formula=r"\frac{1}{|H|} \sum_{(u,i) \in H} |\hat{r}_{ui} - r_{ui}|",
        help="How far predicted ratings are from those given, on average over all ratings of the "
        "fold.",
        source="Herlocker et al. (2004)",
        elsewhere="LensKit also offers the mean of every user's own. Elliot counts only ratings "
        "that reach a threshold.",
    )
)
_define(
    Metric(
        "rmse",
        low=0,
        higher_is_better=False,
        title="RMSE",
        kind=Kind.RATINGS,
        formula=r"\sqrt{\frac{1}{|H|} \sum_{(u,i) \in H} (\hat{r}_{ui} - r_{ui})^2}",
        help="How far predicted ratings are from those given, over all ratings of the fold; large "
        "errors weigh more.",
        source="Herlocker et al. (2004); the measure of the Netflix Prize",
        elsewhere="As MAE.",
    )
)
_define(
    Metric(
        "accuracy",
        low=0,
        high=1,
        kind=Kind.CLASSES,
        formula=r"\frac{1}{|H|} \sum_{i \in H} [\hat{y}_i = y_i]",
        help="Share of the held-out samples whose class is predicted right.",
        source="scikit-learn, accuracy_score",
    )
)
_define(
    Metric(
        "balanced-accuracy",
        low=0,
        high=1,
        kind=Kind.CLASSES,
        formula=r"\frac{1}{|Y|} \sum_{c \in Y} \frac{1}{|H_c|} \sum_{i \in H_c} [\hat{y}_i = c]",
        help="Mean over the classes of the share that is predicted right: a rare class counts as "
        "much as a common one.",
        source="scikit-learn, balanced_accuracy_score",
    )
)
_define(
    Metric(
        "f1-macro",
        low=0,
        high=1,
        title="F1 (macro)",
        kind=Kind.CLASSES,
        formula=r"\frac{1}{|Y|} \sum_{c \in Y} \frac{2\, P_c R_c}{P_c + R_c}",
        help="Mean over the classes of the harmonic mean of precision P and recall R.",
        source="scikit-learn, f1_score with average='macro'",
    )
)
_define(
    Metric(
        "roc-auc",
        low=0,
        high=1,
        title="ROC AUC",
        kind=Kind.CLASSES,
        formula=r"\frac{1}{|Y|} \sum_{c \in Y} P\left(s_c(i) > s_c(j) \mid y_i = c \neq y_j\right)",
        help="Chance that a sample of a class has a higher score for that class than a sample of "
        "another; of more than two classes the mean over them, one against the others.",
        source="Hanley, McNeil (1982); scikit-learn, roc_auc_score",
    )
)
_define(
    Metric(
        "cross-entropy",
        low=0,
        higher_is_better=False,
        title="Cross-entropy",
        kind=Kind.CLASSES,
        formula=r"-\frac{1}{|H|} \sum_{i \in H} \log p_i(y_i)",
        help="How surprised the estimator's probabilities are by the true classes, in nats.",
        source="Good (1952); scikit-learn, log_loss",
        probabilities=True,
    )
)
_define(
    Metric(
        "r2",
        kind=Kind.NUMBERS,
        high=1,
        formula=r"1 - \frac{\sum_{i \in H} (y_i - \hat{y}_i)^2}{\sum_{i \in H} (y_i - \bar{y})^2}",
        help="Share of the variance of the held-out numbers that is predicted; 0 is what their own "
        "mean would reach, and it can be below.",
        source="scikit-learn, r2_score",
    )
)
_define(
    Metric(
        "mean-absolute-error",
        low=0,
        higher_is_better=False,
        kind=Kind.NUMBERS,
        formula=r"\frac{1}{|H|} \sum_{i \in H} |\hat{y}_i - y_i|",
        help="How far predictions are from the held-out numbers, on average.",
        source="scikit-learn, mean_absolute_error",
    )
)
_define(
    Metric(
        "root-mean-squared-error",
        low=0,
        higher_is_better=False,
        kind=Kind.NUMBERS,
        formula=r"\sqrt{\frac{1}{|H|} \sum_{i \in H} (\hat{y}_i - y_i)^2}",
        help="How far predictions are from the held-out numbers; large errors weigh more.",
        source="scikit-learn, root_mean_squared_error",
    )
)


def _from_entry_point(offered: object, name: str) -> tuple[str, Metric]:
    """What a package offers under a name, as an entry of the registry: its id, and the metric."""
    # A plain function becomes a metric of this name.
    if callable(offered) and not isinstance(offered, Metric | type):
        offered = Metric(name, offered)
    metric = _checked_metric(offered)
    return metric.id, metric


METRICS = Registry(_PROJECT_METRICS, group="ecv_core.metrics", to_entry=_from_entry_point)
"""Every metric by its id, in the order in which pages list them: the project's own, and those of
installed packages; `register_metric` adds to it."""


def register_metric(own: Metric) -> Metric:
    """Make a metric of one's own known to runs, pages and commands of this process.

    The dashboard and the command line learn of it by ECV_PLUGINS, which names modules, with commas
    between them, that register what they have as they are imported. A Metric that is given to
    `evaluate`, `track`, ... as `metric` is registered by that.

    Raises:
        InputError: For what is no metric, or has an id of the project's.
    """
    metric = _checked_metric(own)
    METRICS[metric.id] = metric
    return metric


def _checked_metric(offered: object) -> Metric:
    """Refuse what is no metric, or would take the place of one of the project's."""
    if not isinstance(offered, Metric):
        raise InputError(
            f"a metric is an id ({', '.join(_PROJECT_METRICS)}) or an ecv.Metric(id, function), "
            f"but is {offered!r:.80}"
        )
    if not offered.is_custom and _PROJECT_METRICS[offered.id] is not offered:
        raise InputError(f"there is a metric '{offered.id}' already; give yours another id")
    return offered


def metric(metric_id: str) -> Metric:
    """The metric with this id. Raises: UnknownName."""
    if metric_id not in METRICS:
        raise UnknownName("metric", metric_id, METRICS)
    return METRICS[metric_id]


SCIKIT_LEARN = "sklearn-"
"""Before the id of a score of scikit-learn's that other code computes; after it comes the id of the
project's metric of the same range, where there is one: 'sklearn-accuracy'."""


def metric_of(spec: RunSpec) -> Metric:
    """The metric of a run, whether its code is here or not. Raises: as `metric_described_by`."""
    return metric_described_by(spec.metric, spec.own_metric)


def metric_described_by(metric_id: str, description: Params) -> Metric:
    """A metric by its id, and by `Metric.description` of one that is not the project's.

    Raises:
        UnknownName.
        InputError: For what no metric can be.
    """
    if not description:
        return metric(metric_id)
    if metric_id in METRICS and METRICS[metric_id].description == description:
        return METRICS[metric_id]
    # The code of the metric is missing or has changed. Its description is enough to read its
    # values.
    facts: dict[str, Any] = dict(description)
    facts |= _ends_of_range(metric_id, facts.get("higher_is_better"))
    has_flags = all(isinstance(facts.get(flag), bool) for flag in ("higher_is_better", "whole"))
    if metric_id in _PROJECT_METRICS or not has_flags:
        raise InputError(f"what is said of the metric '{metric_id}' cannot be: {facts!r:.80}")
    try:
        return Metric(metric_id, **facts)
    except TypeError as error:
        raise InputError(f"what is said of the metric '{metric_id}' cannot be: {error}") from error


_SHARES = re.compile(
    "(top-k-)?accuracy(-score)?|balanced-accuracy"
    "|(f1|precision|recall|jaccard)(-(macro|micro|weighted|samples|score))?"
    "|roc-auc(-ov[ro](-weighted)?|-score)?|average-precision(-score)?"
    "|(completeness|homogeneity|v-measure|rand|fowlkes-mallows|normalized-mutual-info)-score"
)
# Made by `make_scorer`, balanced accuracy may be adjusted for chance, and then be below 0.
_AGREEMENTS = re.compile("matthews-corrcoef|cohen-kappa-score|balanced-accuracy-score")
_AT_MOST_ONE = re.compile(
    "explained-variance(-score)?|r2-score|d2-.*-score|adjusted-(rand|mutual-info)-score"
)
_AT_LEAST_ZERO = re.compile("positive-likelihood-ratio|mutual-info-score")
# These are errors that are never below 0, with the opposite sign.
_NEGATIVES = re.compile(
    "neg-(log-loss|brier-score(-loss)?|max-error|median-absolute-error|negative-likelihood-ratio"
    "|(root-)?mean-(absolute|squared|poisson|gamma)-.*)"
)
_RANGES_BY_SCIKIT_LEARN = {
    _SHARES: (0.0, 1.0),
    _AGREEMENTS: (-1.0, 1.0),
    _AT_MOST_ONE: (-math.inf, 1.0),
    _AT_LEAST_ZERO: (0.0, math.inf),
    _NEGATIVES: (-math.inf, 0.0),
}
"""Names of scores, with hyphens -> the least and the most that scikit-learn's can be."""


def _ends_of_range(metric_id: str, higher_is_better: object) -> dict[str, float]:
    """`low` and `high` of a metric that is not the project's; empty where nothing says them."""
    name = metric_id.removeprefix(SCIKIT_LEARN)
    namesake = _PROJECT_METRICS.get(name)
    # scikit-learn's score of an error is its negative, so it has another range than our metric.
    if namesake is not None and namesake.higher_is_better == higher_is_better:
        return {"low": namesake.low, "high": namesake.high}
    if name == metric_id:  # The name is not that of a score of scikit-learn.
        return {}
    for names, (low, high) in _RANGES_BY_SCIKIT_LEARN.items():
        if names.fullmatch(name):
            return {"low": low, "high": high}
    return {}


def check_computed_here(entry: Metric) -> None:
    """Refuse a metric whose code is not here. Raises: InputError."""
    if entry.is_custom and entry.compute is None:
        raise InputError(
            f"the code of the metric '{entry.id}' is not here, or not what it was; register it "
            "(ecv.register_metric, ECV_PLUGINS), or report its values with track: user -> score, "
            "or one number"
        )


def check_gains(entry: Metric, whose: str, *, has_ratings: bool) -> None:
    """Refuse a metric whose gains are ratings where there are none.

    Args:
        entry: The metric.
        whose: What has the ratings, or lacks them.
        has_ratings: Whether it has.

    Raises:
        DatasetError.
    """
    if entry.needs_ratings and not has_ratings:
        raise DatasetError(
            f"{entry.title} takes its gains from ratings, and {whose} has none; choose other data, "
            "or ndcg, by which every held-out item gains the same"
        )


def id_and_length(name: str) -> tuple[str, int | None]:
    """'ndcg@10' as the metric's id and its list length; None where it names none.

    Raises:
        UnknownName: For the metric.
        InputError: For a length that is none.
    """
    metric_id, at, length = name.partition("@")
    entry = metric(metric_id)
    if not at:
        return metric_id, None
    if not entry.has_cutoff or not length.isdecimal() or int(length) == 0:
        raise InputError(f"'{name}' is no metric with its list length; write it as ndcg@10")
    return metric_id, int(length)


def column_title(name: str) -> str:
    """A column's name as papers write it: 'ndcg@10' is 'nDCG@10'; unknown names stay."""
    metric_id, at, n = name.partition("@")
    if metric_id not in METRICS:
        return name
    return f"{METRICS[metric_id].title}{at}{n}"


def is_computed_by_default(entry: Metric, *, sampled: bool, log_odds: bool) -> bool:
    """Whether a run computes a metric that nobody asks for: it applies, and costs little."""
    if entry.is_custom or not entry.usual:
        return False
    if _obstacle(entry, sampled=sampled, log_odds=log_odds) is not None:
        return False
    return sampled or entry.kind is not Kind.RANKS


def check_metric(metric_id: str, *, sampled: bool, log_odds: bool) -> None:
    """Refuse a metric that a run has no value of.

    Args:
        metric_id: One of METRICS.
        sampled: Held-out items are ranked against sampled negatives only.
        log_odds: The model's scores are log-odds of an interaction.

    Raises:
        UnknownName.
        InputError: That says what the metric needs.
    """
    entry = metric(metric_id)
    if entry.is_custom and entry.compute is None:
        raise InputError(
            f"the metric '{entry.id}' has no function, so only other code can report it: "
            "ecv.track(..., metric=...)"
        )
    obstacle = _obstacle(entry, sampled=sampled, log_odds=log_odds)
    if obstacle is not None:
        raise InputError(f"{entry.title} {obstacle}")


def _obstacle(entry: Metric, *, sampled: bool, log_odds: bool) -> str | None:
    """Why a run has no value of a metric, and the way out; None if it has."""
    if not entry.task.ranks:
        return (
            f"is of {entry.task.outputs}, but this algorithm {Task.TOP_N.words}; choose a metric "
            f"such as {Task.TOP_N.usual_metric}, or an algorithm such as "
            f"{entry.task.usual_algorithm}"
        )
    if entry.kind is Kind.PROBABILITIES and not log_odds:
        return (
            "needs probabilities of an interaction, which only neu-mf predicts; choose that "
            "algorithm, or a ranking metric such as ndcg"
        )
    if entry.kind is Kind.PAIRS and not sampled:
        return (
            "compares the scores of different users, of which full ranking has too many; draw "
            "negatives (--negatives 100), or choose auc"
        )
    if sampled and not entry.works_with_sampled_negatives:
        return (
            "looks at the lists that users would get, and ranking against sampled negatives makes "
            "no such lists; leave the number of negatives out, or choose a metric such as ndcg"
        )
    return None
