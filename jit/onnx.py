"""What ops with regions are in ONNX. The language: python/proa/onnx/rule.py."""

import functools

from proa.onnx.rule import block, constant, onnx, regions, results


def onnx_cond(predicate):
    then, otherwise = [block(functools.partial(region, [])) for region in regions()]
    return onnx.If(_truth(predicate), then_branch=then, else_branch=otherwise, outputs=len(results()))


def _truth(x):
    return onnx.Reshape(x, constant([], "int64")) if x.shape != () else x


def onnx_while(vars):
    condition, body = regions()

    def turn(_, __, *values):
        following = body(list(values))
        return [_truth(condition(following)[0]), *following]

    first = _truth(condition(vars)[0])
    return onnx.Loop(None, first, *vars, body=block(turn, [("int64", ()), ("bool", ()), *vars]), outputs=len(vars))


def onnx_detach(x):
    return onnx.Identity(x)
