"""Several specs -> their settings field by field, which of them differ, and names to tell runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ecv_core.records.run import Run
from ecv_core.records.spec import SETTINGS, RunSpec
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
    known_rule = RULES.get(spec.rule)
    told = known_rule.told if known_rule else ()
    found: dict[str, str] = {}
    for name, known in SETTINGS.items():
        if name == "params":
            found |= {f"{spec.algorithm}: {one}": str(value) for one, value in spec.params}
        elif name == "split_params":
            found |= {f"{spec.split}: {one}": str(value) for one, value in spec.split_params}
        elif name == "rule_params":
            found |= _rule_fields(spec)
        elif known.row != "-" and (not known.of_rule or name in told):
            found[known.words] = _text(spec, name)
    return found


def _rule_fields(spec: RunSpec) -> dict[str, str]:
    """The parameters of a run's rule: those with an option of their own by their name alone."""
    rule = RULES.get(spec.rule)
    known = {one.name: one for one in rule.parameters} if rule else {}
    return {
        known[name].words if name in known and known[name].flag else f"{spec.rule}: {name}": (
            f"{value:g}" if isinstance(value, float) else str(value) or "none"
        )
        for name, value in spec.rule_params
    }


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


def names(runs: Sequence[Run], title: Callable[[str], str] = str) -> list[str]:
    """A short name per run, different from any other's on the same dataset and metric.

    What differs: the algorithm; where several runs have the same, the settings in which those
    differ; where these are the same too, the run's id. Without the algorithm where all runs on
    the dataset and metric have the same and something else tells them apart.

    Args:
        runs: any.
        title: of an algorithm's id; by default the id itself.
    """
    panels: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for at, run in enumerate(runs):
        panels[(run.spec.dataset, run.spec.metric_name)].append(at)
    found = [""] * len(runs)
    for panel in panels.values():
        of_algorithm: defaultdict[str, list[int]] = defaultdict(list)
        for at in panel:
            of_algorithm[runs[at].spec.algorithm].append(at)
        for algorithm, group in of_algorithm.items():
            told = _told_apart([runs[at].spec for at in group])
            for at, words in zip(group, told, strict=True):
                one_algorithm = len(of_algorithm) == 1 and all(told)
                found[at] = (
                    words if one_algorithm else ", ".join(filter(None, (title(algorithm), words)))
                )
                if told.count(words) > 1:
                    found[at] += f" ({runs[at].run_id[:6]})"
    return found


_OF_NO_SCORE = tuple(SETTINGS[name].words for name in ("full", "country"))
"""Named only where nothing else tells runs apart."""


def _told_apart(specs: Sequence[RunSpec]) -> list[str]:
    """Per spec what tells it from the others, in a few words; empty where nothing does."""
    rules = [_rule_in_short(spec) for spec in specs]
    of_rule = {SETTINGS["rule"].words, SETTINGS["min_folds"].words}
    of_rule |= {name for spec in specs for name in _rule_fields(spec)}
    others = [
        one
        for one in differences(specs)
        if one.differs and (one.name not in of_rule or _unsaid(one, rules))
    ]
    first = [one for one in others if one.name not in _OF_NO_SCORE]
    for chosen in (first, others):
        told = [
            ", ".join(
                ([rules[at]] if len(set(rules)) > 1 else [])
                + [f"{one.name.split(': ')[-1]} {one.values[at]}" for one in chosen]
            )
            for at in range(len(specs))
        ]
        if len(set(told)) == len(told):
            break
    return told


def _unsaid(field: Field, rules: Sequence[str]) -> bool:
    """Whether a setting of the rule differs between runs of which the rule's words are the same."""
    return len(set(zip(rules, field.values, strict=True))) > len(set(rules))


def _rule_in_short(spec: RunSpec) -> str:
    """'alpha 1e-4', 'precision 3 %', 'fixed 5', 'never'."""
    known = RULES.get(spec.rule)
    return known.words(spec, alone=True) if known else spec.rule
