"""Beam search written as loops over lists, beside which programs are tested."""

import numpy as np

SIZE, WORDS, BEGIN, END, BEAM, MOST = 6, 9, 0, 1, 3, 7


def step(rows, ids, scores, beam, end):
    """rows: (word, score) by source; gives the same, with the row that each comes after. Of equals the later row goes first."""
    found, at = [], 0
    for source in rows:
        candidates = []
        for k, (word, score) in enumerate(source):
            if word == end:
                candidates.append((score, k, end))
            else:
                candidates += [(s, k, w) for s, w in zip(scores[at + k], ids[at + k], strict=True)]
        best = sorted(candidates, key=lambda c: (-c[0], -c[1]))[:beam]
        if all(source[k][0] == end for _, k, _ in best):
            best = []
        found.append([(w, s, k) for k in range(len(source)) for s, j, w in best if j == k])
        at += len(source)
    return found


def weights():
    rng = np.random.RandomState(21)
    shapes = {
        "table": (WORDS, SIZE),
        "a": (SIZE, SIZE),
        "b": (SIZE, SIZE),
        "c": (SIZE,),
        "d": (SIZE, WORDS),
        "e": (WORDS,),
    }
    made = {name: (rng.randn(*shape) * 1.5).astype("float32") for name, shape in shapes.items()}
    made["e"][END] += 1.5
    return made


def searched(context, weights):
    """Sentences, and the scores after each of their words, by source, the best first."""
    rows = [[(BEGIN, 0.0, [BEGIN], [0.0])] for _ in context]
    states = [[c] for c in context]
    done = [[] for _ in context]
    for _ in range(MOST):
        for i, source in enumerate(rows):
            if not source:
                continue
            candidates, following = [], []
            for k, (word, score, *_) in enumerate(source):
                h = np.tanh(states[i][k] @ weights["a"] + weights["table"][word] @ weights["b"] + weights["c"])
                following.append(h)
                if word == END:
                    candidates.append((score, k, END))
                    continue
                logits = h @ weights["d"] + weights["e"]
                share = np.exp(logits - logits.max())
                share = np.log(share / share.sum())
                candidates += [(score + share[w], k, w) for w in np.argsort(-share)[: BEAM + 1]]
            best = sorted(candidates, key=lambda c: -c[0])[:BEAM]
            if all(source[k][0] == END for _, k, _ in best):
                done[i], rows[i], states[i] = source, [], []
                continue
            best = [c for k in range(len(source)) for c in best if c[1] == k]
            rows[i] = [(w, s, [*source[k][2], w], [*source[k][3], s]) for s, k, w in best]
            states[i] = [following[k] for _, k, _ in best]
    results = []
    for i, source in enumerate(rows):
        found = []
        for _, score, words, scores in source or done[i]:
            kept = [k for k, w in enumerate(words) if w != END or k == len(words) - 1]
            found.append((score, [words[k] for k in kept], [scores[k] for k in kept]))
        results.append(sorted(found, key=lambda f: -f[0]))
    return results
