import gzip
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from ecv_core import dataset as datasets
from ecv_core.dataset.layout import Unreadable
from ecv_core.dataset.loading import read_file
from ecv_core.dataset.sources import FileSource
from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import Interactions


def rows(data: Interactions) -> list[tuple[object, ...]]:
    columns: list[list[object]] = [
        data.user_ids[data.users].tolist(),
        data.item_ids[data.items].tolist(),
    ]
    columns += [x.tolist() for x in (data.ratings, data.timestamps) if x is not None]
    return list(zip(*columns, strict=True))


def write_zip(path: Path, member: str, text: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, text)
    return path


# Lines as the archives' readmes show them.
LAYOUTS = {
    "ml-100k": ("196\t242\t3\t881250949\n", [("196", "242", 3.0, 881_250_949)]),
    "ml-1m": ("1::1193::5::978300760\n", [("1", "1193", 5.0, 978_300_760)]),
    # 1 April 2009 and 1 March 2010: several tags of one artist, the earliest day counts.
    "hetrec-lastfm": (
        "userID\tartistID\ttagID\tday\tmonth\tyear\r\n"
        "2\t52\t13\t1\t3\t2010\r\n2\t52\t15\t1\t4\t2009\r\n",
        [("2", "52", 1_238_544_000)],
    ),
}


@pytest.mark.parametrize("dataset_id", LAYOUTS)
def test_reads_the_layout_of_the_official_archive(tmp_path: Path, dataset_id: str):
    text, expected = LAYOUTS[dataset_id]
    entry = datasets.entry(dataset_id)
    official = replace(entry.files[0], sha256=None, rows=None)
    assert official.member
    path = write_zip(tmp_path / official.names[0], official.member, text)
    assert rows(read_file(FileSource(path=path, form=official), entry.id)) == expected


def test_a_repack_without_the_top_folder_is_read(tmp_path: Path):
    entry = datasets.entry("ml-100k")
    path = write_zip(tmp_path / "flat.zip", "u.data", LAYOUTS["ml-100k"][0])
    file = replace(entry.files[0], sha256=None)
    assert len(read_file(FileSource(path=path, form=file), entry.id)) == 1


REVIEW = {
    "reviewerID": "A1",
    "asin": "B00",
    "helpful": [0, 1],
    "overall": 5.0,
    "unixReviewTime": 1_400_630_400,
    "reviewText": 'it\'s "fine", \\ really\n',
}


def test_reads_the_official_amazon_reviews(tmp_path: Path):
    entry = datasets.entry("amazon-apps")
    path = tmp_path / "reviews.json.gz"
    lines = [REVIEW, {"asin": "B01", **{k: v for k, v in REVIEW.items() if k != "asin"}}]
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    file = replace(entry.files[0], rows=2)
    assert rows(read_file(FileSource(path=path, form=file), entry.id)) == [
        ("A1", "B00", 5.0, 1_400_630_400),
        ("A1", "B01", 5.0, 1_400_630_400),
    ]


def test_reads_the_official_amazon_ratings(data_folder: Path):
    path = data_folder / "ratings_Apps_for_Android.csv"
    path.write_text("A1EE2E3N7PW666,B000GFDAUG,5.0,1202256000\n")
    assert rows(datasets.load("amazon-apps")) == [
        ("A1EE2E3N7PW666", "B000GFDAUG", 5.0, 1_202_256_000)
    ]


def test_reviews_of_another_number_are_refused(data_folder: Path):
    path = data_folder / "reviews_Apps_for_Android_5.json.gz"
    path.write_bytes(gzip.compress(json.dumps(REVIEW).encode()))
    with pytest.raises(DatasetError, match="it has 1 rows, but the published dataset has 752,937"):
        datasets.load("amazon-apps")


@pytest.mark.parametrize(
    "line", ['{"reviewerID": "A1"}', '{"reviewerID": "A1", "asin": 5}', '{"reviewerID', "[]"]
)
def test_reviews_that_lack_something_are_refused(tmp_path: Path, line: str):
    entry = datasets.entry("amazon-apps")
    path = tmp_path / "reviews.json"
    path.write_text(line + "\n")
    file = replace(entry.files[0], rows=None)
    with pytest.raises(Unreadable):
        read_file(FileSource(path=path, form=file), entry.id)


def test_a_changed_member_fails_its_checksum(data_folder: Path):
    path = write_zip(data_folder / "ml-100k.zip", "ml-100k/u.data", LAYOUTS["ml-100k"][0])
    with pytest.raises(DatasetError) as caught:
        datasets.load("ml-100k")
    message = str(caught.value)
    assert message.startswith(f"{path} cannot be used as ml-100k: ml-100k/u.data has SHA-256 ")
    assert "expected 06416e597f82..." in message
    assert "download it from https://files.grouplens.org" in message


def test_an_archive_without_the_member_is_refused(data_folder: Path):
    write_zip(data_folder / "ml-100k.zip", "README", "hello")
    with pytest.raises(DatasetError, match=r"the archive does not contain ml-100k/u\.data"):
        datasets.load("ml-100k")


def test_a_truncated_archive_is_refused(data_folder: Path):
    text = "".join(f"{n}\t{n * 7919 % 1000}\t3\t881250949\n" for n in range(5000))
    whole = write_zip(data_folder / "ml-100k.zip", "ml-100k/u.data", text)
    whole.write_bytes(whole.read_bytes()[:5000])
    with pytest.raises(DatasetError, match="the ZIP archive is damaged"):
        datasets.load("ml-100k")


def test_damage_inside_an_archive_is_refused(data_folder: Path):
    text = "".join(f"{n}\t{n * 7919 % 1000}\t3\t881250949\n" for n in range(5000))
    path = write_zip(data_folder / "ml-100k.zip", "ml-100k/u.data", text)
    content = bytearray(path.read_bytes())
    content[5000:5010] = b"\0" * 10
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=r"truncated or damaged|the ZIP archive is damaged"):
        datasets.load("ml-100k")


def test_a_web_page_in_place_of_the_archive_is_refused(data_folder: Path):
    (data_folder / "hetrec2011-lastfm-2k.zip").write_text("<html>Not found</html>")
    with pytest.raises(DatasetError, match="the ZIP archive is damaged"):
        datasets.load("hetrec-lastfm")
