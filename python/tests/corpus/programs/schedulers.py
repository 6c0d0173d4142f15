# Every learning rate schedule, ten steps of each.
import paddle
from paddle.optimizer import lr

schedules = {
    "noam": lr.NoamDecay(d_model=64, warmup_steps=4),
    "piecewise": lr.PiecewiseDecay(boundaries=[3, 6], values=[0.1, 0.05, 0.01]),
    "natural": lr.NaturalExpDecay(0.5, gamma=0.1),
    "inverse": lr.InverseTimeDecay(0.5, gamma=0.1),
    "polynomial": lr.PolynomialDecay(0.5, decay_steps=5, end_lr=0.01, power=2.0),
    "cycle": lr.PolynomialDecay(0.5, decay_steps=4, cycle=True),
    "warmup": lr.LinearWarmup(0.5, warmup_steps=5, start_lr=0, end_lr=0.5),
    "exponential": lr.ExponentialDecay(0.5, gamma=0.9),
    "multistep": lr.MultiStepDecay(0.5, milestones=[2, 4], gamma=0.8),
    "step": lr.StepDecay(0.5, step_size=3, gamma=0.8),
    "lambda": lr.LambdaDecay(0.5, lr_lambda=lambda x: 0.95**x),
    "multiplicative": lr.MultiplicativeDecay(0.5, lr_lambda=lambda x: 0.95),
    "cosine": lr.CosineAnnealingDecay(0.5, T_max=6, eta_min=0.05),
    "onecycle": lr.OneCycleLR(max_learning_rate=1.0, total_steps=12, divide_factor=5),
    "cyclic": lr.CyclicLR(base_learning_rate=0.5, max_learning_rate=1.0, step_size_up=3, step_size_down=5),
}
for name, schedule in schedules.items():
    values = []
    for _ in range(10):
        values.append("%.6f" % schedule())
        schedule.step()
    print(name, " ".join(values))

plateau = lr.ReduceOnPlateau(1.0, factor=0.5, patience=2, cooldown=1, threshold=1e-2)
for loss in [1.0, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.5]:
    plateau.step(paddle.to_tensor(loss))
    print("plateau %.4f" % plateau(), end=" ")
print()
parameter = paddle.create_parameter([1], "float32", default_initializer=paddle.nn.initializer.Constant(1.0))
outer = lr.LinearWarmup(lr.StepDecay(0.4, 2), 3, 0.1, 0.4)
sgd = paddle.optimizer.SGD(outer, parameters=[parameter])
for _ in range(6):
    (parameter * 2).sum().backward()
    sgd.step()
    sgd.clear_grad()
    outer.step()
    print("%.5f" % parameter.item(), end=" ")
print()
state = outer.state_dict()
print(sorted(state)[:3], outer.last_epoch)
