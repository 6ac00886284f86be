import ecv_core as ecv

run = ecv.evaluate("synthetic", "popular", rule=ecv.Fixed(folds=2), k=5, metric="recall@5")
mean: float | None = run.mean
scores: tuple[float, ...] = run.scores
print(mean, scores, run.frame().shape, run.reason)
