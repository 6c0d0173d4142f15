"""Python's control flow on values of tensors, as operations of the program: functions are rewritten before they are recorded.

    forward = convert(forward)    # as it was for Python values; `if x.sum() > 0` records a `cond`

`source` finds the syntax tree of a function, `scopes` what its names are, `transformer`, `statements`, `jumps` and `expressions`
rewrite it, `functions` compiles it with the lines of the user's file. What the rewritten code calls is in `runtime`.
Nothing here decides before the function runs: a rewritten `if` looks at its condition, and is Python's unless that is a tensor of
which only the run of the program knows the value.
"""
