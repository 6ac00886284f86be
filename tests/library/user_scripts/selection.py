import ecv_core as ecv

found: ecv.Selected = ecv.select("synthetic", ["item-knn", "popular"], k=3, until="winner")
winner: str = found.winner
print(winner, found.tied, found.sentence)
