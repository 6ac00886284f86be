"""Ranking and its metrics once more, as plainly as can be, one user at a time."""

from math import inf, log2

import numpy as np


def plain_list(scores, candidates, n):
    """A user's items, by score down and then by number up; -1 where no candidate is left.

    Args:
        scores: shape (items,).
        candidates: which items may be recommended to the user; shape (items,).
        n: length of the list.
    """
    values = np.asarray(scores).tolist()
    items = [item for item in range(len(values)) if candidates[item] and values[item] > -inf]
    items.sort(key=lambda item: (-values[item], item))
    return (items + [-1] * n)[:n]


def plain_lists(scores, seen, candidates, n):
    """Lists of all users. Args: seen: shape (users, items); candidates: shape (items,)."""
    allowed = (np.asarray(seen) == 0) & candidates
    return np.array([plain_list(*user, n) for user in zip(scores, allowed, strict=True)])


def plain_auc(scores, candidates, held):
    """The share of pairs (held-out item, other candidate) won by the first; a tie is one half."""
    values = np.asarray(scores).tolist()
    pairs = wins = 0
    for item in held:
        of_item = values[item] if candidates[item] else -inf
        for other in range(len(values)):
            if candidates[other] and other not in held:
                pairs += 1
                wins += (of_item > values[other]) + (of_item == values[other]) / 2
    return wins / pairs if pairs else 0.5


def plain_metrics(items, held, n):
    """Metrics of one list at n. Args: items: best first, -1 for none; held: the held-out items."""
    ranks = [rank for rank, item in enumerate(items[:n], start=1) if item in held]
    ideal = min(n, len(held))
    return {
        f"ndcg@{n}": sum(1 / log2(rank + 1) for rank in ranks)
        / sum(1 / log2(rank + 1) for rank in range(1, ideal + 1)),
        f"recall@{n}": len(ranks) / len(held),
        f"precision@{n}": len(ranks) / n,
        f"mrr@{n}": 1 / ranks[0] if ranks else 0.0,
        f"hit@{n}": float(bool(ranks)),
        f"map@{n}": sum(count / rank for count, rank in enumerate(ranks, start=1)) / ideal,
        f"f1@{n}": harmonic_mean(len(ranks) / n, len(ranks) / len(held)),
    }


def harmonic_mean(one, other):
    return 2 * one * other / (one + other) if one + other else 0.0


def plain_popularity(items, n, counts):
    """Average popularity and the share of the long tail. Args: counts: interactions of items."""
    listed = [item for item in items[:n] if item >= 0]
    by_popularity = sorted(range(len(counts)), key=lambda item: (-counts[item], item))
    head = set()
    reached = 0
    for item in by_popularity:
        if reached >= 0.8 * sum(counts):
            break
        head.add(item)
        reached += counts[item]
    length = max(len(listed), 1)
    return {
        f"average-popularity@{n}": sum(counts[item] for item in listed) / length,
        f"tail-share@{n}": sum(item not in head for item in listed) / length,
    }


def plain_r_precision(scores, candidates, held):
    """The share of the first |H| items that is held out."""
    return sum(item in held for item in plain_list(scores, candidates, len(held))) / len(held)


def plain_graded_ndcg(items, ratings, n, gain):
    """nDCG with gains. Args: ratings: item -> rating of what is held out; gain: of a rating."""
    gained = sum(
        gain(ratings[item]) / log2(rank + 1)
        for rank, item in enumerate(items[:n], start=1)
        if item in ratings
    )
    best = sorted(map(gain, ratings.values()), reverse=True)[:n]
    ideal = sum(value / log2(rank + 1) for rank, value in enumerate(best, start=1))
    return gained / ideal if ideal else 0.0


def plain_novelty(items, held, n, counts, users):
    """EPC and EFD of one list. Args: counts: training interactions of items; users: who has any."""
    total = sum(1 / log2(rank + 1) for rank in range(1, n + 1))
    epc = efd = 0.0
    for rank, item in enumerate(items[:n], start=1):
        if item in held:
            epc += (1 - counts[item] / max(users, 1)) / log2(rank + 1)
            share = max(counts[item], 1) / max(sum(counts), 1)
            efd -= log2(share) / log2(rank + 1)
    return {f"epc@{n}": epc / total, f"efd@{n}": efd / total}


def plain_exposure(lists, n, items):
    """Item coverage and the Gini index of all lists together."""
    counts = sorted(sum(item in row[:n] for row in lists) for item in range(items))
    places = sum(counts)
    weighted = sum((2 * j - items - 1) * count for j, count in enumerate(counts, start=1))
    return {
        f"coverage@{n}": sum(count > 0 for count in counts) / items,
        f"gini@{n}": weighted / (items * places) if places else 0.0,
    }


def plain_evaluation(scores, seen, held_out, cutoffs, train=None):
    """Every metric of full ranking, averaged over users; matrices are dense.

    Args: train: what popularity is counted in, where that is not `seen`.
    """
    users = np.flatnonzero((held_out != 0).any(axis=1))
    learnt = (seen if train is None else train) != 0
    counts = learnt.sum(axis=0).tolist()
    learners = int(learnt.any(axis=1).sum())
    free = seen == 0
    rows, lists = [], []
    for user in users:
        held = set(np.flatnonzero(held_out[user]).tolist())
        items = plain_list(scores[user], free[user], max(cutoffs))
        row = {"auc": plain_auc(scores[user], free[user], held)}
        for n in cutoffs:
            row |= plain_metrics(items, held, n)
            row |= plain_novelty(items, held, n, counts, learners)
            row |= plain_popularity(items, n, counts)
        rows.append(row)
        lists.append(items)
    means = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
    for n in cutoffs:
        means |= plain_exposure(lists, n, seen.shape[1])
    return means


def plain_single_lists(scores, held_out, cutoffs, users, negatives):
    """Metrics of lists of one held-out item and its user's negatives, averaged over users.

    Args: negatives: items drawn for each of `users`; shape (users, negatives).
    """
    rows = []
    for user, drawn in zip(users, negatives.tolist(), strict=True):
        parts = []
        for item in np.flatnonzero(held_out[user]).tolist():
            allowed = np.isin(np.arange(scores.shape[1]), [*drawn, item])
            items = plain_list(scores[user], allowed, max(cutoffs))
            part = {"auc": plain_auc(scores[user], allowed, {item})}
            for n in cutoffs:
                part |= plain_metrics(items, {item}, n)
            parts.append(part)
        rows.append({name: sum(part[name] for part in parts) / len(parts) for name in parts[0]})
    return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
