"""RecBole's models by its own trainer, evaluator and lists."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import script  # ecv_core/bridges/script.py, whose folder is on the path
from numpy.typing import NDArray
from recbole.config import Config
from recbole.data import create_dataset, data_preparation
from recbole.utils import get_model, get_trainer, init_seed
from recbole.utils.case_study import full_sort_topk

from benchmarks.peer_models import NEIGHBOURS, RIDGE, SEED, TOP, Fold, Lists

WITHOUT_NEGATIVES = {"train_neg_sample_args": None}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "popular": ("Pop", {}),
    "item-knn": ("ItemKNN", {"k": NEIGHBOURS, **WITHOUT_NEGATIVES}),
    "ease": ("EASE", {"reg_weight": RIDGE, **WITHOUT_NEGATIVES}),
    "bpr-mf": ("BPR", {}),
    "neu-mf": ("NeuMF", {}),
    "multi-vae": ("MultiVAE", WITHOUT_NEGATIVES),
}
"""Each with what is set of it; everything else is RecBole's default, as one negative a pair."""
SCORES_AT_ONCE = 2_000_000


class Model:
    """A model that is trained for some epochs without a validation part."""

    def __init__(self, name: str, length: int, fold: Fold) -> None:
        os.chdir(fold.folder)  # where its logs go, too
        self._fold = fold
        self._class_name, params = MODELS[name]
        job = {"metric": "ndcg", "n": TOP, "seed": SEED}
        settings = {**script.recbole_settings(job, fold.folder), **params, "epochs": length}
        parts = {"train": fold.train, "validation": fold.train[:0], "test": fold.test}
        script.write_for_recbole(parts, fold.folder / "fold")
        self._config = Config(model=self._class_name, dataset="fold", config_dict=settings)
        init_seed(self._config["seed"], self._config["reproducibility"])
        self._data = create_dataset(self._config)
        self._training, _, self._testing = data_preparation(self._config, self._data)

    def fit(self) -> None:
        config = self._config
        init_seed(config["seed"], config["reproducibility"])
        model = get_model(self._class_name)(config, self._training.dataset)
        self._model = model.to(config["device"])
        self._trainer = get_trainer(config["MODEL_TYPE"], config["model"])(config, self._model)
        self._trainer.fit(self._training, None, saved=False, show_progress=False)

    def lists(self) -> Lists:
        users = self._fold.test_users()
        rows = self._data.token2id("user_id", users.astype(str))
        blocks = len(rows) * self._data.item_num // SCORES_AT_ONCE + 1
        lists: dict[int, NDArray[np.int64]] = {}
        for block in np.array_split(np.arange(len(rows)), blocks):
            _, best = full_sort_topk(
                rows[block], self._model, self._testing, TOP, device=self._model.device
            )
            items = self._data.id2token("item_id", best.cpu()).astype(int)
            lists.update(zip(users[block].tolist(), items, strict=True))
        return lists

    def own_score(self) -> float:
        scores = self._trainer.evaluate(self._testing, load_best_model=False, show_progress=False)
        return float(scores["ndcg@10"])
