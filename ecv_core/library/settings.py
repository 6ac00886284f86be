"""What a call of the library asks for -> a spec: a rule as an instance, a metric as 'ndcg@10'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict

from ecv_core import stopping
from ecv_core.evaluation import Metric
from ecv_core.fold import spec
from ecv_core.library.data import dataset_id
from ecv_core.records.errors import InputError, UnknownName
from ecv_core.records.parameters import ParamValue
from ecv_core.records.spec import SETTINGS, RunSpec
from ecv_core.splits.strategies import Make, Strategy
from ecv_core.stopping import StoppingRule, record_of


class ScoreSettings(TypedDict, total=False):
    """What `fold.spec.make_spec` takes beside dataset, algorithm, rule and confidence, as editors
    complete it; RunSpec says what each means, and its default."""

    params: Mapping[str, ParamValue]
    split: str | Strategy | Make
    """An id, or one of one's own: see `splits.Strategy`."""
    split_params: Mapping[str, ParamValue]
    rule_params: Mapping[str, Any]
    folds_sha256: str
    k: int
    only_folds: tuple[int, ...]
    seed: int
    metric: str | Metric
    """'ndcg', with its list length 'ndcg@10', or one of one's own: see `evaluation.Metric`."""
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
        dataset: its id, or data in memory.
        rule: an instance, or an id; None for the usual one.
        settings: as of `fold.spec.make_spec`.
    Raises: InputError for what cannot be run, or a setting that is said twice.
    """
    known = {} if rule is None else settings_of_rule(rule)
    strange = None
    if known is None:
        strange = None if isinstance(rule, str) else rule
        known = {"rule": stopping.NEVER_STOPS}
    accepted = {*SETTINGS, *stopping.said_by_name()} - {"own_metric", "cutoffs"}  # follow
    said = {*known, *known.get("rule_params", ())}
    for name in settings:
        if name not in accepted:
            raise UnknownName("setting", name, accepted - {"dataset", "algorithm", "tracked"})
        if name in said:
            raise InputError(
                f"{name} is said twice: by the rule {rule!r} and as {settings[name]!r}; "
                "leave one out"
            )
    asked = spec.make_spec(dataset=dataset_id(dataset), algorithm=algorithm, **known, **settings)
    if strange is not None:
        asked = replace(asked, rule=record_of(strange, None, None, None).id)
    return asked, strange


def settings_of_rule(rule: StoppingRule | str) -> dict[str, Any] | None:
    """A rule as arguments of `make_spec`; None for an instance that is not registered.

    Raises: InputError for what is no rule.
    """
    if isinstance(rule, str):
        return {"rule": rule}
    check_rule(rule)
    given = stopping.settings_of(rule)
    return None if given is None else dict(given)


def check_rule(rule: object) -> None:
    """Refuse what cannot stop a run. Raises: InputError."""
    if isinstance(rule, type) or not callable(getattr(rule, "decide", None)):
        said = f"the class {rule.__name__}" if isinstance(rule, type) else repr(rule)
        raise InputError(
            f"the rule is {said}, which cannot decide; give an id ({', '.join(stopping.RULES)}), "
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
