"""Released folds travel: CSV of `user_id,item_id,fold`, and ZIP archives of any split, and back."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, csv

from ecv_core.records.errors import FoldsError, shown
from ecv_core.records.interactions import Folds, Interactions, Part
from ecv_core.splits.parts import checked_parts, day, fold_parts, leakage
from ecv_core.splits.registry import SPLITS
from ecv_core.splits.strategies import IMPORTED, MAX_K
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
        source: the file, as a path or as its content.
        folder: where copies are kept; made when missing.
    Returns: the SHA-256 of the content, as RunSpec.folds_sha256 names it.
    Raises: FoldsError if the file cannot be read or the copy not written.
    """
    content = (
        source if isinstance(source, bytes) else read_bytes(source, f"the fold file {source.name}")
    )
    sha256 = hashlib.sha256(content).hexdigest()
    suffix = next((end for magic, end in SUFFIXES.items() if content.startswith(magic)), ".csv")
    write_bytes(folder / f"{sha256}{suffix}", content, for_others=False)
    return sha256


def stored_folds_path(folder: Path, sha256: str) -> Path:
    """Where `store_folds` keeps the file with this hash.

    Raises: FoldsError if it is not there, or is no longer what was stored.
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


def read_bytes(path: Path, name: str) -> bytes:
    """The file's content; `name` is what to call it in an error. Raises: FoldsError."""
    try:
        return content_of(path, at_most=MAX_FOLDS_BYTES)
    except OSError as error:
        raise FoldsError(
            f"{name} cannot be read ({error.strerror or error}); check its path and permissions"
        ) from error


def write_bytes(path: Path, content: bytes, *, for_others: bool = True) -> None:
    """Write in one step: a reader sees the old file or the whole new one. Raises: FoldsError."""
    try:
        with replacing(path, for_others=for_others) as part:
            part.write_bytes(content)
    except OSError as error:
        raise FoldsError(
            f"the fold file {path} cannot be written ({error.strerror or error}); "
            "free space or choose another folder"
        ) from error


# Bytes of a fold file -> what it says of each interaction of a dataset.


def said_of(
    content: bytes, name: str, said: str, interactions: Interactions, *, of_all: bool = False
) -> tuple[pa.ChunkedArray, NDArray[np.intp]]:
    """What a CSV says of interactions of a dataset, in its columns user_id, item_id and another.

    Args:
        content: the text in UTF-8; rows in any order, further columns are ignored.
        name: what to call it in an error.
        said: the other column.
        interactions: the prepared dataset.
        of_all: refuse a file that says nothing of some of them.
    Returns: the other column as text, and the interaction that each of its rows is about.
    Raises: FoldsError if it cannot be read, has a row of no interaction, or two of one.
    """
    table = parse(content, name, ("user_id", "item_id", said))
    dataset, width = interactions.dataset, interactions.n_items
    users = _codes(table["user_id"], interactions.user_ids, "user", name, dataset)
    items = _codes(table["item_id"], interactions.item_ids, "item", name, dataset)

    def example(users: NDArray[np.int32], items: NDArray[np.int32], at: np.intp) -> str:
        user, item = interactions.user_ids[users[at]], interactions.item_ids[items[at]]
        return f"e.g. user {user}, item {item}"

    known = interactions.users.astype(np.int64) * width + interactions.items
    places = compute.index_in(
        pa.array(users.astype(np.int64) * width + items), value_set=pa.array(known)
    )
    strange = np.flatnonzero(places.is_null())
    if len(strange):
        raise FoldsError(
            f"{name} has {len(strange)} rows that are no interaction of {dataset} after "
            f"preparation, {example(users, items, strange[0])}; use folds of the prepared dataset"
        )
    rows = np.asarray(places, dtype=np.intp)
    times = np.bincount(rows, minlength=len(known))
    for wrong, count, words in (
        (times > 1, len(rows) - np.count_nonzero(times), "repeats {} interactions"),
        (
            times < of_all,
            np.sum(times == 0),
            f"misses {{}} of the {len(known)} interactions of {dataset}",
        ),
    ):
        if wrong.any():
            which = example(interactions.users, interactions.items, np.flatnonzero(wrong)[0])
            raise FoldsError(f"{name} {words.format(count)}, {which}; give each exactly one {said}")
    return table[said], rows


def _codes(
    column: pa.ChunkedArray, ids: NDArray[np.str_], kind: str, name: str, dataset: str
) -> NDArray[np.int32]:
    known = pa.array(ids)
    codes = compute.index_in(armed(column), value_set=known)
    if codes.null_count:  # another program's file has them as they are
        codes = compute.coalesce(codes, compute.index_in(column, value_set=known))
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
        content: the text in UTF-8; further columns are ignored.
        name: what to call it in an error.
        columns: the names wanted, in this order.
    Raises: FoldsError.
    """
    first_line = ",".join(columns)
    try:
        if not content.strip():
            raise FoldsError(f"{name} is empty; its first line must be {first_line}")
        if b"\0" in content[:10_000]:
            raise FoldsError(f"{name} is not a CSV file: it has bytes that no text has")
        return csv.read_csv(
            pa.BufferReader(content),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(columns, pa.string()), include_columns=list(columns)
            ),
        )
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


def unpacked(source: Path | bytes, name: str) -> bytes:
    """The file's text, unpacked."""
    content = source if isinstance(source, bytes) else read_bytes(source, name)
    if content.startswith(GZIP_MAGIC):
        try:
            with gzip.open(io.BytesIO(content)) as file:
                content = read_at_most(file.read, MAX_FOLDS_BYTES)
        except DAMAGED as error:
            raise FoldsError(
                f"{name} is a damaged or truncated gzip file ({error}); get it again"
            ) from error
        if content.startswith((GZIP_MAGIC, ZIP_MAGIC)):
            raise FoldsError(f"{name} is packed twice; unpack it once and give that file")
    if len(content) > MAX_FOLDS_BYTES:
        most = MAX_FOLDS_BYTES // MEGABYTE
        raise FoldsError(f"{name} is larger than {most} MiB unpacked; is it a fold file?")
    return content


def read_folds(source: Path | bytes, interactions: Interactions) -> Folds:
    """Folds from a file that gives every interaction exactly one fold, numbered from 0.

    Args:
        source: a CSV or gzipped CSV, as a path or as its content; rows in any order, further
            columns are ignored.
        interactions: the prepared dataset that the folds are of.
    Returns: strategy 'imported', seed None, k = highest fold + 1.
    Raises: FoldsError if the file cannot be read, lacks a column, misses or repeats an interaction,
        names one that is not there, or has an odd fold number, an empty fold, or only one fold.
    """
    name = f"the fold file {source.name}" if isinstance(source, Path) else "the fold file"
    said, rows = said_of(unpacked(source, name), name, "fold", interactions, of_all=True)
    assignment = np.empty(len(interactions), dtype=np.int16)
    assignment[rows] = _fold_numbers(said, name)
    sizes = np.bincount(assignment)
    empty = np.flatnonzero(sizes == 0)
    if len(empty):
        raise FoldsError(
            f"{name} has folds up to {len(sizes) - 1}, but {len(empty)} of them hold nothing, e.g. "
            f"fold {empty[0]}; number the folds from 0 without gaps"
        )
    if len(sizes) < 2:
        raise FoldsError(f"{name} has only fold 0; at least 2 folds are needed")
    return Folds(strategy=IMPORTED, k=len(sizes), seed=None, assignment=assignment)


def folds_csv(interactions: Interactions, folds: Folds) -> bytes:
    """The folds as CSV text in UTF-8, one row per interaction in the order of the interactions.

    Raises: FoldsError if they are no folds in which every interaction is held out exactly once.
    """
    if not deals(folds) or folds.assignment is None:
        raise FoldsError(
            f"the split '{folds.strategy}' does not hold every interaction out exactly once, so "
            "it cannot be one CSV of user_id,item_id,fold; export it as a ZIP archive"
        )
    checked_parts(interactions, folds, 0)
    every = np.arange(len(interactions))
    columns = id_columns(interactions, every)
    return csv_text(columns | {"fold": pa.array(folds.assignment)})


def deals(folds: Folds) -> bool:
    """Whether every interaction is held out in exactly one fold and learnt from in the others."""
    return folds.draw is None and folds.assignment is not None and bool(folds.assignment.min() >= 0)


def id_columns(interactions: Interactions, rows: NDArray[np.intp]) -> dict[str, pa.Array]:
    """The user and item ids of these interactions, for a file that a spreadsheet may open.

    Reading it undoes what disarms them.
    """
    users, items = pa.array(interactions.users[rows]), pa.array(interactions.items[rows])
    return {
        "user_id": disarmed(pa.array(interactions.user_ids).take(users)),
        "item_id": disarmed(pa.array(interactions.item_ids).take(items)),
    }


def csv_text(columns: dict[str, pa.Array]) -> bytes:
    """Columns as CSV text in UTF-8 under a line with their names."""
    table, names = pa.table(columns), ",".join(columns).encode() + b"\n"

    def text(quoting: str) -> bytes:
        out = io.BytesIO()
        csv.write_csv(table, out, csv.WriteOptions(include_header=False, quoting_style=quoting))
        return names + out.getvalue()

    try:
        return text("none")
    except pa.ArrowInvalid:
        return text("needed")  # Arrow then quotes all text, so it is not tried first


def write_folds(path: Path, interactions: Interactions, folds: Folds) -> None:
    """Write the folds as CSV, gzipped where the name ends in .gz; never leaves half a file.

    The same folds give the same bytes. Raises: FoldsError if the file cannot be written.
    """
    content = folds_csv(interactions, folds)
    if path.suffix == ".gz":
        content = gzip.compress(content, compresslevel=6, mtime=0)
    write_bytes(path, content)


def _fold_numbers(column: pa.ChunkedArray, name: str) -> NDArray[np.int16]:
    whole = compute.match_substring_regex(column, r"^\d{1,9}$")
    bad = column.filter(compute.invert(whole))
    if not len(bad):
        numbers = np.asarray(column.cast(pa.int32()))
        bad = column.filter(pa.array(numbers >= MAX_K))
    if len(bad):
        raise FoldsError(
            f"{name} has {len(bad)} rows whose fold is not a whole number below {MAX_K}, e.g. "
            f"'{shown(bad[0])}'; number the folds 0, 1, 2, ..."
        )
    return numbers.astype(np.int16)


# A split in words: how it was made and what is in it, as papers ask authors to release.


def readme(
    interactions: Interactions, folds: Folds, *, facts: Sequence[tuple[str, str]] = ()
) -> str:
    """The README of an exported split, in Markdown; arguments as of `split_archive`."""
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
        "`folds.csv` with `user_id,item_id,fold`: in fold i, the rows of fold i are held out and "
        "all others are learnt from. Splits that do not hold every interaction out exactly once "
        "have a `fold-<i>.csv` per fold instead, with `user_id,item_id,part`, where part is "
        "`train`, `validation` or `test`; interactions that a fold does not use are left out. "
        "`python -m ecv_core run DATASET ALGORITHM --folds THIS.zip` evaluates on the very same "
        "split.",
        "",
        "## What is in each part",
        "",
        *_statistics(interactions, folds),
        "",
    ]
    return "\n".join(lines)


def _statistics(interactions: Interactions, folds: Folds) -> Iterator[str]:
    baskets = " baskets |" if interactions.baskets is not None else ""
    times = " from | to |" if interactions.timestamps is not None else ""
    yield f"| fold | part | users | items | interactions |{baskets}{times}"
    yield "|" + "---|" * (5 + bool(baskets) + 2 * bool(times))
    notes = []
    for index in range(folds.k):
        found = fold_parts(interactions, folds, index)
        for part in WORDS:
            counts = found.counts[part]
            if counts.interactions or part is not Part.VALIDATION:
                sizes = counts.users, counts.items, counts.interactions, counts.baskets
                cells = [f"{size:,}" for size in sizes if size is not None]
                cells += [day(counts.first) or "-", day(counts.last) or "-"] if times else []
                yield f"| {index} | {part.name.lower()} | {' | '.join(cells)} |"
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


WORDS = {Part.TRAIN: "train", Part.VALIDATION: "validation", Part.TEST: "test"}
"""The parts that are written, as the column 'part' names them; the others are left out."""

_OLD = (1980, 1, 1, 0, 0, 0)  # the same split gives the same bytes on every day


def split_archive(
    interactions: Interactions, folds: Folds, *, facts: Sequence[tuple[str, str]] = ()
) -> bytes:
    """The split as a ZIP archive with a README that says how it was made and what it holds.

    It has one `folds.csv` (`user_id,item_id,fold`) where every interaction is held out exactly
    once, else one `fold-<i>.csv` (`user_id,item_id,part`) per fold. What a fold does not use is
    left out. The same split and facts give the same bytes.

    Args:
        interactions: the prepared dataset that the folds are of.
        folds: the split.
        facts: (name, text) pairs about the data for the README: citation, licence, filtering.
    Raises: FoldsError if the folds belong to other interactions.
    """
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        text = readme(interactions, folds, facts=facts).encode()
        for name, content in (("README.md", text), *_csv_files(interactions, folds)):
            info = zipfile.ZipInfo(name, _OLD)
            info.external_attr = 0o644 << 16
            archive.writestr(info, content, zipfile.ZIP_DEFLATED, compresslevel=6)
    return out.getvalue()


def _csv_files(interactions: Interactions, folds: Folds) -> Iterator[tuple[str, bytes]]:
    if deals(folds):
        yield "folds.csv", folds_csv(interactions, folds)
        return
    words = pa.array([WORDS.get(part, "") for part in Part])
    for index in range(folds.k):
        parts = checked_parts(interactions, folds, index)
        rows = np.flatnonzero(np.isin(parts, list(WORDS)))
        columns = id_columns(interactions, rows)
        columns["part"] = words.take(pa.array(parts[rows]))
        yield f"fold-{index}.csv", csv_text(columns)


# A split archive, ours or another's in the same form, back into folds.


_FOLD = re.compile(r"fold-?(\d{1,5})\.csv")


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
    said, rows = said_of(content, name, "part", interactions)
    codes = compute.index_in(said, value_set=pa.array(list(WORDS.values())))
    if codes.null_count:
        wrong = shown(said.filter(codes.is_null())[0])
        raise FoldsError(f"{name} has a part '{wrong}'; parts are {', '.join(WORDS.values())}")
    parts = np.full(len(interactions), Part.UNUSED, dtype=np.int8)
    parts[rows] = np.array(list(WORDS), dtype=np.int8)[np.asarray(codes)]
    return parts
