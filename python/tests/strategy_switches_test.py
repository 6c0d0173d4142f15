"""Every switch of DistributedStrategy works, says why not, or is known to be about what is not here."""

import json
import warnings

import numpy as np
import pytest

from proa.distributed import fleet
from proa.distributed.fleet.base import distributed_strategy
from python.tests import ranks

# What follows a switch, in programs and in eager training; each has a test that fails without it.
_IN_PROGRAMS = {
    "adaptive_localsgd", "amp", "asp", "dgc", "find_unused_parameters", "fp16_allreduce", "fuse_all_reduce_ops",
    "fuse_grad_size_in_MB", "gradient_merge", "lamb", "lars", "last_comm_group_size_MB", "localsgd", "pipeline", "recompute",
    "semi_auto", "sharding", "sync_batch_norm", "tensor_parallel",
}  # fmt: skip
_IN_LAYERS = {
    "amp", "asp", "find_unused_parameters", "fp16_allreduce", "fuse_all_reduce_ops", "fuse_grad_size_in_MB",
    "last_comm_group_size_MB", "sync_batch_norm", "tensor_parallel",
}  # fmt: skip
# Whose place hybrid_configs takes, or recompute of layers.
_WARNED_OF_IN_LAYERS = {"pipeline", "recompute", "sharding"}


def _on(name):
    strategy = fleet.DistributedStrategy()
    default = getattr(strategy, name)
    changed = {bool: True, int: 3, float: 3.0, str: "x"}[type(default)]
    setattr(strategy, name, changed)
    return strategy


@pytest.mark.parametrize("name", sorted(distributed_strategy._SWITCHES))
def test_works_or_says_why_not(name):
    for check, works in (("check_static", _IN_PROGRAMS), ("check_dynamic", _IN_LAYERS)):
        strategy = _on(name)
        call = (lambda: strategy.check_static(2)) if check == "check_static" else strategy.check_dynamic
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            if name in works or name in distributed_strategy.WITHOUT_EFFECT:
                assert not (name in works and name in distributed_strategy.WITHOUT_EFFECT)
                call()
                assert not said
            elif check == "check_dynamic" and name in _WARNED_OF_IN_LAYERS:
                call()
                assert f"strategy.{name} is about programs" in str(said[0].message)
            else:
                with pytest.raises(NotImplementedError, match=rf"strategy.{name} is not in this version.*; \w+"):
                    call()


_SHARDING_FOLLOWED = {"optimize_cast", 
    "dp_degree", "gradient_merge_acc_step", "hybrid_dp", "segment_broadcast_MB", "sharding_degree", "stage",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(distributed_strategy._CONFIGS["sharding_configs"]))
def test_settings_of_sharding_are_followed_or_it_says_why_not(name):
    default = distributed_strategy._CONFIGS["sharding_configs"][name]
    changed = {bool: True, int: 2, float: 3.0, str: "x", list: ["x"]}[type(default)]
    strategy = fleet.DistributedStrategy()
    strategy.sharding, strategy.sharding_configs = True, {name: changed}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        if name in distributed_strategy._NOT_SHARDED:
            with pytest.raises(NotImplementedError, match=rf"sharding_configs\['{name}'\]"):
                strategy.check_static(2)
        else:
            strategy.check_static(2)
            told = [f"sharding_configs['{name}'] changes nothing" in str(w.message) for w in said]
            assert told == [] if name in _SHARDING_FOLLOWED else told == [True]


_NORMS = """
import json
import proa.distributed.fleet as fleet
proa.enable_static()
strategy = fleet.DistributedStrategy()
strategy.sync_batch_norm = True
{amp}
fleet.init(is_collective=True, strategy=strategy)
rank, count = fleet.worker_index(), fleet.worker_num()
main, startup = proa.static.Program(), proa.static.Program()
proa.seed(3)
with proa.static.program_guard(main, startup):
    x, y = proa.static.data("x", [None, 3, 4, 4]), proa.static.data("y", [None, 1])
    conv = proa.static.nn.conv2d(x, 4, 3, param_attr=proa.ParamAttr(name="w"))
    hidden = proa.static.nn.batch_norm(conv, act="relu", moving_mean_name="mean", moving_variance_name="variance")
    loss = ((proa.static.nn.fc(hidden, 1) - y) ** 2).mean()
    fleet.distributed_optimizer(proa.optimizer.SGD(0.05)).minimize(loss)
executor = proa.static.Executor()
executor.run(startup)
rng = np.random.default_rng(3)
for step in range(3):
    xs, ys = rng.normal(size=(8, 3, 4, 4)).astype("float32") * 2 + rank * 0, rng.normal(size=(8, 1)).astype("float32")
    xs += np.arange(8, dtype="float32").reshape(8, 1, 1, 1)  # so that the halves differ
    mine = slice(rank * 8 // count, (rank + 1) * 8 // count)
    executor.run(main, feed={{"x": xs[mine], "y": ys[mine]}}, fetch_list=[loss])
state = main.state_dict()
print(json.dumps([np.asarray(state[name]).ravel().tolist() for name in ("w", "mean", "variance")]))
"""


@pytest.mark.parametrize(
    "amp, atol", [("", 1e-5), ("strategy.amp = True; strategy.amp_configs = {'init_loss_scaling': 128.0}", 2e-2)]
)
def test_sync_batch_norm_of_programs(amp, atol):
    (one,), two = ([json.loads(out) for out in ranks.run(_NORMS.format(amp=amp), count)] for count in (1, 2))
    for worker in two:
        for found, wanted in zip(worker, one, strict=True):
            np.testing.assert_allclose(found, wanted, atol=atol, rtol=atol)
        assert worker == two[0]
