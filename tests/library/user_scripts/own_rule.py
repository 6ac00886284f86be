from collections.abc import Sequence

import ecv_core as ecv


class SecondFold:
    def decide(self, results: Sequence[ecv.FoldResult]) -> ecv.Decision:
        return ecv.Decision(stop=len(results) > 1, reason=f"After {len(results)} folds.")


rule: ecv.StoppingRule = SecondFold()
known: ecv.Rule = ecv.register_rule(rule)
print(ecv.evaluate("synthetic", "popular", rule=known.id, k=4).stopped_at)
