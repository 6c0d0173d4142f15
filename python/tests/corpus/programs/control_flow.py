# cond, while_loop, case and switch_case in a static program; loops on tensors in eager mode.
import numpy as np
import paddle
import paddle.static as static

i = paddle.to_tensor(0)
total = paddle.to_tensor(0.0)
while i < 5:
    if i % 2 == 0:
        total = total + i.astype("float32")
    else:
        total = total * 2
    i = i + 1
print(i.item(), total.item())

paddle.enable_static()
main, startup = static.Program(), static.Program()
with static.program_guard(main, startup):
    x = static.data("x", [3], "float32")
    n = static.data("n", [1], "int64")
    bigger = static.nn.cond(x.sum() > 0, lambda: x * 2, lambda: x - 1)

    def condition(k, acc):
        return k < n

    def body(k, acc):
        return [k + 1, acc + x.sum() * k.astype("float32")]

    k0, acc0 = paddle.full([1], 0, "int64"), paddle.full([1], 1.0, "float32")
    k, acc = static.nn.while_loop(condition, body, [k0, acc0])
    picked = static.nn.case([(n < 2, lambda: x + 10), (n < 5, lambda: x + 20)], default=lambda: x + 30)
    switched = static.nn.switch_case(n, {1: lambda: x * 1, 3: lambda: x * 3}, default=lambda: x * 0)
exe = static.Executor()
exe.run(startup)
for values, count in (([1.0, 2.0, 3.0], 3), ([-1.0, -2.0, 0.5], 1), ([0.0, 0.0, 1.0], 7)):
    outs = exe.run(
        main,
        feed={"x": np.array(values, "float32"), "n": np.array([count], "int64")},
        fetch_list=[bigger, k, acc, picked, switched],
    )
    print(outs[0].tolist(), outs[1].tolist(), outs[2].tolist(), outs[3].tolist(), outs[4].tolist())
