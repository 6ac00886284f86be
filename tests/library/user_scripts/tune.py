import ecv_core as ecv
from ecv_core.models import ALGORITHMS

tuned = ecv.tune("synthetic", "item-knn", {"neighbours": [5, 20]}, k=3, sampler="grid")
sentence: str = tuned.sentence
print(sentence, ecv.algorithms().loc["item-knn", "title"])
print(ecv.power("ml-100k", "item-knn", pairs="all").sentence())
item_knn: ecv.Algorithm = ALGORITHMS["item-knn"]
print(item_knn.resolve({"neighbours": 5}), ecv.Parameter("weight", 1.0, "How much.").parse("2"))
