"""Any split as a ZIP archive that others can use: plain CSV or RecBole's benchmark files."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from ecv_core.records.errors import FoldsError, InputError, shown
from ecv_core.records.interactions import Folds, Interactions, Part
from ecv_core.splits.exchange.files import (
    IMPORTED,
    ZIP_MAGIC,
    csv_text,
    deals,
    disarmed_ids,
    folds_csv,
    id_columns,
    mismatch,
    pairs_of,
    parse,
    read_bytes,
    read_folds,
)
from ecv_core.splits.fold_matrices import checked_parts
from ecv_core.splits.part_counts import PartCounts, day, fold_parts, leakage
from ecv_core.splits.registry import SPLITS
from ecv_core.splits.strategies import MAX_K
from ecv_core.untrusted.files import DAMAGED, read_at_most
from ecv_core.untrusted.limits import MAX_FOLDS_BYTES, MAX_FOLDS_TABLE, MEGABYTE

# A split in words: how it was made and what is in it, as papers ask authors to release.


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
    twice = (
        " This split has no validation part, and RecBole wants one: the line above names the test "
        "part twice. Train for a fixed number of epochs then (`stopping_step` no smaller than "
        "`epochs`, and evaluate the last epoch), or RecBole chooses by test scores."
    )
    return [
        f"A folder per fold, each a dataset of RecBole: put `{name}` into RecBole's `data_path` "
        "and set",
        "",
        f"    dataset: {name}",
        f"    benchmark_filename: [part1, {'part2' if validated else 'part3'}, part3]",
        "    eval_args: {mode: full}",
        "",
        "part1 is for training, part2 for validation, part3 for testing." + twice * (not validated),
    ]


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


CSV, RECBOLE = "csv", "recbole"
FORMS = (CSV, RECBOLE)
"""What an archive can hold."""

WORDS = {Part.TRAIN: "train", Part.VALIDATION: "validation", Part.TEST: "test"}
"""The parts that are written, as the column 'part' names them; the others are left out."""
RECBOLE_PARTS = {Part.TRAIN: "part1", Part.VALIDATION: "part2", Part.TEST: "part3"}

_OLD = (1980, 1, 1, 0, 0, 0)  # the same split gives the same bytes on every day


def split_archive(
    interactions: Interactions,
    folds: Folds,
    *,
    form: str = CSV,
    facts: Sequence[tuple[str, str]] = (),
) -> bytes:
    """The split as a ZIP archive with a README that says how it was made and what it holds.

    'csv' has one `folds.csv` (`user_id,item_id,fold`) where every interaction is held out exactly
    once, else one `fold-<i>.csv` (`user_id,item_id,part`) per fold. 'recbole' has a folder per
    fold, each a dataset of RecBole with benchmark files. What a fold does not use is left out. The
    same split and facts give the same bytes.

    Args:
        interactions: the prepared dataset that the folds are of.
        folds: the split.
        form: one of FORMS.
        facts: (name, text) pairs about the data for the README: citation, licence, filtering.
    Raises: InputError for another form; FoldsError if the folds belong to other interactions.
    """
    if form not in FORMS:
        raise InputError(f"a split is exported as {' or '.join(FORMS)}, not as '{form}'")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:

        def put(name: str, content: bytes) -> None:
            info = zipfile.ZipInfo(name, _OLD)
            info.external_attr = 0o644 << 16
            archive.writestr(info, content, zipfile.ZIP_DEFLATED, compresslevel=6)

        put("README.md", readme(interactions, folds, form=form, facts=facts).encode())
        put("split.json", _description(interactions, folds, form))
        files = _csv_files if form == CSV else _recbole_files
        for name, content in files(interactions, folds):
            put(name, content)
    return out.getvalue()


def _description(interactions: Interactions, folds: Folds, form: str) -> bytes:
    data = {
        "dataset": interactions.dataset,
        "strategy": folds.strategy,
        "params": dict(folds.params),
        "seed": folds.seed,
        "k": folds.k,
        "form": form,
        "users": interactions.n_users,
        "items": interactions.n_items,
        "interactions": len(interactions),
    }
    return json.dumps(data, indent=1).encode() + b"\n"


def _csv_files(interactions: Interactions, folds: Folds) -> Iterator[tuple[str, bytes]]:
    if deals(folds):
        yield "folds.csv", folds_csv(interactions, folds)
        return
    words = pa.array([WORDS.get(part, "") for part in Part])
    for index in range(folds.k):
        parts = checked_parts(interactions, folds, index)
        rows = np.flatnonzero(np.isin(parts, list(WORDS)))
        columns = disarmed_ids(interactions, rows)
        columns["part"] = words.take(pa.array(parts[rows]))
        yield f"fold-{index}.csv", csv_text(columns)


def _recbole_files(interactions: Interactions, folds: Folds) -> Iterator[tuple[str, bytes]]:
    for index in range(folds.k):
        parts = checked_parts(interactions, folds, index)
        name = f"{interactions.dataset}-{index}"
        for part, ending in RECBOLE_PARTS.items():
            rows = np.flatnonzero(parts == part)
            if len(rows):
                columns = _recbole_columns(interactions, rows)
                yield f"{name}/{name}.{ending}.inter", csv_text(columns, delimiter="\t")


def _recbole_columns(interactions: Interactions, rows: NDArray[np.intp]) -> dict[str, pa.Array]:
    """RecBole's atomic columns with their types: ids, and rating and time where there are any."""
    ids = id_columns(interactions, rows)
    columns = {f"{name}:token": values for name, values in ids.items()}
    for name, values in (
        ("rating:float", interactions.ratings),
        ("timestamp:float", interactions.timestamps),
        ("basket:float", interactions.baskets),
    ):
        if values is not None:
            columns[name] = pa.array(values[rows])
    return columns


# A split archive, ours or another's in the same form, back into folds.


_FOLD = re.compile(r"fold-?(\d{1,5})\.csv")

"""How reading a damaged archive fails, beside BadZipFile."""


def read_split(source: Path | bytes, interactions: Interactions) -> Folds:
    """A split from a fold file (see `read_folds`) or from a ZIP archive of `split_archive` as CSV.

    What an archive leaves out of a fold is neither learnt from nor held out there.

    Args:
        source: the file, as a path or as its content.
        interactions: the prepared dataset that the split is of.
    Returns: strategy 'imported', seed None.
    Raises: FoldsError if the file cannot be read, is of another form, or does not fit the dataset.
    """
    name = f"the split archive {source.name}" if isinstance(source, Path) else "the split archive"
    content = source if isinstance(source, bytes) else read_bytes(source, name)
    if not content.startswith(ZIP_MAGIC):
        return read_folds(source, interactions)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _folds(archive, name, interactions)
    except DAMAGED as error:
        raise FoldsError(f"{name} is damaged or encrypted ({error}); get it again") from error


def _folds(archive: zipfile.ZipFile, name: str, interactions: Interactions) -> Folds:
    def member(path: str) -> bytes:
        kind = archive.getinfo(path).compress_type
        if kind not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FoldsError(f"{name} is packed in a rare way; pack it again as usual")
        with archive.open(path) as file:
            content = read_at_most(file.read, MAX_FOLDS_BYTES)
        if len(content) > MAX_FOLDS_BYTES:
            most = MAX_FOLDS_BYTES // MEGABYTE
            raise FoldsError(f"{path} in {name} is larger than {most} MiB unpacked")
        return content

    paths = {path: PurePosixPath(path).name for path in sorted(archive.namelist())}
    whole = [path for path, file in paths.items() if file == "folds.csv"]
    if whole:
        return read_folds(member(whole[0]), interactions)
    numbers = {
        int(found[1]): path for path, file in paths.items() if (found := _FOLD.fullmatch(file))
    }
    if not numbers:
        raise FoldsError(
            f"{name} holds no split: it must hold folds.csv (user_id,item_id,fold), or fold-0.csv, "
            "fold-1.csv, ... (user_id,item_id,part)"
        )
    if len(numbers) > MAX_K or sorted(numbers) != list(range(len(numbers))):
        missing = min(set(range(len(numbers))) - set(numbers), default=MAX_K)
        raise FoldsError(f"{name} has no fold-{missing}.csv; number the folds from 0 without gaps")
    if len(numbers) * len(interactions) > MAX_FOLDS_TABLE:
        raise FoldsError(
            f"{name} has {len(numbers):,} folds of {len(interactions):,} interactions, more than "
            f"can be held (at most {MAX_FOLDS_TABLE:,} in all); leave some folds out"
        )
    table = np.stack(
        [
            _parts(member(numbers[index]), f"{numbers[index]} in {name}", interactions)
            for index in range(len(numbers))
        ]
    )
    for index, parts in enumerate(table):
        for part in (Part.TRAIN, Part.TEST):
            if not np.any(parts == part):
                raise FoldsError(
                    f"fold {index} of the split archive has no {WORDS[part]} interactions"
                )
    return Folds(strategy=IMPORTED, k=len(table), seed=None, draw=lambda index: table[index].copy())


def _parts(content: bytes, name: str, interactions: Interactions) -> NDArray[np.int8]:
    """The Part of each interaction from a table with a column 'part', UNUSED for those it lacks.

    Raises: FoldsError for a pair that the dataset does not have, or that comes twice.
    """
    table = parse(content, name, ("user_id", "item_id", "part"))
    codes = compute.index_in(table["part"], value_set=pa.array(list(WORDS.values())))
    if codes.null_count:
        wrong = shown(table["part"].filter(codes.is_null())[0])
        raise FoldsError(f"{name} has a part '{wrong}'; parts are {', '.join(WORDS.values())}")
    values = np.array(list(WORDS), dtype=np.int8)[np.asarray(codes)]
    given, wanted = pairs_of(table, name, interactions)
    at = np.searchsorted(wanted.sorted, given.sorted)
    at = np.minimum(at, len(wanted.sorted) - 1)
    if np.any(wanted.sorted[at] != given.sorted) or np.any(np.diff(given.sorted) == 0):
        raise FoldsError(f"{name} {mismatch(given, wanted, interactions)}")
    parts = np.full(len(interactions), Part.UNUSED, dtype=np.int8)
    parts[wanted.order[at]] = values[given.order]
    return parts
