"""What energy is made up of, worked by hand."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ecv_core.energy.meter import SOURCES
from ecv_core.energy.parts import (
    energy_lines,
    energy_parts,
    excluded_energy_words,
    inflated_energy_words,
    parts_sentence,
    runs_without_other_work,
)
from ecv_core.fold.spec import make_spec
from ecv_core.records.run import HOW_KNOWN, Energy, FoldResult, RunRecord, RunState


def fold(seconds=1.0, *, cpu=0.0, gpu=0.0, ram=0.0, source="cpu-load"):
    energy = Energy(
        joules=cpu + gpu + ram,
        cpu_joules=cpu,
        gpu_joules=gpu,
        ram_joules=ram,
        grams_co2e=0.0,
        source=source,
    )
    return FoldResult(
        fold=0,
        score=0.3,
        metrics={},
        users=1,
        fit_seconds=0.0,
        evaluate_seconds=0.0,
        total_seconds=seconds,
        energy=energy,
    )


def test_without_counters_the_processor_is_from_load_and_memory_is_flat():
    parts = energy_parts([fold(2, cpu=4, ram=40), fold(2, cpu=16, ram=40)])
    assert [(part.name, part.joules, part.percent, part.watts) for part in parts] == [
        ("processor, from its load", 20, 20, 5),  # of 100 J; in 4 s
        ("memory, at a constant power", 80, 80, 20),
    ]
    assert not any(part.measured for part in parts)
    assert parts_sentence(parts) == (
        "None of it was measured, and 80 % is a constant power for memory times the time, "
        "so the energy saved mostly reflects the time saved."
    )


def test_measured_parts_come_first_and_parts_of_nothing_not_at_all():
    parts = energy_parts([fold(cpu=30, gpu=50, ram=20, source="rapl")])
    assert [(part.name, part.percent) for part in parts] == [
        ("processor, measured", 30),
        ("GPU, measured", 50),
        ("memory, at a constant power", 20),
    ]
    assert parts_sentence(parts) == "Meters measured 80 % of it."


def test_a_gpu_is_measured_where_the_processor_is_not():
    parts = energy_parts([fold(cpu=60, gpu=25, ram=15)])
    assert {part.name: part.measured for part in parts} == {
        "GPU, measured": True,
        "processor, from its load": False,
        "memory, at a constant power": False,
    }
    assert parts_sentence(parts).startswith(
        "Meters measured only 25 % of it, and 15 % is a constant"
    )


def test_what_a_program_reported_with_its_fold_is_a_part_beside_those_that_were_metered():
    told = replace(fold(3).energy, joules=50.0, source="told")
    parts = energy_parts([fold(1, cpu=30, ram=20), replace(fold(3), energy=told)])
    assert [(part.name, part.joules, part.percent) for part in parts] == [
        ("as reported with the folds", 50, 50),
        ("processor, from its load", 30, 30),
        ("memory, at a constant power", 20, 20),
    ]


def test_what_a_plug_added_to_mixed_energy_is_in_no_part_but_in_the_sum():
    mixed = replace(fold(cpu=10, ram=5).energy, joules=40.0, source="mixed")
    parts = energy_parts([replace(fold(), energy=mixed)])
    assert {part.name: part.joules for part in parts} == {
        "from several sources, in no part": 25,
        "processor, from several sources": 10,
        "memory, at a constant power": 5,
    }


@pytest.mark.parametrize("folds", [[], [fold(source="none")]])
def test_without_energy_there_is_nothing_to_say(folds):
    assert energy_parts(folds) == ()
    assert parts_sentence(energy_parts(folds)) == ""


def test_runs_beside_which_the_machine_did_other_work_are_in_no_sum_and_counted_out():
    own = RunRecord(
        run_id="a",
        spec=make_spec(dataset="synthetic", algorithm="popular"),
        state=RunState.FINISHED,
        folds=(),
        created_at=datetime(2026, 3, 4, tzinfo=UTC),
    )
    disturbed = replace(own, other_work="the machine was busy")
    assert runs_without_other_work([own, disturbed]) == [own]
    assert excluded_energy_words([own, disturbed]) == (
        "1 of 2 runs is left out of the sums of energy, because other programs used the "
        "machine during it."
    )
    assert excluded_energy_words([own]) == ""
    assert excluded_energy_words([disturbed, disturbed]) == (
        "Other programs used the machine during each of the runs, so their energy is only "
        "approximate."
    )
    assert inflated_energy_words([own, disturbed]) == (
        "Other programs used the machine during 1 of 2 runs, so this energy is too high."
    )
    assert inflated_energy_words([own]) == ""
    assert inflated_energy_words([disturbed]) == (
        "The energy of this run is too high, because the machine was busy."
    )
    assert excluded_energy_words([disturbed, disturbed, own]).startswith("2 of 3 runs are left out")


def test_why_a_number_is_what_it_is_by_hand():
    # two folds of 2 s: 4 + 16 J of the processor, 40 J each of memory; the idle machine draws 15 W
    folds = [fold(2, cpu=cpu, ram=40) for cpu in (4.0, 16.0)]
    more = {"idle_joules": 30.0, "grams_co2e": 0.01}
    folds = [replace(one, energy=replace(one.energy, **more)) for one in folds]
    spec = make_spec(dataset="synthetic", algorithm="popular", k=4)
    when = datetime(2026, 3, 4, tzinfo=UTC)
    finished = RunRecord(
        run_id="a",
        spec=spec,
        state=RunState.FINISHED,
        folds=tuple(folds),
        created_at=when,
        stopped_at=2,
    )
    processor, memory, whole, idle, emissions, saved = energy_lines(finished)
    assert processor.startswith(
        "processor, from its load: 5 W on average x 4 s = 20 J; each second P"
    )
    assert memory.startswith("memory, at a constant power: 20 W on average x 4 s = 80 J")
    assert whole == "total: 20 + 80 = 100 J, / 3600 = 0.0278 Wh"
    assert idle == "idle: 15 W x 4 s = 60 J, so the folds added 40 J to it"
    assert emissions == "emissions: 100 J / 3.6 MJ x 720 g CO2e per kWh = 0.02 g CO2e"
    # the second fold cost 56 J; two never ran
    assert saved == "saved: 2 that never ran x 56 J = 112 J"
    assert energy_lines(replace(finished, folds=())) == []


@pytest.mark.parametrize(
    ("source", "how", "sentence"),
    [
        ("rapl", "measured", "Meters measured 60 % of it."),
        ("plug", "measured", "Meters measured 100 % of it."),
        ("slurm", "measured", "Meters measured 100 % of it."),
        ("cpu-load", "estimated", "None of it was measured"),
        ("constant", "estimated", "None of it was measured"),
        ("command", "reported", "A meter of your own reported 100 % of it."),
        ("plugin", "reported", "A meter of your own reported 100 % of it."),
        ("told", "reported", "A meter of your own reported 100 % of it."),
        ("mixed", "from several sources", "None of it was measured"),
        ("none", "not known", ""),
    ],
)
def test_what_is_called_measured_was_read_from_a_meter(source, how, sentence):
    one = fold(cpu=60.0, ram=40.0, source=source)
    assert HOW_KNOWN[source] == how
    assert one.energy.measured is (how == "measured")
    assert parts_sentence(energy_parts([one])).startswith(sentence)
    assert ("not measured" in SOURCES[source]) is (how == "estimated")
    assert SOURCES[source].startswith("measured") is (how == "measured")
    assert set(SOURCES) == set(HOW_KNOWN)
