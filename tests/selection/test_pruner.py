import optuna
import pytest

from ecv_core.records.errors import InputError
from ecv_core.selection.pruner import FoldPruner
from tests.selection.conftest import made

optuna.logging.set_verbosity(optuna.logging.ERROR)


def studied(means: list[float], *, maximize: bool = True, named: bool = False) -> optuna.Study:
    some = made(means, users=100, spread=0.05)
    pruner = FoldPruner(k=10, trials=len(means))
    direction = "maximize" if maximize else "minimize"
    study = optuna.create_study(direction=direction, pruner=pruner)  # type: ignore[arg-type]

    def objective(trial: optuna.Trial) -> float:
        one = some[trial.number]
        assert one.users is not None
        for fold in range(10):
            scores = one.users[fold]
            pruner.report(trial, fold, dict(enumerate(scores)) if named else scores)
            if trial.should_prune():
                raise optuna.TrialPruned
        return float(one.folds.mean())

    study.optimize(objective, n_trials=len(means))
    return study


@pytest.mark.parametrize("named", [False, True], ids=["arrays", "user -> score"])
def test_a_worse_trial_is_pruned_after_a_fold_and_a_better_one_never(named: bool) -> None:
    trials = studied([0.5, 0.2, 0.8], named=named).trials
    assert [trial.state.name for trial in trials] == ["COMPLETE", "PRUNED", "COMPLETE"]
    assert len(trials[1].intermediate_values) == 1
    assert len(trials[2].intermediate_values) == 10


def test_less_can_be_better() -> None:
    trials = studied([0.5, 0.2, 0.8], maximize=False).trials
    assert [trial.state.name for trial in trials] == ["COMPLETE", "COMPLETE", "PRUNED"]


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="trials = 1"):
        FoldPruner(k=10, trials=1)
    pruner = FoldPruner(k=3, trials=2)
    trial = optuna.create_study().ask()
    with pytest.raises(InputError, match="no fold 3; with k = 3"):
        pruner.report(trial, 3, [0.1])
    with pytest.raises(InputError, match="has no score of any user"):
        pruner.report(trial, 0, [float("nan")])
