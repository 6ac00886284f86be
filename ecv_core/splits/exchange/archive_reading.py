"""A split archive, ours or another's in the same form, back into folds."""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ecv_core.errors import FoldsError
from ecv_core.files import read_at_most
from ecv_core.limits import MAX_FOLDS_BYTES, MAX_FOLDS_TABLE, MEGABYTE
from ecv_core.records import Folds, Interactions, Part
from ecv_core.records.codec import shown
from ecv_core.splits.exchange.archive import RECBOLE_COLUMNS, RECBOLE_PARTS, WORDS
from ecv_core.splits.exchange.files import IMPORTED, read_folds
from ecv_core.splits.exchange.parsing import mismatch, pairs_of, parse
from ecv_core.splits.exchange.storage import ZIP_MAGIC, read_bytes
from ecv_core.splits.k_fold import MAX_K

if TYPE_CHECKING:
    import pyarrow as pa

_FOLD = re.compile(r"fold-?(\d{1,5})\.csv")
_INTER = re.compile(r"(?P<dataset>.+)\.(?P<part>part[123])\.inter")
_LAYOUT = (
    "it must hold folds.csv (user_id,item_id,fold), or fold-0.csv, fold-1.csv, ... "
    "(user_id,item_id,part), or RecBole's NAME.part1.inter and NAME.part3.inter"
)

_DAMAGE = (zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError, OverflowError)
"""How reading a damaged archive fails, beside BadZipFile."""

Member = Callable[[str], bytes]


def read_split(source: Path | bytes, interactions: Interactions) -> Folds:
    """A split from a fold file (see `read_folds`) or from a ZIP archive of `split_archive`.

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
    except (zipfile.BadZipFile, *_DAMAGE) as error:
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
    single = {path: found for path, file in paths.items() if (found := _FOLD.fullmatch(file))}
    if single:
        numbers = {int(found[1]): path for path, found in single.items()}
        _check_numbers(numbers, name)
        _check_size(len(numbers), name, interactions)
        rows = [
            _csv_parts(member(numbers[index]), f"{numbers[index]} in {name}", interactions)
            for index in range(len(numbers))
        ]
        return _imported(rows)
    inter = {path: found for path, file in paths.items() if (found := _INTER.fullmatch(file))}
    datasets: dict[str, dict[str, str]] = {}
    for path, found in inter.items():
        dataset = str(PurePosixPath(path).with_name(found["dataset"]))  # folders keep folds apart
        datasets.setdefault(dataset, {})[found["part"]] = path
    if not datasets:
        raise FoldsError(f"{name} holds no split: {_LAYOUT}")
    _check_size(len(datasets), name, interactions)
    return _imported(
        [
            _inter_parts(datasets[dataset], member, name, interactions)
            for dataset in sorted(datasets, key=_natural)
        ]
    )


def _csv_parts(content: bytes, name: str, interactions: Interactions) -> NDArray[np.int8]:
    """The Part of each interaction from a table with a column 'part'; shape (interactions,)."""
    import pyarrow as pa
    from pyarrow import compute

    table = parse(content, name, ("user_id", "item_id", "part"))
    codes = compute.index_in(table["part"], value_set=pa.array(list(WORDS.values())))
    if codes.null_count:
        wrong = shown(table["part"].filter(codes.is_null())[0])
        raise FoldsError(f"{name} has a part '{wrong}'; parts are {', '.join(WORDS.values())}")
    values = np.array(list(WORDS), dtype=np.int8)[np.asarray(codes)]
    return _placed(table, values, name, interactions)


def _inter_parts(
    files: dict[str, str], member: Member, name: str, interactions: Interactions
) -> NDArray[np.int8]:
    """The Part of each interaction from one RecBole dataset; shape (interactions,)."""
    import pyarrow as pa

    for needed in ("part1", "part3"):
        if needed not in files:
            raise FoldsError(f"{name} has no {needed} beside {next(iter(files.values()))}")
    tables, values = [], []
    for part, ending in RECBOLE_PARTS.items():
        if ending in files:
            path = files[ending]
            table = parse(member(path), f"{path} in {name}", RECBOLE_COLUMNS, "\t")
            tables.append(table.rename_columns(["user_id", "item_id"]))
            values.append(np.full(table.num_rows, part, dtype=np.int8))
    return _placed(pa.concat_tables(tables), np.concatenate(values), name, interactions)


def _placed(
    table: pa.Table, values: NDArray[np.int8], name: str, interactions: Interactions
) -> NDArray[np.int8]:
    """The value of each interaction that the table has, UNUSED for the others.

    Raises: FoldsError for a pair that the dataset does not have, or that comes twice.
    """
    given, wanted = pairs_of(table, name, interactions)
    at = np.searchsorted(wanted.sorted, given.sorted)
    at = np.minimum(at, len(wanted.sorted) - 1)
    if np.any(wanted.sorted[at] != given.sorted) or np.any(np.diff(given.sorted) == 0):
        raise FoldsError(f"{name} {mismatch(given, wanted, interactions)}")
    parts = np.full(len(interactions), Part.UNUSED, dtype=np.int8)
    parts[wanted.order[at]] = values[given.order]
    return parts


def _imported(rows: Iterable[NDArray[np.int8]]) -> Folds:
    table = np.stack(list(rows))
    for index, parts in enumerate(table):
        for part in (Part.TRAIN, Part.TEST):
            if not np.any(parts == part):
                raise FoldsError(
                    f"fold {index} of the split archive has no {WORDS[part]} interactions"
                )
    return Folds(strategy=IMPORTED, k=len(table), seed=None, draw=lambda index: table[index].copy())


def _check_numbers(numbers: dict[int, str], name: str) -> None:
    if len(numbers) > MAX_K or sorted(numbers) != list(range(len(numbers))):
        missing = min(set(range(len(numbers))) - set(numbers), default=MAX_K)
        raise FoldsError(f"{name} has no fold-{missing}.csv; number the folds from 0 without gaps")


def _check_size(folds: int, name: str, interactions: Interactions) -> None:
    if folds * len(interactions) > MAX_FOLDS_TABLE:
        raise FoldsError(
            f"{name} has {folds:,} folds of {len(interactions):,} interactions, more than can be "
            f"held (at most {MAX_FOLDS_TABLE:,} in all); leave some folds out"
        )


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts 'x-2' before 'x-10'."""
    pieces = re.split(r"(\d{1,9})", name)
    return [(int(piece), "") if piece.isdecimal() else (-1, piece) for piece in pieces]
