"""What a call of the library asks for -> a spec: a rule as an instance, a metric as 'ndcg@10'."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from ecv_core import stopping
from ecv_core.fold import spec
from ecv_core.library.in_memory import dataset_id
from ecv_core.records.errors import InputError, UnknownName
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import StoppingRule
from ecv_core.stopping.registering import record_of


def spec_for(
    dataset: object,
    algorithm: str,
    rule: StoppingRule | str | None,
    settings: dict[str, Any],
) -> tuple[RunSpec, StoppingRule | None]:
    """A checked spec, and the rule where it is an instance that no spec can name.

    Args:
        dataset: its id, or data in memory.
        algorithm: its id.
        rule: an instance, or an id; None for the usual one.
        settings: as of `fold.spec.make_spec`.
    Raises: InputError for what cannot be run, or a setting that is said twice.
    """
    known: dict[str, Any] = {}
    strange = None
    if isinstance(rule, str):
        known = {"rule": rule}
    elif rule is not None:
        check_rule(rule)
        given = stopping.settings_of(rule)
        strange = rule if given is None else None
        known = {"rule": stopping.NEVER_STOPS} if given is None else dict(given)
    accepted = {*inspect.signature(spec.make_spec).parameters, *stopping.said_by_name()}
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
        return spec.rule_of(
            spec.make_spec(dataset="synthetic", algorithm="popular", rule=rule, k=k)
        )
    check_rule(rule)
    return rule
