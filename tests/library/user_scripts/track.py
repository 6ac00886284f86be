import ecv_core as ecv

clicks = ecv.Metric("clicks", unit="per visit", higher_is_better=False)
cv: ecv.Tracked = ecv.track("shop", dataset="synthetic", k=3, metric=clicks, rule=ecv.Never())
for fold in cv:
    cv.report({user: 0.5 for user in fold.test.user_id.unique()})
print(cv.run.mean)
