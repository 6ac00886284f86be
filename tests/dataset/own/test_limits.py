"""Files that are meant to break something: refused in a sentence, at once, in bounded memory."""

import gzip
import io
import os
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ecv_core.records.errors import DatasetError, InputError
from ecv_core.untrusted import limits
from tests.dataset.own.conftest import read_path

ROW = b"ann,x\n"


ROOT = Path(__file__).resolve().parents[3]


def archive(compression: int = zipfile.ZIP_DEFLATED, **members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return buffer.getvalue()


def encrypted() -> bytes:
    content = bytearray(archive(**{"a.csv": ROW}))
    for at in (content.index(b"PK\x03\x04") + 6, content.index(b"PK\x01\x02") + 8):
        content[at] |= 1
    return bytes(content)


def shifted() -> bytes:
    content = bytearray(archive(**{"a.csv": ROW}))
    at = content.index(b"PK\x05\x06") + 16
    content[at : at + 4] = (2**31).to_bytes(4, "little")
    return bytes(content)


def parquet(**columns: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


REFUSED = {
    "empty": (b"", "it is empty"),
    "blank": (b"\n \n", "it is empty"),
    "one column": (b"user\nann\nbob\n", "it has one column"),
    "only a header": (b"user,item\n", "no row below it"),
    "binary": (b"a,b\n\x00\x01\x02\n" * 9, "it is not text"),
    "picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "it is not text"),
    "workbook": (
        archive(**{"xl/workbook.xml": b"<a/>"}),
        "it is an Excel workbook; save the sheet",
    ),
    "old workbook": (b"\xd0\xcf\x11\xe0" + b"\0" * 99, "an Excel or Word file; save the sheet as"),
    "web page": (b"<!doctype html><p>404</p>", "a web page or XML"),
    "JSON list": (b'[{"user": 1, "item": 2}]', "one JSON list; write JSON lines"),
    "lists beside another id": (
        b"".join(
            b'{"user": %d, "steam": "s%d", "items": [1, 2]}\n' % (n, n % 4) for n in range(12)
        ),
        "'items' has lists",
    ),
    "lists below a missing one": (
        b'{"user": 1, "items": null}\n{"user": 2, "items": [1, 2]}\n',
        "'items' has lists",
    ),
    "JSON below a title": (
        b'# mine\n{"user": 1}\n{"user": 2}\n',
        "its lines are JSON, but not all",
    ),
    "matrix of nothing": (
        b"%%MatrixMarket matrix coordinate real general\n",
        "no entry of the sparse matrix",
    ),
    "libSVM": (b"4 17:1 1009:1\n5 18:1 1010:1\n", "as libSVM and libFM have them"),
    "headings of numbers": (
        b"17|4\n5\t90\n6\t50\n7\t50\n8\t70\n18|1\n5\t80\n",
        r"'17\|4' in line 1 and '18\|1'",
    ),
    "headings of words": (
        b"user 7\n5,90\n6,50\nuser 12\n5,80\n",
        "'user 7' in line 1 and 'user 12'",
    ),
    "items in a row": (b"0 5 6\n1 7\n2 5 8 9\n" * 5, "a line has lists"),
    "a field of items": (
        b"".join(b"%d\tN7 N%d%b\n" % (n // 3, n, b" N9" * (n % 2)) for n in range(12)),
        "'column 2' has lists",
    ),
    "commas in titles": (
        b"user,item,title,stars\nann,x,one\\, two,4\nann,y,a\\, b,5\n",
        "names 4 columns, but its rows have 5 fields",
    ),
    "broken JSON": (b'{"user": \n{"item"\n', "none of its first lines is an object"),
    "gz in gz": (gzip.compress(gzip.compress(ROW)), "it is packed twice"),
    "zip in gz": (gzip.compress(archive(**{"a.csv": ROW})), "it is packed twice"),
    "cut gz": (gzip.compress(os.urandom(9999))[:-99], "truncated or damaged"),
    "many in a zip": (archive(**{"a.csv": ROW, "b.csv": ROW}), r"2 files \(a.csv, b.csv\)"),
    "nothing in a zip": (archive(), "it is not text"),
    "folders in a zip": (archive(**{"a/": b""}), "contains no file"),
    "encrypted zip": (encrypted(), "encrypted; pack it again without a password"),
    "rare zip": (archive(zipfile.ZIP_LZMA, **{"a.csv": ROW}), "uses an unusual compression"),
    "shifted zip": (shifted(), "the ZIP archive is damaged"),
    "cut zip": (archive(**{"a.csv": ROW})[:-30], "the ZIP archive is damaged"),
    "cut parquet": (parquet(user=["a"], item=["x"])[:-30], "the Parquet file is damaged"),
    "lists": (parquet(user=[["a"]], item=["x"]), "a column of ids holds list"),
    "wide": (b",".join([b"a"] * 501) + b"\n" + b",".join([b"1"] * 501) + b"\n", "501 columns"),
    "a separator alone": (b"sep=;\n", "it has no rows"),
    "an endless first line": (b"a," * 2_000_000, "first lines are longer than 100,000"),
    "an endless line below": (b"user,item\n" + ROW * 200 + b"a" * 9_000_000, "longer than 4 MB"),
    "an open quotation mark": (
        b"user,item\n" + ROW * 300_000 + b'"a' + ROW * 1_500_000,
        "a quotation mark that is not closed; correct it, or read it without quotation marks",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_a_dataset_is_refused_in_one_sentence(read, name):
    content, message = REFUSED[name]
    with pytest.raises(DatasetError, match=message) as caught:
        read(content, "it.csv")
    said = str(caught.value)
    assert said.startswith("the file it.csv cannot be used: ")
    assert "\n" not in said
    assert len(said) < 400


def small(monkeypatch: pytest.MonkeyPatch, megabytes: int = 1) -> None:
    monkeypatch.setenv("ECV_MAX_UPLOAD_MB", str(megabytes))


def test_a_larger_file_than_may_be_is_not_read(read, monkeypatch):
    small(monkeypatch)
    with pytest.raises(
        DatasetError, match=r"it has 2 MB, but at most 1 MB can be read \(ECV_MAX_UPL"
    ):
        read(b"user,item\n" + ROW * 400_000)


@pytest.mark.slow
@pytest.mark.parametrize("pack", [gzip.compress, lambda content: archive(**{"a.csv": content})])
def test_a_bomb_is_unpacked_no_further_than_the_limit(read, tmp_path, monkeypatch, pack):
    small(monkeypatch)
    with pytest.raises(DatasetError, match="unpacks to more than 5 MB, 5 times the upload limit"):
        read(pack(b"\n" * 200_000_000))
    assert (tmp_path / "unpacked").stat().st_size <= 5 * limits.MEGABYTE


def test_an_archive_with_a_huge_table_of_contents_is_refused(read, monkeypatch):
    monkeypatch.setattr(limits, "MAX_ARCHIVE_TABLE", 2000)
    with pytest.raises(DatasetError, match="lists too many files"):
        read(archive(**{f"{number}.csv": ROW for number in range(100)}))


def test_rows_and_ids_have_their_limits(read, monkeypatch):
    monkeypatch.setattr(limits, "MAX_ROWS", 3)
    with pytest.raises(DatasetError, match="more than 3 rows, the most that can be read"):
        read(b"user,item\n" + ROW * 4)
    with pytest.raises(DatasetError, match="more than 3 rows, the most that can be read"):
        read(gzip.compress(b"user,item\n" + ROW * 4))  # and no further unpacked
    with pytest.raises(DatasetError, match="more than 3 rows, the most that can be read"):
        read(parquet(user=list("abcd"), item=list("abcd")))
    monkeypatch.setattr(limits, "MAX_ID_BYTES", 4 * 2 * 2 - 1)
    with pytest.raises(DatasetError, match="2 ids with up to 2 characters, which together need"):
        read(b"user,item\naa,x\nb,y\n")


def test_too_many_long_ids_are_refused_before_all_rows_are_read(tmp_path, monkeypatch):
    ids = [f"{at:0>64}" for at in range(200_000)]
    path = tmp_path / "ids.parquet"
    pq.write_table(pa.table({"user": ids, "item": ids}), path)
    monkeypatch.setattr(limits, "MAX_ID_BYTES", 4 * 64 * 100_000)
    monkeypatch.setattr("ecv_core.dataset.reading._ID_BYTES_WITHOUT_CHECK", 64 * 100_000)
    with pytest.raises(DatasetError, match="it has 131,072 ids with up to 64"):  # of two batches
        read_path(path)


def test_equal_rows_without_number_take_no_room(tmp_path):
    """A dictionary of one id of 900,000 characters, in 200,000 rows, is 180 GB spelled out."""
    long = pa.DictionaryArray.from_arrays(
        pa.array([0] * 200_000, pa.int32()), pa.array(["a" * 900_000])
    )
    users = pa.array([str(number % 7) for number in range(200_000)])
    path = tmp_path / "long.parquet"
    pq.write_table(pa.table({"user": users, "item": long}), path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DatasetError, match="200,000 of them have an id longer than 256"):
        read_path(path)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 600  # MB


NO_DAMAGE_ENDS_IT = """
import sys
from pathlib import Path
from ecv_core.dataset.plain import no_report, plain_file
from ecv_core.dataset.own.recognise import recognise
from ecv_core.dataset.reading import read_rows
from ecv_core.untrusted import bounded
from ecv_core.records.errors import InputError

bounded.run_in_child = lambda function, *arguments, **_: function(*arguments)
path = Path(sys.argv[1])
whole = path.read_bytes()
footer = int.from_bytes(whole[-8:-4], "little")
for at in range(len(whole) - 8 - footer, len(whole) - 8, 2):
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 6]) + whole[at + 1 :])
    try:
        plain = plain_file(path, path.name, path.parent, no_report)
        read_rows(plain, recognise(plain).layout, "x", no_report)
    except InputError:
        pass
print("done")
"""
"""Arrow 26 ends the whole process where it looks at the statistics of a damaged column."""


@pytest.mark.slow
def test_no_damaged_parquet_file_ends_the_process_or_is_a_traceback(tmp_path):
    path = tmp_path / "it.parquet"
    path.write_bytes(parquet(user=["a", "b"] * 20, item=list(range(40)), r=[None, 1.5] * 20))
    words = [sys.executable, "-c", NO_DAMAGE_ENDS_IT, str(path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "done", done.stderr


def test_texts_that_are_none_are_one_sentence(read):
    content = parquet(user=["Jos\u00e9"] * 3, item=["x", "y", "z"])
    assert content.count("\u00e9".encode()) >= 1
    with pytest.raises(DatasetError, match=r"the file file.csv cannot be used: .*; get it again"):
        read(content.replace("\u00e9".encode(), b"\xff\xfe"))


def test_a_pipe_and_a_device_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", Path("/dev/zero")):
        with pytest.raises(DatasetError, match="no regular file"):
            read_path(path)


@pytest.mark.parametrize("value", ["0", "-1", "many", "1e3", "1000000", "٣"])
def test_a_limit_that_is_none_is_said_so(monkeypatch, value):
    monkeypatch.setenv("ECV_MAX_UPLOAD_MB", value)
    with pytest.raises(InputError, match="ECV_MAX_UPLOAD_MB must be a whole number of megabytes"):
        limits.max_upload_mb()


def test_the_limit_is_200_unless_asked_for(monkeypatch):
    monkeypatch.delenv("ECV_MAX_UPLOAD_MB", raising=False)
    assert limits.max_upload_bytes() == 200 * 1024 * 1024
    small(monkeypatch, 7)
    assert limits.max_unpacked_bytes() == 35 * 1024 * 1024


@pytest.mark.parametrize(
    ("given", "size", "megabytes"),
    [
        ("", 0, 700),
        ("", 10 << 20, 800),
        ("", 110 << 20, 1800),
        ("", 200 << 20, 1800),
        ("64", 0, 64),
    ],
)
def test_a_small_file_may_take_less_memory_than_a_large_one(monkeypatch, given, size, megabytes):
    monkeypatch.setenv("ECV_MAX_READ_MB", given)
    assert limits.max_read_mb(size) == megabytes
