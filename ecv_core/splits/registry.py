"""Every way to split, as users know it: what it does, where it comes from, what can be set."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ecv_core.records.errors import InputError
from ecv_core.records.interactions import Need
from ecv_core.records.parameters import Parameter
from ecv_core.records.plugins import Registry, code_of, id_of
from ecv_core.records.tasks import Task
from ecv_core.splits import holdouts, strategies
from ecv_core.splits.strategies import IMPORTED, Past, SplitFunction, Strategy

MENG = "Meng et al. (2020), Exploring Data Splitting Strategies"
RECBOLE = "Zhao et al. (2020), in RecBole"

_REPEATED = (
    "Every repetition draws anew, so k of them are k scores and e-CV applies; repetitions share "
    "held-out interactions, which k folds never do."
)
_BACKWARDS = (
    "By nature one split (k = 1), to which e-CV does not apply. With a larger k, the first fold is "
    "that split, and every further fold steps back in each history and learns from what came "
    "before; the folds have an order, so no rule stops early."
)

_repeated = partial(Strategy, ecv=_REPEATED, fold_word="repetition")
_backwards = partial(
    Strategy,
    ecv=_BACKWARDS,
    needs=Need.HISTORY,
    default_k=1,
    fold_word="step back",
    past=Past.USER,
    in_order=True,
)

_TEST = Parameter(
    "test",
    0.2,
    "Share that is held out for testing.",
    low=0.01,
    high=0.99,
    source="the usual 80/20",
)
_VALIDATION = Parameter(
    "validation",
    0.0,
    "Share of what is left for training that is set aside for validation; 0 for none.",
    low=0.0,
    high=0.9,
)
_TOGETHER = Parameter(
    "together",
    False,
    "Whether the share is taken of all interactions together, and not of each user's.",
    source=f"{RECBOLE}, group_by none",
    added_later=True,
)
_VALIDATE = Parameter(
    "validation", False, "Whether the one before the held-out one is set aside for validation."
)
_FOLD_IN = Parameter(
    "fold_in",
    0.8,
    "Share of a tested user's profile that goes into training; with 0 the user is cold.",
    low=0.0,
    high=0.99,
    source="Liang et al. (2018), Variational Autoencoders for Collaborative Filtering",
)
_UNKNOWN = Parameter(
    "unknown",
    holdouts.DROP,
    "What happens to held-out interactions whose user or item is unknown to training.",
    choices=(holdouts.DROP, holdouts.KEEP),
    source=MENG,
)

_ASIDE = Parameter(
    "aside",
    0.2,
    "Share at the end of every user's history that is put aside.",
    low=0.01,
    high=0.99,
    source="Anelli et al. (2019)",
)
_ABOVE = Parameter(
    "above",
    0.0,
    "Only held-out items rated above this are relevant; 0 takes all of them.",
    low=0.0,
    high=1e6,
    source="Anelli et al. (2019) take 4",
)
_PART = Parameter(
    "part",
    holdouts.CHOOSE_PART,
    "Whether the folds of the early part are tested, or what is put aside.",
    choices=(holdouts.CHOOSE_PART, holdouts.TEST_PART),
)
_VALIDATE_ON_USERS = Parameter(
    "validation",
    False,
    "Whether the next fold's users, as they are tested, are for validation.",
)
_TIME_POINT = Parameter(
    "time_point",
    "",
    "Where to cut, as 2003-01-31 (UTC) or in Unix seconds; by default where "
    "the share 'test' of all interactions is left.",
)
_FIRST = Parameter(
    "first",
    0.5,
    "Share of the interactions that lies before the first window.",
    low=0.01,
    high=0.99,
)
_TRAINING = Parameter(
    "training",
    holdouts.GROWING,
    "Whether training keeps everything before a window, or slides along "
    "with about as much as the first window has.",
    choices=(holdouts.GROWING, holdouts.SLIDING),
)

_PROJECT_SPLITS: dict[str, Strategy] = {}
"""The project's own ways to split, by id, in the order in which pages list them."""


def _define(strategy: Strategy) -> None:
    """Make a way to split one of the project's own."""
    _PROJECT_SPLITS[strategy.id] = strategy


# A new way to split is an entry here, and its function (interactions, k, seed, settings) -> folds.

_define(
    Strategy(
        id="user-k-fold",
        title="Per user, evenly",
        help="Each user's interactions are shuffled and dealt evenly over the folds; a user "
        "with fewer than k has each one put into a random fold.",
        source="e-fold cross-validation for recommender systems, protocol section",
        ecv="The paper's own: every interaction is held out in exactly one of the k folds.",
        make=strategies.user_k_fold,
        least_k=2,
        of_k_parts=True,
    )
)

_define(
    Strategy(
        id=holdouts.NESTED_K_FOLD,
        title="Early part, evenly",
        help="The last share of every user's history is put aside for the configuration that "
        "is chosen; what comes first is dealt evenly over the folds.",
        source="Anelli et al. (2019), On the discriminative power of hyper-parameters",
        ecv="e-CV applies to the folds of the early part; the part put aside is tested once, "
        "as a split of its own (part = test, k = 1).",
        make=holdouts.nested_k_fold,
        parameters=(_ASIDE, _ABOVE, _PART),
        needs=Need.HISTORY,
    )
)

_define(
    Strategy(
        id="record-k-fold",
        title="All interactions, evenly",
        help="All interactions are shuffled and dealt evenly over the folds, whichever user "
        "they are of.",
        source="plain k-fold cross-validation",
        ecv="e-CV applies: every interaction is held out in exactly one of the k folds.",
        make=strategies.record_k_fold,
        least_k=2,
        of_k_parts=True,
    )
)

_define(
    Strategy(
        id="user-fold-in",
        title="Users, with fold-in",
        help="Users are dealt evenly over the folds. Of a tested user a random share of the "
        "profile, the fold-in part, goes into training and the rest is held out.",
        source="Liang et al. (2018), as k folds; " + MENG,
        ecv="e-CV applies: every user is tested in exactly one of the k folds.",
        make=holdouts.user_fold_in,
        parameters=(_FOLD_IN, _VALIDATE_ON_USERS),
        least_k=2,
        of_k_parts=True,
    )
)

_define(
    _repeated(
        id="user-split",
        title="Some users",
        help="A random share of the users is tested; a share of their profile, the fold-in "
        "part, goes into training. With a fold-in of 0 they are cold users.",
        source=MENG + ": user split",
        make=holdouts.user_split,
        parameters=(_TEST, _FOLD_IN, _VALIDATION),
    )
)

_define(
    _repeated(
        id="random-holdout",
        title="Random share",
        help="A random share of every user's interactions is held out.",
        source=f"{RECBOLE}, RO_RS; {MENG}: random split",
        make=holdouts.random_holdout,
        parameters=(_TEST, _VALIDATION, _TOGETHER),
    )
)

_define(
    _repeated(
        id="leave-one-out",
        title="One at random",
        help="One random interaction of every user is held out.",
        source=f"{RECBOLE}, RO_LS; Rendle et al. (2009), BPR",
        make=holdouts.random_holdout,
        parameters=(_VALIDATE,),
    )
)

_define(
    _backwards(
        id="leave-last-item",
        title="Last item",
        help="Every user's last interaction is held out. Training holds what others did later.",
        source=f"{MENG}: leave one last item; {RECBOLE}, TO_LS",
        make=holdouts.last_interactions,
        parameters=(_VALIDATE,),
    )
)

_define(
    _backwards(
        id="leave-last-basket",
        title="Last basket",
        help="Every user's last basket is held out whole.",
        source=f"{MENG}: leave one last basket",
        make=holdouts.last_baskets,
        parameters=(_VALIDATE,),
        needs=Need.BASKETS,
    )
)

_define(
    _backwards(
        id="temporal-user",
        title="Last share of each user",
        help="The last share of every user's history is held out. Training holds what others "
        "did later.",
        source=f"{MENG}: temporal user; {RECBOLE}, TO_RS",
        make=holdouts.last_interactions,
        parameters=(_TEST, _VALIDATION),
    )
)

_define(
    Strategy(
        id="temporal-global",
        title="One point in time",
        help="What happened before one point in time is learnt from, what happened from then "
        "on is held out: nothing of the future leaks into training.",
        source=f"{MENG}: temporal global; Campos et al. (2011)",
        ecv="One split gives one score, so e-CV does not apply; windows in time have several.",
        make=holdouts.temporal_global,
        parameters=(_TEST, _TIME_POINT, _UNKNOWN, _VALIDATION),
        needs=Need.TIMESTAMPS,
        most_k=1,
        default_k=1,
        past=Past.EVERYBODY,
        in_order=True,
    )
)

_define(
    Strategy(
        id="temporal-windows",
        title="Windows in time",
        help="The end of the timeline is cut into k windows of about equally many "
        "interactions; each is predicted from what happened before it.",
        source="rolling-origin evaluation, Tashman (2000); temporal global as k folds",
        ecv="e-CV does not apply: every window is a fold, but windows have an order, later "
        "ones have more to learn from, and their scores may drift. All of them run, and "
        "they, or their trend, are the result.",
        make=holdouts.temporal_windows,
        parameters=(_FIRST, _TRAINING, _UNKNOWN, _VALIDATION),
        needs=Need.TIMESTAMPS,
        default_k=5,
        fold_word="window",
        past=Past.EVERYBODY,
        in_order=True,
    )
)

_define(
    Strategy(
        id="stratified-k-fold",
        title="Samples, every class evenly",
        help="The samples of each class are shuffled and dealt evenly over the folds.",
        source="scikit-learn, StratifiedKFold with shuffle",
        ecv="e-CV applies: every sample is held out in exactly one of the k folds.",
        make=strategies.stratified_k_fold,
        least_k=2,
        of_k_parts=True,
        tasks=(Task.CLASSES,),
    )
)

_define(
    Strategy(
        id="sample-k-fold",
        title="Samples, evenly",
        help="The samples are shuffled and dealt evenly over the folds.",
        source="scikit-learn, KFold with shuffle",
        ecv="e-CV applies: every sample is held out in exactly one of the k folds.",
        make=strategies.sample_k_fold,
        least_k=2,
        of_k_parts=True,
        tasks=(Task.CLASSES, Task.NUMBERS),
    )
)


def _from_entry_point(offered: object, name: str) -> tuple[str, Strategy]:
    """The id and the strategy of what a package offers under a name."""
    own = _own_strategy(offered, name)
    return own.id, own


SPLITS = Registry(_PROJECT_SPLITS, group="ecv_core.splits", to_entry=_from_entry_point)
"""Every way to split, by id: the project's own, and those of installed packages; `register_split`
adds to it. Splits read from a file have the strategy 'imported' instead."""


def register_split(split: Strategy | SplitFunction) -> Strategy:
    """Make a way to split known to runs, pages and commands of this process.

    The dashboard and the command line learn of it by ECV_PLUGINS, which names modules, with commas
    between them, that register what they have as they are imported. What is given to `evaluate`,
    `track`, ... as `split` is registered by that.

    Args:
        split: A Strategy; or its function, (interactions, k, seed, settings) -> folds, whose name
            is its id.

    Raises:
        InputError: For what is neither, or has an id of the project's.
    """
    own = _own_strategy(split)
    SPLITS[own.id] = own
    return own


def _own_strategy(split: object, name: str = "") -> Strategy:
    """A split of one's own, with what names its code; `name` is the id of a mere function."""
    if callable(split) and not isinstance(split, type):
        function_name = getattr(split, "__name__", type(split).__name__)
        split = Strategy(name or id_of(function_name), split)
    if not isinstance(split, Strategy):
        raise InputError(
            f"a split is an id ({', '.join(_PROJECT_SPLITS)}), a function of (interactions, k, "
            f"seed, settings), or an ecv.Strategy(id, function), but is {split!r:.80}"
        )
    if _PROJECT_SPLITS.get(split.id) is split:
        return split
    if split.id in _PROJECT_SPLITS or split.id == IMPORTED:
        raise InputError(f"there is a split '{split.id}' already; give yours another id")
    return replace(split, code=code_of(split.make))
