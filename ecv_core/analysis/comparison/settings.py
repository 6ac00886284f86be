"""Specs of several runs -> their settings as text, field by field, those that differ first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from ecv_core.records.parameters import Params
from ecv_core.records.spec import SETTINGS, RunSpec
from ecv_core.stopping import RULES

_NO_ROW = "-"
"""What `Setting.row` says of a setting that no table of settings shows."""
ABSENT = "-"
"""What a field shows for a run that has no such setting."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """One setting of all runs."""

    name: str
    values: tuple[str, ...]
    """One for each run, in their order."""

    @property
    def differs(self) -> bool:
        """Whether the runs that have this setting do not all have the same."""
        return len(set(self.values) - {ABSENT}) > 1

    @property
    def some_runs_lack_it(self) -> bool:
        """Whether only the others have it, such as a parameter of another algorithm."""
        return ABSENT in self.values and len(set(self.values)) > 1


def compared_settings(specs: Sequence[RunSpec]) -> list[Field]:
    """Every setting of any spec; those that differ come first, then those that only some have."""
    tables = [spec_fields(spec) for spec in specs]
    # A dict, not a set: the names stay in their order.
    names = dict.fromkeys(chain.from_iterable(tables))
    fields = []
    for name in names:
        values = [table.get(name, ABSENT) for table in tables]
        fields.append(Field(name=name, values=tuple(values)))
    # False sorts before True, so the fields that differ come first.
    return sorted(fields, key=lambda field: (not field.differs, not field.some_runs_lack_it))


def spec_fields(spec: RunSpec) -> dict[str, str]:
    """Every setting that means something for a run, as text, in the order of the stages."""
    rule = RULES.get(spec.rule)
    settings_of_rule: Sequence[str] = ()
    if rule is not None:
        settings_of_rule = rule.run_settings
    fields: dict[str, str] = {}
    for name, setting in SETTINGS.items():
        if name == "params":
            fields |= _parameter_fields(spec.algorithm, spec.params)
        elif name == "split_params":
            fields |= _parameter_fields(spec.split, spec.split_params)
        elif name == "rule_params":
            fields |= rule_parameter_fields(spec)
        elif setting.of_rule and name not in settings_of_rule:
            continue  # The setting is one of another rule.
        elif setting.row != _NO_ROW:  # it has a row in tables of settings
            fields[setting.words] = _setting_text(spec, name)
    return fields


def rule_parameter_fields(spec: RunSpec) -> dict[str, str]:
    """The parameters of a run's rule, as text.

    Returns:
        A parameter with an option of its own, such as alpha, stands under its own name; any other
        under the rule's and its name.
    """
    # These are the names of parameters that have an option of their own.
    own_names = {}
    rule = RULES.get(spec.rule)
    if rule is not None:
        for parameter in rule.parameters:
            if parameter.flag:
                own_names[parameter.name] = parameter.words
    fields = {}
    for name, value in spec.rule_params:
        field = own_names.get(name, f"{spec.rule}: {name}")
        text = str(value)
        if isinstance(value, float):
            text = f"{value:g}"
        fields[field] = text or "none"
    return fields


def _parameter_fields(owner: str, params: Params) -> dict[str, str]:
    """Parameters of an algorithm or a split, as text, under its id and their names."""
    return {f"{owner}: {name}": str(value) for name, value in params}


def _setting_text(spec: RunSpec, name: str) -> str:
    if name == "split" and spec.folds_sha256:
        return f"file {spec.folds_sha256[:8]}"
    if name == "metric":
        return spec.metric_name
    if name == "negatives" and spec.negatives is not None:
        return f"{spec.negatives}, {spec.negative_sampling}"
    return _value_text(getattr(spec, name))


def _value_text(value: object) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "all"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
