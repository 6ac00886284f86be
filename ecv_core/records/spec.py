"""What is run, and how it is stopped and metered: every setting of a run, said once."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from hashlib import sha256
from types import NoneType
from typing import Any, Self, TypedDict, TypeVar, get_args, get_origin, get_type_hints

from ecv_core.records import codec
from ecv_core.records.errors import InputError, UnknownName
from ecv_core.records.parameters import Parameter, Params, convert
from ecv_core.records.tasks import WITHOUT_CUTOFF, Task

# What there is to know of a setting of a run, beside the field of `RunSpec` that holds it.


T = TypeVar("T")


class Role(Enum):
    """What a setting changes. The first three decide the scores of the folds."""

    MODEL = "the model that is fitted"
    FOLDS = "the interactions held out in each fold"
    MEASURE = "how predictions for the held-out part are scored"
    STOP = "the fold after which the run stops"
    REPORT = "only what the run reports"


SCORE_ROLES = (Role.MODEL, Role.FOLDS, Role.MEASURE)
"""Runs that differ in no setting of these roles have the same scores."""


@dataclass(frozen=True, kw_only=True)
class Setting(Parameter):
    """One setting: what the command line, the Run page, links and comparisons know of it.

    Its `flag` is by default its name, as '--min-folds', and '-' where there is none.
    """

    default: Any
    help: str = ""
    """One or two sentences, for the command line and for the page."""
    kind: type
    """int, float, str, bool, or tuple of whole numbers; from the annotation of the field."""
    role: Role
    row: str = ""
    """What a table of settings calls it; by default the name in words. '-': no row of its own."""
    differ: str = ""
    """How several are called that differ: 'different numbers of folds'; by default the name."""
    choices: Mapping[str, str] = field(default_factory=dict)
    """What can be chosen, each with a sentence; empty where anything, or a registry, serves."""
    derived_default: str = ""
    """In words, a default that depends on other settings; `make_spec` then takes None for it."""
    of_rule: bool = False
    """Whether it means something only to the rules that name it in `Rule.run_settings`."""
    tasks: tuple[Task, ...] = tuple(Task)
    """For whose runs it means something."""
    tracked: bool = True
    """Whether it means something where other code computes the folds."""
    beside: str = ""
    """The setting without which it means nothing."""

    @property
    def option(self) -> str | None:
        """The option of the command line; None where there is none."""
        if self.flag == "-":
            return None
        return self.flag or f"--{self.name.replace('_', '-')}"

    @property
    def words(self) -> str:
        """Its name in a sentence or in a table."""
        return self.row.strip("-") or self.name.replace("_", " ")

    @property
    def _name_in_error(self) -> str:
        if self.error_name:
            return self.error_name
        if self.choices:
            return self.words
        return f"the {self.words}"

    def typed(self, value: Any) -> Any:  # noqa: ANN401 - of the type that the field has
        """The value, from a number or from text; None stays None where a run may be without it.

        Raises:
            InputError: If it is of another type.
        """
        if value is None and self.default is None:
            return None
        if self.kind is not tuple:
            return convert(self.kind, value, self._name_in_error)
        parts = value
        if isinstance(value, str):
            parts = [part.strip() for part in value.split(",")]
        return tuple(convert(int, part, self._name_in_error) for part in parts if part != "")

    def check(self, value: Any) -> None:  # noqa: ANN401 - as `typed` gives it
        """Refuse what can never work. Raises: InputError; UnknownName for what is no choice."""
        if self.choices and value not in self.choices:
            raise UnknownName(self._name_in_error, value, self.choices)
        if isinstance(value, int | float):
            self.check_range(value, self._name_in_error, value)

    def check_serves(self, task: Task, model: str, *, tracked: bool) -> None:
        """Refuse it for a run to which it means nothing.

        Args:
            task: The task of the run.
            model: What the run's model is called.
            tracked: Whether other code computes the folds.

        Raises:
            InputError.
        """
        if task not in self.tasks:
            for_what = " or ".join(served_task.outputs for served_task in self.tasks)
            raise InputError(
                f"the setting '{self.name}' is for {for_what}, but {model} {task.words}; leave it "
                f"out ({self.option})"
            )
        if tracked and not self.tracked:
            raise InputError(
                f"the setting '{self.name}' is for folds that e-fold computes, but your own "
                f"code computes those of the tracked model {model}; leave it out"
            )

    def text(self, value: object) -> str:
        """The value as the command line takes it."""
        if isinstance(value, tuple):
            return ",".join(map(str, value))
        return str(value)


def setting(default: T, role: Role, **about: Any) -> T:  # noqa: ANN401 - as Setting has them
    """A field of `RunSpec` with its default, its role and what else `Setting` can say of it."""
    return field(default=default, metadata={"role": role, **about})


def settings_of(record: type) -> dict[str, Setting]:
    """The settings that a dataclass declares, by name, in their order.

    Raises:
        TypeError: For something said of one that `Setting` does not know.
    """
    hints = get_type_hints(record)
    settings = {}
    for declaration in fields(record):
        settings[declaration.name] = Setting(
            name=declaration.name,
            kind=_kind(hints[declaration.name]),
            default=declaration.default,
            **declaration.metadata,
        )
    return settings


def _kind(hint: Any) -> type:  # noqa: ANN401 - any annotation
    """`int` of `int | None`, `tuple` of `tuple[int, ...]`."""
    if get_origin(hint) is tuple:
        return tuple
    for part in get_args(hint):
        if part is not NoneType:
            kind: type = part
            return kind
    return hint


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """Everything that decides a run's scores, and how it is stopped and metered.

    Hashable and JSON-serialisable: the same spec and fold index give the same scores anywhere.
    Each field says with `setting` what the command line, the Run page, links and comparisons
    know of it; docs/extending.md adds one.
    """

    dataset: str = field(metadata={"role": Role.FOLDS, "flag": "-", "differ": "datasets"})
    algorithm: str = field(metadata={"role": Role.MODEL, "flag": "-"})
    params: Params = setting((), Role.MODEL, flag="-")
    """Every parameter of the model, defaults filled in, sorted by name."""
    tracked: bool = setting(
        False, Role.MODEL, flag="-", row="-", error_name="whether it is tracked"
    )
    """Whether other code computes the folds: then `algorithm` is the name that it was given, and
    `params` are what was said of it."""
    split: str = setting(
        "user-k-fold",
        Role.FOLDS,
        label="Fold strategy",
        metavar="NAME",
        row="folds",
        differ="fold strategies",
        derived_default="user-k-fold; record-k-fold where ratings are predicted; of tables "
        "stratified-k-fold, or sample-k-fold where numbers are predicted",
    )
    split_params: Params = setting((), Role.FOLDS, flag="-", differ="settings of the split")
    """Every parameter of the split, defaults filled in, sorted by name."""
    folds_sha256: str | None = setting(None, Role.FOLDS, flag="-", row="-", differ="fold files")
    """For split 'imported': names the fold file kept under the data directory."""
    data_sha256: str | None = setting(
        None, Role.FOLDS, flag="-", row="-", differ="contents of the dataset"
    )
    """Of a dataset of one's own: what it held when the run was made; None for the catalogue's."""
    k: int = setting(
        10,
        Role.FOLDS,
        flag="-k",
        label="Folds (k)",
        help="Number of folds of the whole cross-validation; the stopping rule may use fewer.",
        error_name="k",
        differ="numbers of folds",
        derived_default="that of the split, usually 10",
    )
    only_folds: tuple[int, ...] = setting(
        (), Role.FOLDS, help="Run only these folds.", metavar="0,1"
    )
    """Run just these folds, in this order; empty means 0 .. k-1."""
    overlap: float = setting(
        0.0, Role.FOLDS, flag="-", row="-", low=0, differ="shares of rows held out in several folds"
    )
    """Held-out rows over training rows of a fold (their groups, where `clustered`), where some are
    held out in several folds, as repeated splitters do; 0 where each is held out once."""
    clustered: bool = setting(False, Role.FOLDS, flag="-", row="-", differ="units that are dealt")
    """Whether groups of a table's rows are dealt to the folds, so that new data are new groups."""
    in_time: bool = setting(False, Role.FOLDS, flag="-", row="-", differ="orders of folds in time")
    """Whether a table's folds are held out after all that is learnt from, as `TimeSeriesSplit` has
    it: then new rows are not drawn alike."""
    seed: int = setting(
        42,
        Role.FOLDS,
        help="Determines the folds and every random choice: the same seed gives the same scores.",
        low=0,
        high=2**32 - 1,
        differ="seeds, so other draws",
        always_told=True,
    )
    metric: str = setting(
        "ndcg",
        Role.MEASURE,
        help="The score that the stopping rule uses. The other metrics of lists are computed too.",
        metavar="NAME",
        differ="metrics",
        derived_default="ndcg; rmse where ratings are predicted; accuracy or r2 for tables",
    )
    own_metric: Params = setting((), Role.MEASURE, flag="-", row="-")
    """What is to be known of a metric that is not the project's, wherever the run is read: see
    `evaluation.Metric.description`; empty for the project's."""
    n: int = setting(
        10,
        Role.MEASURE,
        flag="-n",
        label="List length (n)",
        help="How many items are recommended to each user (top-n).",
        row="-",
        error_name="n, the length of the recommendation list,",
        low=1,
    )
    cutoffs: tuple[int, ...] = setting((1, 5, 10, 20), Role.REPORT, flag="-", row="-")
    """List lengths at which every metric is computed; contains n."""
    candidates: str = setting(
        "all",
        Role.MEASURE,
        help="Which items may be recommended.",
        tasks=(Task.TOP_N,),
        error_name="candidate set",
        choices={
            "all": (
                "All items of the prepared dataset, including those that no user has in training."
            ),
            "train": "Items with at least one training interaction in the fold. A held-out item "
            "that has none stays held out and counts as missed.",
        },
    )
    """Which items may be recommended: 'all', or 'train' for those with a training interaction."""
    negatives: int | None = setting(
        None,
        Role.MEASURE,
        label="Negatives (N)",
        help="Rank each held-out item against this many items drawn at random for the user, and "
        "not against all items. None of the drawn items is in the user's training or "
        "held-out data.",
        tasks=(Task.TOP_N,),
        tracked=False,
        metavar="N",
        row="sampled negatives",
        error_name="the number of negatives",
        differ="numbers of sampled negatives",
        low=1,
        way_out="leave it out for full ranking",
    )
    """Rank each held-out item against so many sampled items; None ranks all candidates."""
    negative_sampling: str = setting(
        "uniform",
        Role.MEASURE,
        label="Drawn",
        help="How the negatives are drawn.",
        tasks=(Task.TOP_N,),
        tracked=False,
        beside="negatives",
        row="-",
        error_name="way to sample negatives",
        differ="ways to sample negatives",
        choices={
            "uniform": "Every candidate item is equally likely.",
            "popularity": "A candidate item is drawn in proportion to its share of the training "
            "interactions: popular items are harder to tell from what a user likes.",
            "pooled": "As uniform, but N items are drawn for each held-out item, and one list "
            "ranks all of a user's drawn and held-out items together, as uniN of RecBole does.",
        },
    )
    """How they are drawn: 'uniform' or 'popularity'; the run's seed decides which."""
    rule: str = setting(
        "e-fold",
        Role.STOP,
        help="When to stop.",
        row="stopping rule",
        derived_default="e-fold; never, if there is only one fold or folds are in order of time",
    )
    rule_params: Params = setting((), Role.STOP, flag="-")
    """Every parameter of the rule, defaults filled in, sorted by name."""
    confidence: float = setting(
        0.95,
        Role.STOP,
        help=(
            "Confidence level of the interval of the mean (Student's t with n - 1 degrees of "
            "freedom)."
        ),
        low=0,
        high=1,
        open=True,
        way_out="use for example 0.95",
    )
    min_folds: int = setting(
        3,
        Role.STOP,
        help="The rule does not stop before this fold. The paper's rule compares two interval "
        "widths, so it needs at least 3 folds. The rule 'fixed' runs exactly this number of "
        "folds.",
        row="minimum folds",
        error_name="the minimum number of folds",
        derived_default="the rule's",
        of_rule=True,
    )
    full: bool = setting(
        False,
        Role.STOP,
        label="Run all k folds, to check the stop",
        help="Also run the folds after the stop, to show how far the score at the stop is from "
        "the k-fold mean. This costs the energy that stopping would save.",
        row="runs the folds after the stop",
    )
    """Go on to the last fold after the rule says stop, to check it."""
    country: str = setting(
        "DEU",
        Role.REPORT,
        help="The country whose electricity is used to convert energy into emissions. Your "
        "location is not looked up, so choose it yourself (carbon intensity from Our World "
        "in Data, through CodeCarbon).",
    )
    """ISO 3166-1 alpha-3 code; its carbon intensity turns joules into grams CO2e."""
    processor_watts: float | None = setting(
        None,
        Role.REPORT,
        label="Processor power in W, at full load",
        help="The processor's power at full load, if you know it. Without a readable power "
        "counter, its energy is estimated from its load and this power; if you leave it out, from "
        "a power that CodeCarbon assumes.",
        metavar="W",
        low=0,
        high=10_000,
        open=True,
        way_out="the data sheet gives it as TDP",
    )
    """At full load; None leaves CodeCarbon's assumption, and a power counter goes first."""
    memory_watts: float | None = setting(
        None,
        Role.REPORT,
        label="Memory power in W",
        help="The power of the memory, if you know it. Memory is assumed to draw it all the time; "
        "if you leave it out, 5 W for every memory module that CodeCarbon assumes.",
        metavar="W",
        low=0,
        high=10_000,
        open=True,
        way_out="a module draws 2 to 5 W",
    )
    """All the time; None leaves CodeCarbon's assumption, 10 W or more."""
    share_machine: bool = setting(
        False,
        Role.REPORT,
        label="Share the machine",
        help="Compute while other programs compute folds on this machine, and do not wait for "
        "them. The energy measured for such a fold includes theirs, so it is left out of "
        "all sums.",
    )
    """Wait for no fold of another program, and let none wait."""
    wait_for_quiet: bool = setting(
        False,
        Role.REPORT,
        label="Wait for a quiet machine",
        help="Begin each fold only once other programs use almost none of the machine, so that "
        "the measured energy is that of the fold.",
    )
    no_energy: bool = setting(
        False,
        Role.REPORT,
        label="Leave energy out",
        help=(
            "Measure only time, and no energy. This saves about a second for detecting the "
            "hardware."
        ),
    )

    @property
    def task(self) -> Task:
        """What the model is asked for, which the metric tells."""
        return Task.of_metric(self.metric, dict(self.own_metric).get("kind"))

    @property
    def metric_name(self) -> str:
        """The score's name, with its cut-off if it has one, as in FoldResult.metrics: 'ndcg@10'."""
        own_metric = dict(self.own_metric)
        # One's own metric has a cut-off only where code of it scores the hits of a list here.
        scores_lists = own_metric.get("kind") == "hits" and own_metric.get("code")
        if self.metric in WITHOUT_CUTOFF or (own_metric and not scores_lists):
            return self.metric
        return f"{self.metric}@{self.n}"

    @property
    def fold_order(self) -> tuple[int, ...]:
        """The fold indices in the order in which they are to run."""
        return self.only_folds or tuple(range(self.k))

    @property
    def folds_of_a_partition(self) -> float:
        """Into how many parts the data are split: k, or less where splits are repeated."""
        if self.overlap:
            # The overlap is the ratio of held-out rows to training rows, so that one of
            # 1 + 1 / overlap parts of the data is held out.
            return 1 + 1 / self.overlap
        return max(2, self.k)

    @property
    def max_folds(self) -> int:
        """How many folds are planned: k, or fewer where only some are to run."""
        return len(self.only_folds) or self.k

    def settings_with_roles(self, *roles: Role) -> dict[str, object]:
        """The settings that have one of these roles, by name, in their order."""
        values = {}
        for name, setting in SETTINGS.items():
            if setting.role in roles:
                values[name] = getattr(self, name)
        return values

    def same_scores(self, other: RunSpec) -> bool:
        """Whether a fold has the same score in both, whichever of the folds they run."""
        with_same_folds = replace(self, only_folds=other.only_folds)
        return with_same_folds.settings_with_roles(*SCORE_ROLES) == other.settings_with_roles(
            *SCORE_ROLES
        )

    @property
    def score_key(self) -> str:
        """Names what decides the scores of a fold: equal exactly where `same_scores` is True.

        32 hexadecimal digits, the same on every machine and in every version: it hashes canonical
        JSON of the settings that `same_scores` compares, without those at their default. So a
        setting that is added later changes no key while it is left at its default; and the default
        of a setting must never change, which files without it forbid as well.
        """
        settings = replace(self, only_folds=()).not_at_default(*SCORE_ROLES)
        text = json.dumps(settings, sort_keys=True, separators=(",", ":"))
        return sha256(text.encode()).hexdigest()[:32]

    def not_at_default(self, *roles: Role) -> dict[str, object]:
        """The settings of these roles that are not at their default, as JSON values.

        Numbers that are equal are the same value: 1, 1.0 and True.
        """
        changed = {}
        for name, value in self.settings_with_roles(*roles).items():
            if value != SETTINGS[name].default:
                changed[name] = _equal_json_value(value)
        return changed

    def same_run(self, other: RunSpec) -> bool:
        """Whether both ask for the same run.

        They may differ in whether it goes on after its stop, and in what is only reported.
        """
        mine = replace(self, full=other.full)
        return mine.settings_with_roles(*SCORE_ROLES, Role.STOP) == other.settings_with_roles(
            *SCORE_ROLES, Role.STOP
        )

    @property
    def key_in_plan(self) -> Hashable:
        """What tells the runs of one plan apart: all but the folds that they are to have."""
        spec_of_all_folds = replace(self, only_folds=(), full=False)
        return tuple(spec_of_all_folds.settings_with_roles(*SCORE_ROLES, Role.STOP).values())

    def to_json(self) -> str:
        """Canonical JSON: sorted keys, no spaces; parameters as objects.

        Raises:
            InputError: For a spec that `from_json` would refuse.
        """
        return codec.json_text(self, canonical=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The spec that `to_json` wrote; fields it does not know are ignored.

        Raises:
            ValueError: If the text is not such a spec.
        """
        return codec.read(cls, text)


def _equal_json_value(value: object) -> object:
    """What JSON writes alike for values that are equal: 1 for 1, 1.0 and True."""
    if isinstance(value, tuple):
        return [_equal_json_value(part) for part in value]
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value


class PlainSettings(TypedDict, total=False):
    """The fields of `RunSpec` that people give as they are, as editors complete them."""

    folds_sha256: str
    k: int
    only_folds: tuple[int, ...]
    seed: int
    n: int
    candidates: str
    negatives: int
    negative_sampling: str
    min_folds: int
    full: bool
    country: str
    processor_watts: float
    memory_watts: float
    share_machine: bool
    wait_for_quiet: bool
    no_energy: bool


SETTINGS: dict[str, Setting] = settings_of(RunSpec)
"""Every setting of a run, by name, in the order of the stages."""
