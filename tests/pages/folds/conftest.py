"""How many folds? over recorded runs that each test puts there."""

import pytest

from tests.pages.conftest import card_text

SCORES = (0.30, 0.34, 0.31, 0.33, 0.32, 0.29, 0.31, 0.335, 0.30, 0.32)


@pytest.fixture(autouse=True)
def recorded(recorded):
    return recorded


@pytest.fixture
def record(move_to_recorded, a_run):
    """A recorded run that no database knows."""

    def put(dataset, algorithm, shift=0.0, users=None, **more):
        run = a_run([s + shift for s in SCORES], dataset=dataset, algorithm=algorithm, **more)
        move_to_recorded(run, users)

    return put


def open_explore(app):
    app.switch_page("folds/folds.py").run()
    assert not app.exception
    return app


def texts(app):
    said = " ".join(one.value for one in [*app.markdown, *app.info, *app.caption])
    return f"{said} {card_text(app)}"
