"""What a call of the library asks for -> a spec: a rule as an instance, a metric as 'ndcg@10'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ecv_core import stopping
from ecv_core.evaluation import Metric
from ecv_core.fold import spec
from ecv_core.library.data import dataset_id
from ecv_core.records.errors import InputError, UnknownName
from ecv_core.records.parameters import ParamValue
from ecv_core.records.spec import SETTINGS, PlainSettings, RunSpec
from ecv_core.splits.strategies import SplitFunction, Strategy
from ecv_core.stopping import StoppingRule, record_of


class ScoreSettings(PlainSettings, total=False):
    """What `fold.spec.make_spec` takes beside dataset, algorithm, rule and confidence, as editors
    complete it."""

    params: Mapping[str, ParamValue]
    split: str | Strategy | SplitFunction
    """An id, or one of one's own: see `splits.Strategy`."""
    split_params: Mapping[str, ParamValue]
    rule_params: Mapping[str, Any]
    metric: str | Metric
    """'ndcg', with its list length 'ndcg@10', or one of one's own: see `evaluation.Metric`."""
    alpha: float
    tolerance: float
    adjust_by: Sequence[str]


class Settings(ScoreSettings, total=False):
    """With the confidence of a run's own interval."""

    confidence: float


def spec_for(
    dataset: object, algorithm: str, rule: StoppingRule | str | None, settings: Mapping[str, Any]
) -> tuple[RunSpec, StoppingRule | None]:
    """A checked spec, and the rule where it is an instance that no spec can name.

    Args:
        dataset: Its id, or data in memory.
        rule: An instance, or an id; None for the usual one.
        settings: As of `fold.spec.make_spec`.

    Raises:
        InputError: For what cannot be run, or a setting that is said twice.
    """
    own_rule = None
    rule_settings: dict[str, Any] | None = {}
    if rule is not None:
        rule_settings = settings_of_rule(rule)
    if rule_settings is None:
        # No spec can name this instance: it is handed on beside the spec, which is checked with the
        # rule that never stops. A rule that is given by its id always has settings.
        assert not isinstance(rule, str)
        own_rule = rule
        rule_settings = {"rule": stopping.NEVER_STOPS}
    _check_names(settings, rule, rule_settings)
    run_spec = spec.make_spec(
        dataset=dataset_id(dataset), algorithm=algorithm, **rule_settings, **settings
    )
    if own_rule is not None:  # Tables and pages call the rule by the name of its class.
        run_spec = replace(run_spec, rule=record_of(own_rule).id)
    return run_spec, own_rule


def _check_names(
    settings: Mapping[str, Any], rule: StoppingRule | str | None, rule_settings: Mapping[str, Any]
) -> None:
    """Refuse names that are no setting, and settings that the rule says already."""
    # These follow from other settings, or are arguments of their own.
    names_not_taken = {"own_metric", "cutoffs", "overlap", "clustered", "in_time"}
    names_not_taken |= {"dataset", "algorithm"}
    names = {*SETTINGS, *stopping.rule_options()} - names_not_taken
    names_set_by_rule = {*rule_settings, *rule_settings.get("rule_params", ())}
    for name, value in settings.items():
        if name not in names:
            # `tracked` is nobody's to write: `track` adds it to the settings by itself.
            raise UnknownName("setting", name, names - {"tracked"})
        if name in names_set_by_rule:
            raise InputError(
                f"{name} is said twice: by the rule {rule!r} and as {value!r}; leave one out"
            )


def settings_of_rule(rule: StoppingRule | str) -> dict[str, Any] | None:
    """A rule as arguments of `make_spec`; None for an instance that is not registered.

    Raises:
        InputError: For what is no rule.
    """
    if isinstance(rule, str):
        return {"rule": rule}
    check_rule(rule)
    # Only a registered rule has an id by which settings can name it.
    return stopping.settings_of(rule)


def check_rule(rule: object) -> None:
    """Refuse what cannot stop a run. Raises: InputError."""
    if isinstance(rule, type) or not callable(getattr(rule, "decide", None)):
        rule_words = repr(rule)
        if isinstance(rule, type):
            rule_words = f"the class {rule.__name__}"
        raise InputError(
            f"the rule is {rule_words}, which cannot decide; give an id "
            f"({', '.join(stopping.RULES)}), "
            "or an object with decide(results), such as ecv.EFold(alpha=1e-4)"
        )


def rule_over(k: int, rule: StoppingRule | str) -> StoppingRule:
    """A rule by its id with its usual parameters, or as it is. Raises: InputError."""
    if isinstance(rule, str):
        return stopping.rule_for(
            spec.make_spec(dataset="synthetic", algorithm="popular", rule=rule, k=k)
        )
    check_rule(rule)
    return rule
