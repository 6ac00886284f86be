"""`figure`: a file of the asked form and kind, from a recorded run, an own one, or the study."""

import re
from xml.etree import ElementTree

import pytest

from ecv_core import cli
from ecv_core.papers.figure_file import CHARTS_OF_RECORDS

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("subject", "kind", "form"),
    [
        ("ml-100k--item-knn", "efold", "pdf"),
        ("ml-100k--item-knn", "tradeoff", "pgf"),
        ("ml-100k--item-knn", "stops", "svg"),
        ("study", "difference", "svg"),
        ("study", "stops", "pdf"),
        ("ml-100k--item-knn", "efold", "png"),
        ("study", "ranks", "pgf"),
        ("ml-1m--item-knn", "p-values", "pdf"),
        ("ml-100k", "dimensions", "svg"),
        ("ml-100k", "steps", "pgf"),
        ("ml-10m", "board", "pdf"),
        ("ml-100k", "spaces", "svg"),
    ],
)
def test_a_file_is_a_column_wide_and_is_what_was_asked_for(subject, kind, form, tmp_path, capsys):
    target = tmp_path / f"figure.{form}"
    assert cli.main(["figure", subject, "--kind", kind, "--out", str(target)]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{target}: ")
    assert "alpha 1e-4" in said or kind in ("efold", *CHARTS_OF_RECORDS)
    content = target.read_bytes()
    match form:
        case "pdf":
            assert content.startswith(b"%PDF-")
            assert re.search(rb"/MediaBox \[ 0 0 237\.6 ", content)
        case "svg":
            assert ElementTree.fromstring(content).get("width") == "237.6pt"
        case "png":
            assert content.startswith(b"\x89PNG")
            assert int.from_bytes(content[16:20]) == 990  # 3.3 inches of 300 dots
        case "pgf":
            assert rb"\pgfqpoint{3.300000in}" in content


def test_an_own_run_has_its_figure_too(tmp_path, capsys):
    assert cli.main(["run", "synthetic", "popular", "-k", "3", "--rule", "never"]) == 0
    run_id = re.search(r"run ([0-9a-f]{12})", capsys.readouterr().out)[1]
    target = tmp_path / "own.svg"
    assert cli.main(["figure", run_id, "--kind", "tradeoff", "--out", str(target)]) == 0
    assert "Popularity on Synthetic" in target.read_text()


def test_a_recorded_run_goes_by_its_name_or_by_its_id(tmp_path):
    from ecv_core.store.recorded import recorded_run

    by_name = recorded_run("ml-1m--ease")
    assert (by_name.spec.dataset, by_name.spec.algorithm) == ("ml-1m", "ease")
    assert recorded_run(by_name.run_id) == by_name
    assert recorded_run("ml-1m--nothing") is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing", "--kind", "efold", "--out", "f.pdf"], "there is no run 'nothing'"),
        (["study", "--kind", "efold", "--out", "f.pdf"], "--kind efold"),
        (["ml-100k--ease", "--kind", "ranks", "--out", "f.pdf"], "--kind ranks"),
        (["study", "--kind", "ranks", "--out", "f.jpg"], "FILE.svg, FILE.pgf or FILE.png"),
        (["study", "--kind", "ranks", "--out", "no/such/f.pdf"], "does not exist"),
        (["study", "--kind", "ranks", "--out", "f.pdf", "--alpha", "0"], "positive"),
        (["x", "--kind", "efold", "--out", "f.pdf", "--alpha", "1e-3"], "efold takes none"),
        (["ml-100k", "--kind", "race", "--out", "f.html", "--alpha", "1e-3"], "race takes none"),
        (["study", "--kind", "ranks", "--out", "f.pdf", "--folder", "."], "no complete run"),
        (["study", "--out", "f.pdf"], "--kind"),
        (["nothing", "--kind", "p-values", "--out", "f.pdf"], "no recorded tuning is called"),
        (["nothing", "--kind", "board", "--out", "f.pdf"], "no dataset with published results is"),
        (["nothing", "--kind", "spaces", "--out", "f.pdf"], "no dataset with recorded spaces is"),
        (["ta-feng", "--kind", "steps", "--out", "f.pdf"], "no dataset with recorded rating"),
    ],
)
def test_a_mistake_is_one_line(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["figure", *arguments]) == 2
    output = capsys.readouterr()
    assert words in output.err
    assert output.err.count("\n") == 1
    assert not list(tmp_path.glob("f.*"))


def test_a_run_that_lacks_folds_has_figure_1_and_no_others(tmp_path, capsys):
    command = ["run", "synthetic", "popular", "-k", "4", "--only-folds", "0,1"]
    assert cli.main(command) == 0
    run_id = re.search(r"run ([0-9a-f]{12})", capsys.readouterr().out)[1]
    target = str(tmp_path / "f.svg")
    assert cli.main(["figure", run_id, "--kind", "stops", "--out", target]) == 2
    assert "has 2 of 4 folds" in capsys.readouterr().err
    assert cli.main(["figure", run_id, "--kind", "efold", "--out", target]) == 0
