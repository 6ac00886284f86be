"""Several specs -> their settings field by field, which of them differ, and names to tell runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ecv_core.records import SETTINGS, Run, RunSpec
from ecv_core.stopping import RULES

ABSENT = "-"
"""What a field shows for a run that has no such setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One setting of all runs."""

    name: str
    values: tuple[str, ...]
    """One per run, in their order."""

    @property
    def differs(self) -> bool:
        """Whether the runs that have this setting do not all have the same."""
        return len(set(self.values) - {ABSENT}) > 1

    @property
    def partial(self) -> bool:
        """Whether only some runs have it, such as a parameter of another algorithm."""
        return ABSENT in self.values and len(set(self.values)) > 1


def spec_fields(spec: RunSpec) -> dict[str, str]:
    """Every setting that means something for this run, as text, in the order of the stages."""
    looked_at = RULES[spec.rule].settings if spec.rule in RULES else ()
    found: dict[str, str] = {}
    for name, known in SETTINGS.items():
        if name == "params":
            found |= {f"{spec.algorithm}: {one}": str(value) for one, value in spec.params}
        elif name == "split_params":
            found |= {f"{spec.split}: {one}": str(value) for one, value in spec.split_params}
        elif known.row != "-" and (not known.of_rule or name in looked_at):
            found[known.words] = _text(spec, name)
    return found


def _text(spec: RunSpec, name: str) -> str:
    value = getattr(spec, name)
    if name == "split" and spec.folds_sha256:
        return f"file {spec.folds_sha256[:8]}"
    if name == "metric":
        return spec.metric_name
    if name == "negatives" and value is not None:
        return f"{value}, {spec.negative_sampling}"
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "all"
    return f"{value:g}" if isinstance(value, float) else str(value)


def differences(specs: Sequence[RunSpec]) -> list[Field]:
    """Every setting of any of the specs: first those that differ, then those only some have."""
    tables = [spec_fields(spec) for spec in specs]
    names = list(dict.fromkeys(name for table in tables for name in table))
    fields = [
        Field(name=name, values=tuple(table.get(name, ABSENT) for table in tables))
        for name in names
    ]
    return sorted(fields, key=lambda field: (not field.differs, not field.partial))


def names(runs: Sequence[Run]) -> list[str]:
    """A short name per run, different from any other's on the same dataset and metric.

    The algorithm; where that is not enough, the settings in which such runs differ; where those
    are the same too, the run's id.
    """
    places: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
    for at, run in enumerate(runs):
        places[(run.spec.dataset, run.spec.metric_name, run.spec.algorithm)].append(at)
    found = [""] * len(runs)
    for (*_, algorithm), group in places.items():
        fields = [one for one in differences([runs[at].spec for at in group]) if one.differs]
        told = [
            ", ".join(f"{one.name.split(': ')[-1]} {one.values[place]}" for one in fields)
            for place in range(len(group))
        ]
        for at, words in zip(group, told, strict=True):
            found[at] = f"{algorithm}, {words}" if words else algorithm
            if told.count(words) > 1:
                found[at] += f" ({runs[at].run_id[:6]})"
    return found
