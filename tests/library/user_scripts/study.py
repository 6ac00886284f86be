import ecv_core as ecv

runs: ecv.Runs = ecv.study(["synthetic"], ["popular"], rule=ecv.Fixed(folds=2), k=3)
for run in runs:
    one: ecv.Run = run
    print(one.stopped_at)
print(ecv.runs(dataset="synthetic").latex(), len(ecv.report(runs[0])))
print(ecv.figure(runs[0], "efold", "figure.svg"))
