"""The report of a run: numbers, source of energy, how to repeat it; nothing from outside."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import ecv_core
from ecv_core.figures.report.latex import PAPER, software
from ecv_core.figures.report.run_report import run_report
from ecv_core.records.run import RunState

HOSTILE = """<script>alert('x')</script>"><img src=x onerror=alert(1)>&amp;"""


class Page(HTMLParser):
    """What a browser would make of it: tags with their attributes, and the text."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.words, self.open = [], [], []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, words):
        self.words.append(words)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))


def test_the_report_has_the_runs_numbers(a_run, known):
    # 0.30, 0.32, 0.34: mean 0.32, deviation 0.02, t(2, 97.5 %) = 4.3027: half width 0.0497
    text = Page(run_report(a_run(), known)).text
    assert "ItemKNN on Synthetic" in text
    assert (
        "Stopped after 3 of 10 folds: the mean, 0.3200, satisfies the rule e-fold, but is "
        "uncertain." in text
    )
    # Looks after fold 3 to 10 may each err by 1.203 %: t(2) = 9.0349, so ± 0.1043.
    assert (
        "95 % interval of these folds: 0.2703 to 0.3697 (± 0.0497, Student's t over 3 folds). "
        "95 % interval of these folds that allows for the stop: 0.2157 to 0.4243 (± 0.1043, holds "
        "wherever the rule stops)." in text
    )
    assert "95 % interval for new users not known; ± 0.1043 over these folds" in text
    assert "30 mWh" in text  # 3 folds of 36 J
    assert "22 to 91 mWh" in text  # 7 folds of 16 J less 30 % to 36 J and 30 %
    assert "1.5 g" in text
    assert "processor's load" in text or "processor&#x27;s load" in text
    assert "run 0123456789ab · finished · 2026-03-04" in text


def test_a_checked_stop_says_how_far_off_it_was(a_run, known):
    # Means 0.30 after two folds and 0.32 after four: d = 0.02 / 0.31 = 6.45 %.
    run = a_run([0.3, 0.3, 0.34, 0.34], stopped_at=2, k=4, full=True, min_folds=2)
    folds = [replace(fold, processor_seconds=2.0) for fold in run.folds]
    text = Page(run_report(replace(run, folds=tuple(folds)), known)).text
    assert "the mean of all 4 folds is 0.3200, a difference of 6.45 % from the 0.3000" in text
    assert "Stop would save" in text
    assert "50 % of all 4 forgone to check" in text  # of the processor time


def test_how_to_reproduce_has_command_versions_machine_and_seed(a_run, known):
    text = Page(run_report(a_run(seed=7), known)).text
    assert "python -m ecv_core run synthetic item-knn --alpha 0.0001 --seed 7" in text
    assert "e-fold 0.1.0, Python 3.11.7" in text
    assert "x86_64, 2 cores" in text
    assert "random seed 7" in text
    assert "@inproceedings{baumgart2024efold" in text


def test_the_paper_and_this_version_are_cited():
    assert "Baumgart, Moritz and Wegmeth, Lukas and Vente, Tobias and Beel, Joeran" in PAPER
    assert ecv_core.__version__ in software()
    for entry in (PAPER, software()):
        assert entry.count("{") == entry.count("}")


def test_hostile_names_are_text(a_run, known):
    run = a_run()
    spec = replace(
        run.spec, dataset=HOSTILE, country=HOSTILE, params=((HOSTILE, HOSTILE),), split=HOSTILE
    )
    fold = replace(run.folds[0], metrics={"ndcg@10": 0.3, HOSTILE: 0.1})
    run = replace(run, spec=spec, folds=(fold, *run.folds[1:]))
    page = Page(run_report(run, {"machine": HOSTILE}, origin=HOSTILE))
    names = [tag for tag, _ in page.tags]
    assert "script" not in names
    assert "img" not in names
    assert not [key for _, attributes in page.tags for key in attributes if key.startswith("on")]
    assert HOSTILE in page.text


def test_nothing_is_loaded_from_anywhere_and_nothing_runs(a_run, known):
    report = run_report(a_run(), known)
    for tag, attributes in Page(report).tags:
        assert tag not in ("script", "iframe", "object", "embed", "base")
        for name in ("href", "xlink:href"):  # '#' is a mark in the same picture
            assert attributes.get(name, "#").startswith(("data:", "#"))
        assert "src" not in attributes
    assert "@import" not in report
    assert not re.search(r"url\((?!#)", report)
    assert "<metadata" not in report


@pytest.mark.parametrize("state", [RunState.CANCELLED, RunState.FAILED, RunState.RUNNING])
def test_a_run_without_folds_has_a_report_too(a_run, known, state):
    run = replace(a_run((), stopped_at=None), state=state)
    text = Page(run_report(run, known)).text
    assert f"No fold of 10 is finished: the run is {state.value}." in text


def test_energy_that_nobody_metered_is_not_a_zero(a_run, known):
    text = Page(run_report(a_run(source="none"), known)).text
    assert "no energy meter ran" in text
    assert "0 mWh" not in text


def test_an_algorithm_that_is_not_known_here_is_said_and_no_error(a_run, known):
    run = a_run()
    run = replace(run, spec=replace(run.spec, algorithm="theirs"))
    assert "no algorithm is called 'theirs'" in Page(run_report(run, known)).text
