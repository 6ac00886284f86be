"""A split in words: how it was made and what is in it, as papers ask authors to release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ecv_core.records import Folds, Interactions, Part
from ecv_core.splits.leakage import leakage
from ecv_core.splits.part_counts import PartCounts, day, fold_parts
from ecv_core.splits.registry import SPLITS

_SHOWN = (Part.TRAIN, Part.VALIDATION, Part.TEST)


def readme(
    interactions: Interactions, folds: Folds, *, form: str, facts: Sequence[tuple[str, str]] = ()
) -> str:
    """The README of an exported split, in Markdown.

    Args:
        interactions: the prepared dataset that the folds are of.
        folds: the split.
        form: 'csv' or 'recbole'.
        facts: (name, text) pairs about the data: citation, licence, filtering.
    """
    strategy = SPLITS.get(folds.strategy)
    rows = [
        (
            "Dataset",
            f"{interactions.dataset}, prepared: {interactions.n_users:,} users, "
            f"{interactions.n_items:,} items, {len(interactions):,} interactions",
        ),
        *facts,
        ("Strategy", f"`{folds.strategy}`" + (f": {strategy.help}" if strategy else "")),
        *([("Source", strategy.source)] if strategy else []),
        *((f"Parameter `{name}`", f"`{value}`") for name, value in folds.params),
        ("Folds", str(folds.k)),
        ("Seed", "not known: read from a file" if folds.seed is None else str(folds.seed)),
    ]
    lines = [
        f"# A split of {interactions.dataset}",
        "",
        *(f"- **{name}.** {text}" for name, text in rows),
        "",
        "## Files",
        "",
        *(_recbole_words(interactions, folds) if form == "recbole" else _csv_words(folds)),
        "",
        "## What is in each part",
        "",
        *_statistics(interactions, folds),
        "",
    ]
    return "\n".join(lines)


def _csv_words(folds: Folds) -> list[str]:
    return [
        "`folds.csv` with `user_id,item_id,fold`: in fold i, the rows of fold i are held out and "
        "all others are learnt from. Splits that do not hold every interaction out exactly once "
        "have a `fold-<i>.csv` per fold instead, with `user_id,item_id,part`, where part is "
        "`train`, `validation` or `test`; interactions that a fold does not use are left out.",
        "",
        "`split.json` says the same as this text for programs. `python -m ecv_core run DATASET "
        "ALGORITHM --folds THIS.zip` evaluates on the very same split.",
    ]


def _recbole_words(interactions: Interactions, folds: Folds) -> list[str]:
    name = f"{interactions.dataset}-0"
    validated = fold_parts(interactions, folds, 0).counts[Part.VALIDATION].interactions > 0
    parts = "[part1, part2, part3]" if validated else "[part1, part3, part3]"
    lines = [
        f"A folder per fold, each a dataset of RecBole: put `{name}` into RecBole's `data_path` "
        "and set",
        "",
        f"    dataset: {name}",
        f"    benchmark_filename: {parts}",
        "    eval_args: {mode: full}",
        "",
        "part1 is for training, part2 for validation, part3 for testing.",
    ]
    if not validated:
        lines[-1] += (
            " This split has no validation part, and RecBole wants one: the line above names the "
            "test part twice. Train for a fixed number of epochs then (`stopping_step` no smaller "
            "than `epochs`, and evaluate the last epoch), or RecBole chooses by test scores."
        )
    return lines


def _statistics(interactions: Interactions, folds: Folds) -> Iterator[str]:
    baskets = " baskets |" if interactions.baskets is not None else ""
    times = " from | to |" if interactions.timestamps is not None else ""
    yield f"| fold | part | users | items | interactions |{baskets}{times}"
    yield "|" + "---|" * (5 + bool(baskets) + 2 * bool(times))
    notes = []
    for index in range(folds.k):
        found = fold_parts(interactions, folds, index)
        for part in _SHOWN:
            counts = found.counts[part]
            if counts.interactions or part is not Part.VALIDATION:
                yield f"| {index} | {part.name.lower()} |" + _cells(counts, bool(times))
        unused = found.counts[Part.UNUSED].interactions
        note = (
            f"- Fold {index}: {found.unknown_interactions:,} test interactions have a user or item "
            f"that training lacks ({found.unknown_users:,} users, {found.unknown_items:,} items); "
            f"{found.dropped:,} interactions were dropped as unknown, {unused:,} are not used."
        )
        leak = leakage(interactions, folds, index)
        if leak is not None:
            leaks = {
                "anyone's": leak.anyone,
                "of the same item": leak.item,
                "of the same user": leak.own,
            }
            shares = [f"{name} {share:.1%}" for name, share in leaks.items() if share is not None]
            note += (
                " Leakage, the share of training interactions that lie after the test interaction "
                f"they help to predict: {', '.join(shares) or 'not known'}."
            )
        notes.append(note)
    yield ""
    yield from notes


def _cells(counts: PartCounts, times: bool) -> str:
    cells = [f"{counts.users:,}", f"{counts.items:,}", f"{counts.interactions:,}"]
    cells += [] if counts.baskets is None else [f"{counts.baskets:,}"]
    cells += [day(counts.first) or "-", day(counts.last) or "-"] if times else []
    return "".join(f" {cell} |" for cell in cells)
