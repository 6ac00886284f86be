"""Any split as a ZIP archive that others can use: plain CSV or RecBole's benchmark files."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ecv_core.errors import InputError
from ecv_core.records import Folds, Interactions, Part
from ecv_core.splits.exchange.files import csv_text, deals, disarmed_ids, folds_csv, id_columns
from ecv_core.splits.exchange.readme import readme
from ecv_core.splits.fold_matrices import checked_parts

if TYPE_CHECKING:
    import pyarrow as pa

CSV, RECBOLE = "csv", "recbole"
FORMS = (CSV, RECBOLE)
"""What an archive can hold."""

WORDS = {Part.TRAIN: "train", Part.VALIDATION: "validation", Part.TEST: "test"}
"""The parts that are written, as the column 'part' names them; the others are left out."""
RECBOLE_PARTS = {Part.TRAIN: "part1", Part.VALIDATION: "part2", Part.TEST: "part3"}
RECBOLE_COLUMNS = ("user_id:token", "item_id:token")

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
    import pyarrow as pa

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
    import pyarrow as pa

    ids = id_columns(interactions, rows)
    columns = dict(zip(RECBOLE_COLUMNS, ids.values(), strict=True))
    for name, values in (
        ("rating:float", interactions.ratings),
        ("timestamp:float", interactions.timestamps),
        ("basket:float", interactions.baskets),
    ):
        if values is not None:
            columns[name] = pa.array(values[rows])
    return columns
