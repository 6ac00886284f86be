"""Race on the page Replay: what the lanes show; a year of runs."""

import json
from dataclasses import replace

import pytest

from ecv_core.energy.savings import Workload, yearly_cost
from ecv_core.records.run import RunState
from pages.replay.race import race_data
from pages.replay.year import Stops, lecture_sentence, stops_of, year_sentence

pytestmark = pytest.mark.usefixtures("recorded")
SCORES = (0.30, 0.34, 0.31, 0.33, 0.32)


def data_of(run):
    return race_data(run)


def counter(data, label):
    return next(one for one in data["counters"] if one["label"] == label)


def open_race(app, **params):
    app.switch_page("replay/replay.py")
    app.query_params["view"] = "Race"
    for name, value in params.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def words(app):
    shown = [*app.markdown, *app.warning, *app.error, *app.info, *app.caption]
    return " ".join(one.value for one in shown)


# Each fold of `a_run` takes 2 s and 36 J = 10 mWh, and 4 mg CO2e.


def test_both_lanes_run_the_same_folds_and_only_the_first_ends_early(a_run):
    data = data_of(a_run(SCORES, stopped_at=3, k=5))
    first, second = data["lanes"]
    assert (first["name"], first["end"]) == ("e-fold", 3)
    assert (second["name"], second["end"]) == ("5-fold", 5)
    assert data["seconds"] == [2.0] * 5
    # mean of 0.30, 0.34, 0.31; the interval that allows for the stop, as in test_run_file.py
    assert (
        first["says"][3]
        == "stopped after 3 folds, 6.0 s: nDCG@10 0.3167, ± 0.0781 over these folds"
    )
    assert first["says"][5] == first["says"][3]
    assert second["says"][5] == "done after all 5 folds, 10 s: nDCG@10 0.3200"
    assert first["says"][2] == second["says"][2] == "2 of 5 folds, mean 0.3200"


def test_the_counters_run_from_the_stop_to_the_end_in_one_unit(a_run):
    data = data_of(a_run(SCORES, stopped_at=3, k=5))
    energy = counter(data, "Energy saved, at most")  # the memory's part is drawn anyway
    assert energy["unit"] == "mWh"
    assert energy["values"] == pytest.approx([0, 0, 0, 0, 10, 20])
    emissions = counter(data, "Emissions saved, at most")
    assert emissions["unit"] == "mg CO2e"
    assert emissions["values"][-1] == pytest.approx(8)
    assert counter(data, "Time saved")["values"][-1] == pytest.approx(4)


def test_processor_time_comes_first_where_a_fold_says_it(a_run):
    run = a_run(SCORES, stopped_at=3, k=5)
    timed = replace(run.folds[0], processor_seconds=3.0)  # so 15 s in all, 6 s after the stop
    data = data_of(replace(run, folds=(timed, *run.folds[1:])))
    assert data["counters"][0]["label"] == "Processor time saved"
    assert data["counters"][0]["values"] == pytest.approx([0, 0, 0, 0, 3, 6])
    assert data["verdicts"][5].endswith("for 60 % of the processor time.")


def test_the_verdict_says_how_far_off_the_score_is(a_run):
    verdicts = data_of(a_run(SCORES, stopped_at=3, k=5))["verdicts"]
    # |0.31667 - 0.32| / 0.318333 = 1.05 %; 3 of 5 folds of equal length are 60 %
    assert (
        verdicts[5]
        == "The score of 3 folds differs by 1.05 % from that of all 5, for 60 % of the time."
    )
    assert verdicts[2].startswith("Neck and neck")
    assert (
        verdicts[4]
        == "e-fold has finished with 0.3167. Everything that 5-fold still spends is saved."
    )


def test_folds_that_never_ran_are_marked_and_the_difference_is_not_made_up(a_run):
    data = data_of(a_run(SCORES[:3], stopped_at=3, k=5))
    assert data["ran"] == [True, True, True, False, False]
    assert "folds 4 to 5 never ran" in data["verdicts"][5]
    assert "its mean is not known" in data["lanes"][1]["says"][5]
    assert data["titles"][4].endswith("estimated: it never ran")


def test_a_rule_that_never_stopped_saves_nothing_and_says_so(a_run):
    data = data_of(a_run(SCORES, stopped_at=5, k=5))
    assert data["lanes"][0]["end"] == 5
    assert "saved nothing" in data["verdicts"][5]
    assert counter(data, "Time saved")["values"][-1] == 0


def test_without_a_meter_only_time_is_counted(a_run):
    data = data_of(a_run(SCORES, stopped_at=3, k=5, source="none"))
    assert [one["label"] for one in data["counters"]] == ["Time saved"]


def test_a_race_takes_about_twelve_seconds(app, a_run):
    a_run(SCORES, stopped_at=3, k=5)
    open_race(app)
    (player,) = [
        data
        for one in app.get("bidi_component")
        if "speeds" in (data := json.loads(one.proto.json))
    ]
    assert 5 * 2.0 / player["speed"] == pytest.approx(12, rel=0.02)
    assert ["1 x real time", 1.0] in player["speeds"]


def test_a_recorded_run_races_on_the_first_visit(app, move_to_recorded, a_run):
    run = a_run(SCORES, stopped_at=3, k=5)
    move_to_recorded(run)
    open_race(app)
    assert "10 mWh (estimated)" in words(app)


def test_a_measured_energy_is_called_measured(app, a_run):
    a_run(SCORES, stopped_at=3, k=5, source="rapl")
    open_race(app)
    assert "10 mWh (measured)" in words(app)


def test_no_energy_recorded_is_a_sentence_and_no_year_is_worked_out(app, a_run):
    a_run(SCORES, stopped_at=3, k=5, source="none")
    open_race(app)
    assert "No energy was recorded for this run, so only time is counted." in words(app)
    assert "in a year" not in words(app)


def test_a_run_that_goes_on_is_watched_on_run(app, a_run):
    a_run(SCORES, stopped_at=3, k=5)
    going = a_run(SCORES[:2], state=RunState.RUNNING)
    open_race(app, run=going.run_id)
    assert f"Run '{going.run_id}' is still going" in words(app)


def test_an_unknown_run_is_a_sentence(app, a_run):
    a_run(SCORES, stopped_at=3, k=5)
    open_race(app, run="0000")
    assert "'0000'" in words(app)


def test_without_any_run_the_page_says_how_to_get_one(app):
    open_race(app)
    assert "no finished run" in words(app)


def test_a_year_is_worked_out_from_this_run(app, a_run):
    a_run(SCORES, stopped_at=3, k=5)
    open_race(app)
    # 100 x 52 x 2 folds x 36 J = 374,400 J = 0.104 kWh, at 380.95 g: 39.6 g; 20,800 s = 5.78 h;
    # without the 20 J of memory, 16 J: 0.0462 kWh and 17.6 g
    year = next(one.value for one in app.markdown if "in a year" in one.value)
    assert "| computing time | **5 h 46 min** |" in year
    assert "| energy | **46.2 to 104 Wh** |" in year
    assert "| emissions (CO2e) | **17.6 to 39.6 g** |" in year
    assert "Germany: 381 g CO2e per kWh in 2023" in words(app)


def test_the_folds_used_of_the_address_count_until_another_run_is_picked(app, a_run):
    other = a_run(SCORES, stopped_at=4, k=5)
    run = a_run(SCORES, stopped_at=3, k=5)
    open_race(app, run=run.run_id, folds_used="2")
    assert app.number_input(key="folds_used").value == 2.0
    app.selectbox(key="run-choice").set_value(other.run_id).run()
    assert app.number_input(key="folds_used").value == 4.0


def test_the_year_says_how_much_one_fold_more_or_less_would_change():
    work = Workload(
        runs_per_week=100,
        k=10,
        folds_used=4,
        joules_per_fold=(12_000, 12_000),
        seconds_per_fold=60,
        grams_per_kwh=400,
    )
    said = year_sentence(work, yearly_cost(work, 6), yearly_cost(work, 10))
    # 5,200 runs x 3.33 Wh = 17.33 kWh per fold: 5 folds 86.7, 7 folds 121
    assert "31,200 of 52,000 folds a year would not run (60 %)" in said
    assert "86.7 to 121 kWh" in said
    none = replace(work, runs_per_week=0)
    assert "0 of 0 folds" in year_sentence(none, yearly_cost(none, 6), yearly_cost(none, 10))


def test_at_scale_the_study_gives_the_average_and_the_range(a_run):
    runs = [a_run(SCORES, stopped_at=at, k=5) for at in (3, 3, 5)] + [a_run(SCORES[:2], k=5)]
    stops = stops_of(runs, 5)
    assert stops == Stops(mean=pytest.approx(11 / 3), least=3, most=5, runs=3)
    assert stops_of(runs, 10) is None
    # 1 run a week of 5 folds of 1 kWh: 52 x 2 kWh are saved by stopping after 3, 0 after 5.
    work = Workload(
        runs_per_week=1,
        k=5,
        folds_used=4,
        joules_per_fold=(3.6e6, 3.6e6),
        seconds_per_fold=1,
        grams_per_kwh=100,
    )
    said = year_sentence(work, yearly_cost(work, 1), yearly_cost(work, 5), stops)
    assert "stopped after 3 to 5 folds in the 3 recorded runs, 3.7 on" in said
    assert said.endswith("0 to 104 kWh.")


def test_a_research_groups_year_has_its_sources_and_its_range():
    work = Workload(
        runs_per_week=1,
        k=10,
        folds_used=4,
        joules_per_fold=(1, 1),
        seconds_per_fold=1,
        grams_per_kwh=1,
    )
    said = lecture_sentence(5, work, Stops(mean=4, least=3, most=9, runs=70))
    assert "came to 2,909 to 3,297 kg CO2e, measured at a plug" in said
    assert "arxiv.org/abs/2509.13001" in said
    assert "arxiv.org/abs/2408.08203" in said
    assert "5 such papers a year are 14,545 to 16,485 kg" in said
    assert "would save 60 % of it" in said
    # a tenth of the least, for stops after 9 of 10 folds, and 70 % of the most, after 3
    assert said.endswith("after 3 to 9 folds would save 1,454 to 11,540 kg a year.")
