"""Runs in a library's own environment, without e-fold: a model and a fold -> users' ranked lists.

    python script.py FOLDER

FOLDER has job.json and parts.npz, as `bridge.fit` writes them; lists.npz is written beside them. A
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
Lists = dict[int, NDArray[np.int64]]
"""User -> items, the best first."""
CELLS = 2_000_000
"""Scores that are held at once, of so many users as these are of all items."""


def fit_recbole(job: Job, parts: Parts, folder: Path) -> tuple[Lists, float]:
    """A general recommender of RecBole; with a validation part it is that of the best epoch.

    Returns:
        The users' lists, and the fold's score by RecBole's evaluator, NaN where it is not asked.
    """
    from recbole.config import Config
    from recbole.data import create_dataset, data_preparation
    from recbole.utils import get_trainer, init_seed

    model_class = recbole_class(job["model"])
    settings = recbole_settings(job, folder)
    write_for_recbole(parts, folder / "fold")
    # A configuration without the job's parameters holds every parameter at its default, and so
    # names every parameter that the model has.
    defaults = Config(model=job["model"], dataset="fold", config_dict=settings).final_config_dict
    check_params(job, defaults.keys() - settings.keys())
    config = Config(model=job["model"], dataset="fold", config_dict={**job["params"], **settings})
    init_seed(config["seed"], config["reproducibility"])
    dataset = create_dataset(config)
    training, validation, testing = data_preparation(config, dataset)
    model = model_class(config, training.dataset).to(config["device"])
    trainer = get_trainer(config["MODEL_TYPE"], config["model"])(config, model)
    if len(parts["validation"]):
        trainer.fit(training, validation, saved=True, show_progress=False)
        load_best_epoch(model, trainer, config["device"])
    else:
        trainer.fit(training, None, saved=False, show_progress=False)
    lists = recbole_lists(job, parts, model, dataset, testing)
    if not job["check"]:
        return lists, np.nan
    scores = trainer.evaluate(testing, load_best_model=False, show_progress=False)
    return lists, scores[settings["valid_metric"]]


def recbole_class(name: str) -> Any:
    """The class of a model; a job with one that is not there, or no general one, is refused."""
    from recbole.utils import ModelType, get_model

    try:
        model_class = get_model(name)
    except (ValueError, ModuleNotFoundError):
        refuse(f"RecBole has no model '{name}'; its names are like BPR, EASE, LightGCN")
    if model_class.type not in (ModelType.GENERAL, ModelType.TRADITIONAL):
        refuse(f"{name} needs more than users and items; only general recommenders can be used")
    return model_class


def recbole_settings(job: Job, folder: Path) -> dict[str, Any]:
    """RecBole's settings beside the model's parameters; users do not set these."""
    return {
        "data_path": str(folder),
        "checkpoint_dir": str(folder),
        "benchmark_filename": ["train", "valid", "test"],
        "load_col": {"inter": ["user_id", "item_id"]},
        "eval_args": {"order": "RO", "mode": "full", "group_by": "user"},
        "metrics": [job["metric"]],
        "valid_metric": f"{job['metric']}@{job['n']}",
        "topk": [job["n"]],
        "metric_decimal_place": 12,
        "seed": job["seed"],
        "reproducibility": True,
        "show_progress": False,
    }


def write_for_recbole(parts: Parts, folder: Path) -> None:
    """Write the parts of a fold as RecBole reads them."""
    validation = parts["validation"]
    if not len(validation):
        # RecBole demands a validation part. A row of the training part takes its place, and no
        # epoch is chosen by it.
        validation = parts["train"][-1:]
    files = {"train": parts["train"], "valid": validation, "test": parts["test"]}
    folder.mkdir()
    for name, pairs in files.items():
        np.savetxt(
            folder / f"fold.{name}.inter",
            pairs,
            fmt="%d",
            delimiter="\t",
            header="user_id:token\titem_id:token",
            comments="",
        )


def load_best_epoch(model: Any, trainer: Any, device: Any) -> None:
    """Give a model the weights of the epoch that was best on the validation part."""
    import torch

    best = torch.load(trainer.saved_model_file, device, weights_only=False)
    model.load_state_dict(best["state_dict"])
    model.load_other_parameter(best.get("other_parameter"))


def recbole_lists(job: Job, parts: Parts, model: Any, dataset: Any, testing: Any) -> Lists:
    """The lists of all users with something held out, from scores of blocks of users."""
    from recbole.utils.case_study import full_sort_scores

    users = np.unique(parts["test"][:, 0])
    # RecBole numbers users and items its own way.
    recbole_users = dataset.token2id("user_id", users.astype(str))
    # RecBole's first item is padding, which it gives no score; here its number is -1.
    real_items = dataset.id2token("item_id", np.arange(1, dataset.item_num)).astype(int)
    items = np.concatenate([[-1], real_items])
    is_candidate = np.ones(len(items), dtype=bool)
    if job["train_items"]:
        is_candidate = np.isin(items, parts["train"][:, 1])
    block_count = len(users) * len(items) // CELLS + 1
    lists = {}
    for block in np.array_split(np.arange(len(users)), block_count):
        scores = full_sort_scores(recbole_users[block], model, testing, device=model.device)
        scores = scores.cpu().numpy()  # shape (users of the block, items)
        scores[:, ~is_candidate] = -np.inf
        for user, user_scores in zip(users[block], scores, strict=True):
            # If items have equal scores, the one with the lower number comes first, as in e-fold.
            best_columns = np.lexsort((items, -user_scores))[: job["n"]]
            # RecBole gives items that the user has already a score of minus infinity; no list
            # contains them.
            is_listed = np.isfinite(user_scores[best_columns])
            lists[int(user)] = items[best_columns[is_listed]]
    return lists


def fit_cornac(job: Job, parts: Parts, _folder: Path) -> tuple[Lists, float]:
    """A recommender of Cornac that needs nothing but who has what; otherwise as `fit_recbole`."""
    from cornac.eval_methods.base_method import BaseMethod

    model = cornac_model(job)
    ratings = {}
    for name, pairs in parts.items():
        ratings[name] = [(user, item, 1.0) for user, item in pairs.tolist()]
    cornac_fold = BaseMethod.from_splits(
        ratings["train"],
        ratings["test"],
        ratings["validation"] or None,
        fmt="UIR",  # user, item, rating
        exclude_unknowns=False,
        seed=job["seed"],
    )
    model.fit(cornac_fold.train_set, cornac_fold.val_set)
    lists = cornac_lists(job, parts, model, cornac_fold)
    if not job["check"]:
        return lists, np.nan
    return lists, cornac_score(job, model, cornac_fold)


def cornac_model(job: Job) -> Any:
    """The model, not fitted; a job with one that is not there, or no plain one, is refused."""
    from cornac import models

    model_class = getattr(models, job["model"], None)
    if not inspect.isclass(model_class):
        refuse(f"Cornac has no model '{job['model']}'; its names are like BPR, EASE, WMF, VAECF")
    if issubclass(model_class, (models.NextBasketRecommender, models.NextItemRecommender)):
        refuse(
            f"{job['model']} needs sessions or baskets; only models of users and items can be used"
        )
    accepted = inspect.signature(model_class).parameters
    check_params(job, accepted.keys() - {"seed"})  # the fold decides the seed
    arguments = {"verbose": False, "seed": job["seed"]} | job["params"]
    for name in ("verbose", "seed"):
        if name not in accepted:
            del arguments[name]
    return model_class(**arguments)


def cornac_lists(job: Job, parts: Parts, model: Any, cornac_fold: Any) -> Lists:
    """The lists of all users with something held out, of what they do not have.

    Args:
        cornac_fold: The parts as Cornac's `BaseMethod`, which numbers users and items its own way.
    """
    # Cornac numbers users and items its own way. Both maps lead from e-fold's numbers to Cornac's.
    number_of_user = cornac_fold.global_uid_map
    number_of_item = cornac_fold.global_iid_map
    items = np.array(list(number_of_item))  # e-fold's item numbers, in the order of Cornac's
    candidate_count = len(items)
    if job["train_items"]:
        # Cornac numbers the items of the training part first.
        candidate_count = cornac_fold.train_set.num_items
    seen_numbers: dict[int, list[int]] = {}
    for user in np.unique(parts["test"][:, 0]).tolist():
        seen_numbers[user] = []
    for user, item in np.concatenate([parts["train"], parts["validation"]]).tolist():
        if user in seen_numbers:
            seen_numbers[user].append(number_of_item[item])
    lists = {}
    for user, seen in seen_numbers.items():
        candidates = np.setdiff1d(np.arange(candidate_count), seen)
        length = min(job["n"], len(candidates))
        ranked, _ = model.rank(number_of_user[user], candidates, k=length)
        lists[user] = items[ranked[:length]]
    return lists


def cornac_score(job: Job, model: Any, cornac_fold: Any) -> float:
    """The fold's score by Cornac's own evaluator."""
    from cornac import metrics
    from cornac.eval_methods.base_method import ranking_eval

    metric_classes = {
        "ndcg": metrics.NDCG,
        "recall": metrics.Recall,
        "precision": metrics.Precision,
    }
    metric = metric_classes[job["metric"]](k=job["n"])
    (average,), _ = ranking_eval(
        model,
        [metric],
        cornac_fold.train_set,
        cornac_fold.test_set,
        val_set=cornac_fold.val_set,
        exclude_unknowns=False,
    )
    return average


FIT = {"recbole": fit_recbole, "cornac": fit_cornac}


def check_params(job: Job, accepted: Collection[str]) -> None:
    """Refuse parameters that the model does not have, or that are not for users to set."""
    for name in job["params"]:
        if name not in accepted:
            refuse(f"{name} cannot be set; these can: {', '.join(sorted(accepted))}")


def refuse(sentence: str) -> NoReturn:
    """End with what is wrong with the job."""
    sys.stderr.write(f"{sentence}\n")
    sys.exit(2)


def end_with_parent() -> None:
    """End when stdin is closed: whoever asked holds it open for as long as it lives."""
    sys.stdin.read()
    os._exit(1)


def main(folder: Path) -> None:
    """Read the job, carry it out, and write the lists."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    job = json.loads((folder / "job.json").read_text("utf-8"))
    with np.load(folder / "parts.npz") as arrays:
        parts = dict(arrays)
    lists, library_score = FIT[job["library"]](job, parts, folder)
    # The lists are written one after the other, with their user beside each item.
    lengths = [len(items) for items in lists.values()]
    np.savez(
        folder / "lists.npz",
        users=np.repeat(list(lists), lengths),
        items=np.concatenate(list(lists.values())),
        library_score=library_score,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
