"""Programs that are divided by what their tensors say: numbers of one process, whatever is said, and work on parts."""

import json

import numpy as np
import pytest

import proa
import proa.distributed as dist
from python.tests import ranks

_TRAIN = """
import json
import proa.distributed.fleet as fleet
from proa.distributed import auto_parallel
proa.enable_static()
strategy = fleet.DistributedStrategy()
strategy.semi_auto = dist.get_world_size() > 1
{strategy}
fleet.init(is_collective=True, strategy=strategy)
proa.seed(5)
F = proa.nn.functional
main, startup = proa.static.Program(), proa.static.Program()
mesh = {mesh}
def say(x, *mapping):
    if mesh is not None and mapping:
        dist.shard_tensor(x, dist_attr={{"process_mesh": mesh, "dims_mapping": list(mapping)}})
    return x
def weight(name, *shape):
    rng = np.random.RandomState(len(name) + shape[0])
    start = proa.nn.initializer.Assign(rng.randn(*shape).astype("float64") * 0.3)
    return proa.static.create_parameter(list(shape), "float64", name=name, default_initializer=start)
with proa.static.program_guard(main, startup):
{network}
    optimizer = fleet.distributed_optimizer({optimizer})
    optimizer.minimize(loss)
executor = proa.static.Executor()
executor.run(startup)
rng, losses = np.random.default_rng(3), []
for step in range(3):
    feed = {{"ids": rng.integers(0, 12, (8, 4)), "y": rng.integers(0, 8, (8, 4, 1)), "x": rng.normal(size=(8, 6))}}
    feed = {{name: value for name, value in feed.items() if name in main._inputs}}
    losses.append(float(executor.run(main, feed=feed, fetch_list=[loss])[0]))
from proa.distributed import io
state = io.whole_values("test", main)
ops = [call.split("(")[0].split("= ")[-1].strip() for call in str(main._program).splitlines()]
print(json.dumps([losses, {{n: np.asarray(state[n]).ravel().tolist() for n in sorted(p.name for p in main.all_parameters())}},
                  [op for op in ops if "in_turn" in op], {{p.name: list(p.shape) for p in main.all_parameters()}}]))
"""
_MLP = """
    x = say(proa.static.data("x", [{batch}, 6], "float64"), *{x})
    w0, w1 = say(weight("w0", 6, 8), *{w0}), say(weight("w1", 8, 4), *{w1})
    b0 = weight("b0", 8)
    h = say(F.gelu(F.linear(x, w0, b0)), *{h})
    loss = (proa.matmul(h, w1) ** 2).mean()
"""
_BLOCK = """
    ids = say(proa.static.data("ids", [{batch}, 4], "int64"), *{x})
    y = proa.static.data("y", [{batch}, 4, 1], "int64")
    table = say(weight("table", 12, 6), *{table})
    q, k, o = say(weight("q", 6, 6), *{w0}), say(weight("key", 6, 6), *{w0}), say(weight("out", 6, 8), *{w1})
    h = F.embedding(ids, table)
    h = h + F.layer_norm(h, 6)
    a = F.softmax(proa.matmul(proa.matmul(h, q), proa.matmul(h, k), transpose_y=True))
    h = proa.matmul(a, h)
    h = proa.transpose(h, [0, 2, 1]).transpose([0, 2, 1]).reshape([-1, 4, 6])
    loss = F.cross_entropy(proa.matmul(h, o).reshape([-1, 8]), y.reshape([-1, 1])).mean()
"""


def _run(count, network, mesh, optimizer="proa.optimizer.Adam(0.01)", strategy="pass", **said):
    source = _TRAIN.format(network=network.format(**said), mesh=mesh, optimizer=optimizer, strategy=strategy)
    return [json.loads(out) for out in ranks.run(source, count)]


def _same(count, network, mesh, **said):
    nothing = {name: value if name == "batch" else () for name, value in said.items()}
    ((losses, weights, *_),) = _run(1, network, None, **nothing)
    found = _run(count, network, mesh, **said)
    for others, state, *_ in found:
        np.testing.assert_allclose(others, losses, rtol=1e-12)
        for name, value in weights.items():
            np.testing.assert_allclose(state[name], value, rtol=1e-9, atol=1e-12, err_msg=name)
    return found[0][2]


@pytest.mark.parametrize(
    "x, w0, w1, h",
    [
        ((0, -1), (), (), ()),  # data parallel
        ((), (-1, 0), (0, -1), ()),  # by columns, then by rows
        ((), (0, -1), (-1, 0), ()),
        ((-1, 0), (), (), (0, -1)),
        ((0, -1), (0, -1), (0, -1), (-1, 0)),  # what does not fit together
    ],
)
def test_a_network_on_two(x, w0, w1, h):
    exchanges = _same(2, _MLP, [0, 1], batch=8, x=x, w0=w0, w1=w1, h=h)
    assert exchanges


_HELD = """
import json
import proa.distributed.fleet as fleet
from proa.distributed import io
proa.enable_static()
strategy = fleet.DistributedStrategy()
strategy.semi_auto = dist.get_world_size() > 1
fleet.init(is_collective=True, strategy=strategy)
proa.seed(5 + dist.get_rank())  # the first worker's numbers count
main, startup = proa.static.Program(), proa.static.Program()
mesh, folder, steps = {mesh}, os.environ["FOLDER"], range(*{steps})
with proa.static.program_guard(main, startup):
    x = proa.static.data("x", [8, 6], "float64")
    normal = proa.nn.initializer.Normal()
    made = [proa.static.create_parameter(shape, "float64", name=name, default_initializer=normal)
            for name, shape in (("up", [6, 8]), ("shift", [8]), ("down", [8, 4]))]
    for parameter, mapping in zip(made, {mappings}):
        if mesh is not None:
            dist.shard_tensor(parameter, {{"process_mesh": mesh, "dims_mapping": mapping}})
    loss = (proa.matmul(proa.nn.functional.gelu(proa.nn.functional.linear(x, *made[:2])), made[2]) ** 2).mean()
    adam = proa.optimizer.Adam(0.01, parameters=made if {named} else None, grad_clip=proa.nn.ClipGradByGlobalNorm(0.05))
    fleet.distributed_optimizer(adam).minimize(loss)
executor = proa.static.Executor()
executor.run(startup)
if {again}:
    executor.run(startup)  # draws anew
if steps[0]:
    io.load_persistables(executor, folder, main)
losses = []
for step in steps:
    feed = {{"x": np.random.RandomState(step).rand(8, 6)}}
    losses.append(float(executor.run(main, feed=feed, fetch_list=[loss])[0]))
held = {{v.name: list(v.shape) for v in main.list_vars() if v.persistable}}
if dist.get_world_size() > 1:
    for name in ("up", "shift", "down"):
        copies = main._divided.copies(name)
        held[name + " is held by"] = None if copies is None else copies.ranks
io.save_persistables(executor, folder, main)
print(json.dumps([losses, held]))
"""


def test_parameters_are_held_in_parts(tmp_path):
    """They and their states; written as wholes, and read by other workers that divide them otherwise."""

    def run(count, mesh, mappings, steps, **more):
        source = _HELD.format(mesh=mesh, mappings=mappings, steps=steps, **({"named": False, "again": False} | more))
        return [json.loads(out) for out in ranks.run(source, count, FOLDER=str(tmp_path))]

    first = run(2, [0, 1], [[-1, 0], [0], [0, -1]], (0, 3))
    for losses, held in first:
        assert losses == first[0][0]
        shapes = {"up": [6, 4], "shift": [4], "down": [4, 4]}
        for name, shape in shapes.items():
            of_it = {
                other: s
                for other, s in held.items()
                if other.startswith(name) and "pow" not in other and "held" not in other
            }
            assert len(of_it) == 3 and all(s == shape for s in of_it.values()), of_it
    second = run(4, [[2, 0], [1, 3]], [[0, 1], [-1], [-1, 0]], (3, 6), named=True)
    shapes = [(held["up"], held["shift"], held["down"], held["down_moment1_0"]) for _, held in second]
    assert shapes == [([3, 4], [8], [8, 2], [8, 2])] * 4
    assert [held["down is held by"] for _, held in second] == [[0, 2], [1, 3], [0, 2], [1, 3]]
    assert second[0][1]["up is held by"] == [0] and second[0][1]["shift is held by"] is None
    ((third, _),) = run(1, None, [[]] * 3, (6, 8))
    # What one worker would have done from the first one's start.
    for file in tmp_path.iterdir():
        file.unlink()
    ((alone, _),) = run(1, None, [[]] * 3, (0, 8))
    np.testing.assert_allclose([*first[0][0], *second[0][0], *third], alone, rtol=1e-9)
    assert alone[-1] < alone[0]


def test_a_startup_program_that_runs_again(tmp_path):
    source = _HELD.format(mesh=[0, 1], mappings=[[-1, 0], [0], [0, -1]], steps=(0, 3), named=False, again=True)
    two = [json.loads(out)[0] for out in ranks.run(source, 2, FOLDER=str(tmp_path))]
    assert two[0] == two[1] and len(set(two[0])) == 3


def test_columns_and_rows_need_one_sum():
    """Of forward, as in ColumnParallelLinear and RowParallelLinear; backward sums what it needs."""
    exchanges = _same(2, _MLP, [0, 1], batch=8, x=(), w0=(-1, 0), w1=(0, -1), h=())
    # A sum in forward and its gradient, and gradients of the parameters, in one bucket.
    assert exchanges == ["all_reduce_in_turn_"] * 3


@pytest.mark.parametrize("batch", [8, None])
def test_two_ways_at_once_on_four(batch):
    """A mesh whose processes stand in no order; the batch may be known when the program runs."""
    _same(4, _MLP, [[2, 0], [1, 3]], batch=batch, x=(0, -1), w0=(-1, 1), w1=(1, -1), h=())


@pytest.mark.parametrize("table", [(0, -1), (-1, 0), ()])
@pytest.mark.parametrize("x", [(0, -1), ()])
def test_a_block_of_attention(table, x):
    _same(2, _BLOCK, [0, 1], batch=8, x=x, table=table, w0=(-1, 0), w1=(0, -1))


def test_gradients_are_clipped_and_merged_as_in_one():
    said = {"batch": 8, "x": (0, -1), "w0": (-1, 0), "w1": (), "h": ()}
    more = {
        "optimizer": "proa.optimizer.Momentum(0.1, grad_clip=proa.nn.ClipGradByGlobalNorm(0.05))",
        "strategy": "strategy.gradient_merge = True; strategy.gradient_merge_configs = {'k_steps': 2}",
    }
    ((losses, weights, *_),) = _run(1, _MLP, None, **more, **{n: v if n == "batch" else () for n, v in said.items()})
    for others, state, *_ in _run(2, _MLP, [1, 0], **more, **said):
        np.testing.assert_allclose(others, losses, rtol=1e-12)
        for name, value in weights.items():
            np.testing.assert_allclose(state[name], value, rtol=1e-9, atol=1e-12)


def test_nothing_said():
    with pytest.raises(
        AssertionError, match="divides a program by what shard_tensor says of its tensors; it says nothing"
    ):
        _run(2, _MLP, None, batch=8, x=(), w0=(), w1=(), h=())


@pytest.mark.parametrize(
    "mesh, said", [([0, 1, 2], "is not of the 2 processes of the job"), ([[0], [2]], "is not of the 2")]
)
def test_a_mesh_of_others(mesh, said):
    with pytest.raises(AssertionError, match=said):
        _run(2, _MLP, mesh, batch=12, x=(0, -1), w0=(), w1=(), h=())


@pytest.mark.parametrize(
    "attr, says",
    [
        ({"process_mesh": [0, 1], "dims_mapping": [0]}, r"has 1 numbers; the tensor has 2 dims"),
        ({"process_mesh": [0, 1], "dims_mapping": [1, -1]}, "names dim 1 of the mesh, which has 1"),
        ({"process_mesh": [[0, 1], [2, 3]], "dims_mapping": [0, 0]}, "divides two dims along one of the mesh"),
        ({"process_mesh": [0, 1, 2], "dims_mapping": [0, -1]}, r"3 processes do not divide dim 0 of \[4, 6\]"),
        ({"process_mesh": [0, 1], "dims_mapping": [-2, 0]}, "-1 or a dim of the mesh"),
        ({"mesh": [0]}, "has the key 'mesh'"),
        ({"process_mesh": [0, 0]}, "nor come twice"),
        ({"process_mesh": [[0, 1], [2]]}, "must be an array of numbers"),
    ],
)
def test_what_does_not_fit_a_tensor(attr, says):
    with pytest.raises(ValueError, match=says):
        dist.shard_tensor(proa.ones([4, 6]), attr)


def test_meshes():
    mesh = dist.ProcessMesh(np.array([[2, 4, 5], [0, 1, 3]]))
    assert mesh.topology == mesh.shape == [2, 3] and mesh.processes == [2, 4, 5, 0, 1, 3] and mesh.ndim == 2
    assert mesh == dist.ProcessMesh([[2, 4, 5], [0, 1, 3]]) != dist.ProcessMesh([2, 4, 5, 0, 1, 3])
    assert mesh.line(0, 4) == [4, 1] and mesh.line(1, 1) == [0, 1, 3]
    for wrong in (3, "ab", [[]], [0.5], [True]):
        with pytest.raises((TypeError, ValueError), match="ProcessMesh: mesh must be"):
            dist.ProcessMesh(wrong)


def test_shard_op():
    mesh = [[0, 1], [2, 3]]
    x, y = proa.ones([4, 6]), proa.zeros([4, 6])
    add = dist.shard_op(
        proa.add, dist_attr={"process_mesh": mesh, x: {"dims_mapping": [0, -1]}, 0: {"dims_mapping": [-1, 1]}}
    )
    (out,) = add(x, y=y)
    assert out.tolist() == proa.ones([4, 6]).tolist()
    assert [t.dist_attr.dims_mapping for t in (x, y, out)] == [[0, -1], [-1, -1], [-1, 1]]
    assert all(t.dist_attr.process_mesh == dist.ProcessMesh(mesh) for t in (x, y, out))
    with pytest.raises(ValueError, match="key 'name'"):
        dist.shard_op(proa.add, {"name": 1})
