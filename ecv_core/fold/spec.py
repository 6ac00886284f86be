"""What a user asked for -> a RunSpec with every value checked and every default filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from types import NoneType
from typing import Any

from ecv_core import dataset as datasets
from ecv_core import evaluation, models, splits, stopping
from ecv_core.dataset import ready
from ecv_core.energy import meter
from ecv_core.models.base import Algorithm
from ecv_core.records.errors import FoldsError, InputError, UnknownName
from ecv_core.records.parameters import Params, ParamValue
from ecv_core.records.spec import SETTINGS, RunSpec
from ecv_core.records.tasks import Task


def make_spec(
    *,
    dataset: str,
    algorithm: str,
    params: Mapping[str, ParamValue] | None = None,
    split_params: Mapping[str, ParamValue] | None = None,
    rule_params: Mapping[str, Any] | None = None,
    own_metric: Params = (),
    **settings: Any,  # noqa: ANN401 - each of the type of its field
) -> RunSpec:
    """A checked spec.

    By default `k` is the split's (10 for folds from a file), the rule is e-fold, or never where
    there is only one fold or folds come in an order, and `min_folds` is the rule's.

    Args:
        params: of the algorithm, by name; the others are at their defaults.
        split_params: of the split, alike.
        rule_params: of the rule, alike.
        own_metric: of a run that was read, whose metric may not be known here.
        settings: any other field of `records.RunSpec`, but for the cut-offs, which follow; and
            those parameters of rules that have an option of their own, such as alpha.
    Raises: InputError for an unknown name or a value that cannot work, before anything runs.
    """
    entry = datasets.entry(dataset)
    settings = _by_ids(settings)
    short = stopping.said_by_name()
    asked = _asked({name: value for name, value in settings.items() if name not in short})
    said = None if asked["metric"] is None else evaluation.told(asked["metric"], own_metric)
    if asked["tracked"]:
        task = Task.TOP_N if said is None else said.task
        model: Algorithm = models.tracked(algorithm, task, models.ALGORITHMS)
    else:
        model = models.algorithm(algorithm)
    task = model.task
    entry.check_serves(task, model.id)
    resolved = model.resolve(params or {})
    for name, usual in (("metric", task.usual_metric), ("split", task.usual_split)):
        asked[name] = usual if asked[name] is None else asked[name]
    metric = said or evaluation.metric(asked["metric"])
    n, negatives, split = (asked[key] for key in ("n", "negatives", "split"))
    _check_task(model, metric, negatives)
    if task.ranks and (not metric.is_own or not (asked["tracked"] or own_metric)):
        evaluation.check_metric(metric.id, sampled=negatives is not None, log_odds=model.log_odds)
    resolved_split: Params = ()
    imported = asked["folds_sha256"] is not None
    k = usual_k(split, imported=imported) if asked["k"] is None else asked["k"]
    if imported:
        if split_params or split not in (task.usual_split, splits.IMPORTED):
            raise FoldsError(
                "folds from a file are a split already, without parameters; leave --split out"
            )
        split = splits.IMPORTED
        if k < 1:
            raise FoldsError(f"k must be at least 1, but is {k}")
    else:
        known = splits.strategy(split)
        splits.check_serves(known, task)
        resolved_split = known.resolve(split_params or {})
        known.check_k(k)
    rows = entry.rows(task)
    if rows is not None and k > rows:
        raise FoldsError(f"k must be at most the {rows:,} {task.rows} of {dataset}, but is {k}")
    rule = usual_rule(split, k) if asked["rule"] is None else asked["rule"]
    _check_rule(rule, split, k)
    only = asked["only_folds"]
    if wrong := [fold for fold in only if not 0 <= fold < k]:
        raise FoldsError(f"there is no fold {wrong[0]}; with k = {k} they are 0 to {k - 1}")
    if len(set(only)) != len(only):
        raise FoldsError(f"each fold can be run once, but --only-folds has {list(only)}")
    items = _items(entry) if task.ranks else None
    if items is not None and n > items:
        raise InputError(f"n must be at most the {items:,} items of {dataset}, but is {n}")
    if negatives is None and asked["negative_sampling"] != _ASKED["negative_sampling"].default:
        raise InputError("without negatives all items are ranked and none is drawn; give a number")
    if negatives is not None:
        _check_negatives(negatives, n, dataset, items, tracked=asked["tracked"])
    if stopping.rule(rule).needs_user_scores and not metric.per_user:
        raise InputError(
            f"the rule '{rule}' compares every user's score, but {metric.title} has one value per "
            "fold and none per user; choose another rule, or a metric such as ndcg"
        )
    cutoffs = {one for one in (1, 5, 10, 20) if task.ranks and (not items or one <= items)}
    asked |= {"split": split, "k": k, "rule": rule, "cutoffs": tuple(sorted(cutoffs | {n}))}
    by_name = {name: value for name, value in settings.items() if name in short}
    if asked["min_folds"] is None:
        asked["min_folds"] = usual_min_folds(rule, k)
    if asked["data_sha256"] is None:
        asked["data_sha256"] = datasets.own_sha256(entry)
    if asked["share_machine"] and asked["wait_for_quiet"]:
        raise InputError(
            "a machine that is shared is not waited for; leave out share_machine "
            "(--share-machine) or wait_for_quiet (--wait-for-quiet)"
        )
    asked["country"] = meter.country(asked["country"]).code
    spec = RunSpec(
        dataset=dataset,
        algorithm=algorithm,
        params=resolved,
        split_params=resolved_split,
        rule_params=stopping.rule(rule).resolve(_rule_params(rule, rule_params or {}, by_name)),
        own_metric=metric.about,
        **asked,
    )
    _check_cheap_models(spec)
    stopping.rule_for(spec)  # refuses a rule or a setting of it that cannot work
    return spec


def _by_ids(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A metric that names its list length, 'ndcg@10', as metric and n; what is one's own by its id.

    Raises: InputError.
    """
    settings = dict(settings)
    for name, register in (
        ("metric", evaluation.register_metric),
        ("split", splits.register_split),
    ):
        if not isinstance(given := settings.get(name), str | NoneType):
            settings[name] = register(given).id
    if "@" not in str(settings.get("metric")):
        return settings
    metric, n = evaluation.id_and_length(settings["metric"])
    if settings.get("n") not in (None, n):
        raise InputError(f"the metric {metric}@{n} and n = {settings['n']} differ; leave n out")
    return settings | {"metric": metric, "n": n}


def _items(entry: datasets.DatasetEntry) -> int | None:
    """How many items there are to rank: of a file of one's own only reading it tells.

    Raises: DatasetError if it cannot be read, or nothing of it survives pruning.
    """
    if entry.items is None and entry.domain == datasets.OWN_DOMAIN:
        return ready.prepared(entry.id).n_items
    return entry.items


_APART = {"dataset", "algorithm", "params", "split_params", "rule_params", "own_metric", "cutoffs"}
_ASKED = {name: one for name, one in SETTINGS.items() if name not in _APART}
"""What `make_spec` takes as `settings`."""


def usual_k(split: str, *, imported: bool = False) -> int:
    """The number of folds where nobody asks for one: the split's; 10 for folds from a file."""
    default: int = SETTINGS["k"].default
    known = None if imported else splits.SPLITS.get(split)
    return known.default_k if known else default


def usual_rule(split: str, k: int) -> str:
    """The rule where nobody asks for one: e-fold, and never where there is nothing to stop early.

    That is where there is a single score, and where folds come in an order.
    """
    early = k > 1 and splits.exchangeable(split)
    return str(SETTINGS["rule"].default) if early else stopping.NEVER_STOPS


def usual_min_folds(rule: str, k: int) -> int:
    """The minimum number of folds where nobody asks for one: the rule's, as far as k allows."""
    return min(stopping.rule(rule).default_folds, k)


def _asked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting with the value that is asked for, checked, or with its default."""
    asked = {}
    for name in given:
        if name not in _ASKED:
            raise UnknownName("setting of a run", name, [*_ASKED, *stopping.said_by_name()])
    for name, one in _ASKED.items():
        value = given.get(name, None if one.unless_asked else one.default)
        if value is not None or not one.unless_asked:
            value = one.typed(value)
            if not one.of_rule:  # the others are checked with the rule
                one.check(value)
        asked[name] = value
    return asked


def _check_task(model: Algorithm, metric: evaluation.Metric, negatives: int | None) -> None:
    """Refuse to have a model rank that does something else. Raises: InputError."""
    task = model.task
    if task.ranks:
        return
    if metric.task is not task:
        raise InputError(
            f"{metric.title} is of {metric.task.of}, but {model.id} {task.words}; choose "
            f"{' or '.join(sorted(task.metrics))}, or another algorithm, such as "
            f"{metric.task.usual_algorithm}"
        )
    if metric.probabilities and not model.log_odds:
        raise InputError(
            f"{metric.title} needs probabilities, which {model.id} does not predict; choose "
            "another metric, or an algorithm that does, such as logistic-regression"
        )
    if negatives is not None:
        raise InputError(
            f"negatives are for ranked items, but {model.id} {task.words}; leave their number out"
        )


def _check_rule(rule: str, split: str, k: int) -> None:
    """Refuse a rule that would stop where folds are one, or come in an order. Raises: InputError.

    With folds in an order a fixed number is refused as well: the mean of the first e of them says
    nothing of all k. Who wants some of them asks for those (`only_folds`), or for a smaller k.
    """
    if k > 1 and stopping.rule(rule).id != stopping.NEVER_STOPS:
        splits.check_exchangeable(
            split,
            f"the rule '{rule}' must not stop there: use the rule '{stopping.NEVER_STOPS}', with "
            "which all of them, or their trend, are the result, or a split by chance",
        )
    if k == 1 and stopping.rule(rule).looks:
        raise InputError(
            f"the split '{split}' with k = 1 gives a single score, so there is nothing that the "
            f"rule '{rule}' could stop early; use the rule '{stopping.NEVER_STOPS}', or a split "
            "with several folds"
        )


def _rule_params(rule: str, given: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked of a rule's parameters, whichever way it is said.

    The axis of another rule is passed over: who compares rules may give all of them at once.
    Raises: InputError for any other parameter of another rule, and for one that is said twice.
    """
    own = {one.name for one in stopping.rule(rule).parameters}
    found = dict(given)
    for name, value in said.items():
        if value is None or (isinstance(value, Sized) and not len(value)):
            continue
        takers = stopping.takers(name)
        if name not in own and all(stopping.axis_of(one).name == name for one in takers):
            continue
        if name not in own:
            text = value if isinstance(value, str | float | int) else ", ".join(value)
            raise InputError(
                f"{name} ({text}) belongs to the rule {' or '.join(takers)}, but "
                f"the rule is {rule}; leave it out, or choose that rule"
            )
        if name in found:
            raise InputError(f"{name} is said twice: by itself and in rule_params; leave one out")
        found[name] = value
    return found


def _check_cheap_models(spec: RunSpec) -> None:
    """Refuse cheap models that cannot correct this run's mean. Raises: InputError, UnknownName."""
    cheap = stopping.cheap_models(spec)
    if cheap and len(spec.only_folds) == 1:
        raise FoldsError(
            "adjust_by tells how easy a fold is beside others, but only one fold is asked for; "
            "leave adjust_by out, or ask for more folds"
        )
    for name in cheap:
        known, mine = models.algorithm(name), models.of(spec).task
        if name == spec.algorithm and known.resolve({}) == spec.params:
            raise InputError(
                f"'{name}' cannot be adjusted by itself: it would have run all folds; leave it out"
            )
        if mine is not known.task:
            raise InputError(
                f"'{name}' {known.task.words} and {spec.algorithm} {mine.words}, so it tells "
                "nothing of it; adjust by one that does the same"
            )
        if cheap.count(name) > 1:
            raise InputError(f"adjust_by names '{name}' twice; leave one out")


def _check_negatives(
    negatives: int, n: int, dataset: str, items: int | None, *, tracked: bool
) -> None:
    if tracked:
        raise InputError(
            "negatives are drawn where e-fold ranks the items, but the folds of a tracked model "
            "are ranked by your own code; leave their number out"
        )
    if negatives < n:
        raise InputError(
            f"with {negatives} negatives and a list of {n} every held-out item is a hit; "
            f"ask for at least {n} negatives, or for a shorter list"
        )
    if items is not None and negatives >= items:
        raise InputError(
            f"{dataset} has {items:,} items, so {negatives:,} negatives cannot be drawn besides "
            "what a user has; ask for fewer, or leave the number out for full ranking"
        )
