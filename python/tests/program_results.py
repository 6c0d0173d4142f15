"""What a static program of a function gives, with the gradients of its inputs: for tests of ops of one's own."""

from proa import static


def program_results(build, feed, *names):
    """Builds a program of `build`, whose inputs are those names of `feed` with an open first dim, and runs it.

    Args:
        build (Callable): of tensors, gives one.
        feed (dict[str, numpy.ndarray]): by name.
        names (str): the inputs, in the order of the arguments.

    Returns:
        tuple[static.Program, list[numpy.ndarray]]: the program; the result, then the gradient of its sum by each input.

    Examples:
        >>> _, (out, grad) = program_results(lambda x: x * x, {"x": np.float64([3.0])}, "x")
        >>> out.tolist(), grad.tolist()
        ([9.0], [6.0])
    """
    main = static.Program()
    with static.program_guard(main):
        inputs = [static.data(n, [None, *feed[n].shape[1:]], str(feed[n].dtype)) for n in names]
        for x in inputs:
            x.stop_gradient = False
        out = build(*inputs)
        grads = static.gradients([out.sum()], inputs)
    return main, static.Executor().run(main, feed=feed, fetch_list=[out, *grads])
