"""References of ops/recurrent/ctc.yaml: sums over paths in probabilities, gradients by complex steps."""

import numpy as np

_STEP = 1e-30


def _loss_of(logits, label, blank):
    """-log of the probability of a label; logits [steps, C], complex where a derivative is wanted. 0 if there is no path.

    By prefixes of the label: the probability that the steps so far gave it, ending in a blank or in its last class.
    """
    p = np.exp(logits - logits.real.max(1, keepdims=True))
    p = p / p.sum(1, keepdims=True)
    by_blank, by_class = {0: 1.0 + 0j}, {}
    for row in p:
        new_blank, new_class = {}, {}
        for k in range(len(label) + 1):
            total = by_blank.get(k, 0) + by_class.get(k, 0)
            if total != 0:
                new_blank[k] = row[blank] * total
            if k == 0:
                continue
            came = by_class.get(k, 0) + by_blank.get(k - 1, 0)
            if k == 1 or label[k - 1] != label[k - 2]:
                came = came + by_class.get(k - 1, 0)
            if came != 0:
                new_class[k] = row[label[k - 1]] * came
        by_blank, by_class = new_blank, new_class
    total = by_blank.get(len(label), 0) + by_class.get(len(label), 0)
    return 0.0 if total == 0 or len(p) == 0 else -np.log(total)


def _losses(logits, labels, input_lengths, label_lengths, blank):
    samples = zip(labels, input_lengths, label_lengths)
    return np.array(
        [_loss_of(logits[:steps, n], list(label[:length]), blank) for n, (label, steps, length) in enumerate(samples)]
    )


def _slopes(logits, labels, input_lengths, label_lengths, blank, norm_by_times):
    """Derivatives of each sample's loss by its logits: [T, N, C]."""
    slopes = np.zeros(logits.shape)
    for t, c in np.ndindex(logits.shape[0], logits.shape[2]):
        x = logits.astype(complex)
        x[t, :, c] += 1j * _STEP
        slopes[t, :, c] = np.imag(_losses(x, labels, input_lengths, label_lengths, blank)) / _STEP
    return slopes / np.maximum(input_lengths, 1)[:, None] if norm_by_times else slopes


def reference_ctc_loss(logits, labels, input_lengths, label_lengths, blank=0, norm_by_times=False):
    return np.real(_losses(logits.astype(complex), labels, input_lengths, label_lengths, blank)), None


def reference_ctc_loss_grad(
    grad_loss, logits, labels, input_lengths, label_lengths, reserve=None, blank=0, norm_by_times=False
):
    return grad_loss[:, None] * _slopes(logits, labels, input_lengths, label_lengths, blank, norm_by_times)


def reference_ctc_loss_grad_grad(
    grad_logits, grad_loss, logits, labels, input_lengths, label_lengths, blank=0, norm_by_times=False
):
    def slopes(x):
        return _slopes(x, labels, input_lengths, label_lengths, blank, norm_by_times)

    h = 1e-5
    bend = (slopes(logits + h * grad_logits) - slopes(logits - h * grad_logits)) / (2 * h)
    return (grad_logits * slopes(logits)).sum((0, 2)), grad_loss[:, None] * bend


TOLERANCE = {
    "ctc_loss": {"float32": (1e-5, 1e-5)},
    "ctc_loss_grad_grad": {"float64": (1e-7, 1e-9)},
}
