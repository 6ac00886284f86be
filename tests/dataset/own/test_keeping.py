"""Added datasets: kept under a name, found everywhere, removed; never half of it."""

import json
import os
import shutil
from pathlib import Path

import pytest

from ecv_core import dataset as datasets
from ecv_core.dataset import own
from ecv_core.dataset.layout import TimeUnit
from ecv_core.dataset.plain import no_report
from ecv_core.dataset.preparation import prepared
from ecv_core.fold import data_of
from ecv_core.fold.computing import run_fold
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import DatasetError, InputError, UnknownName

NOTHING: dict[str, str] = {}


def blocks(users: int = 6, items: int = 6) -> str:
    """Every user with every item; two rows of a lonely user; one row without an item."""
    rows = [
        f"u{user},i{item},{1 + item % 5},{1000 + item}"
        for user in range(users)
        for item in range(items)
    ]
    return "\n".join(["user,item,stars,when", *rows, "lonely,i0,1,1", "lonely,i1,1,2", "u0,,1,3"])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "My Shop (2).csv"
    path.write_text(blocks())
    return path


def add(name: str, source: Path) -> own.About:
    return own.add_file(name, source, NOTHING, no_report)[0]


def left_over() -> list[str]:
    return sorted(os.listdir(datasets.data_dir() / "added"))


@pytest.mark.usefixtures("data_folder")
def test_what_was_added_is_a_dataset_with_its_counts(source: Path):
    about = add("shop", source)
    assert (about.rows, about.kept, about.unused) == (39, 38, {"no item": 1})
    assert (about.raw_users, about.raw_items) == (7, 6)
    # Six users with six items each; the lonely one has two interactions and is pruned.
    assert (about.users, about.items, about.interactions) == (6, 6, 36)
    assert about.density == 1.0
    entry = datasets.entry("shop")
    assert (entry.users, entry.items, entry.interactions) == (6, 6, 36)
    assert (prepared("shop").n_users, len(prepared("shop"))) == (6, 36)
    loaded = datasets.load("shop")
    assert len(loaded) == 38
    assert loaded.ratings is not None
    assert loaded.timestamps is not None
    assert loaded.ratings[:3].tolist() == [1, 2, 3]
    assert loaded.timestamps[:3].tolist() == [1000, 1001, 1002]
    assert left_over() == ["shop"]


@pytest.mark.usefixtures("data_folder")
def test_a_name_must_be_free_and_an_id(source: Path):
    add("shop", source)
    for name, message in {
        "shop": "there is a dataset 'shop' already",
        "SHOP": "there is a dataset 'SHOP' already",
        "synthetic": "there is a dataset 'synthetic' already",
        "../shop": "cannot be the name of a dataset",
        "a b": "cannot be the name of a dataset",
        "a--b": "cannot be the name of a dataset",
        ".hidden": "cannot be the name of a dataset",
        "": "cannot be the name of a dataset",
        "n" * 64: "cannot be the name of a dataset",
        "n" * 5000: "cannot be the name of a dataset",
    }.items():
        with pytest.raises(InputError, match=message):
            add(name, source)
    assert left_over() == ["shop"]


@pytest.mark.usefixtures("data_folder")
def test_a_name_is_suggested_from_the_file_and_is_free(source: Path):
    assert own.suggested_name("My Shop (2).csv.gz") == "my-shop-2"
    assert own.suggested_name("../../etc/passwd") == "passwd"
    assert own.suggested_name("日本.csv") == "my-data"
    assert own.suggested_name("Einkäufe Café groß.csv") == "einkaeufe-cafe-gross"
    add("my-shop-2", source)
    assert own.suggested_name("My Shop (2).csv.gz") == "my-shop-2-2"
    assert own.suggested_name("ml-100k.zip") == "ml-100k-2"


@pytest.mark.usefixtures("data_folder")
def test_removed_it_is_gone(source: Path):
    add("shop", source)
    own.remove("shop")
    assert own.added() == {}
    assert "shop" not in datasets.catalogue()
    assert left_over() == []
    for name in ("shop", "synthetic", "..", "../data", ""):
        with pytest.raises(UnknownName, match="no added dataset is called"):
            own.remove(name)


def test_a_file_that_was_put_there_by_hand_is_nobodys_to_remove(data_folder: Path):
    (data_folder / "mine.csv").write_text("user_id,item_id\nu,i\n")
    with pytest.raises(UnknownName):
        own.remove("mine")
    assert (data_folder / "mine.csv").is_file()


@pytest.mark.usefixtures("data_folder")
def test_whoever_stops_it_leaves_nothing(source: Path):
    def stop(doing: str, _done: int, _total: int) -> None:
        if doing == "write":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        own.add_file("shop", source, NOTHING, stop)
    assert left_over() == []


def test_a_data_folder_that_takes_nothing_is_one_sentence(data_folder: Path, source: Path):
    shutil.rmtree(data_folder)
    data_folder.touch()
    with pytest.raises(DatasetError, match=r"cannot be written to .*; free some space, or set"):
        add("shop", source)


@pytest.mark.usefixtures("data_folder")
def test_what_nothing_could_be_done_with_is_not_kept(tmp_path: Path):
    thin = tmp_path / "thin.csv"
    thin.write_text("user,item\na,x\nb,y\n")
    with pytest.raises(DatasetError, match=r"nothing of thin.csv survives 5-core pruning"):
        add("thin", thin)
    thin.write_text("user,item,rating\na,x,1\nb,y,2\n")
    add("thin", thin)  # its ratings can be predicted
    with pytest.raises(DatasetError, match="nothing of dataset 'thin' survives 5-core pruning"):
        make_spec(dataset="thin", algorithm="popular")
    assert make_spec(dataset="thin", algorithm="bias", k=2).metric == "rmse"


@pytest.mark.usefixtures("data_folder")
def test_rows_that_share_no_user_and_no_item_are_not_kept(tmp_path: Path):
    films = tmp_path / "films.csv"
    films.write_text("user,item,rating\n" + "".join(f"a{n},x{n},{n % 5}\n" for n in range(10)))
    with pytest.raises(DatasetError, match="no user and no item of films"):
        add("films", films)


@pytest.mark.parametrize("damage", ["", "[]", "{}", '{"sha256": 3}', "[" * 99_999, '{"rows": "x"}'])
@pytest.mark.usefixtures("data_folder")
def test_a_dataset_whose_description_is_damaged_still_is_one(source: Path, damage: str):
    add("shop", source)
    about = datasets.data_dir() / "added" / "shop" / "about.json"
    about.write_text(damage)
    entry = datasets.entry("shop")
    assert entry.users is None
    assert len(prepared("shop")) == 36
    assert make_spec(dataset="shop", algorithm="popular", n=6).cutoffs == (1, 5, 6)


# --- a file that is worked on ---------------------------------------------------------------------


@pytest.mark.usefixtures("data_folder")
def test_a_file_that_was_taken_in_is_found_again_with_all_that_was_asked(source: Path):
    token = own.take_in(lambda path: path.write_bytes(source.read_bytes()), source.name)
    plain = own.taken_in(token)
    assert plain.name == "My Shop (2).csv"
    layout = own.recognise_with_corrections(plain, {}, TimeUnit.MILLISECONDS).layout
    assert own.kept_layout(token) is None
    own.keep_layout(token, layout)
    assert own.kept_layout(token) == layout
    folder = own.folder_of(token)
    assert own.built_dataset(folder, layout) is None
    about = own.build_dataset(plain, layout, folder, no_report)
    assert own.built_dataset(folder, layout) == about
    other = layout.with_roles({"rating": None})
    assert own.built_dataset(folder, other) is None
    own.keep(folder, "shop")
    assert sorted(os.listdir(datasets.data_dir() / "added" / "shop")) == [
        "about.json",
        "interactions.parquet",
    ]
    with pytest.raises(InputError, match="is no longer here"):
        own.taken_in(token)


@pytest.mark.usefixtures("data_folder")
def test_files_that_nobody_kept_are_forgotten_after_a_day(source: Path):
    def take() -> str:
        return own.take_in(lambda path: path.write_bytes(source.read_bytes()), source.name)

    old, thrown = take(), take()
    own.forget(thrown)
    os.utime(own.folder_of(old), (1, 1))
    new = take()
    assert left_over() == [f".{new}"]


@pytest.mark.parametrize("token", ["", "..", "../shop", "x" * 32, "a" * 31, "A" * 32])
def test_no_address_leads_elsewhere(token: str):
    for act in (own.folder_of, own.forget, own.taken_in):
        with pytest.raises(InputError, match="this address has no file"):
            act(token)


# --- runs -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("data_folder")
def test_a_dataset_with_fewer_than_20_items_runs(source: Path):
    add("shop", source)
    (datasets.data_dir() / "by-hand.csv").write_text(
        blocks().replace("user,item", "user_id,item_id").replace("u0,,1,3", "")
    )
    for name in ("shop", "by-hand"):
        spec = make_spec(dataset=name, algorithm="popular", k=3, n=5)
        assert spec.cutoffs == (1, 5)
        result = run_fold(spec, 0)
        # Four of six items are known, so two candidates are left: both that are held out.
        assert result.score == pytest.approx(1.0)
        with pytest.raises(InputError, match=f"n must be at most the 6 items of {name}, but is 7"):
            make_spec(dataset=name, algorithm="popular", n=7)
        with pytest.raises(InputError, match=f"{name} has 6 items, so 6 negatives cannot be drawn"):
            make_spec(dataset=name, algorithm="popular", n=5, negatives=6)


@pytest.mark.usefixtures("data_folder")
def test_a_run_remembers_its_data_and_says_when_it_is_gone_renamed_or_other(
    source: Path, tmp_path: Path
):
    about = add("shop", source)
    spec = make_spec(dataset="shop", algorithm="popular", k=3, n=5)
    assert spec.data_sha256 == about.sha256
    assert make_spec(dataset="synthetic", algorithm="popular").data_sha256 is None
    assert datasets.change_sentence("shop", spec.data_sha256) == ""
    own.remove("shop")
    with pytest.raises(DatasetError, match=r"'shop' .* is no longer here; add the same file"):
        run_fold(spec, 0)
    other = tmp_path / "other.csv"
    other.write_text(blocks(7))
    add("shop", other)
    with pytest.raises(DatasetError, match=r"'shop' .* has changed since; add the same file again"):
        data_of(spec)
    own.remove("shop")
    add("shop", source)
    assert len(data_of(spec)) == 36  # the same file under the same name: as it was
    assert not spec.same_scores(make_spec(dataset="synthetic", algorithm="popular", k=3, n=5))


def test_a_file_by_hand_is_remembered_too(data_folder: Path):
    path = data_folder / "mine.csv"
    path.write_text(blocks().replace("user,item", "user_id,item_id").replace("u0,,1,3", ""))
    spec = make_spec(dataset="mine", algorithm="popular", k=3, n=5)
    path.write_text(path.read_text().replace("lonely", "lovely"))
    os.utime(path, (1, 1))
    with pytest.raises(DatasetError, match=r"'mine' .* has changed since"):
        data_of(spec)


def test_a_link_named_like_a_dataset_does_not_lead_out(data_folder: Path, source: Path):
    add("shop", source)
    (data_folder / "added" / "strange name").mkdir()
    (data_folder / "added" / "no-data").mkdir()
    assert list(own.added()) == ["shop"]
    assert not datasets.available(datasets.entry("no-data"))


def test_the_description_is_plain_json(data_folder: Path, source: Path):
    add("shop", source)
    found = json.loads((data_folder / "added" / "shop" / "about.json").read_text())
    assert found["source"] == "My Shop (2).csv"
    assert found["columns"] == {
        "user_id": "user",
        "item_id": "item",
        "rating": "stars",
        "timestamp": "when",
    }


@pytest.mark.usefixtures("data_folder")
def test_the_cluster_of_each_user_is_kept_where_a_column_is_named(tmp_path: Path):
    rows = [f"u{user},i{item},{'ab'[user % 2]}" for user in range(6) for item in range(6)]
    path = tmp_path / "classes.csv"
    path.write_text("\n".join(["user,item,cluster", "u9,i0,b", *rows[::-1], "u0,i9,"]))
    own.add_file("plain", path, NOTHING, no_report)
    own.add_file("classes", path, {"cluster": "cluster"}, no_report)
    assert datasets.load("plain").clusters is None
    assert prepared("plain").cluster_of is None
    about = datasets.entry("classes").about
    assert (about.columns["cluster"], about.unused) == ("cluster", {"no cluster": 1})
    found = prepared("classes")  # without the lonely u9, sorted by user
    assert found.user_ids.tolist() == [f"u{user}" for user in range(6)]
    assert found.cluster_of is not None
    assert found.cluster_of.tolist() == [1, 0] * 3  # b comes first in the file


def late_baskets(columns: str = "user,item,order") -> str:
    """Every user with every item, where only the first 200 of 400 rows have an order."""
    rows = [columns]
    for number in range(400):
        order = ""
        if number < 200:
            order = str(number // 3)
        rows.append(f"u{number // 20},i{number % 20},{order}")
    return "\n".join(rows)


@pytest.mark.usefixtures("data_folder")
def test_a_basket_that_nobody_named_costs_no_rows(tmp_path: Path):
    path = tmp_path / "shop.csv"
    path.write_text(late_baskets())
    about, recognised = own.add_file("shop", path, NOTHING, no_report)
    assert (about.kept, about.unused) == (400, {})
    assert set(about.columns) == {"user_id", "item_id"}
    (note,) = recognised.notes
    assert "order is not used as the basket, because 200 of 400 rows" in note
    with pytest.raises(InputError, match=r"order as the basket .* 200 of 400 rows"):
        own.add_file("shop-2", path, {"basket": "order"}, no_report)


@pytest.mark.usefixtures("data_folder")
def test_a_column_of_other_values_is_not_said_to_be_empty(tmp_path: Path):
    path = tmp_path / "shares.csv"
    rows = [f"u{number // 20},i{number % 20},{number % 5 + 1}/5" for number in range(400)]
    path.write_text("\n".join(["user,item,stars", *rows]))
    _, recognised = own.add_file("shares", path, NOTHING, no_report)
    (note,) = recognised.notes
    assert "200 of the first 200 rows have no rating in it" in note


@pytest.mark.usefixtures("data_folder")
def test_quotation_marks_far_down_that_swallow_rows_are_read_as_signs(tmp_path: Path):
    path = tmp_path / "plays.csv"
    rows = [f"u{number // 20},i{number % 20},t" for number in range(400)]
    rows[300] = 'u15,i0,"open'
    rows[350] = 'u17,i10,closed"'
    path.write_text("\n".join(["user,item,title", *rows]))
    about, _ = own.add_file("plays", path, NOTHING, no_report)
    assert (about.kept, about.unused) == (400, {})
    with pytest.raises(InputError, match="without quotation marks"):
        own.add_file("plays-2", path, NOTHING, no_report, layout_fields={"quotes": True})


@pytest.mark.usefixtures("data_folder")
def test_ids_that_are_alike_and_times_that_are_none_are_said(tmp_path: Path):
    path = tmp_path / "plays.csv"
    rows = [f"u{user},{item},{1_500_000_000 + item}" for user in range(6) for item in range(6)]
    path.write_text("\n".join(["who,what,when", *rows, "u1 ,1.0,0", "u1 ,2,-1", "\tu2,2.50,0"]))
    about = add("plays", path)
    assert (about.kept, about.raw_users, about.raw_items) == (39, 8, 8)  # none is changed
    assert about.remarks == {
        "who": "has 2 ids that differ from another by spaces or '.0' alone, such as 'u1' and "
        "'u1 '; each counts by itself",
        "what": "has 1 id that differs from another by spaces or '.0' alone, such as '1' and "
        "'1.0'; each counts by itself",
        "when": "has 3 times of 0 or -1, as programs write a missing one, which counts as the "
        "start of 1970",
    }
    # Times that count from a beginning have 0 among others that are near.
    path.write_text("\n".join(["who,what,when", *[row.replace(",15000000", ",") for row in rows]]))
    assert add("plays-2", path).remarks == {}


@pytest.mark.usefixtures("data_folder")
def test_ids_that_a_spreadsheet_shortened_are_said(tmp_path: Path):
    path = tmp_path / "plays.csv"
    rows = []
    for item in range(8):
        rows += [f"{user},{item}" for user in ("7.65612E+16", "7,6E+16", "E+16", 4, 5, 6, 7, 8)]
    rows = [row.replace("7,6E+16", '"7,6E+16"') for row in rows]
    path.write_text("\n".join(["who,what", *rows]))
    about = add("plays", path)
    assert about.remarks == {
        "who": "has 2 ids such as '7.65612E+16', as spreadsheets shorten long numbers, so that "
        "several ids may have become one: make the column a text there, and save it again"
    }


@pytest.mark.usefixtures("data_folder")
def test_a_user_with_a_tenth_of_everything_is_said(tmp_path: Path):
    path = tmp_path / "shop.csv"
    people = [f"u{user},i{item}" for user in range(59) for item in range(5)]
    robot = [f"robot,i{item}" for item in range(100)]
    path.write_text("\n".join(["user,item", *people, *robot]))
    about = add("shop", path)
    assert about.busiest_words.startswith("One of 60 users has 100 of 395 interactions (25 %)")
    path.write_text("\n".join(["user,item", *people]))
    assert add("shop-2", path).busiest_words == ""
