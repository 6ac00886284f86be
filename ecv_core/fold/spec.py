"""What a user asks for -> a RunSpec with every value checked and every default filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

from ecv_core import dataset as datasets
from ecv_core import evaluation, models, splits, stopping
from ecv_core.dataset import DatasetEntry
from ecv_core.dataset.preparation import for_task
from ecv_core.energy import meter
from ecv_core.evaluation import Metric
from ecv_core.models.base import Algorithm
from ecv_core.records.errors import FoldsError, InputError, UnknownName
from ecv_core.records.parameters import Params, ParamValue
from ecv_core.records.spec import SETTINGS, RunSpec
from ecv_core.records.tasks import Task
from ecv_core.stopping import Rule


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
        params: The params of the algorithm, by name; the others are at their defaults.
        split_params: The split params of the split, alike.
        rule_params: The rule params of the rule, alike.
        own_metric: The own metric of a run that was read, whose metric may not be known here.
        settings: Any other field of `records.RunSpec`, but for the cut-offs, which follow; and
            those parameters of rules that have an option of their own, such as alpha.

    Raises:
        InputError: For an unknown name or a value that cannot work, before anything runs.
    """
    entry = datasets.entry(dataset)
    settings = _with_list_length(_with_registered_ids(settings))
    _check_names(settings)
    values = _checked_values(settings)
    model, metric = _model_and_metric(algorithm, values, own_metric)
    entry.check_serves(model.task, model.id)
    _check_settings_serve(values, model)
    _check_metric_serves(metric, model, values, own_metric)
    split = _checked_split(values, split_params or {}, entry, model.task)
    rule = stopping.rule(values["rule"] or usual_rule(split.id, split.k))
    _check_rule_serves(rule, split, metric)
    _check_only_folds(values["only_folds"], split.k)
    item_count = _item_count(entry, model.task)
    _check_lists(entry, item_count, n=values["n"], negatives=values["negatives"])
    _check_machine(values)
    # The defaults that depend on other settings take the place of None.
    values |= {"metric": metric.id, "split": split.id, "k": split.k, "rule": rule.id}
    if values["min_folds"] is None:
        values["min_folds"] = usual_min_folds(rule.id, split.k)
    values["data_sha256"] = values["data_sha256"] or datasets.own_sha256(entry)
    values["country"] = meter.country(values["country"]).code
    spec = RunSpec(
        dataset=dataset,
        algorithm=algorithm,
        params=model.resolve(params or {}),
        split_params=split.params,
        rule_params=rule.resolve(_rule_params(rule, rule_params or {}, settings)),
        own_metric=metric.description,
        cutoffs=_cutoffs(values["n"], item_count, model.task),
        **values,
    )
    _check_cheap_models(spec, model)
    # This is called only for its check. It refuses a rule, or a setting of one, that cannot work.
    stopping.rule_for(spec)
    return spec


# What is asked for, each setting by itself.


_APART = {"dataset", "algorithm", "params", "split_params", "rule_params", "own_metric", "cutoffs"}
_SETTINGS = {name: setting for name, setting in SETTINGS.items() if name not in _APART}
"""What `make_spec` takes as `settings`."""


def _with_registered_ids(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with a metric and a split of one's own registered, and named by their ids.

    Raises:
        InputError: For what is none.
    """
    settings_with_ids = dict(settings)
    registers = (("metric", evaluation.register_metric), ("split", splits.register_split))
    for name, register in registers:
        value = settings.get(name)
        if value is not None and not isinstance(value, str):
            settings_with_ids[name] = register(value).id
    return settings_with_ids


def _with_list_length(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with a metric such as 'ndcg@10' as metric and n.

    Raises:
        InputError: For two list lengths.
    """
    metric = settings.get("metric")
    if metric is None or "@" not in metric:
        return settings
    metric_id, n = evaluation.id_and_length(metric)
    if settings.get("n") not in (None, n):
        raise InputError(f"the metric {metric} and n = {settings['n']} differ; leave n out")
    return settings | {"metric": metric_id, "n": n}


def _check_names(settings: Mapping[str, Any]) -> None:
    """Refuse what is neither a setting of a run nor a parameter of a rule. Raises: UnknownName."""
    names = [*_SETTINGS, *stopping.rule_options()]
    for name in settings:
        if name not in names:
            raise UnknownName("setting of a run", name, names)


def _checked_values(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run, each checked by itself.

    Returns:
        Every setting by name, None where its default depends on others.

    Raises:
        InputError: For a value that no run can have.
    """
    values: dict[str, Any] = {}
    for name, setting in _SETTINGS.items():
        value = settings.get(name)
        if value is None and setting.derived_default:
            values[name] = None  # `make_spec` works it out later.
            continue
        if name not in settings:
            value = setting.default
        values[name] = setting.typed(value)
        if not setting.of_rule:
            # Settings of a rule are checked together with the rule.
            setting.check(values[name])
    return values


def _check_settings_serve(values: Mapping[str, Any], model: Algorithm) -> None:
    """Refuse settings that mean nothing to such a run. Raises: InputError."""
    for name, setting in _SETTINGS.items():
        if values[name] == setting.default:
            continue
        setting.check_serves(model.task, model.id, tracked=values["tracked"])
        if setting.beside and values[setting.beside] is None:
            raise InputError(
                f"the setting '{name}' means nothing without '{setting.beside}'; give both, or "
                "leave it out"
            )


# What is fitted, and how it is scored.


def _model_and_metric(
    name: str, values: Mapping[str, Any], own_metric: Params
) -> tuple[Algorithm, Metric]:
    """The algorithm of this id, or a tracked model of this name; and the metric.

    A tracked model does what the metric is of; of an algorithm the usual metric follows.

    Raises:
        UnknownName; InputError.
    """
    metric = None
    if values["metric"] is not None:
        metric = evaluation.metric_described_by(values["metric"], own_metric)
    model: Algorithm
    # A tracked model does what its metric measures; without a metric it ranks items.
    if values["tracked"]:
        task = Task.TOP_N
        if metric is not None:
            task = metric.task
        model = models.tracked_model(name, task, models.ALGORITHMS)
    else:
        model = models.algorithm(name)
    if metric is None:
        metric = evaluation.metric(model.task.usual_metric)
    return model, metric


def _check_metric_serves(
    metric: Metric, model: Algorithm, values: Mapping[str, Any], own_metric: Params
) -> None:
    """Refuse a metric that a run of this model has no value of.

    Args:
        metric: The metric of the run.
        model: The model of the run.
        values: The values of its settings.
        own_metric: As of `make_spec`.

    Raises:
        InputError.
    """
    task = model.task
    if metric.descriptive:
        raise InputError(
            f"{metric.title} describes lists, and no value of it is better than another, so no run "
            f"is scored by it; choose a metric such as {task.usual_metric}: every run under full "
            f"ranking has {metric.title.lower()} beside it"
        )
    if metric.task is not task:
        ways = sorted(task.metrics) or [task.usual_metric]
        raise InputError(
            f"{metric.title} is of {metric.task.outputs}, but {model.id} {task.words}; choose "
            f"{' or '.join(ways)}, or another algorithm, such as {metric.task.usual_algorithm}"
        )
    if task.ranks:
        # A metric of one's own may be computed elsewhere: in the loop of a tracked run, or where a
        # run that was read from a file was made.
        is_computed_elsewhere = metric.is_custom and (values["tracked"] or own_metric)
        if not is_computed_elsewhere:
            sampled = values["negatives"] is not None
            evaluation.check_metric(metric.id, sampled=sampled, log_odds=model.log_odds)
    elif metric.probabilities and not model.log_odds:
        raise InputError(
            f"{metric.title} needs probabilities, which {model.id} does not predict; choose "
            "another metric, or an algorithm that does, such as logistic-regression"
        )


def _item_count(entry: DatasetEntry, task: Task) -> int | None:
    """How many items there are to rank; None where none is ranked, or nobody knows yet.

    Of a file of one's own only reading it tells.

    Raises:
        DatasetError: If it cannot be read, or nothing of it survives pruning.
    """
    if not task.ranks:
        return None
    if entry.items is None and entry.domain == datasets.OWN_DOMAIN:
        return for_task(entry, task).n_items
    return entry.items


def _check_lists(
    entry: DatasetEntry, item_count: int | None, *, n: int, negatives: int | None
) -> None:
    """Refuse lists and samples of more items than there are.

    Args:
        entry: The entry of the dataset.
        item_count: How many there are to rank, as of `_item_count`.
        n: Length of the lists.
        negatives: Drawn beside each held-out item; None for full ranking.

    Raises:
        InputError.
    """
    if item_count is not None and n > item_count:
        raise InputError(f"n must be at most the {item_count:,} items of {entry.id}, but is {n}")
    if negatives is None:
        return
    if negatives < n:
        raise InputError(
            f"with negatives = {negatives} and a list of {n} every held-out item is a hit; "
            f"ask for at least {n} negatives, or for a shorter list"
        )
    if item_count is not None and negatives >= item_count:
        raise InputError(
            f"{entry.id} has {item_count:,} items, so {negatives:,} negatives cannot be drawn "
            "besides what a user has; ask for fewer, or leave the number out for full ranking"
        )


_USUAL_LENGTHS = (1, 5, 10, 20)
"""Of lists of recommendations, at which metrics are computed beside the run's own."""


def _cutoffs(n: int, item_count: int | None, task: Task) -> tuple[int, ...]:
    """The list lengths at which metrics are computed: the usual ones that can be, and n."""
    lengths = {n}
    if task.ranks:
        for length in _USUAL_LENGTHS:
            if item_count is None or length <= item_count:
                # If the number of items is not known yet, every usual length is kept.
                lengths.add(length)
    return tuple(sorted(lengths))


# How the data is dealt into folds.


@dataclass(frozen=True, kw_only=True)
class _Split:
    """A way to split the data into k folds."""

    id: str
    """`splits.IMPORTED` for folds from a file."""
    params: Params
    k: int


def _checked_split(
    values: Mapping[str, Any],
    split_params: Mapping[str, ParamValue],
    entry: DatasetEntry,
    task: Task,
) -> _Split:
    """The split that is asked for, or the task's usual one.

    Raises:
        UnknownName; InputError, FoldsError for one that does not serve, or too many folds.
    """
    split_id = values["split"] or task.usual_split
    are_folds_imported = values["folds_sha256"] is not None
    k = values["k"]
    if k is None:
        k = usual_k(split_id, are_folds_imported=are_folds_imported)
    # Folds from a file take the place of a split.
    if are_folds_imported:
        if split_params or split_id not in (task.usual_split, splits.IMPORTED):
            raise FoldsError(
                "folds from a file are a split already, without parameters; leave --split out"
            )
        if k < 1:
            raise FoldsError(f"k must be at least 1, but is {k}")
        split = _Split(id=splits.IMPORTED, params=(), k=k)
    else:
        strategy = splits.strategy(split_id)
        splits.check_serves(strategy, task)
        split = _Split(id=split_id, params=strategy.resolve(split_params), k=k)
        strategy.check_k(k)
    rows = entry.rows(task)
    if rows is not None and k > rows:
        raise FoldsError(f"k must be at most the {rows:,} {task.rows} of {entry.id}, but is {k}")
    return split


def usual_k(split: str, *, are_folds_imported: bool) -> int:
    """The number of folds where nobody asks for one: the split's; 10 for folds from a file."""
    strategy = splits.SPLITS.get(split)
    if are_folds_imported or strategy is None:
        return int(SETTINGS["k"].default)
    return strategy.default_k


def _check_only_folds(folds: Sequence[int], k: int) -> None:
    """Refuse folds that are not there, or twice. Raises: FoldsError."""
    for fold in folds:
        if not 0 <= fold < k:
            raise FoldsError(f"there is no fold {fold}; with k = {k} they are 0 to {k - 1}")
    if len(set(folds)) != len(folds):
        raise FoldsError(f"each fold can be run once, but --only-folds has {list(folds)}")


# When it stops.


def usual_rule(split: str, k: int) -> str:
    """The rule where nobody asks for one: e-fold, and never where there is nothing to stop early.

    That is where there is a single score, and where folds come in an order.
    """
    if k > 1 and splits.exchangeable(split):
        return str(SETTINGS["rule"].default)
    return stopping.NEVER_STOPS


def usual_min_folds(rule: str, k: int) -> int:
    """The minimum number of folds where nobody asks for one: the rule's, as far as k allows."""
    return min(stopping.rule(rule).default_folds, k)


def _check_rule_serves(rule: Rule, split: _Split, metric: Metric) -> None:
    """Refuse a rule that cannot decide with these folds or this metric.

    With folds in an order a fixed number is refused as well: the mean of the first e of them says
    nothing of all k. Who wants some of them asks for those (`only_folds`), or for a smaller k.

    Raises:
        InputError.
    """
    if split.k > 1 and rule.id != stopping.NEVER_STOPS:
        splits.check_exchangeable(
            split.id,
            f"the rule '{rule.id}' must not stop there: use the rule '{stopping.NEVER_STOPS}', "
            "with which all of them, or their trend, are the result, or a split by chance",
        )
    if split.k == 1 and rule.decides_by_scores:
        raise InputError(
            f"the split '{split.id}' with k = 1 gives a single score, so there is nothing that "
            f"the rule '{rule.id}' could stop early; use the rule '{stopping.NEVER_STOPS}', or a "
            "split with several folds"
        )
    if rule.needs_user_scores and not metric.per_user:
        raise InputError(
            f"the rule '{rule.id}' compares every user's score, but {metric.title} has one value "
            "per fold and none per user; choose another rule, or a metric such as ndcg"
        )


def _check_machine(values: Mapping[str, Any]) -> None:
    """Refuse to wait for a machine that is shared. Raises: InputError."""
    if values["share_machine"] and values["wait_for_quiet"]:
        raise InputError(
            "a machine that is shared is not waited for; leave out share_machine "
            "(--share-machine) or wait_for_quiet (--wait-for-quiet)"
        )


def _rule_params(
    rule: Rule, rule_params: Mapping[str, Any], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """What is asked of a rule's parameters, whichever way it is said.

    The axis of another rule is passed over: who compares rules may give all of them at once.

    Args:
        rule: The rule of the run.
        rule_params: Its parameters.
        settings: As of `make_spec`, with the parameters of any rule that have an option of their
            own, such as alpha.

    Raises:
        InputError: For any other parameter of another rule, and for one that is said twice.
    """
    own_names = {parameter.name for parameter in rule.parameters}
    params = dict(rule_params)
    for name in stopping.rule_options():
        value = settings.get(name)
        is_left_out = value is None or (isinstance(value, Sized) and len(value) == 0)
        if is_left_out:
            continue
        if name not in own_names:
            _check_may_be_ignored(name, value, rule)
        elif name in params:
            raise InputError(f"{name} is said twice: by itself and in rule_params; leave one out")
        else:
            params[name] = value
    return params


def _check_may_be_ignored(name: str, value: Any, rule: Rule) -> None:  # noqa: ANN401
    """Refuse a parameter of other rules that is not what they are compared on.

    Args:
        name: The name of the parameter.
        value: The value that is asked for.
        rule: The rule of the run, which has no such parameter.

    Raises:
        InputError.
    """
    # The axis of a rule is the parameter at whose values rules are compared: who compares them
    # gives the axes of all to each, so that those of others are no mistake.
    other_rules = stopping.rules_that_take(name)
    if all(stopping.axis_of(other).name == name for other in other_rules):
        return
    text = value
    if not isinstance(value, str | float | int):
        text = ", ".join(value)
    raise InputError(
        f"{name} ({text}) belongs to the rule {' or '.join(other_rules)}, but the rule is "
        f"{rule.id}; leave it out, or choose that rule"
    )


def _check_cheap_models(spec: RunSpec, model: Algorithm) -> None:
    """Refuse cheap models that cannot correct this run's mean. Raises: InputError, UnknownName."""
    names = stopping.cheap_model_ids(spec)
    if names and len(spec.only_folds) == 1:
        raise FoldsError(
            "adjust_by tells how easy a fold is beside others, but only one fold is asked for; "
            "leave adjust_by out, or ask for more folds"
        )
    for name in names:
        cheap = models.algorithm(name)
        if cheap.id == spec.algorithm and cheap.resolve({}) == spec.params:
            raise InputError(
                f"'{name}' cannot be adjusted by itself: it would have run all folds; leave it out"
            )
        if cheap.task is not model.task:
            raise InputError(
                f"'{name}' {cheap.task.words} and {spec.algorithm} {model.task.words}, so it tells "
                "nothing of it; adjust by one that does the same"
            )
        if names.count(name) > 1:
            raise InputError(f"adjust_by names '{name}' twice; leave one out")
