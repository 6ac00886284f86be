"""Released folds travel: CSV of `user_id,item_id,fold`, and ZIP archives of any split, and back."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, csv

from ecv_core.records.errors import FoldsError, InputError, shown
from ecv_core.records.interactions import Folds, Interactions, Part
from ecv_core.splits.parts import PartCounts, checked_parts, day, fold_parts, leakage
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


# Bytes of a fold file -> columns of text, and their (user, item) pairs as a dataset has them.


class PairKeys:
    """(user, item) pairs as one number each, with the order that sorts them."""

    def __init__(
        self, users: NDArray[np.int32], items: NDArray[np.int32], of: Interactions
    ) -> None:
        keys = users.astype(np.int64) * of.n_items + items
        self.order = (
            np.arange(len(keys)) if np.all(keys[1:] >= keys[:-1]) else np.argsort(keys)
        )  # files and prepared data are usually sorted already
        self.sorted = keys[self.order]


def pairs_of(table: pa.Table, name: str, interactions: Interactions) -> tuple[PairKeys, PairKeys]:
    """The pairs that a file has in its columns user_id and item_id, and those of the dataset.

    Raises: FoldsError if it names a user or an item that the dataset does not have.
    """
    users = _codes(table["user_id"], interactions.user_ids, "user", name, interactions.dataset)
    items = _codes(table["item_id"], interactions.item_ids, "item", name, interactions.dataset)
    given = PairKeys(users, items, interactions)
    return given, PairKeys(interactions.users, interactions.items, interactions)


def mismatch(given: PairKeys, wanted: PairKeys, interactions: Interactions) -> str:
    """Why the file's pairs are not those of the interactions, in words."""

    def example(key: np.int64) -> str:
        user, item = divmod(int(key), interactions.n_items)
        return f"user {interactions.user_ids[user]}, item {interactions.item_ids[item]}"

    dataset = interactions.dataset
    strange = given.sorted[~np.isin(given.sorted, wanted.sorted)]
    if len(strange):
        return (
            f"has {len(strange)} rows that are no interaction of {dataset} after preparation, e.g. "
            f"{example(strange[0])}; use folds of the prepared dataset"
        )
    repeats = given.sorted[1:][given.sorted[1:] == given.sorted[:-1]]
    if len(repeats):
        return (
            f"repeats {len(repeats)} interactions, e.g. {example(repeats[0])}; "
            "give each exactly one fold"
        )
    missing = wanted.sorted[~np.isin(wanted.sorted, given.sorted)]
    return (
        f"misses {len(missing)} of the {len(wanted.sorted)} interactions of {dataset}, e.g. "
        f"{example(missing[0])}; give each exactly one fold"
    )


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
        header = content[:10_000].decode("utf-8-sig", errors="replace").splitlines()[:1]
        found = [column.strip().strip('"') for column in header[0].split(",")] if header else []
        missing = [column for column in columns if column not in found]
        if missing:
            raise FoldsError(
                f"{name} has no column {' and no column '.join(missing)}; "
                f"its first line must be {first_line}"
            )
        return csv.read_csv(
            pa.BufferReader(content),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(columns, pa.string()),
                include_columns=list(columns),
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
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
        except (EOFError, OSError, zlib.error) as error:
            raise FoldsError(
                f"{name} is a damaged or truncated gzip file ({error}); get it again"
            ) from error
        if content.startswith((GZIP_MAGIC, ZIP_MAGIC)):
            raise FoldsError(f"{name} is packed twice; unpack it once and give that file")
    if len(content) > MAX_FOLDS_BYTES:
        most = MAX_FOLDS_BYTES // MEGABYTE
        raise FoldsError(f"{name} is larger than {most} MiB unpacked; is it a fold file?")
    return content


COLUMNS = ("user_id", "item_id", "fold")


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
    table = parse(unpacked(source, name), name, COLUMNS)
    fold = _fold_numbers(table["fold"], name)
    given, wanted = pairs_of(table, name, interactions)
    if not np.array_equal(given.sorted, wanted.sorted):
        raise FoldsError(f"{name} {mismatch(given, wanted, interactions)}")
    assignment = np.empty(len(interactions), dtype=np.int16)
    assignment[wanted.order] = fold[given.order]

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
    columns = disarmed_ids(interactions, every)
    return csv_text(columns | {"fold": pa.array(folds.assignment)})


def deals(folds: Folds) -> bool:
    """Whether every interaction is held out in exactly one fold and learnt from in the others."""
    return folds.draw is None and folds.assignment is not None and bool(folds.assignment.min() >= 0)


def id_columns(interactions: Interactions, rows: NDArray[np.intp]) -> dict[str, pa.Array]:
    """The user and item ids of these interactions, as columns of a table."""
    users, items = pa.array(interactions.users[rows]), pa.array(interactions.items[rows])
    return {
        "user_id": pa.array(interactions.user_ids).take(users),
        "item_id": pa.array(interactions.item_ids).take(items),
    }


def disarmed_ids(interactions: Interactions, rows: NDArray[np.intp]) -> dict[str, pa.Array]:
    """As `id_columns`, for a file that a spreadsheet may open; reading it undoes that."""
    return {name: disarmed(ids) for name, ids in id_columns(interactions, rows).items()}


def csv_text(columns: dict[str, pa.Array], delimiter: str = ",") -> bytes:
    """Columns as delimited text in UTF-8 under a line with their names."""
    table = pa.table(columns)
    text = b""
    for quoting in ("none", "needed"):  # Arrow's "needed" quotes all text, so try without first
        out = io.BytesIO()
        try:
            csv.write_csv(
                table,
                out,
                csv.WriteOptions(include_header=False, quoting_style=quoting, delimiter=delimiter),
            )
        except pa.ArrowInvalid:
            continue
        text = out.getvalue()
        break
    return delimiter.join(columns).encode() + b"\n" + text


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
