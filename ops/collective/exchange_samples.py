"""What collectives give in a group of one: their argument."""


def reference_all_reduce(x, group=0, reduce="sum"):
    return x


def reference_all_reduce_grad(dy, group, reduce):
    return dy


def reference_extreme_over_ranks_grad(dy, x, out, group):
    return dy * (x == out)


def reference_reduce_to_rank(x, root, group=0, reduce="sum"):
    return x


def reference_reduce_to_rank_grad(dy, root, group, reduce):
    return dy


def reference_broadcast_from(x, root, group=0):
    return x


def reference_all_gather(x, ranks=1, group=0):
    return x


def reference_reduce_scatter(x, ranks=1, group=0, reduce="sum"):
    return x


def reference_reduce_scatter_grad(dy, ranks, group, reduce):
    return dy


def reference_gather_to(x, root, ranks=1, group=0):
    return x


def reference_scatter_from(x, root, ranks=1, group=0):
    return x


def reference_all_to_all(x, group=0, in_splits=(), out_splits=()):
    return x
