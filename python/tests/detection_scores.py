"""How well boxes were found, by loops: the mean average precision as PaddlePaddle 1.8's detection_map counts it."""

import numpy as np

from python.tests.detector_targets import parts

# Boxes that are found in each of three images, and those that are there.
FOUND_OF, TRUE_OF = np.array([6, 0, 9]), np.array([4, 2, 3])


def batch(seed, difficult, classes=4):
    """Random (found, truths) of FOUND_OF and TRUE_OF: most are near a truth and of its class."""
    r = np.random.RandomState(seed)
    corners = np.sort(r.rand(TRUE_OF.sum(), 2, 2), 1).reshape(-1, 4)
    truths = np.concatenate([r.randint(0, classes, [len(corners), 1]), corners], 1)
    if difficult:
        truths = np.insert(truths, 1, r.randint(0, 2, len(truths)), 1)
    near = np.concatenate([np.repeat(np.arange(4), 2)[:6], np.repeat(np.arange(6, 9), 3)])
    found = corners[near] + r.randn(len(near), 4) * 0.05
    labels = np.where(r.rand(len(near)) < 0.8, truths[near, 0], r.randint(0, classes, len(near)))
    scores = r.permutation(len(near)) / len(near)
    return np.concatenate([labels[:, None], scores[:, None], found], 1).astype("float32"), truths.astype("float32")


def _overlap(a, b):
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    if (sides < 0).any():
        return 0.0
    shared = sides.prod()
    return shared / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - shared)


def counted(found, lengths, truths, lengths_of_truths, classes, least=0.3, difficult=True, before=None):
    """(truths of each class, [(score, whether right)] of each class), with those of batches before."""
    wanted, rows = ([0] * classes, [[] for _ in range(classes)]) if before is None else before
    wanted, rows = list(wanted), [list(r) for r in rows]
    for mine, there in zip(parts(found, lengths), parts(truths, lengths_of_truths), strict=True):
        hard = [there.shape[1] == 6 and abs(t[1]) >= 1e-6 and not difficult for t in there]
        for c in range(classes):
            of = [k for k, t in enumerate(there) if int(t[0]) == c]
            wanted[c] += sum(not hard[k] for k in of)
            boxes = [d for d in mine if int(d[0]) == c]
            taken = set()
            for d in sorted(boxes, key=lambda d: -d[1]) if of else boxes:
                overlaps = [_overlap(np.clip(d[2:], 0, 1), there[k][-4:]) for k in of]
                best = int(np.argmax(overlaps)) if of else 0
                if of and overlaps[best] > least:
                    if hard[of[best]]:
                        continue
                    rows[c].append((d[1], 1.0 if best not in taken else 0.0))
                    taken.add(best)
                else:
                    rows[c].append((d[1], 0.0))
    return wanted, rows


def mean_precision(wanted, rows, kind="integral", background=0):
    values = []
    for count, of in zip(wanted, rows, strict=True):
        if count == 0 or count == background:
            continue
        hits = np.cumsum([right for _, right in sorted(of, key=lambda r: -r[0])])
        precision = hits / np.arange(1, len(hits) + 1)
        recall = np.float32(hits / count).astype("float64")
        if kind == "11point":
            values.append(np.mean([max(precision[recall >= t / 10.0], default=0.0) for t in range(11)]))
        else:
            steps = np.diff(np.concatenate([[0.0], recall]))
            values.append(float((precision * steps).sum()))
    return np.mean(values) if values else 0.0
