"""Folds used again with another country and other watts: no text says what did not decide."""

import csv
import io
import json
import tempfile
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from ecv_core.cli.run_command import summary
from ecv_core.energy.meter import country, country_in_words, with_emissions
from ecv_core.figures.report.describe import describe_runs
from ecv_core.figures.report.run_report import run_report
from ecv_core.figures.report.runs_content import runs_content
from ecv_core.figures.report.runs_report import runs_csv, runs_html
from ecv_core.figures.words import grams
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Here
from ecv_core.jobs.plan_runs import PlanRuns
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.records.run import Energy, FoldResult, RunRecord
from ecv_core.records.spec import RunSpec
from ecv_core.store.document import command_of, run_document
from ecv_core.store.ownership import this_process
from ecv_core.store.store import Store, open_store
from ecv_core.untrusted.disarming import csv_of
from pages.run import answer
from pages.run.details import fold_frame
from tests.fake_folds import SCORES, computing, users_result

K = 4
KNOWN = {"e_fold": "0.1.0", "machine": "x86_64", "cores": 2, "python": "3.11.7"}
ASSUMED_PROCESSOR = 40.0
ASSUMED_MEMORY = 10.0
COUNTRIES = st.lists(
    st.sampled_from(["DEU", "POL", "FRA", "NLD", "ZAF"]), min_size=2, max_size=2, unique=True
)
PROCESSOR_WATTS = st.sampled_from([None, 65.0, 120.0])
MEMORY_WATTS = st.sampled_from([None, 3.0, 7.0])
FOLDS = st.sets(st.integers(0, K - 1))


def joules_of_fold(processor: float | None, memory: float | None) -> tuple[float, float]:
    """What the fake meter says of the processor and of memory: each fold takes a second."""
    return processor or ASSUMED_PROCESSOR, memory or ASSUMED_MEMORY


def metered(spec: RunSpec, index: int) -> FoldResult:
    processor, memory = joules_of_fold(spec.processor_watts, spec.memory_watts)
    basis = "size"
    if spec.memory_watts is not None:
        basis = "given"
    energy = Energy(
        joules=processor + memory,
        cpu_joules=processor,
        gpu_joules=0.0,
        ram_joules=memory,
        grams_co2e=0.0,
        source="cpu-load",
        memory_basis=basis,
    )
    result = users_result(index, np.array([[SCORES[index]], [SCORES[index] + 0.1]]))
    return replace(result, total_seconds=1.0, energy=with_emissions(energy, spec.country))


def run(store: Store, spec: RunSpec) -> RunRecord:
    (run_id,) = store.create([spec], owner=this_process())
    drive(RunPlan(spec), PlanRuns(store, runs=[store.run(run_id)]), Here(computing(metered)))
    return store.run(run_id)


# Each example draws two reports, so none is shrunk.
@pytest.mark.slow
@settings(max_examples=10, phases=[Phase.explicit, Phase.generate])
@example(["DEU", "POL"], None, 65.0, None, 3.0, {0, 1, 2, 3})
@example(["POL", "DEU"], 65.0, None, 3.0, 7.0, {1})
@given(COUNTRIES, PROCESSOR_WATTS, PROCESSOR_WATTS, MEMORY_WATTS, MEMORY_WATTS, FOLDS)
def test_energy_is_that_of_then_and_emissions_are_those_of_the_country_of_now(
    countries, processor_then, processor_now, memory_then, memory_now, reused
) -> None:
    then, now = countries
    spec = RunSpec(
        dataset="synthetic",
        algorithm="popular",
        k=K,
        rule="never",
        country=then,
        processor_watts=processor_then,
        memory_watts=memory_then,
        only_folds=tuple(sorted(reused)),
    )
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{folder}/runs.sqlite")
        if reused:
            run(store, spec)
        asked = replace(
            spec,
            country=now,
            processor_watts=processor_now,
            memory_watts=memory_now,
            only_folds=(),
        )
        done = run(store, asked)
        with patch.object(answer, "store", lambda: store):
            card = answer.run_answer(done)
            page = f"{card.details} {card.amounts}"

    joules = []
    for fold in range(K):
        if fold in reused:
            joules.append(sum(joules_of_fold(processor_then, memory_then)))
        else:
            joules.append(sum(joules_of_fold(processor_now, memory_now)))
    grams_per_joule = country(now).grams_co2e_per_kwh / 3.6e6
    emitted = [of_fold * grams_per_joule for of_fold in joules]

    described = describe_runs([done], KNOWN)
    report = run_report(done, KNOWN)
    of_several = runs_html(runs_content([done], groups={}, made_with=KNOWN))
    emissions_told = {
        "page": page,
        "report": report,
        "report of several": of_several,
        "methods": described.methods,
        "LaTeX": described.latex,
    }
    for name, text in emissions_told.items():
        assert grams(sum(emitted)) in text, name
        assert country_in_words(now) in text, name
        assert country_in_words(then) not in text, name
        assert f" {country(then).grams_co2e_per_kwh:.0f} g CO2e per kWh" not in text, name

    energy_told = emissions_told | {"command line": summary(done)}
    for name, text in energy_told.items():
        assert ("computed before" in text) is bool(reused), name
        assert ("measured then" in text) is bool(reused), name

    document = json.loads(json.dumps(run_document(done)))
    assert close(document["energy"]["joules"], sum(joules))
    assert close(document["energy"]["grams_co2e"], sum(emitted))
    for fold in document["folds"]:
        assert fold["reused"] is (fold["fold"] in reused)
        assert close(fold["energy"]["joules"], joules[fold["fold"]])
        assert close(fold["energy"]["grams_co2e"], emitted[fold["fold"]])

    for row in csv.DictReader(io.StringIO(csv_of(fold_frame(done)))):
        fold = int(row["fold"])
        assert close(float(row["grams CO2e"]), emitted[fold])
        assert (row.get("computed") == "before") is (fold in reused)
    (row,) = csv.DictReader(io.StringIO(runs_csv([done])))
    assert row["country"] == now
    assert int(row["folds_computed_before"]) == len(reused)
    assert close(float(row["grams_co2e"]), sum(emitted))

    command = command_of(done)
    assert command in report
    computed_now = len(reused) < K
    assert ("--processor-watts" in command) is (computed_now and processor_now is not None)
    assert ("--memory-watts" in command) is (computed_now and memory_now is not None)
    for text in (page, report):
        memory_told = set()
        for watts in (3, 7, 10):
            if f"about {watts} W all the time" in text:
                memory_told.add(float(watts))
        memory_used = set()
        if reused:
            memory_used.add(joules_of_fold(None, memory_then)[1])
        if computed_now:
            memory_used.add(joules_of_fold(None, memory_now)[1])
        assert memory_told == memory_used


def close(value: float, expected: float) -> bool:
    return abs(value - expected) <= 1e-9 * abs(expected)
