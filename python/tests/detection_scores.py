"""How well boxes were found, by loops: the mean average precision as PaddlePaddle 1.8's detection_map counts it."""

import numpy as np

from python.tests.detector_targets import parts


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
