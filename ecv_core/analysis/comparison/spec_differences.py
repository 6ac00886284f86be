"""Several specs -> their settings field by field, which of them differ, and names to tell runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ecv_core.records import Run, RunSpec
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
    settings = RULES[spec.rule].settings if spec.rule in RULES else ()
    fields = {"dataset": spec.dataset, "algorithm": spec.algorithm}
    fields |= {f"{spec.algorithm}: {name}": str(value) for name, value in spec.params}
    fields["folds"] = f"file {spec.folds_sha256[:8]}" if spec.folds_sha256 else spec.split
    fields |= {f"{spec.split}: {name}": str(value) for name, value in spec.split_params}
    fields |= {
        "k": str(spec.k),
        "only folds": " ".join(map(str, spec.only_folds)) or "all",
        "seed": str(spec.seed),
        "metric": spec.metric_name,
        "candidates": spec.candidates,
        "sampled negatives": ABSENT
        if spec.negatives is None
        else f"{spec.negatives}, {spec.negative_sampling}",
        "stopping rule": spec.rule,
    }
    if "alpha" in settings:
        fields["alpha"] = f"{spec.alpha:g}"
    if "tolerance" in settings:
        fields["tolerance"] = f"{spec.tolerance:g}" if spec.tolerance is not None else ABSENT
    fields["confidence"] = f"{spec.confidence:g}"
    if "min_folds" in settings:
        fields["minimum folds"] = str(spec.min_folds)
    fields |= {
        "goes on after the stop": "yes" if spec.full else "no",
        "country": spec.country,
    }
    return fields


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
