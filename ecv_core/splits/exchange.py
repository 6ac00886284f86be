"""Released folds travel: CSV of `user_id,item_id,fold`, and ZIP archives of any split, and back."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import compute, csv

from ecv_core.records.arrays import Codes, Ids, Indices, Mask
from ecv_core.records.errors import FoldsError, shown
from ecv_core.records.interactions import Folds, Interactions, Part
from ecv_core.records.parameters import percent_text
from ecv_core.splits.parts import (
    FoldParts,
    Leakage,
    PartCounts,
    checked_parts,
    day,
    fold_parts,
    leakage,
)
from ecv_core.splits.registry import SPLITS
from ecv_core.splits.strategies import IMPORTED, MAX_K, Assignment, Parts
from ecv_core.untrusted.disarming import armed, disarmed
from ecv_core.untrusted.files import DAMAGED, content_of, read_at_most, replacing
from ecv_core.untrusted.limits import MAX_FOLDS_BYTES, MAX_FOLDS_TABLE, MEGABYTE

# Fold files on disk: read, written in one step, and kept under their content's hash.


GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"
SUFFIXES = {GZIP_MAGIC: ".csv.gz", ZIP_MAGIC: ".zip"}
"""What a stored file is called, by its first bytes; anything else is plain CSV."""


def store_folds(source: Path | bytes, folder: Path) -> str:
    """Keep a copy of a fold file or split archive under its content's hash, and return that hash.

    Args:
        source: The file, as a path or as its content.
        folder: Where copies are kept; made when missing.

    Returns:
        The SHA-256 of the content, as RunSpec.folds_sha256 names it.

    Raises:
        FoldsError: If the file cannot be read or the copy not written.
    """
    content = _source_content(source)
    sha256 = hashlib.sha256(content).hexdigest()
    suffix = ".csv"
    for magic, suffix_of_packed in SUFFIXES.items():
        if content.startswith(magic):
            suffix = suffix_of_packed
    write_bytes(folder / f"{sha256}{suffix}", content, readable_by_others=False)
    return sha256


def stored_folds_path(folder: Path, sha256: str) -> Path:
    """Where `store_folds` keeps the file with this hash.

    Raises:
        FoldsError: If it is not there, or is no longer what was stored.
    """
    if re.fullmatch("[0-9a-f]{64}", sha256) is None:  # it becomes a file name
        raise FoldsError(f"'{sha256}' is not the SHA-256 of a fold file; import the file again")
    for suffix in (*SUFFIXES.values(), ".csv"):
        path = folder / f"{sha256}{suffix}"
        if path.is_file():
            if hashlib.sha256(read_bytes(path, "the stored fold file")).hexdigest() != sha256:
                raise FoldsError(f"the stored fold file {path} is damaged; import the file again")
            return path
    raise FoldsError(f"no fold file {sha256} is stored in {folder}; import the file again")


def _source_name(source: Path | bytes, kind: str) -> str:
    """What to call a file in an error: 'the fold file', and its name where it has one."""
    if isinstance(source, Path):
        return f"{kind} {source.name}"
    return kind


def _source_content(source: Path | bytes) -> bytes:
    """The bytes of a file, which may be given as its content. Raises: FoldsError."""
    if isinstance(source, bytes):
        return source
    return read_bytes(source, _source_name(source, "the fold file"))


def read_bytes(path: Path, name: str) -> bytes:
    """The file's content; `name` is what to call it in an error. Raises: FoldsError."""
    try:
        return content_of(path, at_most=MAX_FOLDS_BYTES)
    except OSError as error:
        raise FoldsError(
            f"{name} cannot be read ({error.strerror or error}); check its path and permissions"
        ) from error


def write_bytes(path: Path, content: bytes, *, readable_by_others: bool = True) -> None:
    """Write in one step: a reader sees the old file or the whole new one. Raises: FoldsError."""
    try:
        with replacing(path, readable_by_others=readable_by_others) as part:
            part.write_bytes(content)
    except OSError as error:
        raise FoldsError(
            f"the fold file {path} cannot be written ({error.strerror or error}); "
            "free space or choose another folder"
        ) from error


# Bytes of a fold file -> what it says of each interaction of a dataset.


class Labels(NamedTuple):
    """What each row of a fold file says of an interaction: its fold, or its part in a fold."""

    texts: pa.ChunkedArray
    """What is said, as text; shape (rows,)."""
    interactions: Indices
    """Of which interaction, by its number; shape (rows,)."""


def read_labels(content: bytes, name: str, label: str, interactions: Interactions) -> Labels:
    """What a CSV says of interactions of a dataset, in its columns user_id, item_id and a label.

    Args:
        content: The text in UTF-8; rows in any order, further columns are ignored.
        name: What to call it in an error.
        label: The name of the third column.
        interactions: The prepared dataset.

    Raises:
        FoldsError: If it cannot be read, has a row of no interaction, or two of one.
    """
    table = parse(content, name, ("user_id", "item_id", label))
    dataset = interactions.dataset
    users = _codes_of_ids(table["user_id"], interactions.user_ids, "user", name, dataset)
    items = _codes_of_ids(table["item_id"], interactions.item_ids, "item", name, dataset)
    indices = compute.index_in(
        _pair_keys(interactions, users, items),
        value_set=_pair_keys(interactions, interactions.users, interactions.items),
    )
    unknown_rows = np.flatnonzero(indices.is_null())
    if len(unknown_rows):
        example = _pair_example(interactions, users[unknown_rows[0]], items[unknown_rows[0]])
        raise FoldsError(
            f"{name} has {len(unknown_rows)} rows that are not interactions of {dataset} after "
            f"preparation, {example}; use folds of the prepared dataset"
        )
    interaction_of_row = np.asarray(indices, dtype=np.intp)
    row_counts = np.bincount(interaction_of_row, minlength=len(interactions))
    if row_counts.max() > 1:
        repeats = len(interaction_of_row) - np.count_nonzero(row_counts)
        example = _interaction_example(interactions, row_counts > 1)
        raise FoldsError(
            f"{name} repeats {repeats} interactions, {example}; give each exactly one {label}"
        )
    return Labels(table[label], interaction_of_row)


def _pair_keys(interactions: Interactions, users: Codes, items: Codes) -> pa.Array:
    """One number for each pair of a user and an item."""
    return pa.array(users.astype(np.int64) * interactions.n_items + items)


def _pair_example(interactions: Interactions, user: np.int32, item: np.int32) -> str:
    return f"e.g. user {interactions.user_ids[user]}, item {interactions.item_ids[item]}"


def _interaction_example(interactions: Interactions, is_chosen: Mask) -> str:
    """The first of the chosen interactions as an example."""
    first = np.argmax(is_chosen)
    return _pair_example(interactions, interactions.users[first], interactions.items[first])


def _codes_of_ids(column: pa.ChunkedArray, ids: Ids, kind: str, name: str, dataset: str) -> Codes:
    """The number of each id of a column. Raises: FoldsError for an id that is not there."""
    value_set = pa.array(ids)
    # If a spreadsheet would take an id for a formula, our exports put an apostrophe in front of it,
    # which `armed` takes off again. Another program's file may have ids that begin with one.
    codes = compute.index_in(armed(column), value_set=value_set)
    if codes.null_count:
        codes = compute.coalesce(codes, compute.index_in(column, value_set=value_set))
    if codes.null_count:
        unknown = column.filter(codes.is_null())
        raise FoldsError(
            f"{name} names {len(unknown.unique())} {kind}s that {dataset} does not have after "
            f"preparation, e.g. '{shown(unknown[0])}' ({len(unknown)} rows); "
            "use folds of the prepared dataset"
        )
    return np.asarray(codes, dtype=np.int32)


def parse(content: bytes, name: str, columns: tuple[str, ...]) -> pa.Table:
    """Columns of a CSV, as text.

    Args:
        content: The text in UTF-8; further columns are ignored.
        name: What to call it in an error.
        columns: The names wanted, in this order.

    Raises:
        FoldsError.
    """
    first_line = ",".join(columns)
    try:
        if not content.strip():
            raise FoldsError(f"{name} is empty; its first line must be {first_line}")
        if b"\0" in content[:10_000]:
            raise FoldsError(f"{name} is not a CSV file: it has bytes that no text has")
        options = csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.string()), include_columns=list(columns)
        )
        return csv.read_csv(pa.BufferReader(content), convert_options=options)
    except pa.ArrowKeyError as error:
        missing = next(column for column in columns if f"'{column}'" in str(error))
        raise FoldsError(
            f"{name} has no column {missing}; its first line must be {first_line}"
        ) from error
    except pa.ArrowInvalid as error:
        raise FoldsError(
            f"{name} is not a readable CSV ({str(error).splitlines()[0]}); "
            f"give one line {first_line} and then one line per interaction"
        ) from error


def _unpacked(content: bytes, name: str) -> bytes:
    """The text of a fold file, unpacked if it was packed by gzip. Raises: FoldsError."""
    if content.startswith(GZIP_MAGIC):
        try:
            with gzip.open(io.BytesIO(content)) as file:
                content = read_at_most(file.read, MAX_FOLDS_BYTES)
        except DAMAGED as error:
            raise FoldsError(
                f"{name} is a damaged or truncated gzip file ({error}); get it again"
            ) from error
        if content.startswith((GZIP_MAGIC, ZIP_MAGIC)):
            raise FoldsError(f"{name} is packed twice; unpack it once and give the unpacked file")
    _check_size(content, name)
    return content


def _check_size(content: bytes, name: str) -> None:
    """Refuse what is too large to be a fold file. Raises: FoldsError."""
    if len(content) > MAX_FOLDS_BYTES:
        most = MAX_FOLDS_BYTES // MEGABYTE
        raise FoldsError(f"{name} is larger than {most} MiB unpacked; is it a fold file?")


def _folds_of_csv(content: bytes, name: str, interactions: Interactions) -> Folds:
    """Folds from a file that gives every interaction exactly one fold, numbered from 0.

    Args:
        content: A CSV or gzipped CSV; rows in any order, further columns are ignored.
        name: What to call it in an error.
        interactions: The prepared dataset that the folds are of.

    Returns:
        Strategy 'imported', seed None, k = highest fold + 1.

    Raises:
        FoldsError: If the file cannot be read, lacks a column, misses or repeats an interaction,
            names one that is not there, or has an odd fold number, an empty fold, or only one fold.
    """
    labels = read_labels(_unpacked(content, name), name, "fold", interactions)
    is_missing = np.ones(len(interactions), dtype=np.bool_)
    is_missing[labels.interactions] = False
    if is_missing.any():
        raise FoldsError(
            f"{name} misses {np.count_nonzero(is_missing)} of the {len(interactions)} interactions "
            f"of {interactions.dataset}, {_interaction_example(interactions, is_missing)}; "
            "give each exactly one fold"
        )
    assignment = np.empty(len(interactions), dtype=np.int16)
    assignment[labels.interactions] = _fold_numbers(labels.texts, name)
    fold_sizes = np.bincount(assignment)
    k = len(fold_sizes)
    empty_folds = np.flatnonzero(fold_sizes == 0)
    if len(empty_folds):
        raise FoldsError(
            f"{name} has folds up to {k - 1}, but {len(empty_folds)} of them are empty, e.g. "
            f"fold {empty_folds[0]}; number the folds from 0 without gaps"
        )
    if k < 2:
        raise FoldsError(f"{name} has only fold 0; at least 2 folds are needed")
    return Folds(strategy=IMPORTED, k=k, seed=None, assignment=assignment)


def folds_csv(interactions: Interactions, folds: Folds) -> bytes:
    """The folds as CSV text in UTF-8, one row per interaction in the order of the interactions.

    Raises:
        FoldsError: If they are no folds in which every interaction is held out exactly once.
    """
    if not holds_each_out_once(folds):
        raise FoldsError(
            f"the split '{folds.strategy}' does not hold every interaction out exactly once, so "
            "it cannot be one CSV of user_id,item_id,fold; export it as a ZIP archive"
        )
    checked_parts(interactions, folds, 0)  # This refuses folds of other interactions.
    columns = id_columns(interactions, np.arange(len(interactions)))
    columns["fold"] = pa.array(folds.assignment)
    return csv_text(columns)


def holds_each_out_once(folds: Folds) -> bool:
    """Whether every interaction is held out in exactly one fold and learnt from in the others."""
    return folds.assignment is not None and bool(folds.assignment.min() >= 0)


def id_columns(interactions: Interactions, rows: Indices) -> dict[str, pa.Array]:
    """The user and item ids of these interactions, for a file that a spreadsheet may open.

    Reading it undoes what disarms them.
    """
    users = pa.array(interactions.users[rows])
    items = pa.array(interactions.items[rows])
    return {
        "user_id": disarmed(pa.array(interactions.user_ids).take(users)),
        "item_id": disarmed(pa.array(interactions.item_ids).take(items)),
    }


def csv_text(columns: dict[str, pa.Array]) -> bytes:
    """Columns as CSV text in UTF-8 under a line with their names."""
    table = pa.table(columns)
    header = ",".join(columns).encode() + b"\n"
    try:
        return header + _rows_text(table, "none")
    except pa.ArrowInvalid:
        # This one quotes all text, so it is not tried first.
        return header + _rows_text(table, "needed")


def _rows_text(table: pa.Table, quoting: str) -> bytes:
    file = io.BytesIO()
    csv.write_csv(table, file, csv.WriteOptions(include_header=False, quoting_style=quoting))
    return file.getvalue()


def write_folds(path: Path, interactions: Interactions, folds: Folds) -> None:
    """Write the folds as CSV, gzipped where the name ends in .gz; never leaves half a file.

    The same folds give the same bytes. Raises: FoldsError if the file cannot be written.
    """
    content = folds_csv(interactions, folds)
    if path.suffix == ".gz":
        content = gzip.compress(content, compresslevel=6, mtime=0)
    write_bytes(path, content)


def _fold_numbers(column: pa.ChunkedArray, name: str) -> Assignment:
    """The column's texts as numbers of folds. Raises: FoldsError for what is none."""
    is_whole = compute.match_substring_regex(column, r"^\d{1,9}$")  # 9 digits fit in 32 bits
    # A text that is no whole number becomes a number that is too high, and is refused with these.
    numbers = compute.if_else(is_whole, column, str(MAX_K)).cast(pa.int32())
    refused = column.filter(compute.greater_equal(numbers, MAX_K))
    if len(refused):
        raise FoldsError(
            f"{name} has {len(refused)} rows whose fold is not a whole number below {MAX_K}, e.g. "
            f"'{shown(refused[0])}'; number the folds 0, 1, 2, ..."
        )
    return np.asarray(numbers, dtype=np.int16)


# A split in words: how it was made and what is in it, as papers ask authors to release.


def readme(interactions: Interactions, folds: Folds, *, facts: Sequence[tuple[str, str]]) -> str:
    """The README of an exported split, in Markdown; arguments as of `split_archive`."""
    strategy = SPLITS.get(folds.strategy)
    lines = [
        f"# A split of {interactions.dataset}",
        "",
        f"- **Dataset.** {interactions.dataset}, prepared: {interactions.n_users:,} users, "
        f"{interactions.n_items:,} items, {len(interactions):,} interactions",
    ]
    for name, text in facts:
        lines.append(f"- **{name}.** {text}")
    if strategy is None:
        lines.append(f"- **Strategy.** `{folds.strategy}`")
    else:
        lines.append(f"- **Strategy.** `{folds.strategy}`: {strategy.help}")
        lines.append(f"- **Source.** {strategy.source}")
    for parameter, value in folds.params:
        lines.append(f"- **Parameter `{parameter}`.** `{value}`")
    lines.append(f"- **Folds.** {folds.k}")
    if folds.seed is None:
        lines.append("- **Seed.** not known: read from a file")
    else:
        lines.append(f"- **Seed.** {folds.seed}")
    lines += ["", FILES_WORDS, "", "## What is in each part", ""]
    lines += _statistics_lines(interactions, folds)
    return "\n".join([*lines, ""])


FILES_WORDS = """## Files

`folds.csv` with `user_id,item_id,fold`: in fold i, the rows of fold i are held out and all others \
are learnt from. Splits that do not hold every interaction out exactly once have a `fold-<i>.csv` \
per fold instead, with `user_id,item_id,part`, where part is `train`, `validation` or `test`; \
interactions that a fold does not use are left out. `python -m ecv_core run DATASET ALGORITHM \
--folds THIS.zip` evaluates on the very same split."""
"""Of the README: what the other files hold."""


def _statistics_lines(interactions: Interactions, folds: Folds) -> list[str]:
    """A table of what is in each part, and a note for each fold, as lines of Markdown."""
    has_times = interactions.timestamps is not None
    columns = ["fold", "part", "users", "items", "interactions"]
    if interactions.baskets is not None:
        columns.append("baskets")
    if has_times:
        columns += ["from", "to"]
    table = [_table_line(columns), "|" + "---|" * len(columns)]
    notes = []
    for index in range(folds.k):
        parts = fold_parts(interactions, folds, index)
        for part, name in PART_NAMES.items():
            counts = parts.counts[part]
            if part is Part.VALIDATION and not counts.interactions:
                continue  # most splits have no such part
            cells = [str(index), name, *_count_cells(counts, has_times=has_times)]
            table.append(_table_line(cells))
        notes.append(_fold_note(index, parts, leakage(interactions, folds, index)))
    return [*table, "", *notes]


def _table_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _count_cells(counts: PartCounts, *, has_times: bool) -> list[str]:
    """The cells of a part: how much of everything it has, from when to when."""
    cells = [f"{counts.users:,}", f"{counts.items:,}", f"{counts.interactions:,}"]
    if counts.baskets is not None:
        cells.append(f"{counts.baskets:,}")
    if has_times:
        cells += [day(counts.first_time) or "-", day(counts.last_time) or "-"]
    return cells


def _fold_note(index: int, parts: FoldParts, leak: Leakage | None) -> str:
    """What training does not know of a fold, and how much of the future it knows."""
    unused = parts.counts[Part.UNUSED].interactions
    note = (
        f"- Fold {index}: {parts.unknown_interactions:,} test interactions have a user or item "
        f"that training lacks ({parts.unknown_users:,} users, {parts.unknown_items:,} items); "
        f"{parts.dropped:,} interactions were dropped as unknown, {unused:,} are not used."
    )
    if leak is None:
        return note
    shares = []
    for compared_with, share in (
        ("anyone's", leak.of_any_user),
        ("of the same item", leak.of_same_item),
        ("of the same user", leak.of_same_user),
    ):
        if share is not None:
            shares.append(f"{compared_with} {percent_text(share, '.1f')}")
    return (
        f"{note} Leakage, the share of training interactions that lie after the test interaction "
        f"they help to predict: {', '.join(shares) or 'not known'}."
    )


PART_NAMES = {Part.TRAIN: "train", Part.VALIDATION: "validation", Part.TEST: "test"}
"""The parts that are written, as the column 'part' names them; the others are left out."""

_ANY_DAY = (1980, 1, 1, 0, 0, 0)  # the same split gives the same bytes on every day
_MODE_IN_ZIP = 0o644 << 16  # the mode of a file is in the upper half of its attributes


def split_archive(
    interactions: Interactions, folds: Folds, *, facts: Sequence[tuple[str, str]] = ()
) -> bytes:
    """The split as a ZIP archive with a README that says how it was made and what it holds.

    It has one `folds.csv` (`user_id,item_id,fold`) where every interaction is held out exactly
    once, else one `fold-<i>.csv` (`user_id,item_id,part`) per fold. What a fold does not use is
    left out. The same split and facts give the same bytes.

    Args:
        interactions: The prepared dataset that the folds are of.
        folds: The split.
        facts: (name, text) pairs about the data for the README: citation, licence, filtering.

    Raises:
        FoldsError: If the folds belong to other interactions.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        text = readme(interactions, folds, facts=facts).encode()
        for name, content in [("README.md", text), *_csv_files(interactions, folds)]:
            info = zipfile.ZipInfo(name, _ANY_DAY)
            info.external_attr = _MODE_IN_ZIP
            archive.writestr(info, content, zipfile.ZIP_DEFLATED, compresslevel=6)
    return file.getvalue()


def _csv_files(interactions: Interactions, folds: Folds) -> Iterator[tuple[str, bytes]]:
    """The name and the content of each CSV of an archive."""
    if holds_each_out_once(folds):
        yield "folds.csv", folds_csv(interactions, folds)
        return
    # The name of each part, by the number that it has in `parts`. A part that is not written has an
    # empty name.
    name_of_part = pa.array([PART_NAMES.get(part, "") for part in sorted(Part)])
    for index in range(folds.k):
        parts = checked_parts(interactions, folds, index)
        rows = np.flatnonzero(np.isin(parts, list(PART_NAMES)))
        columns = id_columns(interactions, rows)
        columns["part"] = name_of_part.take(pa.array(parts[rows]))
        yield f"fold-{index}.csv", csv_text(columns)


# A split archive, ours or another's in the same form, back into folds.


_FOLD = re.compile(r"fold-?(\d{1,5})\.csv")


def read_split(source: Path | bytes, interactions: Interactions) -> Folds:
    """A split from a fold file or from a ZIP archive, as `folds_csv` and `split_archive` make them.

    What an archive leaves out of a fold is neither learnt from nor held out there.

    Args:
        source: The file, as a path or as its content; a fold file may be packed by gzip.
        interactions: The prepared dataset that the split is of.

    Returns:
        Strategy 'imported', seed None.

    Raises:
        FoldsError: If the file cannot be read, is of another form, or does not fit the dataset.
    """
    content = _source_content(source)
    if not content.startswith(ZIP_MAGIC):
        return _folds_of_csv(content, _source_name(source, "the fold file"), interactions)
    name = _source_name(source, "the split archive")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _read_archive(archive, name, interactions)
    except DAMAGED as error:
        raise FoldsError(f"{name} is damaged or encrypted ({error}); get it again") from error


def _read_archive(archive: zipfile.ZipFile, name: str, interactions: Interactions) -> Folds:
    """The folds of an opened archive: one file of all folds, or one of each. Raises: FoldsError."""
    paths = sorted(archive.namelist())
    for path in paths:
        if PurePosixPath(path).name == "folds.csv":
            return _folds_of_csv(_member(archive, path, name), f"{path} in {name}", interactions)
    parts_of_folds = []
    for index, path in enumerate(_fold_paths(paths, name, len(interactions))):
        content = _member(archive, path, name)
        parts = _read_parts(content, f"{path} in {name}", interactions)
        for part in (Part.TRAIN, Part.TEST):
            if not np.any(parts == part):
                raise FoldsError(
                    f"fold {index} of the split archive has no {PART_NAMES[part]} interactions"
                )
        parts_of_folds.append(parts)

    def draw(index: int) -> Parts:
        return parts_of_folds[index].copy()

    return Folds(strategy=IMPORTED, k=len(parts_of_folds), seed=None, draw=draw)


def _member(archive: zipfile.ZipFile, path: str, name: str) -> bytes:
    """The bytes of a file in an archive, as far as a fold file can be large. Raises: FoldsError."""
    kind = archive.getinfo(path).compress_type
    if kind not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FoldsError(f"{name} uses an unusual compression; pack it again in the usual way")
    with archive.open(path) as file:
        content = read_at_most(file.read, MAX_FOLDS_BYTES)
    _check_size(content, f"{path} in {name}")
    return content


def _fold_paths(paths: Sequence[str], name: str, interaction_count: int) -> list[str]:
    """The paths of fold-0.csv, fold-1.csv, ... in an archive, in the order of the folds.

    Args:
        paths: The paths of everything in the archive.
        name: What to call it in an error.
        interaction_count: How many the dataset has; a byte of memory is needed for each and fold.

    Raises:
        FoldsError: If there are none, too many, or one is missing between others.
    """
    path_of_fold: dict[int, str] = {}
    for path in paths:
        match = _FOLD.fullmatch(PurePosixPath(path).name)
        if match:
            path_of_fold[int(match[1])] = path
    if not path_of_fold:
        raise FoldsError(
            f"{name} holds no split: it must hold folds.csv (user_id,item_id,fold), or fold-0.csv, "
            "fold-1.csv, ... (user_id,item_id,part)"
        )
    if len(path_of_fold) > MAX_K or len(path_of_fold) * interaction_count > MAX_FOLDS_TABLE:
        raise FoldsError(
            f"{name} has {len(path_of_fold):,} folds of {interaction_count:,} interactions, more "
            f"than can be held (at most {MAX_FOLDS_TABLE:,} in all); leave some folds out"
        )
    paths_in_order = []
    for index in range(len(path_of_fold)):
        if index not in path_of_fold:
            raise FoldsError(
                f"{name} has no fold-{index}.csv; number the folds from 0 without gaps"
            )
        paths_in_order.append(path_of_fold[index])
    return paths_in_order


def _read_parts(content: bytes, name: str, interactions: Interactions) -> Parts:
    """The Part of each interaction from a table with a column 'part', UNUSED for those it lacks.

    Raises:
        FoldsError: For a pair that the dataset does not have, or that comes twice.
    """
    labels = read_labels(content, name, "part", interactions)
    codes = compute.index_in(labels.texts, value_set=pa.array(list(PART_NAMES.values())))
    if codes.null_count:
        unknown = shown(labels.texts.filter(codes.is_null())[0])
        raise FoldsError(
            f"{name} has a part '{unknown}'; parts are {', '.join(PART_NAMES.values())}"
        )
    part_of_code = np.array(list(PART_NAMES), dtype=np.int8)
    parts = np.full(len(interactions), Part.UNUSED, dtype=np.int8)
    parts[labels.interactions] = part_of_code[np.asarray(codes)]
    return parts
