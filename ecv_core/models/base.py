"""What a model is to this project, and an algorithm as users know it, with its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from ecv_core.records.arrays import Float32s, Floats, Indices
from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import LACKS, History, Interactions, Need, Pairs, Ratings
from ecv_core.records.parameters import Parameter, Params, ParamValue, resolve
from ecv_core.records.renamed import renamed_fields
from ecv_core.records.run import Progress, no_progress
from ecv_core.records.tasks import Task

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from torch import Tensor


Settings = Mapping[str, Any]
"""Every parameter of a configuration, by name."""


class Fitted(Protocol):
    """A model that has learnt: it scores any number of blocks of users."""

    def score(self, users: Indices) -> Float32s | Tensor:
        """Scores of all items for a block of users of the training matrix; higher is better.

        Args:
            users: Row numbers of the training matrix; shape (block,).

        Returns:
            Float32, shape (block, items), finite, as an array or a tensor on any device; the caller
            may overwrite it.
        """


class Recommender(Fitted, Protocol):
    """A model under evaluation: an instance is fitted once, then scores any number of blocks."""

    def fit(self, train: csr_array, *, seed: int, progress: Progress = no_progress) -> None:
        """Learn from the training part of a fold.

        A model that also learns from baskets, or from order, as its `Algorithm.needs` says, is
        given `history` besides: what it needs for each stored entry of `train`.

        Args:
            train: Shape (users, items), float32; 1.0 where the user has the item in training.
                Rows may be empty. Sorted indices, no explicit zeros.
            seed: Fixes every random choice; same seed, same matrix, same device, same scores.
            progress: Called with ("fit", step, steps), at least once a second where it can be.

        A model that validates as it trains keeps the score after each epoch as `inner_curve`.

        Raises:
            RunError: If training diverges.
            Cancelled: From `progress`.
        """


class SharedFit(Protocol):
    """Several configurations of a model fitted on the same training part, work shared.

    Bit for bit, each gives the scores that it would give fitted on its own. Which configurations
    can be fitted so, an algorithm says by its `Algorithm.sharing`.
    """

    def __call__(
        self,
        models: Sequence[Any],
        train: csr_array,
        *,
        seed: int,
        progress: Progress,
        history: History | None,
    ) -> Iterator[tuple[int, Fitted]]:
        """Do what all of them need, and then finish one after the other, as they are asked for.

        Args:
            models: Unfitted, of the configurations; the other arguments are those of
                `Recommender.fit`.

        Returns:
            In the order that costs least, the index of a configuration among those given, and its
            model, which is good until the next one is asked for.

        Raises:
            As `Recommender.fit`, for the configuration that comes next.
        """


class Report(Protocol):
    """Told of each step of a fit; it may raise `records.errors.Cancelled` to end it."""

    def __call__(self, step: int, steps: int, predicted: Floats | None = None, /) -> None:
        """Note a step.

        Args:
            step: How far the fit is.
            steps: How many there are.
            predicted: What the model would answer after this step, where it can say; shape
                (pairs,).
        """


class RatingPredictor(Protocol):
    """A model that learns from ratings and answers what it is asked, in one go.

    In one go, because a sampler's answer is an average over its steps, and keeping every step to
    answer later takes gigabytes. Who is asked about what is known from the start; no rating is.
    """

    def predict(self, train: Ratings, asked: Pairs, *, seed: int, report: Report) -> Floats:
        """Learn from the training part of a fold and predict the ratings of the held-out part.

        Args:
            train: At least one rating. Users and items may have none.
            asked: Whose rating of what, and when; users and items may be unknown to `train`. Never
                learnt from.
            seed: Fixes every random choice; same seed, same ratings, same machine, same answer.
            report: Called before the first and after each step.

        Returns:
            Of any size, the caller clips them to the scale; shape (pairs,).

        Raises:
            RunError: If training diverges.
            Cancelled: From `report`.
        """


class TableModel(Protocol):
    """An estimator of scikit-learn, or one that can be used like it."""

    def estimator(self, seed: int) -> Any:  # noqa: ANN401  scikit-learn has no types
        """One with `fit` and `predict`, not fitted. Args: seed: fixes every random choice."""


Model = Recommender | RatingPredictor | TableModel
"""What `Algorithm.build` makes; `Algorithm.task` says which."""


# Algorithms as users know them, with the parameters that they take.


PAPER_COUNTS = (10, 14, 20, 28, 40, 57, 80, 113, 160, 226, 320, 452, 640, 905, 1809)
"""Neighbours and latent factors of Anelli et al. (2019), table 2."""


SEARCH = "own search on inner validation folds, benchmarks/README.md"
"""Where most defaults come from."""


def with_source(source: str, *parameters: Parameter) -> tuple[Parameter, ...]:
    """Parameters whose defaults come from one place, but for those that say another."""
    return tuple(replace(parameter, source=parameter.source or source) for parameter in parameters)


_FACTORS = Parameter("factors", 64, "How many numbers each vector has.", low=1, high=2048)
_LAYERS = Parameter(
    "layers",
    2,
    (
        "How many steps over the graph are taken: with 2, a user also learns from users who "
        "share an item."
    ),
    low=1,
    high=10,
)
_DROPOUT = Parameter(
    "dropout",
    0.0,
    "Share of a layer's units that is switched off at random in training.",
    low=0,
    high=0.99,
)
_REGULARIZATION = Parameter(
    "regularization",
    0.01,
    "Weight of the squared length of the vectors in a batch; more pulls them towards zero.",
    low=0,
    high=100.0,
)
_NEGATIVES = Parameter(
    "negatives",
    4,
    "How many items that the user does not have are drawn for each training pair.",
    low=1,
    high=100,
)
_LEARNING_RATE = Parameter(
    "learning_rate", 0.01, "Step size of the optimizer (Adam).", low=1e-6, high=1.0
)
_BATCH_SIZE = Parameter("batch_size", 1024, "Training pairs per step.", low=1, high=1_000_000)
_WEIGHT_DECAY = Parameter(
    "weight_decay", 0.0, "Shrinks all weights a little at each step (AdamW).", low=0, high=10.0
)
_EPOCHS = Parameter(
    "epochs",
    10,
    "Passes over the training data; early stopping may end them sooner.",
    low=1,
    high=10_000,
)
_AVERAGING = Parameter(
    "averaging",
    0.8,
    "Scores with a running mean of the weights that keeps this share of itself per epoch: "
    "0.9 averages about ten epochs, 0 uses only the newest weights.",
    low=0,
    high=0.999,
)
_COMMON = {
    parameter.name: parameter
    for parameter in (
        _FACTORS,
        _LAYERS,
        _DROPOUT,
        _REGULARIZATION,
        _NEGATIVES,
        _LEARNING_RATE,
        _BATCH_SIZE,
        _WEIGHT_DECAY,
        _EPOCHS,
        _AVERAGING,
    )
}
"""Parameters that several models take, by name."""


def common(**defaults: ParamValue) -> tuple[Parameter, ...]:
    """Parameters that several models take, by name with the default of this model."""
    return tuple(replace(_COMMON[name], default=value) for name, value in defaults.items())


def common_for(help: str, **defaults: ParamValue) -> tuple[Parameter, ...]:
    """As `common`, of parameters that mean something else to this model, as `help` says."""
    return tuple(replace(parameter, help=help) for parameter in common(**defaults))


@dataclass(frozen=True, kw_only=True)
class Sharing:
    """Which configurations of an algorithm can be fitted together, and how."""

    parameters: frozenset[str]
    """In which they may differ; they are equal in all others."""
    fit: SharedFit
    continues_from_previous: bool = False
    """Whether each fit goes on from the one before, as iterations do: its work then serves those
    after it too. Otherwise only what comes before the first fit serves all."""
    possible: Callable[[Settings], bool] = lambda _: True
    """Whether a configuration can take part."""


@renamed_fields(shares_with="common_params_of")
@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """A model as users know it, before any of its code (torch, LensKit) is loaded.

    >>> from ecv_core.models import ALGORITHMS
    >>> ALGORITHMS["ease"].title
    'EASE'
    """

    id: str
    title: str
    summary: str
    """What it does, its cost and when to use it, in at most three sentences."""
    paper: str
    parameters: tuple[Parameter, ...]
    build: Callable[[Settings], Any]
    """Makes an unfitted `models.base.Model`, the kind that `task` says; imports what it needs only
    when called."""
    log_odds: bool = False
    """Whether its scores are log-odds of an interaction, so that they have a log loss; of a table
    whether it predicts probabilities."""
    random: bool = True
    """Whether fitting draws random numbers: all users of a fold then share the luck of its
    training, of which the scores of one fold tell nothing."""
    with_torch: bool = True
    """Whether it computes with torch, whose import is then no fold's cost."""
    task: Task = Task.TOP_N
    """What it can be asked for: `build` makes a `Recommender`, a `RatingPredictor` or a
    `TableModel`."""
    seconds_per_rating: float = 0.0
    """Of a model of ratings: seconds on one core for each rating, dimension and step (or epoch) of
    a fit, roughly; 0 where every fit is quick."""
    spaces: Mapping[str, Mapping[str, tuple[ParamValue, ...]]] = field(default_factory=dict)
    """Values to try of its parameters, in their order: 'default', and 'paper' for those of Anelli
    et al. (2019), table 2."""
    limits: Callable[[Interactions], Mapping[str, float]] = lambda _: {}
    """The most that parameters can be on a dataset, where that is less than their range."""
    needs: Need = Need.NOTHING
    """What it learns from beside who has what; as `Recommender.fit` says."""
    sharing: Sharing | None = None
    """What configurations can share; None where each is fitted on its own."""

    def common_params_of(self, params: Params) -> Params | None:
        """What configurations that are fitted together have in common; None for one on its own.

        Args:
            params: Every parameter of a configuration.
        """
        if self.sharing is None or not self.sharing.possible(dict(params)):
            return None
        differing = self.sharing.parameters
        return tuple((name, value) for name, value in params if name not in differing)

    def resolve(self, values: Mapping[str, ParamValue]) -> Params:
        """Every parameter with its value: checked, and by default where none is given.

        Raises:
            InputError: For an unknown name or a bad value.
        """
        return resolve(self.parameters, values, of=self.id)

    def value_of(self, name: str, value: ParamValue) -> ParamValue:
        """A value of one parameter. Raises: InputError for an unknown name or a bad value."""
        values = self.with_defaults(self.resolve({name: value}))
        return values[name]

    def with_defaults(self, params: Params) -> dict[str, ParamValue]:
        """All parameters with their values, of what `resolve` gave."""
        defaults = {parameter.name: parameter.default for parameter in self.parameters}
        return defaults | dict(params)

    def rough_seconds(self, params: Mapping[str, ParamValue], ratings: int) -> float:
        """How long a fit takes on one core, within a factor of about two; 0 where it is quick.

        Args:
            params: Every parameter.
            ratings: To learn from.
        """
        steps = float(params.get("steps", params.get("epochs", 0)))
        dimension = float(params.get("dimension", 0))
        return self.seconds_per_rating * ratings * dimension * steps

    def check(self, interactions: Interactions) -> None:
        """Refuse a dataset without what the model learns from. Raises: DatasetError."""
        if not self.needs.met(interactions):
            raise DatasetError(
                f"{interactions.dataset} has {LACKS[self.needs]}, which {self.id} learns from; "
                "choose another dataset or another algorithm"
            )

    def fit(
        self,
        model: Any,  # noqa: ANN401  as `build` made it
        train: csr_array,
        history: Callable[[], History],
        *,
        seed: int,
        progress: Progress = no_progress,
    ) -> None:
        """Fit a model of this algorithm, with the history of the entries of `train` if it needs it.

        Args:
            model: The model that `build` has made.
            history: Asked for only where it is needed.
            train, seed, progress: as for `Recommender.fit`.
        """
        if self.needs is Need.NOTHING:
            model.fit(train, seed=seed, progress=progress)
        else:
            model.fit(train, seed=seed, progress=progress, history=history())
