"""Where the whole order is wanted, numbers are of the best, who may be placed before the others."""

import numpy as np
import pytest

from ecv_core.fold.spec import make_spec
from ecv_core.jobs.plans.select import Contender, SelectionState
from ecv_core.records.run import Scores
from ecv_core.selection.document import verdict_sentence
from ecv_core.selection.replay import select_in_order
from ecv_core.selection.rounds import Terms


def test_the_sentence_is_of_the_winners_mean_though_others_ran_on():
    rng = np.random.default_rng(0)
    users = 0.02 * rng.normal(size=(10, 200))
    means = (0.9, 0.5, 0.499)
    scores = []
    for place, mean in enumerate(means):
        own = mean + users + 0.02 * rng.normal(size=(10, 200))
        scores.append(Scores(name="abc"[place], folds=own.mean(axis=1), users=own))
    terms = Terms(k=10, until="order")
    result = select_in_order(scores, terms, range(10))
    assert result.rounds[-1].leader != result.verdict.winner == 0
    names = ["a", "b", "c"]
    spec = make_spec(dataset="synthetic", algorithm="popular", rule="never")
    state = SelectionState(
        contenders=tuple(Contender(name, spec) for name in names),
        terms=terms,
        scores=tuple(scores),
        result=result,
        folds_needed=result.folds_used,
        still_in=(),
        missing_turn=None,
    )
    folds_of_winner = scores[0].folds[: result.folds_used[0]]
    assert result.winner_mean == pytest.approx(folds_of_winner.mean())
    assert state.sentence(names) == verdict_sentence(names, terms, result)
