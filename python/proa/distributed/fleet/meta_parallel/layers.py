"""Linear layers and embeddings that are divided among processes: of one process, whole."""

import contextlib

from proa import nn

__all__ = ["ColumnParallelLinear", "LayerDesc", "RowParallelLinear", "VocabParallelEmbedding", "get_rng_state_tracker"]


class ColumnParallelLinear(nn.Linear):
    """A linear layer whose outputs are divided among processes.

    Args:
        in_features, out_features (int): sizes.
        weight_attr, has_bias, name: as in Linear.
        gather_output, fuse_matmul_bias, mp_group: of the exchange, which one process does not have.
    """

    def __init__(self, in_features, out_features, weight_attr=None, has_bias=None, gather_output=True,
                 fuse_matmul_bias=False, mp_group=None, name=None):  # fmt: skip
        super().__init__(in_features, out_features, weight_attr, None if has_bias else False, name)


class RowParallelLinear(nn.Linear):
    """A linear layer whose inputs are divided among processes.

    Args:
        in_features, out_features (int): sizes.
        weight_attr, has_bias, name: as in Linear.
        input_is_parallel, fuse_matmul_bias, mp_group: of the exchange, which one process does not have.
    """

    def __init__(self, in_features, out_features, weight_attr=None, has_bias=True, input_is_parallel=False,
                 fuse_matmul_bias=False, mp_group=None, name=None):  # fmt: skip
        super().__init__(in_features, out_features, weight_attr, None if has_bias else False, name)


class VocabParallelEmbedding(nn.Embedding):
    """An embedding whose rows are divided among processes."""

    def __init__(self, num_embeddings, embedding_dim, weight_attr=None, mp_group=None, name=None):
        super().__init__(num_embeddings, embedding_dim, weight_attr=weight_attr, name=name)


class LayerDesc:
    """A layer to be made later: `LayerDesc(nn.Linear, 2, 3).build_layer()`."""

    def __init__(self, layer_func, *inputs, **kwargs):
        self.layer_func, self.inputs, self.kwargs = layer_func, inputs, kwargs

    def build_layer(self):
        return self.layer_func(*self.inputs, **self.kwargs)


class _Tracker:
    """Random states by name; one process has one."""

    @contextlib.contextmanager
    def rng_state(self, name="global_seed"):
        yield

    def add(self, name, seed):
        pass


_tracker = _Tracker()


def get_rng_state_tracker():
    """Random states that differ between processes, by name."""
    return _tracker
