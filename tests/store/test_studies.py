"""Studies are found again by whoever opens the database next; removing one keeps its runs."""

import pytest

from ecv_core.errors import InputError
from ecv_core.records import RunSpec
from ecv_core.store import (
    Cell,
    forget_study,
    keep_study,
    open_store,
    stored_studies,
    stored_study,
)


def cell(algorithm="popular", run_id="r1", borrowed=False):
    spec = RunSpec(dataset="synthetic", algorithm=algorithm, params=(("a", 1),))
    return Cell(spec=spec, run_id=run_id, borrowed=borrowed)


def test_a_study_comes_back_as_it_was_kept():
    cells = [cell(), cell("ease", "r2", borrowed=True)]
    study_id = keep_study(open_store(), cells)
    found = stored_study(open_store(), study_id)
    assert found.study_id == study_id
    assert found.cells == tuple(cells)


def test_the_newest_study_comes_first():
    store = open_store()
    first, second = keep_study(store, [cell()]), keep_study(store, [cell()])
    assert [study.study_id for study in stored_studies(store)] == [second, first]


def test_other_runs_can_fill_the_cells_of_a_study():
    store = open_store()
    study_id = keep_study(store, [cell()])
    keep_study(store, [cell(run_id="r9")], study_id)
    (study,) = stored_studies(store)
    assert study.cells[0].run_id == "r9"


def test_a_forgotten_study_is_gone_and_its_runs_are_not():
    store = open_store()
    run_id = store.create([cell().spec], owner="me")[0]
    study_id = keep_study(store, [cell(run_id=run_id)])
    forget_study(store, study_id)
    assert stored_studies(store) == []
    assert store.run(run_id).run_id == run_id


def test_an_unknown_study_is_one_clear_sentence():
    with pytest.raises(InputError, match="there is no study 'nope' here; it may have been removed"):
        stored_study(open_store(), "nope")
