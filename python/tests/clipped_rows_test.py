"""clip_grad_norm_ and clip_grad_value_ of gradients of rows, which are those of the whole table."""

import numpy as np
import pytest

import proa


def _network_with_a_table(sparse):
    proa.seed(3)
    table, linear = proa.nn.Embedding(5, 2, sparse=sparse), proa.nn.Linear(2, 2)
    (linear(table(proa.to_tensor([1, 1, 3]))) ** 2).sum().backward()
    return table, [*table.parameters(), *linear.parameters()]


@pytest.mark.parametrize("norm_type", [0, 1, 2, 3.5, np.inf, "inf"])
def test_gradients_of_rows_are_clipped_in_place_as_dense_ones(norm_type):
    (table, rows), (_, dense) = _network_with_a_table(True), _network_with_a_table(False)
    before = [p.grad.numpy() for p in dense]
    total = proa.nn.utils.clip_grad_norm_(rows, 0.1, norm_type)
    want = np.linalg.norm([np.linalg.norm(g.ravel(), float(norm_type)) for g in before], float(norm_type))
    np.testing.assert_allclose(total.item(), want, rtol=1e-6)
    assert proa.nn.utils.clip_grad_norm_(dense, 0.1, norm_type).item() == total.item()
    for p, q, g in zip(rows, dense, before, strict=True):
        np.testing.assert_array_equal((p.grad + 0).numpy(), q.grad.numpy())
        np.testing.assert_allclose(q.grad.numpy(), g * min(1.0, 0.1 / (want + 1e-6)), rtol=1e-5)
    assert table.weight.grad.is_selected_rows()
    for parameters in (rows, dense):
        proa.nn.utils.clip_grad_value_(parameters, 0.003)
    for p, q in zip(rows, dense, strict=True):
        np.testing.assert_array_equal((p.grad + 0).numpy(), q.grad.numpy())
        assert np.abs(q.grad.numpy()).max() <= np.float32(0.003)


def test_a_norm_of_another_kind_is_refused():
    _, parameters = _network_with_a_table(False)
    with pytest.raises(TypeError, match="clip_grad_norm_: norm_type"):
        proa.nn.utils.clip_grad_norm_(parameters, 1.0, "fro")
