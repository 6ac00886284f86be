"""The rule of docs/extending.md, from a file outside the package, wherever rules are."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import ecv_core as ecv
from ecv_core.analysis.comparison.names import distinct_names
from ecv_core.analysis.comparison.settings import compared_settings
from ecv_core.analysis.replay import replay
from ecv_core.analysis.tradeoff.rule_curves import compared_curves, registered_curves
from ecv_core.analysis.tradeoff.rules_compared import Line
from ecv_core.cli import parse
from ecv_core.cli.run_command import spec_of
from ecv_core.figures.report.describe import describe_runs
from ecv_core.figures.report.run_report import run_report
from ecv_core.figures.words import rule_words, setting_words
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import InputError
from ecv_core.records.run import RunRecord, Scores
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import RULES
from ecv_core.store.document import command_for, run_document
from ecv_core.store.imports import read_run
from ecv_core.store.store import Store
from tests.documents import EXTENDING, ROOT, blocks
from tests.pages.conftest import verdict

# By hand, t(0.975; 1, 2) = 12.7062, 4.30265: the widths of 0.30 0.32, 0.31 are 0.254 and 0.0497.
SCORES = (0.30, 0.32, 0.31, 0.31, 0.305)
ASKED = {"dataset": "synthetic", "algorithm": "popular", "rule": "steady-width", "k": 5}
ID = "steady-width"
WIDTH, PATIENCE = f"param-rule-{ID}-width", f"param-rule-{ID}-patience"


@pytest.fixture(scope="module")
def code() -> str:
    return next(one.text for one in blocks(EXTENDING) if one.path == "steady_width.py")


@pytest.fixture(autouse=True)
def registered(code: str) -> Iterator[None]:
    """As by ECV_RULES, and gone afterwards."""
    before = dict(RULES)
    exec(compile(code, "steady_width.py", "exec"), {"__name__": "steady_width"})
    yield
    RULES.clear()
    RULES.update(before)


@pytest.fixture
def spec() -> RunSpec:
    return make_spec(**ASKED, rule_params={"width": "0.06", "patience": 2})


@pytest.fixture
def run(a_run: Callable[..., RunRecord]) -> RunRecord:
    return a_run(SCORES, stopped_at=4, full=True, rule_params={"width": 0.06}, **ASKED)


def test_its_parameters_are_typed_checked_and_filled_in(spec: RunSpec) -> None:
    assert spec.rule_params == (("patience", 2), ("width", 0.06))
    assert make_spec(**ASKED).rule_params == (("patience", 2), ("width", 0.05))
    assert RunSpec.from_json(spec.to_json()) == spec
    for bad, said in (
        ({"width": 0}, "'width' must be a positive number, but is 0"),
        ({"patience": 0}, "'patience' must be at least 1, but is 0"),
        ({"patience": 1.5}, "must be a whole number"),
        ({"breadth": 1}, "no parameter of the rule steady-width is called 'breadth'"),
    ):
        with pytest.raises(InputError, match=said):
            make_spec(**ASKED, rule_params=bad)


def test_it_stops_where_hand_work_says(spec: RunSpec, run: RunRecord) -> None:
    # c_4 = 2 * 3.18245 * 0.00816497 / 2 = 0.02598: after fold 4 two widths are at most 0.06.
    assert replay(spec, run.folds).stopped_at == 4
    once = replace(spec, rule_params=(("patience", 1), ("width", 0.06)))
    assert replay(once, run.folds).stopped_at == 3
    assert [moment.decision.stop for moment in run.moments] == [False, False, False, True, True]


def test_the_command_of_a_run_repeats_it(spec: RunSpec) -> None:
    words = shlex.split(command_for(spec))[3:]
    assert words[words.index("--rule-param") + 1] == "width=0.06"  # patience is as usual
    assert spec_of(parse(words)) == spec


def test_the_library_takes_it_by_name_and_as_an_instance() -> None:
    by_name = ecv.evaluate(**ASKED, rule_params={"width": 10.0, "patience": 1}, keep=False)
    rule = RULES[ID].kind(width=10.0, patience=1, confidence=0.95, min_folds=3)
    instance = ecv.evaluate(**ASKED | {"rule": rule}, keep=False)
    assert by_name.spec == instance.spec
    assert by_name.stopped_at == instance.stopped_at == 3
    outcome = ecv.orders(list(SCORES), rule, draws=50)
    assert outcome.mean_stop == 3


def test_a_run_of_it_is_exported_and_imported(run: RunRecord) -> None:
    found = read_run(json.dumps(run_document(run)).encode(), "run.json").run
    assert (found.spec, found.moments) == (run.spec, run.moments)


def test_its_words_are_made_of_its_parameters(run: RunRecord) -> None:
    assert rule_words(run.spec) == "width 0.06, patience 2"
    assert setting_words(ID, 0.05) == "width 0.05"
    other = replace(run.spec, rule_params=(("patience", 3), ("width", 0.06)))
    apart = {one.name: one.values for one in compared_settings([run.spec, other]) if one.differs}
    assert apart == {"steady-width: patience": ("2", "3")}
    told = distinct_names([run, replace(run, run_id="other", spec=other)])
    assert told == ["steady-width, width 0.06, patience 2", "steady-width, width 0.06, patience 3"]


def test_reports_and_texts_for_papers_say_them(run: RunRecord) -> None:
    assert "width 0.06, patience 2" in run_report(run, {})
    text = describe_runs([run], {}).methods
    assert "the rule 'Steady width': Stops when the interval has been at most so wide" in text
    assert "Its parameters were patience = 2 and width = 0.06." in text


def test_it_is_a_line_and_a_curve_over_its_axis() -> None:
    import numpy as np

    system = Scores(name="a", dataset="d", metric="m", folds=np.array(SCORES))
    (compared,) = (one for one in compared_curves([system], {}) if one.rule == ID)
    line = Line.averaged_over_systems(compared, np.ones(1))
    assert line.cost[-1] == pytest.approx(100)
    assert np.all(np.diff(line.cost) >= 0)
    (curve,) = (
        one for one in registered_curves([system], {}, within_percent=2.0) if one.rule == ID
    )
    assert {0.0125, 0.05, 0.1} <= set(curve.average.settings.tolist()) <= {*line.settings, 0.0}


def test_the_form_asks_for_both_and_the_link_keeps_them(app: AppTest, store: Store) -> None:
    app.query_params["rule"] = "Steady width"
    app.query_params[WIDTH], app.query_params[PATIENCE] = "0.07", "3"
    app.run()
    assert not app.exception
    assert app.number_input(key=WIDTH).value == 0.07
    assert app.number_input(key=PATIENCE).value == 3
    next(one for one in app.button if one.label == "Start").click().run()
    (run,) = store.runs()
    assert run.spec.rule_params == (("patience", 3), ("width", 0.07))
    next(one for one in app.button if one.label == "New run").click().run()
    assert not app.exception
    assert app.number_input(key=PATIENCE).value == 3


def test_a_link_that_asks_for_nonsense_is_told_so(app: AppTest) -> None:
    app.query_params[WIDTH] = "wide"
    app.run()
    assert "must be a number, but is 'wide'" in app.warning[0].value


@pytest.mark.parametrize("page", ["runs", "replay", "folds", "studies", "learn"])
@pytest.mark.usefixtures("recorded")  # none, so that there is little to work out
def test_pages_that_know_rules_show_a_run_of_it(app: AppTest, run: RunRecord, page: str) -> None:
    app.query_params["run"] = run.run_id
    if page == "folds":
        app.query_params["source"] = "My runs"
    app.switch_page(f"{page}/{page}.py").run()
    assert not app.exception


def test_the_page_of_the_run_has_its_verdict(app: AppTest, run: RunRecord) -> None:
    app.query_params["run"] = run.run_id
    app.run()
    assert not app.exception
    assert "satisfies the rule Steady width" in " ".join(verdict(app)[1])


@pytest.mark.slow
def test_the_command_line_learns_of_it_by_ecv_rules(tmp_path: Path, code: str) -> None:
    (tmp_path / "steady_width.py").write_text(code, "utf-8")
    (tmp_path / "scores.csv").write_text("score\n" + "\n".join(map(str, SCORES)) + "\n")

    def ecv_core(*words: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(tmp_path), str(ROOT)])
        return subprocess.run(
            [sys.executable, "-m", "ecv_core", *words],
            env=os.environ | {"ECV_RULES": "steady_width", "PYTHONPATH": path},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )

    asked = ("--rule", ID, "--rule-param", "width=10", "--rule-param", "patience=1")
    done = ecv_core("run", "synthetic", "popular", "-k", "5", *asked)
    assert "Stopped after 3 of 5 folds" in done.stdout, done.stderr
    done = ecv_core("orders", str(tmp_path / "scores.csv"), *asked, "--json", "-")
    document = json.loads(done.stdout)
    assert document["rule_params"] == {"patience": 1, "width": 10.0}
    assert document["stop_distribution"] == {"3": 1.0}
    done = ecv_core("run", "synthetic", "popular", *asked[:3], "width=wide")
    assert done.returncode == 2
    assert done.stderr == "error: parameter 'width' must be a number, but is 'wide'\n"
