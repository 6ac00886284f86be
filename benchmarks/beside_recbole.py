"""Our models beside RecBole's: fit and evaluate fold 0, each in a fresh process, in turns.

python -m benchmarks.beside_recbole [--only ml-100k:item-knn,ml-1m:ease] [--param negatives=1]

RecBole trains as it does by default, without a validation part, in the environment of `ecv
bridge`, but for as many epochs as ours where a model has any (of its own 300, neu-mf takes half an
hour); its seconds are those of `fit` and of its own evaluation of the top ten, ours those of the
first fold of a process. Prints a table of both, and the ratio: of seconds, and where a model has
epochs, of the seconds of the fewest epochs with which ours reaches the score of theirs. `--param`
is a parameter of ours, of every model that is measured.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MODELS = {
    "item-knn": "ItemKNN",
    "ease": "EASE",
    "neu-mf": "NeuMF",
    "multi-vae": "MultiVAE",
    "bpr-mf": "BPR",
}
LINES = (
    "ml-100k:item-knn,amazon-cell-phones:item-knn,ml-1m:item-knn,ml-1m:ease,ml-100k:neu-mf,"
    "amazon-cell-phones:bpr-mf,ml-1m:multi-vae"
)
"""Of datasets and models, the quick ones first."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=LINES)
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--ours", nargs=3, help=argparse.SUPPRESS)  # in a process of its own
    parser.add_argument("--theirs", nargs=3, help=argparse.SUPPRESS)  # in their environment
    asked = parser.parse_args()
    if asked.ours:
        print(json.dumps(_ours(*asked.ours, given=asked.param)))
        return
    if asked.theirs:
        model, folder, epochs = asked.theirs
        print(json.dumps(_theirs(model, Path(folder), int(epochs))))
        return
    from ecv_core.bridges.bridge import LIBRARIES, environment
    from ecv_core.models import algorithm

    python = environment(LIBRARIES["recbole"], lambda said: print(said, file=sys.stderr))
    print("| dataset | model | ours, s | nDCG@10 | RecBole, s | nDCG@10 | ratio | to its score |")
    print("|---|---|---|---|---|---|---|---|")
    for line in asked.only.split(","):
        dataset, name = line.split(":")
        epochs = int(algorithm(name).every(()).get("epochs", 0))
        ours = _ours_alone(dataset, name, epochs, asked.param)
        with tempfile.TemporaryDirectory() as folder:
            _write_fold(dataset, name, Path(folder))
            words = [str(python), str(Path(__file__).resolve()), "--theirs", MODELS[name], folder]
            theirs = _told([*words, str(epochs or 1)], folder)  # where its logs go, too
        fewer = (_ours_alone(dataset, name, count, asked.param) for count in range(1, epochs))
        seconds, score = next((one for one in fewer if one[1] >= theirs[1]), ours)
        reached = f"{theirs[0] / seconds:.1f}" if score >= theirs[1] else "not reached"
        print(
            f"| {dataset} | {name} | {ours[0]:.2f} | {ours[1]:.4f} | {theirs[0]:.2f} | "
            f"{theirs[1]:.4f} | {theirs[0] / ours[0]:.1f} | {reached} |",
            flush=True,
        )


def _ours_alone(dataset: str, name: str, epochs: int, params: list[str]) -> Any:  # noqa: ANN401
    words = [sys.executable, "-m", "benchmarks.beside_recbole", "--ours", dataset, name]
    return _told([*words, str(epochs), *(f"--param={one}" for one in params)])


def _told(words: list[str], folder: str | None = None) -> Any:  # noqa: ANN401  seconds and score
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr[-800:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _ours(dataset: str, name: str, epochs: str, *, given: list[str]) -> tuple[float, float]:
    from ecv_core.energy.meter import NoMeter
    from ecv_core.fold.computing import run_fold
    from ecv_core.fold.spec import make_spec

    params = dict(one.split("=", 1) for one in given)
    params |= {"epochs": epochs} if int(epochs) else {}
    result = run_fold(make_spec(dataset=dataset, algorithm=name, params=params), 0, meter=NoMeter())
    return result.fit_seconds + result.evaluate_seconds, result.score


def _write_fold(dataset: str, name: str, folder: Path) -> None:
    import numpy as np

    from ecv_core.fold import data_of, folds_of
    from ecv_core.fold.spec import make_spec
    from ecv_core.splits import fold_matrices

    spec = make_spec(dataset=dataset, algorithm=name)
    parts = fold_matrices(data_of(spec), folds_of(spec), 0)
    (folder / "fold").mkdir()
    for part, matrix in (
        ("train", parts.train),
        ("valid", parts.train[:1]),  # RecBole asks for such a part; nothing is chosen by it
        ("test", parts.held_out),
    ):
        rows = matrix.tocoo()
        np.savetxt(
            folder / "fold" / f"fold.{part}.inter",
            np.stack(rows.coords, axis=1),
            fmt="%d",
            delimiter="\t",
            header="user_id:token\titem_id:token",
            comments="",
        )


def _theirs(model: str, folder: Path, epochs: int) -> tuple[float, float]:
    from recbole.config import Config
    from recbole.data import create_dataset, data_preparation
    from recbole.utils import get_model, get_trainer, init_seed

    settings = {
        "data_path": str(folder),
        "epochs": epochs,
        "checkpoint_dir": str(folder),
        "benchmark_filename": ["train", "valid", "test"],
        "load_col": {"inter": ["user_id", "item_id"]},
        "eval_args": {"order": "RO", "mode": "full", "group_by": "user"},
        "metrics": ["NDCG"],
        "valid_metric": "NDCG@10",
        "topk": [10],
        "metric_decimal_place": 12,
        "train_neg_sample_args": None,
        "show_progress": False,
    }
    if model in ("BPR", "NeuMF"):
        del settings["train_neg_sample_args"]  # these draw items, as by default
    config = Config(model=model, dataset="fold", config_dict=settings)
    init_seed(config["seed"], config["reproducibility"])
    dataset = create_dataset(config)
    training, _, testing = data_preparation(config, dataset)
    begin = time.perf_counter()
    made = get_model(model)(config, training.dataset).to(config["device"])
    trainer = get_trainer(config["MODEL_TYPE"], config["model"])(config, made)
    trainer.fit(training, saved=False, show_progress=False)
    found = trainer.evaluate(testing, load_best_model=False, show_progress=False)
    return time.perf_counter() - begin, float(found["ndcg@10"])


if __name__ == "__main__":
    main()
