"""The papers' cells as printed, and ours beside them."""

import json
import re
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from ecv_core import cli
from ecv_core import dataset as datasets
from ecv_core.analysis.tradeoff.curves import (
    PAPER_COST_PERCENT,
    PAPER_DIFFERENCE_PERCENT,
    PAPER_STOP,
)
from ecv_core.cli import plan_commands
from ecv_core.dataset.preparation import prepared
from ecv_core.papers.cells_text import markdown
from ecv_core.papers.our_tables import OUR_TABLES, power_tables, split_tables
from ecv_core.papers.reproduction import NOT_HERE, paper_cells, papers, tables
from ecv_core.records.errors import InputError
from ecv_core.records.interactions import Part
from ecv_core.records.places import SHIPPED
from ecv_core.records.run import UserScores
from ecv_core.splits import SPLITS, fold_parts, split
from ecv_core.store.recorded import FOLDER, recorded_runs
from scripts import record_spaces
from tests.fake_folds import fold_result

FILE = tomllib.loads((SHIPPED / "papers.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def cells():
    return {(one.paper[:4], one.table, one.part, one.row, one.column): one for one in paper_cells()}


def find(cells, paper, table, row, column, part=""):
    (found,) = [
        one
        for key, one in cells.items()
        if key[:2] == (paper, table) and key[3:] == (row, column) and part in key[2]
    ]
    return found


def test_the_command_answers_first_and_then_prints_every_table(capsys, cells):
    assert cli.main(["reproduce"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"{len(cells)} cells: ")
    for title in papers().values():
        assert f"\n## {title}\n" in printed
    assert cli.main(["reproduce", "--having", "zzz"]) == 0
    assert capsys.readouterr().out == "No row or value holds these words.\n"


def test_every_cell_of_every_table_and_figure_has_a_label_and_none_is_without_a_reason(cells):
    # captions of the papers' own text: tables 1; 1 to 3; 1 to 3; 1 to 5; one; and their figures
    counts = {"e-fo": (1, 4), "data": (3, 2), "diff": (3, 5), "disc": (5, 1), "recb": (1, 1)}
    for name, (n_tables, n_figures) in counts.items():
        (paper,) = [one for one in papers() if one.startswith(name)]
        listed = tables(paper)
        assert sum(one.startswith("table") for one in listed) == n_tables
        assert sum(one.startswith("figure") for one in listed) == n_figures
    for one in cells.values():
        assert (one.label == "same") == (one.why == "")
        assert one.why != NOT_HERE
        if one.label == "same":
            assert one.ours is not None
        if one.label == "differs":
            assert None not in (one.ours, one.published)
        if one.label == "impossible":
            assert None in (one.ours, one.published)
            assert one.ours is None or one.why == FILE["reasons"]["picture"]


def test_what_is_not_computed_says_the_command_that_computes_it_and_how_long_it_takes(cells):
    commands = ("ecv_core run ml-100k", "ecv_core tune", "scripts.record_spaces")
    for one in cells.values():
        could = one.ours is None and any(command in one.why for command in commands)
        assert could == (one.label == "not computed")
        if could:
            assert re.search("minutes|hours|a day|two weeks", one.why)


@pytest.fixture
def commands(cells):
    """Program -> its words, of what is not computed."""
    whys = {one.why for one in cells.values() if one.label == "not computed"}
    found = [re.search("`python -m ([^`]*)`", why)[1].split() for why in whys]
    return {program: words for program, *words in found}


def test_two_commands_compute_what_is_not_computed(commands):
    assert set(commands) == {"ecv_core", "scripts.record_spaces"}


@pytest.mark.skipif(
    not datasets.available(datasets.entry("ml-1m")), reason="the grid is tuned on ml-1m"
)
def test_the_papers_grid_begins_as_it_is_said(commands, monkeypatch, capsys):
    def begun(store, plan, **how):
        raise InputError(f"{plan.spec.k} folds of {plan.budget}")

    monkeypatch.setattr(plan_commands, "tune", begun)
    assert cli.main(commands["ecv_core"]) == 2
    assert "error: 10 folds of 3150" in capsys.readouterr().err  # table 2 of Anelli et al. (2021)


def test_the_fits_on_dunnhumby_begin_as_it_is_said(commands, monkeypatch, tmp_path):
    one = UserScores(users=np.arange(3), metrics=("ndcg@10",), values=np.zeros((3, 1)))
    configurations = []
    data, files = tmp_path / "data", tmp_path / "files"
    data.mkdir()
    rows = [f"{user},{item},{86_400 * item}\n" for user in range(9) for item in range(12)]
    (data / "dunnhumby.csv").write_text("user_id,item_id,timestamp\n" + "".join(rows))
    monkeypatch.setenv("ECV_DATA_DIR", str(data))

    def no_fit(specs, fold):
        configurations.extend(specs)
        return enumerate(replace(fold_result(fold, 0.0), user_scores=one) for _ in specs)

    words = [str(files) if word == "FOLDER" else word for word in commands["scripts.record_spaces"]]
    monkeypatch.setattr(record_spaces, "run_shared_fold", no_fit)
    monkeypatch.setattr(record_spaces, "ProcessPoolExecutor", ThreadPoolExecutor)
    monkeypatch.setattr("sys.argv", ["record_spaces", *words])
    record_spaces.main()
    assert len(list(files.iterdir())) == 138
    assert len(configurations) == 3 * 230  # of the paper, under each of its splits


def test_every_reason_of_the_file_is_used(cells):
    said = {one.why for one in cells.values()}
    assert set(FILE["reasons"].values()) <= said
    for part in FILE["parts"]:
        for reason in [
            *part.get("impossible", {}).values(),
            *part.get("not computed", {}).values(),
        ]:
            assert FILE["reasons"].get(reason, reason) in said


@pytest.mark.parametrize(
    ("paper", "table", "row", "column", "part", "published", "ours", "label"),
    [
        # reference values: the papers' text, the counts of the prepared data, and docs/tuning.md's
        # tables, which were made by the command `power`
        ("e-fo", "table 1", "ml-1m", "density %", "", "4.8448", "4.8448", "same"),
        ("e-fo", "table 1", "hetrec-lastfm", "items", "", "3646", "3646", "same"),
        ("e-fo", "table 1", "amazon-apps", "interactions", "", "752937", "752937", "same"),
        ("data", "table 2", "ta-feng, leave-last-item", "test", "", "9238", "13583", "differs"),
        (
            "data",
            "table 3",
            "ngcf",
            "temporal-global",
            "Ta-Feng, nDCG@10; here",
            "0.3794",
            None,
            "impossible",
        ),
        (
            "data",
            "table 2",
            "dunnhumby, temporal-global",
            "test",
            "",
            "169578",
            "146004",
            "differs",
        ),
        (
            "data",
            "table 3",
            "nmf",
            "leave-last-item",
            "Dunnhumby, nDCG",
            "0.1448",
            "0.2820",
            "differs",
        ),
        ("diff", "figure 5", "sgd-mf", "64", "RMSE of SGD", "0.7756", "0.9327", "differs"),
        ("diff", "table 1", "MRMA", "RMSE", "", "0.7634", None, "impossible"),
        ("diff", "table 1", "ALS-WR", "RMSE", "", "0.7830", None, "impossible"),  # all digits
        ("diff", "table 1", "ALS-WR", "remark", "", "I-CFN++ [32]", None, "impossible"),
        ("diff", "table 2", "Pragmatic Theory, quiz", "RMSE", "", "0.9088", None, "impossible"),
        ("diff", "table 3", "bayesian-svd++", "features", "", "u,i,iu", "u,i,iu", "same"),
        # 1 - 1000209 / (6040 * 3706) = 0.95532
        ("disc", "table 1", "ml-1m", "sparsity %", "", "95.53", "95.53", "same"),
        ("disc", "table 2", "15", "learning_rate", "", "0.00001221", "0.00001221", "same"),
        ("disc", "table 3", "ml-1m, item-knn", "recall@10", "", "2.385", "3.424", "differs"),
        ("disc", "table 4", "ml-1m, bpr-mf", "best, DP + sd", "", "1.126", "2.733", "differs"),
        ("disc", "table 5", "ml-1m, factors", "113", "", "0.535", "0.119", "differs"),
        ("disc", "table 5", "Amazon Movies", "128", "", "2.357", None, "impossible"),
        ("recb", "table", "TO_LS", "explanation", "", None, "--split leave-last-item", "same"),
    ],
)
def test_a_dozen_cells(cells, paper, table, row, column, part, published, ours, label):
    found = find(cells, paper, table, row, column, part)
    assert published in (None, found.published)
    assert found.label == label
    digits = len(str(published).partition(".")[2])
    assert ours == (f"{found.ours:.{digits}f}" if isinstance(found.ours, float) else found.ours)


def test_a_difference_is_said_in_the_paper_s_digits(cells):
    found = find(cells, "disc", "table 3", "ml-1m, item-knn", "efd@10")
    assert found.by == "by +0.114 (+6 %)"  # 1.998 - 1.884


def test_numbers_that_the_papers_print_twice_agree(cells):
    """Table 4 of Anelli et al. repeats table 3; table 3 of Meng et al. counts what it prints."""
    metrics = ("mrr@10", "ndcg@10", "precision@10", "recall@10")
    for data in ("ml-1m", "Amazon Movies"):
        for algorithm in ("item-knn", "user-knn", "bpr-mf"):
            row = f"{data}, {algorithm}"
            third = {one: find(cells, "disc", "table 3", row, one).published for one in metrics}
            best = find(cells, "disc", "table 4", row, "best").published
            assert find(cells, "disc", "table 4", row, "best, DP").published == third[best]
            assert third[best] == min(third.values(), key=float)
            worst = find(cells, "disc", "table 4", row, "worst").published
            printed = find(cells, "disc", "table 4", row, "worst, DP").published
            if row == "ml-1m, user-knn":
                assert (printed, third[worst]) == ("1.704", "2.196")  # the paper contradicts itself
            else:
                assert printed == third[worst]


def test_places_moved_are_those_of_the_scores_that_the_paper_prints():
    parts = [one for one in FILE["parts"] if one["table"] == "table 3" and "data" in one["paper"]]
    by_title = {one["part"]: one["rows"] for one in parts}
    for title, rows in by_title.items():
        if "places moved by" in title:
            continue
        scores = {name: [text.split() for text in row.split(" | ")] for name, row in rows.items()}
        ranks = [
            sorted(scores, key=lambda name, at=at: -float(scores[name][at][0])) for at in range(3)
        ]
        for name in scores:
            for at in (1, 2):
                up = ranks[0].index(name) - ranks[at].index(name)
                data, metric = title.rstrip(";").split()[:2]
                moved = by_title[
                    f"{data} places moved by {metric.rstrip(';')} against the split Last item"
                ]
                assert up == int(moved[name].split(" | ")[at - 1]), (title, name, at)


def test_a_place_is_one_of_all_seven_models(monkeypatch):
    assert len(split_tables()["ta-feng, ndcg@10, places"]) == 7
    six = [
        run for run in recorded_runs(FOLDER / "sampled" / "splits") if run.spec.algorithm != "ngcf"
    ]
    monkeypatch.setattr("ecv_core.papers.our_tables.recorded_runs", lambda _: six)
    frames = split_tables.__wrapped__()
    assert len(frames["ta-feng, ndcg@10"]) == 6
    assert frames["ta-feng, ndcg@10, places"].empty


def test_two_of_17_papers_split_at_one_point_in_time():
    """As the text says, section 2."""
    (part,) = [one for one in FILE["parts"] if one["part"].startswith("How 17 papers")]
    at = part["columns"].index("temporal-global")
    said = {name: row.split(" | ")[at] for name, row in part["rows"].items()}
    assert len(said) == 17
    assert {name: one for name, one in said.items() if one != "no"} == {
        "VBCAR (2019)": "yes",
        "DCRL (2019)": "yes",
    }


def test_the_averages_are_those_that_pages_name():
    (part,) = [one for one in FILE["parts"] if one["table"] == "section 3"]
    printed = {tuple(map(float, row.split(" | "))) for row in part["rows"].values()}
    assert printed == {(PAPER_DIFFERENCE_PERCENT, PAPER_STOP, PAPER_COST_PERCENT)}


def test_without_what_was_recorded_a_cell_says_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setattr("ecv_core.papers.our_tables.TUNINGS", tmp_path / "none")  # a wheel has none
    frames = dict(power_tables.__wrapped__())
    frames["power"] = frames["power"].drop("ml-1m, bpr-mf")
    monkeypatch.setitem(OUR_TABLES, "discriminative-power-of-hyperparameters", lambda: frames)
    found = paper_cells("disc", "table 3")
    assert {one.why for one in found if one.row == "ml-1m, bpr-mf"} == {NOT_HERE}
    assert "(1) what was recorded of it is not on this machine" in markdown(found)


def test_options_that_stand_for_a_row_are_offered():
    (part,) = [one for one in FILE["parts"] if "here" in one]
    named = [one.removeprefix("--split ") for one in part["here"].values() if "--split" in one]
    assert set(named) <= set(SPLITS)


def test_the_json_has_a_row_per_cell(tmp_path, capsys):
    target = tmp_path / "cells.json"
    assert cli.main(["reproduce", "e-fold", "table 1", "--json", str(target)]) == 0
    found = json.loads(target.read_text("utf-8"))["cells"]
    assert len(found) == 24
    first = {"paper", "table", "row", "column", "published", "ours", "label", "why"}
    assert first <= set(found[0])
    assert capsys.readouterr().out.startswith("All 24 cells are the same here.\n")


@pytest.mark.parametrize(
    ("row_text", "names"),
    [
        # a yes under that strategy; a dataset; a name, in any case: from the paper's table 1
        ("temporal-global", ["VBCAR (2019)", "DCRL (2019)"]),
        ("one point in time", ["VBCAR (2019)", "DCRL (2019)"]),
        ("Tafeng", ["CTRec (2019)", "Set2Set (2019)"]),
        ("neumf", ["NeuMF (2017)"]),
        ("nothing", []),
    ],
)
def test_rows_are_filtered(row_text, names):
    found = paper_cells("data", "table 1", row_text=row_text)
    assert list(dict.fromkeys(one.row for one in found)) == names


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "no paper is called 'nothing'"),
        (["d"], "no paper is called 'd'"),
        (["e-fold", "table 9"], "no table or figure of e-fold-cross-validation is called"),
    ],
)
def test_what_no_paper_has_is_refused(words, said, capsys):
    assert cli.main(["reproduce", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("dataset", ["ta-feng", "dunnhumby"])
def test_the_recorded_counts_of_parts_are_those_of_the_data(dataset):
    known = datasets.catalogue()
    if dataset not in known or not datasets.available(known[dataset]):
        pytest.skip(f"{dataset} is not on disk")
    recorded = json.loads((FOLDER / "parts.json").read_text("utf-8"))[dataset]
    data = prepared(dataset)
    for name, said in recorded.items():
        validation = 0.2 if name == "temporal-global" else True
        folds = split(data, name, 1, 42, {"validation": validation})
        counts = fold_parts(data, folds, 0).counts
        whole = {"temporal-global": (counts[Part.TRAIN].users, counts[Part.TRAIN].items)}
        there = whole.get(name, (data.n_users, data.n_items))
        assert there == (said["users"], said["items"])
        for part in (Part.VALIDATION, Part.TEST):
            assert counts[part].interactions == said[part.name.lower()]
        assert counts[Part.TRAIN].interactions == said["training"]
        if "baskets" in said:  # this split cuts none
            parts = (Part.TRAIN, Part.VALIDATION, Part.TEST)
            assert sum(counts[part].baskets for part in parts) == said["baskets"]
