"""Runs in a library's own environment, without e-fold: a model and a fold -> users' ranked lists.

    python script.py FOLDER

FOLDER has job.json and parts.npz, as `bridge.fit` writes them; told.npz is written beside them. A
job that cannot be ends with exit code 2 and a sentence, the last line of stderr.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import threading
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

Job = Mapping[str, Any]
Parts = Mapping[str, NDArray[np.int32]]
"""'train', 'validation', 'test': users and items as numbers; each of shape (interactions, 2)."""
Ranked = tuple[dict[int, NDArray[np.int64]], float | None]
"""User -> items, the best first; the fold's score by the library's own evaluator, if asked."""
CELLS = 2_000_000
"""Scores that are held at once, of so many users as these are of all items."""


def recbole(job: Job, parts: Parts, folder: Path) -> Ranked:
    """A general recommender of RecBole; with a validation part it is that of the best epoch."""
    import torch
    from recbole.config import Config
    from recbole.data import create_dataset, data_preparation
    from recbole.utils import ModelType, get_model, get_trainer, init_seed
    from recbole.utils.case_study import full_sort_scores

    try:
        model_class = get_model(job["model"])
    except (ValueError, ModuleNotFoundError):
        refuse(f"RecBole has no model '{job['model']}'; its names are like BPR, EASE, LightGCN")
    if model_class.type not in (ModelType.GENERAL, ModelType.TRADITIONAL):
        refuse(
            f"{job['model']} needs more than who has what; only general recommenders are bridged"
        )
    metric = f"{job['metric']}@{job['n']}"
    own = {
        "data_path": str(folder),
        "checkpoint_dir": str(folder),
        "benchmark_filename": ["train", "valid", "test"],
        "load_col": {"inter": ["user_id", "item_id"]},
        "eval_args": {"order": "RO", "mode": "full", "group_by": "user"},
        "metrics": [job["metric"]],
        "valid_metric": metric,
        "topk": [job["n"]],
        "metric_decimal_place": 12,
        "seed": job["seed"],
        "reproducibility": True,
        "show_progress": False,
    }
    (folder / "fold").mkdir()
    validated = len(parts["validation"]) > 0
    for name, rows in (
        ("train", parts["train"]),
        # RecBole asks for such a part: a row of training stands in, and nothing is chosen by it.
        ("valid", parts["validation"] if validated else parts["train"][-1:]),
        ("test", parts["test"]),
    ):
        path, header = folder / "fold" / f"fold.{name}.inter", "user_id:token\titem_id:token"
        np.savetxt(path, rows, fmt="%d", delimiter="\t", header=header, comments="")
    known = Config(model=job["model"], dataset="fold", config_dict=own).final_config_dict
    check_params(job, {*known} - {*own})
    config = Config(model=job["model"], dataset="fold", config_dict={**job["params"], **own})
    init_seed(config["seed"], config["reproducibility"])
    dataset = create_dataset(config)
    training, validation, testing = data_preparation(config, dataset)
    model = model_class(config, training.dataset).to(config["device"])
    trainer = get_trainer(config["MODEL_TYPE"], config["model"])(config, model)
    trainer.fit(training, validation if validated else None, saved=validated, show_progress=False)
    if validated:
        best = torch.load(trainer.saved_model_file, config["device"], weights_only=False)
        model.load_state_dict(best["state_dict"])
        model.load_other_parameter(best.get("other_parameter"))
    users = np.unique(parts["test"][:, 0])
    rows = dataset.token2id("user_id", users.astype(str))
    # The first item is RecBole's padding, which it gives no score.
    items = np.array([-1, *dataset.id2token("item_id", np.arange(1, dataset.item_num)).astype(int)])
    left_out = torch.from_numpy(job["train_items"] & ~np.isin(items, parts["train"][:, 1]))
    lists = {}
    for chunk in np.array_split(np.arange(len(rows)), len(rows) * len(items) // CELLS + 1):
        scores = full_sort_scores(rows[chunk], model, testing, device=config["device"])
        scores[:, left_out.to(scores.device)] = -torch.inf
        values, places = torch.topk(scores, min(job["n"], len(items)), dim=1)
        candidates = torch.isfinite(values).cpu().numpy()  # what a user has is at -inf
        for user, place, kept in zip(users[chunk], places.cpu().numpy(), candidates, strict=True):
            lists[int(user)] = items[place[kept]]
    if not job["check"]:
        return lists, None
    return lists, trainer.evaluate(testing, load_best_model=False, show_progress=False)[metric]


def cornac(job: Job, parts: Parts, _folder: Path) -> Ranked:
    """A recommender of Cornac that needs nothing but who has what."""
    from cornac import metrics, models
    from cornac.eval_methods.base_method import BaseMethod, ranking_eval

    model_class = getattr(models, job["model"], None)
    if not inspect.isclass(model_class):
        refuse(f"Cornac has no model '{job['model']}'; its names are like BPR, EASE, WMF, VAECF")
    if issubclass(model_class, (models.NextBasketRecommender, models.NextItemRecommender)):
        refuse(
            f"{job['model']} needs sessions or baskets; only models of users and items are bridged"
        )
    accepted = inspect.signature(model_class).parameters
    check_params(job, {*accepted} - {"seed"})
    settings = {"verbose": False, "seed": job["seed"], **job["params"]}
    model: Any = model_class(**{name: settings[name] for name in settings if name in accepted})
    triples = {
        name: [(user, item, 1.0) for user, item in rows.tolist()] for name, rows in parts.items()
    }
    method = BaseMethod.from_splits(
        triples["train"],
        triples["test"],
        triples["validation"] or None,
        fmt="UIR",
        exclude_unknowns=False,
        seed=job["seed"],
    )
    model.fit(method.train_set, method.val_set)
    user_of, item_of = method.global_uid_map, method.global_iid_map
    candidates = {
        user: np.ones(method.train_set.num_items if job["train_items"] else len(item_of), np.bool_)
        for user in np.unique(parts["test"][:, 0]).tolist()
    }
    for user, item, _ in (*triples["train"], *triples["validation"]):
        if user in candidates:
            candidates[user][item_of[item]] = False
    names, lists = np.array(list(item_of)), {}
    for user, free in candidates.items():
        short = min(job["n"], free.sum())
        ranked, _ = model.rank(user_of[user], np.flatnonzero(free), k=short)
        lists[user] = names[ranked[:short]]
    if not job["check"]:
        return lists, None
    metric = {"ndcg": metrics.NDCG, "recall": metrics.Recall, "precision": metrics.Precision}
    own, _ = ranking_eval(
        model,
        [metric[job["metric"]](k=job["n"])],
        method.train_set,
        method.test_set,
        val_set=method.val_set,
        exclude_unknowns=False,
    )
    return lists, own[0]


def check_params(job: Job, accepted: Collection[str]) -> None:
    """Refuse parameters that the model does not have, or that are not for users to set."""
    for name in job["params"]:
        if name not in accepted:
            refuse(f"{name} cannot be set; what can: {', '.join(sorted(accepted))}")


def refuse(sentence: str) -> NoReturn:
    """End with what is wrong with the job."""
    sys.stderr.write(f"{sentence}\n")
    sys.exit(2)


def end_with_parent() -> None:
    """Who asked holds stdin open for as long as it lives."""
    sys.stdin.read()
    os._exit(1)


def main(folder: Path) -> None:
    """Read the job, carry it out, and write what is told."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    job = json.loads((folder / "job.json").read_text("utf-8"))
    with np.load(folder / "parts.npz") as parts:
        lists, own = {"recbole": recbole, "cornac": cornac}[job["library"]](
            job, dict(parts), folder
        )
    lengths = [len(ranked) for ranked in lists.values()]
    users, items = np.repeat([*lists], lengths), np.concatenate([*lists.values()])
    np.savez(folder / "told.npz", users=users, items=items, own=np.nan if own is None else own)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
