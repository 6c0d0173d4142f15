"""A model as a list of layers of which each stage of a pipeline makes its own."""

import contextlib

from proa import _C
from proa.nn.layer.layers import Layer

__all__ = ["LayerDesc", "PipelineLayer", "SharedLayerDesc"]


class LayerDesc:
    """A layer to be made by the stage that it belongs to.

    Args:
        layer_func (type): a class of layers.
        inputs, kwargs: what it is made with.

    Examples:
        >>> from proa.distributed.fleet.meta_parallel import LayerDesc
        >>> LayerDesc(proa.nn.Linear, 2, 3).build_layer().weight.shape
        [2, 3]
    """

    def __init__(self, layer_func, *inputs, **kwargs):
        if not (isinstance(layer_func, type) and issubclass(layer_func, Layer)):
            raise _C.located(TypeError(f"LayerDesc: a class of layers is needed, not {layer_func!r}"))
        self.layer_func, self.inputs, self.kwargs = layer_func, inputs, kwargs

    def build_layer(self):
        return self.layer_func(*self.inputs, **self.kwargs)

    def __repr__(self):
        return f"LayerDesc({self.layer_func.__name__})"


class SharedLayerDesc(LayerDesc):
    """A layer whose weight other places of the model use too (an embedding that is also the last layer).

    Args:
        key (str): places with one key share.
        layer_func (type): a class of layers.
        forward_func (Callable, optional): `forward_func(layer, x)` in place of `layer(x)`.
        shared_weight_attr (str): the name of the weight.
        inputs, kwargs: what the layer is made with.
    """

    def __init__(self, key, layer_func, forward_func=None, shared_weight_attr="weight", *inputs, **kwargs):
        super().__init__(layer_func, *inputs, **kwargs)
        self.layer_name, self.forward_func, self.shared_weight_attr = key, forward_func, shared_weight_attr


def _spread(count, parts):
    """Bounds of `parts` runs of `count` things; the last ones have one more where it does not come out even."""
    size, more = divmod(count, parts)
    bounds = [0]
    for part in range(parts):
        bounds.append(bounds[-1] + size + (part >= parts - more))
    return bounds


def _by_weight(weights, parts):
    """Bounds of `parts` runs, none empty, whose heaviest is as light as can be."""
    count = len(weights)
    before = [0]
    for weight in weights:
        before.append(before[-1] + weight)
    best = [[float("inf")] * (count + 1) for _ in range(parts + 1)]
    cut = [[0] * (count + 1) for _ in range(parts + 1)]
    best[0][0] = 0
    for part in range(1, parts + 1):
        for end in range(part, count + 1):
            for begin in range(part - 1, end):
                heaviest = max(best[part - 1][begin], before[end] - before[begin])
                if heaviest < best[part][end]:
                    best[part][end], cut[part][end] = heaviest, begin
    bounds = [count]
    for part in range(parts, 0, -1):
        bounds.append(cut[part][bounds[-1]])
    return bounds[::-1]


def _size(desc):
    """How many parameters a layer has; it is made and let go."""
    if isinstance(desc, Layer):
        return sum(p.size for p in desc.parameters())
    if not isinstance(desc, LayerDesc):
        return 0
    state = _C.get_rng_state()
    try:
        return sum(p.size for p in desc.build_layer().parameters())
    finally:
        _C.set_rng_state(state)


def _name(desc):
    if isinstance(desc, LayerDesc):
        return desc.layer_func.__name__
    return type(desc).__name__ if isinstance(desc, Layer) else getattr(desc, "__name__", "")


def segment(descs, stages, method):
    """Bounds of the stages: stage i has `descs[bounds[i]:bounds[i + 1]]`.

    Args:
        descs (list): layers, descriptions and functions.
        stages (int): how many.
        method (str|list[int]): "uniform", "parameters", "layer:Name", or the bounds themselves.

    Raises:
        ValueError: there is no such way, or there is less than one layer for each stage.
    """
    if isinstance(method, (list, tuple)):
        bounds = list(method)
        if len(bounds) == stages:
            bounds.append(len(descs))
        rising = all(a < b for a, b in zip(bounds, bounds[1:]))
        if len(bounds) != stages + 1 or bounds[0] != 0 or bounds[-1] != len(descs) or not rising:
            raise _C.located(
                ValueError(
                    f"PipelineLayer: seg_method {list(method)} must rise from 0 to {len(descs)} in {stages} steps"
                )
            )
        return bounds
    if len(descs) < stages:
        raise _C.located(ValueError(f"PipelineLayer: {len(descs)} layers for {stages} parts; each needs one"))
    if method == "uniform":
        return _spread(len(descs), stages)
    if method == "parameters":
        return _by_weight([_size(desc) for desc in descs], stages)
    if isinstance(method, str) and method.startswith("layer:"):
        wanted = method[len("layer:") :]
        places = [i for i, desc in enumerate(descs) if _name(desc) == wanted]
        if len(places) < stages:
            raise _C.located(
                ValueError(f"PipelineLayer: {len(places)} layers {wanted!r} for {stages} parts; each needs one")
            )
        # A stage begins with a layer of that name; what is before the first of them belongs to stage 0.
        return [0, *(places[at] for at in _spread(len(places), stages)[1:-1]), len(descs)]
    raise _C.located(
        ValueError(f"PipelineLayer: seg_method must be 'uniform', 'parameters', 'layer:Name' or bounds, not {method!r}")
    )


class PipelineLayer(Layer):
    """A model whose layers are divided into stages; a process makes those of its own stage.

    Names of parameters are those of a list of all layers ("3.weight"), whatever the number of stages.

    Args:
        layers (list): LayerDesc, SharedLayerDesc, layers, and functions, in the order of the model.
        num_stages (int, optional): how many stages; those of `topology` unless given.
        topology (CommunicateTopology, optional): of the job; that of fleet unless given.
        loss_fn (Callable, optional): `loss_fn(output, label)`, on the last stage.
        seg_method (str|list[int]): "uniform" (as many layers each), "parameters" (as many parameters each),
            "layer:Name" (as many layers of that class each), or the bounds.
        recompute_interval (int): so many layers are recomputed together in backward; 0 keeps all that they compute.
        recompute_ctx (dict, optional): accepted.
        num_virtual_pipeline_stages (int): parts a stage; the model is divided into as many times `num_stages` parts, which
            are dealt out to the stages in turn. More of them wait less and send more.

    Raises:
        ValueError: the stages do not come out of the layers or of the job.

    Examples:
        >>> from proa.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer
        >>> net = PipelineLayer([LayerDesc(proa.nn.Linear, 2, 3), proa.nn.functional.relu], num_stages=1)
        >>> net(proa.ones([4, 2])).shape, list(net.state_dict())
        ([4, 3], ['0.weight', '0.bias'])
    """

    def __init__(self, layers, num_stages=None, topology=None, loss_fn=None, seg_method="uniform", recompute_interval=0,
                 recompute_ctx=None, num_virtual_pipeline_stages=None):  # fmt: skip
        super().__init__()
        chunks = 1 if num_virtual_pipeline_stages is None else num_virtual_pipeline_stages
        if isinstance(chunks, bool) or not isinstance(chunks, int) or chunks < 1:
            raise _C.located(
                ValueError(f"PipelineLayer: num_virtual_pipeline_stages must be a positive int, not {chunks!r}")
            )
        if loss_fn is not None and not callable(loss_fn):
            raise _C.located(TypeError(f"PipelineLayer: loss_fn must be callable, not {type(loss_fn).__name__}"))
        self._loss_fn, self._recompute_interval = loss_fn, recompute_interval
        self._descs = list(layers.children()) if hasattr(layers, "children") else list(layers)
        wrong = next((d for d in self._descs if not callable(d) and not isinstance(d, LayerDesc)), None)
        if wrong is not None:
            raise _C.located(TypeError(f"PipelineLayer: layers are layers, LayerDesc or functions, not {wrong!r}"))
        self._hcg = self._groups(num_stages, topology)
        self._num_stages = self._hcg.get_pipe_parallel_world_size() if self._hcg else 1
        self._stage_id = self._hcg.get_stage_id() if self._hcg else 0
        if num_stages is not None and num_stages != self._num_stages:
            raise _C.located(
                ValueError(
                    f"PipelineLayer: num_stages {num_stages}, and hybrid_configs['pp_degree'] is {self._num_stages}"
                )
            )
        self._num_chunks = chunks
        self.segment_parts = segment(self._descs, self._num_stages * chunks, seg_method)
        self.shared_layers, self.shared_groups = {}, {}
        bounds = list(zip(self.segment_parts, self.segment_parts[1:]))[self._stage_id :: self._num_stages]
        self._chunks = [self._build(first, end) for first, end in bounds]
        self._connect_shared()

    @staticmethod
    def _groups(num_stages, topology):
        from proa.distributed.fleet.base.fleet_base import fleet
        from proa.distributed.fleet.base.topology import HybridCommunicateGroup

        if topology is not None and (fleet._hcg is None or fleet._hcg.topology()._dims != topology._dims):
            return HybridCommunicateGroup(topology)
        if fleet._hcg is None and num_stages not in (None, 1):
            raise _C.located(RuntimeError(f"PipelineLayer: call fleet.init with pp_degree {num_stages} first"))
        return fleet._hcg

    def _build(self, first, end):
        """What layers `first` to `end` do."""
        functions = []
        for index in range(first, end):
            desc = self._descs[index]
            if isinstance(desc, SharedLayerDesc):
                key = desc.layer_name
                if key not in self.shared_layers:
                    self.shared_layers[key] = desc.build_layer()
                    self.add_sublayer(str(index), self.shared_layers[key])
                functions.append(_with(desc.forward_func, self.shared_layers[key]))
            elif isinstance(desc, (LayerDesc, Layer)):
                layer = desc.build_layer() if isinstance(desc, LayerDesc) else desc
                self.add_sublayer(str(index), layer)
                functions.append(layer)
            else:
                functions.append(desc)
        return functions

    @property
    def run_function(self):
        """What this stage does, all its parts one after the other."""
        return [function for functions in self._chunks for function in functions]

    def get_num_virtual_stages(self):
        """How many parts a stage has."""
        return self._num_chunks

    def stage_of(self, index):
        """The stage that has layer `index`."""
        part = next(part for part, end in enumerate(self.segment_parts[1:]) if index < end)
        return part % self._num_stages

    get_stage_from_index = stage_of

    def _connect_shared(self):
        """Groups of the stages that share a weight; all processes of the job make all of them, in one order."""
        from proa.distributed import collective

        if self._num_stages == 1:
            return
        stages, names = {}, {}
        for index, desc in enumerate(self._descs):
            if isinstance(desc, SharedLayerDesc):
                stages.setdefault(desc.layer_name, []).append(self.stage_of(index))
                names[desc.layer_name] = desc.shared_weight_attr
        for key, found in stages.items():
            found = sorted(set(found))
            if len(found) == 1:
                continue
            for pipe in self._hcg.topology().get_comm_list("pipe"):
                group = collective.new_group([pipe[stage] for stage in found])
                if self._hcg.get_global_rank() in group.ranks:
                    self.shared_groups[key] = (group, names[key])
        for key, (group, name) in self.shared_groups.items():
            weight = getattr(self.shared_layers[key], name)
            with _C.eager_mode():
                value = weight.detach().clone()
                collective.broadcast(value, group.ranks[0], group)
                weight.set_value(value)
            weight.is_shared_copy = group.rank > 0
            weight.is_firstly_shared = group.rank == 0

    def names_in_whole(self):
        """{name here: name in a model of one stage} of the weights that are shared with an earlier layer."""
        first, found = {}, {}
        for index, desc in enumerate(self._descs):
            if isinstance(desc, SharedLayerDesc):
                key, name = desc.layer_name, desc.shared_weight_attr
                first.setdefault(key, index)
                if key in self.shared_layers and str(index) in self._sub_layers:
                    found[f"{index}.{name}"] = f"{first[key]}.{name}"
        return found

    def shared_weights(self):
        """[(group, weight)] that other stages have too."""
        return [(group, getattr(self.shared_layers[key], name)) for key, (group, name) in self.shared_groups.items()]

    def check_shared_weights(self):
        """ValueError, on all stages that share a weight, where it learns on some of them only."""
        from proa.distributed import collective

        for key, (group, name) in self.shared_groups.items():
            frozen = []
            collective.all_gather_object(frozen, getattr(self.shared_layers[key], name).stop_gradient, group)
            if any(frozen) and not all(frozen):
                topology = self._hcg.topology()
                axis = topology.get_hybrid_group_names().index("pipe")
                stages = [topology.get_coord(rank)[axis] for rank, f in zip(group.ranks, frozen) if f]
                raise _C.located(
                    ValueError(
                        f"distributed_model: the {name} that stages share as {key!r} is frozen (stop_gradient) on stage "
                        f"{', '.join(map(str, stages))} only; freeze it on each stage, or on none"
                    )
                )

    def allreduce_shared_weight_gradients(self):
        """Adds up the gradients of weights that stages share; after backward, before a step."""
        from proa.distributed.fleet.utils.hybrid_parallel_util import average_gradients

        for group, weight in self.shared_weights():
            # In stage 2 of sharding, that of the part.
            average_gradients(
                [weight.part if getattr(weight, "gradient_in_part", False) else weight], group, total=True
            )

    def forward(self, input, chunk_id=None):
        """The layers of this stage one after the other, or those of one of its parts."""
        from proa.autograd import recompute

        step = self._recompute_interval
        functions = self.run_function if chunk_id is None else self._chunks[chunk_id]
        if not step or not self.training:
            return _chain(functions)(input)
        for begin in range(0, len(functions), step):
            arguments = input if isinstance(input, tuple) else (input,)
            input = recompute(_chain(functions[begin : begin + step], spread=True), *arguments)
        return input


def _with(function, layer):
    """`function(layer, x)` as a function of x, whose layer has its parameters where they are divided (sharding stage 3)."""
    if function is None:
        return layer

    def run(x):
        with getattr(layer, "whole_parameters", contextlib.nullcontext)():
            return function(layer, x)

    return run


def _chain(functions, spread=False):
    def run(*arguments):
        x = arguments if spread and len(arguments) > 1 else arguments[0]
        for function in functions:
            x = function(x)
        return x

    return run
