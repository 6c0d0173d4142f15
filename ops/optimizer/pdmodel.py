"""What steps of optimizers are in PaddlePaddle's format: an op for each parameter, which it changes in place."""

from proa.jit.reference.graph import Value, current
from proa.jit.reference.rule import cast, op, refuse


def _rate(lr, lr_scale):
    rate = op("reshape2", {"X": cast(lr, "float32")}, {"shape": [1]}, outputs=("Out", "XShape"), shape=(1,))[0]
    if lr_scale != 1.0:
        rate = op("scale", {"X": rate}, {"scale": lr_scale, "bias": 0.0, "bias_after_scale": True}, shape=(1,))
    return rate


def _gradients(params, grads, grad_scale, l2, rounded):
    if rounded:
        refuse("parameters of 16 bits with exact copies", "save the program from before static.amp.decorate")
    found = []
    for param, grad in zip(params, grads, strict=True):
        if isinstance(grad_scale, Value):
            grad = op("elementwise_mul", {"X": grad, "Y": cast(grad_scale, grad.dtype)}, {"axis": -1}, shape=grad.shape)
        elif grad_scale != 1.0:
            grad = _times(grad, grad_scale)
        if l2:
            grad = op("elementwise_add", {"X": grad, "Y": _times(param, l2)}, {"axis": -1}, shape=grad.shape)
        found.append(grad)
    return found


def _times(x, factor):
    return op("scale", {"X": x}, {"scale": factor, "bias": 0.0, "bias_after_scale": True}, shape=x.shape)


def _step(kind, inputs, changed, attributes):
    """Adds the op; `changed` has the slots of what it changes by those of the results."""
    given = {slot: [value.name] for slot, value in inputs.items()}
    outputs = {out: given[slot] for out, slot in changed.items()}
    attributes = {**attributes, "op_role_var": [*given["Param"], *given["Grad"]]}
    current().op(kind, given, outputs, attributes)


def _steps(kind, rate, lists, changed, attributes):
    for values in zip(*lists.values(), strict=True):
        _step(kind, {**dict(zip(lists, values, strict=True)), "LearningRate": rate}, changed, attributes)
    return []


def pdmodel_sgd_(params, grads, lr, lr_scale, l2, grad_scale, rounded):
    grads = _gradients(params, grads, grad_scale, l2, rounded)
    return _steps("sgd", _rate(lr, lr_scale), {"Param": params, "Grad": grads}, {"ParamOut": "Param"}, {})


def pdmodel_momentum_(params, grads, velocities, lr, momentum, use_nesterov, lr_scale, l2, grad_scale, rounded):
    grads = _gradients(params, grads, grad_scale, 0.0, rounded)
    how = {"mu": momentum, "use_nesterov": use_nesterov, "regularization_method": "l2_decay" if l2 else ""}
    how |= {"regularization_coeff": l2, "multi_precision": False, "rescale_grad": 1.0}
    lists = {"Param": params, "Grad": grads, "Velocity": velocities}
    return _steps("momentum", _rate(lr, lr_scale), lists, {"ParamOut": "Param", "VelocityOut": "Velocity"}, how)


_ADAM = {
    "ParamOut": "Param", "Moment1Out": "Moment1", "Moment2Out": "Moment2", "Beta1PowOut": "Beta1Pow",
    "Beta2PowOut": "Beta2Pow",
}  # fmt: skip


def _adam(kind, params, grads, moment1s, moment2s, beta1_pows, beta2_pows, rate, how):
    lists = {"Param": params, "Grad": grads, "Moment1": moment1s, "Moment2": moment2s}
    lists |= {"Beta1Pow": beta1_pows, "Beta2Pow": beta2_pows}
    return _steps(kind, rate, lists, _ADAM, {**how, "multi_precision": False})


def _adam_attributes(beta1, beta2, epsilon, lazy_mode):
    how = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "lazy_mode": lazy_mode}
    return {**how, "use_global_beta_pow": False, "min_row_size_to_use_multithread": 1000}


def pdmodel_adam_(params, grads, moment1s, moment2s, beta1_pows, beta2_pows, lr, beta1, beta2, epsilon, lr_scale, l2, lazy_mode, grad_scale, rounded):  # fmt: skip
    grads = _gradients(params, grads, grad_scale, l2, rounded)
    how = _adam_attributes(beta1, beta2, epsilon, lazy_mode)
    return _adam("adam", params, grads, moment1s, moment2s, beta1_pows, beta2_pows, _rate(lr, lr_scale), how)


def pdmodel_adamw_(params, grads, moment1s, moment2s, beta1_pows, beta2_pows, lr, beta1, beta2, epsilon, decay, lr_scale, lazy_mode, grad_scale, rounded):  # fmt: skip
    grads = _gradients(params, grads, grad_scale, 0.0, rounded)
    how = {**_adam_attributes(beta1, beta2, epsilon, lazy_mode), "coeff": decay, "lr_ratio": 1.0, "with_decay": True}
    return _adam("adamw", params, grads, moment1s, moment2s, beta1_pows, beta2_pows, _rate(lr, lr_scale), how)


def pdmodel_lamb_(params, grads, moment1s, moment2s, beta1_pows, beta2_pows, lr, beta1, beta2, epsilon, decay, lr_scale, l2, grad_scale, rounded):  # fmt: skip
    grads = _gradients(params, grads, grad_scale, l2, rounded)
    how = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "weight_decay": decay, "always_adapt": True}
    return _adam("lamb", params, grads, moment1s, moment2s, beta1_pows, beta2_pows, _rate(lr, lr_scale), how)


def pdmodel_adagrad_(params, grads, moments, lr, epsilon, lr_scale, l2, grad_scale, rounded):
    grads = _gradients(params, grads, grad_scale, l2, rounded)
    lists = {"Param": params, "Grad": grads, "Moment": moments}
    how = {"epsilon": epsilon, "multi_precision": False}
    return _steps("adagrad", _rate(lr, lr_scale), lists, {"ParamOut": "Param", "MomentOut": "Moment"}, how)


def pdmodel_adamax_(
    params, grads, moments, norms, beta1_pows, lr, beta1, beta2, epsilon, lr_scale, l2, grad_scale, rounded
):
    grads = _gradients(params, grads, grad_scale, l2, rounded)
    lists = {"Param": params, "Grad": grads, "Moment": moments, "InfNorm": norms, "Beta1Pow": beta1_pows}
    changed = {"ParamOut": "Param", "MomentOut": "Moment", "InfNormOut": "InfNorm"}
    how = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "multi_precision": False}
    _steps("adamax", _rate(lr, lr_scale), lists, changed, how)
    for power in beta1_pows:  # the op leaves it to another one
        op("scale", {"X": power}, {"scale": beta1, "bias": 0.0, "bias_after_scale": True}, into=power)
    return []


def pdmodel_adadelta_(
    params, grads, squared_grads, squared_updates, lr, rho, epsilon, lr_scale, l2, grad_scale, rounded
):
    grads = _gradients(params, grads, grad_scale, l2, rounded)
    lists = {"Param": params, "Grad": grads, "AvgSquaredGrad": squared_grads, "AvgSquaredUpdate": squared_updates}
    changed = {"ParamOut": "Param", "AvgSquaredGradOut": "AvgSquaredGrad", "AvgSquaredUpdateOut": "AvgSquaredUpdate"}
    how = {"rho": rho, "epsilon": epsilon, "multi_precision": False}
    return _steps("adadelta", _rate(lr, lr_scale), lists, changed, how)


def pdmodel_rmsprop_(params, grads, mean_squares, mean_grads, velocities, lr, rho, epsilon, momentum, centered, lr_scale, l2, grad_scale, rounded):  # fmt: skip
    grads = _gradients(params, grads, grad_scale, l2, rounded)
    lists = {"Param": params, "Grad": grads, "MeanSquare": mean_squares, "MeanGrad": mean_grads, "Moment": velocities}
    changed = {"ParamOut": "Param", "MomentOut": "Moment", "MeanSquareOut": "MeanSquare", "MeanGradOut": "MeanGrad"}
    how = {"epsilon": epsilon, "decay": rho, "momentum": momentum, "centered": centered, "multi_precision": False}
    return _steps("rmsprop", _rate(lr, lr_scale), lists, changed, how)


def pdmodel_squared_norm(xs):
    """Of type float32: that of float64 has no op."""
    parts = [op("squared_l2_norm", {"X": cast(x, "float32")}, {}, shape=(1,)) for x in xs]
    return cast(op("reshape2", {"X": op("sum", {"X": parts}, {}, shape=(1,))}, {"shape": []}, outputs=("Out", "XShape"), shape=())[0], "float64")  # fmt: skip
