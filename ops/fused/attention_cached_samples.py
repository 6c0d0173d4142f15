"""Reference of attention with a cache."""

import numpy as np

from ops.nn import attention_samples


def reference_attention_cached(query, past_key, key, past_value, value, mask=None, scale=1.0):
    keys, values = np.concatenate([past_key, key], 1), np.concatenate([past_value, value], 1)
    return attention_samples.reference_attention(query, keys, values, mask, scale)
