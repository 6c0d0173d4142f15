"""What the cases of this folder share: arrays, single ops by their own names, and a program that is recorded, saved and run."""

import os

os.environ["FLAGS_enable_pir_api"] = "0"

import numpy as np
import paddle
from paddle.base.proto import framework_pb2

F, static, nn = paddle.nn.functional, paddle.static, paddle.nn
R = np.random.RandomState(0)
U = "float32"


def f32(*shape, low=-2.0, high=2.0):
    return R.uniform(low, high, shape).astype("float32")


def i64(*shape, high=4):
    return R.randint(0, high, shape).astype("int64")


def boxes(*shape, side=16.0):
    low = R.uniform(0, side / 2, (*shape, 2))
    return np.concatenate([low, low + R.uniform(1, side / 2, (*shape, 2))], -1).astype("float32")


x4, x3, x2 = f32(2, 4, 6, 5), f32(2, 3, 4), f32(3, 4)
pos = f32(3, 4, low=0.2, high=0.9)
mask = R.rand(3, 4) > 0.5


def raw(type, inputs, outputs, attrs):
    """One op by its own name; outputs maps slot to dtype (a list of dtypes: several)."""
    from paddle.base.layer_helper import LayerHelper

    helper = LayerHelper(type)
    made = {
        slot: [helper.create_variable_for_type_inference(t) for t in ([ts] if isinstance(ts, str) else ts)]
        for slot, ts in outputs.items()
    }
    helper.append_op(type=type, inputs=inputs, outputs=made, attrs=attrs)
    return [v for vs in made.values() for v in vs]


def prune(path):
    """Takes out where the calls were made: paths of a machine."""
    program = framework_pb2.ProgramDesc()
    with open(path, "rb") as f:
        program.ParseFromString(f.read())
    for block in program.blocks:
        for op in block.ops:
            kept = [a for a in op.attrs if a.name not in ("op_callstack", "op_namescope", "op_role", "op_role_var")]
            del op.attrs[:]
            op.attrs.extend(kept)
    with open(path, "wb") as f:
        f.write(program.SerializeToString())


def write(prefix, build, inputs):
    """Records, saves and runs a program; its results."""
    main, startup = static.Program(), static.Program()
    paddle.seed(1)
    with static.program_guard(main, startup), paddle.utils.unique_name.guard():
        feeds = []
        for name, value in inputs.items():
            open_dims = [-1] + list(value.shape[1:]) if name.startswith("n_") else list(value.shape)
            feeds.append(static.data(name, open_dims, str(value.dtype)))
        out = build(*feeds)
        out = list(out) if isinstance(out, (list, tuple)) else [out]
        executor = static.Executor()
        with static.scope_guard(static.Scope()):
            executor.run(startup)
            test = main.clone(for_test=True)
            names = [o.name for o in out]
            fetch = [test.global_block().var(n) for n in names]
            found = [np.array(v) for v in executor.run(test, feed=inputs, fetch_list=fetch, return_numpy=False)]
            static.save_inference_model(prefix, feeds, out, executor, program=main)
    prune(prefix + ".pdmodel")
    return found
