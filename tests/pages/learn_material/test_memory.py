"""The memoriser: perfect on what it has seen, lost on what was held out."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from ecv_core import evaluation, models, splits
from ecv_core.dataset.preparation import prepared
from ecv_core.fold import fold_seed, folds_of
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import InputError
from pages.learn.material import dealing as folds
from pages.learn.material.dealing import MEMORISER, Grades, grades

GRADED = (MEMORISER, "popular", "item-knn", "ease")


class Memoriser:
    """Scores an item 1 where the user took it in training."""

    def fit(self, train, *, seed):
        self.train = train

    def score(self, users):
        import torch

        return torch.from_numpy(self.train[users].toarray())


def computed_grades():
    """What data/lessons/seen-and-held-out.json holds, worked out anew; a few seconds."""
    spec = make_spec(dataset="synthetic", algorithm="popular")
    fold = splits.fold_matrices(prepared("synthetic"), folds_of(spec), 0)
    train, held_out = fold.train, fold.held_out
    nothing = csr_array(train.shape, dtype=train.dtype)
    for name in GRADED:
        model = Memoriser()
        if name != MEMORISER:
            known = models.algorithm(name)
            model = known.build(dict(known.resolve({})))
        model.fit(train, seed=fold_seed(spec.seed, 0))
        seen = evaluation.evaluate(model, nothing, train, (10,)).means["ndcg@10"]
        held = evaluation.evaluate(model, train, held_out, (10,)).means["ndcg@10"]
        yield Grades(algorithm=name, seen=seen, held_out=held)


def test_the_memoriser_ranks_what_it_has_seen_first():
    train = csr_array(np.array([[1, 0, 0, 1, 0], [0, 1, 0, 0, 0]], dtype=np.float32))
    nothing = csr_array(train.shape, dtype=np.float32)
    model = Memoriser()
    model.fit(train, seed=0)
    assert evaluation.evaluate(model, nothing, train, (2,)).means["ndcg@2"] == 1.0


def test_the_recorded_grades_tell_the_story():
    found = {one.algorithm: one for one in grades()}
    assert tuple(found) == GRADED
    assert found[MEMORISER].seen == 1.0 == max(one.seen for one in found.values())
    assert found[MEMORISER].held_out == min(one.held_out for one in found.values())
    assert all(0 <= grade <= 1 for one in found.values() for grade in (one.seen, one.held_out))


@pytest.mark.slow
def test_the_recorded_grades_come_out_again():
    for kept, now in zip(grades(), computed_grades(), strict=True):
        assert now.algorithm == kept.algorithm
        assert now.seen == pytest.approx(kept.seen, abs=0.005)
        assert now.held_out == pytest.approx(kept.held_out, abs=0.005)


@pytest.mark.parametrize("content", [None, "{", '{"grades": [{"algorithm": "x"}]}'])
def test_damaged_grades_are_one_clear_sentence(tmp_path, monkeypatch, content):
    path = tmp_path / "grades.json"
    if content is not None:
        path.write_text(content)
    monkeypatch.setattr(folds, "RECORDED", path)
    with pytest.raises(InputError, match=r"recorded grades grades\.json cannot be read"):
        grades()
