"""Memory of the CPU: figures, growth on demand, blocks that are used again, a limit."""

import gc
import os
import weakref

import numpy as np
import pytest

import proa

MIB = 1 << 20

pytestmark = pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""), reason="freed memory waits in AddressSanitizer's quarantine"
)


@pytest.fixture(autouse=True)
def clean():
    gc.collect()
    proa.device.empty_cache("cpu")
    yield
    gc.collect()


def test_figures_follow_tensors():
    before = proa.device.memory_allocated("cpu")
    proa.device.reset_max_memory_allocated("cpu")
    x = proa.ones([4, MIB], dtype="uint8")
    y = x + x
    assert proa.device.memory_allocated() - before == 8 * MIB
    assert proa.device.max_memory_allocated() - before == 8 * MIB
    del y
    assert proa.device.memory_allocated() - before == 4 * MIB
    assert proa.device.max_memory_allocated() - before == 8 * MIB
    proa.device.reset_max_memory_allocated()
    assert proa.device.max_memory_allocated() - before == 4 * MIB
    assert proa.device.memory_reserved() >= proa.device.memory_allocated()
    assert proa.device.max_memory_reserved() >= proa.device.memory_reserved()
    del x


def test_views_and_grads_are_counted_once():
    before = proa.device.memory_allocated("cpu")
    x = proa.zeros([MIB])
    views = [x.reshape([1024, 1024]), x[10:], x.detach()]
    assert proa.device.memory_allocated("cpu") - before == 4 * MIB
    del views, x
    assert proa.device.memory_allocated("cpu") == before


def test_growth_is_on_demand_and_free_blocks_are_used_again():
    """The allocator holds no more than what was in use at a time, for any number of tensors of changing sizes."""
    proa.device.reset_max_memory_reserved("cpu")
    base = proa.device.memory_reserved("cpu")
    sizes = np.random.default_rng(0).integers(MIB // 4, MIB, 300)
    for size in sizes:
        proa.zeros([int(size)])
    assert proa.device.max_memory_reserved("cpu") - base <= 16 * MIB
    held = proa.device.memory_reserved("cpu")
    x = proa.zeros([MIB // 2])
    assert proa.device.memory_reserved("cpu") == held
    del x


def test_a_smaller_tensor_takes_the_block_of_a_larger_one():
    x = proa.zeros([MIB])
    place = x.data_ptr() if hasattr(x, "data_ptr") else x.numpy().__array_interface__["data"][0]
    del x
    y = proa.zeros([MIB // 2])
    assert place == (y.data_ptr() if hasattr(y, "data_ptr") else y.numpy().__array_interface__["data"][0])


def test_unused_memory_goes_back():
    x = proa.ones([32 * MIB], dtype="uint8")
    held = proa.device.memory_reserved("cpu")
    del x
    released = proa.device.empty_cache("cpu")
    assert released >= 32 * MIB and proa.device.memory_reserved("cpu") <= held - 32 * MIB


def test_a_limit():
    cap = proa._C.memory_figures("cpu")["cap"]
    try:
        proa.device.set_memory_limit(proa.device.memory_reserved("cpu") + 8 * MIB)
        with pytest.raises(MemoryError, match="out of memory; asked for 64.00 MiB"):
            proa.ones([64 * MIB], dtype="uint8")
        proa.ones([MIB], dtype="uint8")
    finally:
        proa._C.memory_set_cap(cap, "cpu")


def test_arrays_of_tensors_give_it_back():
    before = proa.device.memory_allocated("cpu")
    array = proa.tensor.create_array("uint8")
    for i in range(4):
        proa.tensor.array_write(proa.ones([1 << 20], "uint8"), i, array)
    assert proa.device.memory_allocated("cpu") - before == 4 << 20
    old = weakref.ref(array[0])
    proa.tensor.array_write(proa.ones([8], "uint8"), 0, array)
    assert old() is None and proa.device.memory_allocated("cpu") - before < 4 << 20
    del array
    assert proa.device.memory_allocated("cpu") == before


@pytest.mark.parametrize(
    "limit, kind", [("1", TypeError), (1.5, TypeError), (0, ValueError), (-1, ValueError), (2**63, ValueError)]
)
def test_wrong_limits(limit, kind):
    with pytest.raises(kind, match="set_memory_limit: limit must be"):
        proa.device.set_memory_limit(limit)


def test_gpus_that_are_not_there():
    """The functions that programs for GPUs call say what there is, instead of being missing."""
    cuda = proa.device.cuda
    assert cuda.device_count() == 0
    cuda.empty_cache()  # nothing to do
    for function in (
        cuda.memory_allocated,
        cuda.max_memory_allocated,
        cuda.memory_reserved,
        cuda.max_memory_reserved,
        cuda.get_device_properties,
        cuda.get_device_name,
        cuda.get_device_capability,
    ):
        name = function.__name__
        for device in (None, 0, "gpu:0", proa.CUDAPlace(0)):
            with pytest.raises(ValueError, match=f"{name}: there is no GPU gpu:0; this machine or package has 0"):
                function(device)
        with pytest.raises(ValueError, match=f"{name}: there is no GPU cpu"):
            function("cpu")
        with pytest.raises(TypeError, match=f"{name}: device must be a Place, int, str or None, not float"):
            function(1.5)


def test_a_device_that_is_not_there():
    for function in (proa.device.memory_allocated, proa.device.max_memory_reserved, proa.device.empty_cache):
        with pytest.raises(ValueError, match="gpu"):
            function("gpu:0")


@pytest.mark.parametrize("name", ["IPUPlace", "MLUPlace", "XPUPlace"])
def test_places_of_devices_that_are_not_there(name):
    with pytest.raises(NotImplementedError, match=f"{name}: there is no such device; use CPUPlace"):
        getattr(proa.device, name)()
