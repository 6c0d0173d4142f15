"""Decoding step by step: beam search over a cell, and the loop that runs a decoder."""

import collections

from proa import _C
from proa.framework.nested import flatten

__all__ = ["BeamSearchDecoder", "Decoder", "dynamic_decode"]


def _mapped(function, *structures):
    """`function` of what stands at each place of structures of one form."""
    first = structures[0]
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(_mapped(function, *parts) for parts in zip(*structures)))
    if isinstance(first, (list, tuple)):
        return type(first)(_mapped(function, *parts) for parts in zip(*structures))
    if isinstance(first, dict):
        return {key: _mapped(function, *(s[key] for s in structures)) for key in first}
    return function(*structures)


class Decoder:
    """Base of what `dynamic_decode` runs: subclasses define `initialize`, `step` and, if they like, `finalize`.

    Examples:
        >>> issubclass(proa.nn.BeamSearchDecoder, proa.nn.Decoder)
        True
    """

    def initialize(self, inits):
        """(inputs, states, finished) before the first step."""
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define initialize"))

    def step(self, time, inputs, states, **kwargs):
        """(outputs, next states, next inputs, finished) of one step."""
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define step"))

    def finalize(self, outputs, final_states, sequence_lengths):
        """(outputs, states) after the last step; `outputs` are stacked, time first."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self):
        """Whether `step` says itself, and for good, which entries are finished."""
        return False


class BeamSearchDecoder(Decoder):
    """Keeps the `beam_size` most probable sequences of each sample.

    Args:
        cell (Callable): (inputs [N, ...], states) -> (outputs [N, ...], states), such as an RNN cell.
        start_token (int): comes before the first step.
        end_token (int): ends a sequence.
        beam_size (int): how many sequences are kept.
        embedding_fn (Callable, optional): from tokens to inputs of the cell.
        output_fn (Callable, optional): from outputs of the cell to scores of the words.

    The scores of a sequence are the sums of logarithms of its words' probabilities.

    Examples:
        >>> words = proa.nn.Embedding(8, 4)
        >>> decoder = proa.nn.BeamSearchDecoder(proa.nn.GRUCell(4, 4), 0, 1, 3, words, proa.nn.Linear(4, 8))
        >>> ids, _ = proa.nn.dynamic_decode(decoder, proa.zeros([2, 4]), max_step_num=4)
        >>> ids.shape[0], ids.shape[2]
        (2, 3)
    """

    OutputWrapper = collections.namedtuple("OutputWrapper", ("scores", "predicted_ids", "parent_ids"))
    StateWrapper = collections.namedtuple("StateWrapper", ("cell_states", "log_probs", "finished", "lengths"))

    def __init__(self, cell, start_token, end_token, beam_size, embedding_fn=None, output_fn=None):
        if isinstance(beam_size, bool) or not isinstance(beam_size, int) or beam_size < 1:
            raise _C.located(ValueError(f"BeamSearchDecoder: beam_size must be a positive int, not {beam_size!r}"))
        self.cell = cell
        self.embedding_fn = embedding_fn
        self.output_fn = output_fn
        self.start_token = start_token
        self.end_token = end_token
        self.beam_size = beam_size

    # Dims: [batch, beam, ...] and [batch * beam, ...] ---------------------------

    @staticmethod
    def tile_beam_merge_with_batch(x, beam_size):
        """Each sample of x `beam_size` times, one after another: [batch * beam_size, ...].

        Args:
            x (Tensor): [batch, ...], such as what the cell attends to.
            beam_size (int): how often.
        """
        shape = list(x.shape)
        wide = _C.ops.broadcast_to(_C.ops.unsqueeze(x, [1]), [shape[0], beam_size, *shape[1:]])
        return wide.reshape([shape[0] * beam_size, *shape[1:]])

    def _split_batch_beams(self, x):
        return x.reshape([-1, self.beam_size, *x.shape[1:]])

    def _merge_batch_beams(self, x):
        return x.reshape([-1, *x.shape[2:]])

    def _expand_to_beam_size(self, x):
        shape = list(x.shape)
        return _C.ops.broadcast_to(_C.ops.unsqueeze(x, [1]), [shape[0], self.beam_size, *shape[1:]])

    def _gather(self, x, indices, batch_size=None):
        """Of each sample, the beams of these numbers [batch, beam]; how many samples there are is seen from x."""
        rest = list(x.shape[2:])
        index = indices.reshape([*indices.shape, *[1] * len(rest)])
        return _C.ops.take_along_axis(x, _C.ops.broadcast_to(index, [*indices.shape, *rest]), 1)

    def _mask_probs(self, probs, finished):
        """Logarithms of probabilities with which a finished beam goes on with the end token, at no cost, and nothing else.

        Args:
            probs (Tensor): [batch, beam, words].
            finished (Tensor): [batch, beam], bool.
        """
        only_end = [-1e9] * probs.shape[-1]
        only_end[self.end_token] = 0.0
        ended = _C.to_tensor(only_end, dtype=probs.dtype)
        return _C.ops.where(_C.ops.unsqueeze(finished, [2]), ended, probs)

    # Steps -----------------------------------------------------------------------

    def initialize(self, initial_cell_states):
        """Tokens to start from, states of each beam (the others at -1e9 so that the first step fans out)."""
        first = flatten([initial_cell_states])[0]
        batch, beam = first.shape[0], self.beam_size
        states = _mapped(self._expand_to_beam_size, initial_cell_states)
        inputs = _C.ops.full([batch, beam], self.start_token, _C.int64)
        scores = _C.to_tensor([[0.0] + [-1e9] * (beam - 1)], dtype=first.dtype)
        log_probs = _C.ops.tile(scores, [batch, 1])
        finished = _C.ops.full([batch, beam], False, _C.bool)
        lengths = _C.ops.full([batch, beam], 0, _C.int64)
        inputs = self.embedding_fn(inputs) if self.embedding_fn else inputs
        return inputs, self.StateWrapper(states, log_probs, finished, lengths), finished

    def step(self, time, inputs, states, **kwargs):
        """One word more for the most probable of all continuations."""
        inputs = _mapped(self._merge_batch_beams, inputs)
        cell_states = _mapped(self._merge_batch_beams, states.cell_states)
        outputs, next_states = self.cell(inputs, cell_states, **kwargs)
        outputs = _mapped(self._split_batch_beams, outputs)
        next_states = _mapped(self._split_batch_beams, next_states)
        outputs = self.output_fn(outputs) if self.output_fn is not None else outputs
        result, state = self._beam_search_step(time, outputs, next_states, states)
        tokens = result.predicted_ids
        tokens.stop_gradient = True
        next_inputs = self.embedding_fn(tokens) if self.embedding_fn else tokens
        return result, state, next_inputs, state.finished

    def _beam_search_step(self, time, logits, next_cell_states, beam_state):
        words = logits.shape[-1]
        log_probs = _C.ops.log_softmax(logits, -1)
        log_probs = self._mask_probs(log_probs, beam_state.finished) + _C.ops.unsqueeze(beam_state.log_probs, [2])
        scores, index = _C.ops.topk(log_probs.reshape([-1, self.beam_size * words]), self.beam_size)
        beams, tokens = _C.ops.floor_divide(index, words), _C.ops.remainder(index, words)
        states = _mapped(lambda x: self._gather(x, beams), next_cell_states)
        was_finished = _C.ops.take_along_axis(beam_state.finished, beams, 1)
        lengths = _C.ops.take_along_axis(beam_state.lengths, beams, 1) + _C.ops.logical_not(was_finished).astype(
            "int64"
        )
        is_end = _C.ops.equal(tokens, _C.ops.full_like(tokens, self.end_token))
        finished = _C.ops.logical_or(was_finished, is_end)
        output = self.OutputWrapper(scores, tokens, beams)
        return output, self.StateWrapper(states, scores, finished, lengths)

    def finalize(self, outputs, final_states, sequence_lengths):
        """The sequences, traced back from their last words: [time, batch, beam]."""
        from proa.nn.functional.search import gather_tree

        return gather_tree(outputs.predicted_ids, outputs.parent_ids), final_states

    @property
    def tracks_own_finished(self):
        return True


def dynamic_decode(
    decoder,
    inits=None,
    max_step_num=None,
    output_time_major=False,
    impute_finished=False,
    is_test=False,
    return_length=False,
    **kwargs,
):
    """Calls `decoder.step` until all entries are finished, or for so many steps.

    Args:
        decoder (Decoder): what decodes.
        inits (optional): given to `decoder.initialize`.
        max_step_num (int, optional): there is at most one step more than this.
        output_time_major (bool): outputs are [time, batch, ...], not [batch, time, ...].
        impute_finished (bool): finished entries keep their states.
        is_test (bool): accepted.
        return_length (bool): give the lengths too.
        kwargs: given to `decoder.step`.

    Returns:
        (outputs, states), or (outputs, states, lengths).

    Raises:
        ValueError: the decoder never ends, for there is no max_step_num and it never says finished in 100,000 steps.

    Examples:
        >>> cell, words = proa.nn.GRUCell(4, 4), proa.nn.Embedding(8, 4)
        >>> decoder = proa.nn.BeamSearchDecoder(cell, 0, 1, 3, words, proa.nn.Linear(4, 8))
        >>> ids, states, lengths = proa.nn.dynamic_decode(decoder, proa.zeros([2, 4]), max_step_num=4, return_length=True)
        >>> ids.shape[0], ids.shape[2], lengths.shape
        (2, 3, [2, 3])
    """
    inputs, states, finished = decoder.initialize(inits)
    lengths = _C.ops.full_like(finished, 0, _C.int64)

    def step(time, inputs, states, finished, lengths):
        """(what comes after it, what it gives)."""
        outputs, next_states, inputs, next_finished = decoder.step(time, inputs, states, **kwargs)
        if decoder.tracks_own_finished:
            lengths = getattr(next_states, "lengths", lengths)
        else:
            next_finished = _C.ops.logical_or(next_finished, finished)
            lengths = lengths + _C.ops.logical_not(finished).astype("int64")
            if impute_finished:
                next_states = _mapped(lambda new, old: _keep(finished, old, new), next_states, states)
        return (inputs, next_states, next_finished, lengths), outputs

    loop = _steps_of_program if _C.in_static_mode() or _C.is_symbolic(finished) else _steps
    (_, states, _, lengths), final = loop(step, (inputs, states, finished, lengths), max_step_num)
    try:
        final, states = decoder.finalize(final, states, lengths)
    except NotImplementedError:
        pass
    if not output_time_major:
        final = _mapped(lambda x: x.transpose([1, 0, *range(2, len(x.shape))]), final)
    return (final, states, lengths) if return_length else (final, states)


def _steps(step, now, most):
    """Steps until all is finished: (what comes after the last, what they gave, stacked)."""
    steps = []
    while not now[2].all().item():
        if most is not None and len(steps) > int(most):
            break
        if len(steps) >= 100_000:
            raise _C.located(ValueError("dynamic_decode: not finished after 100,000 steps; give max_step_num"))
        now, outputs = step(_C.ops.full([1], len(steps), _C.int64), *now)
        steps.append(outputs)
    if not steps:
        raise _C.located(ValueError("dynamic_decode: the decoder is finished before its first step"))
    return now, _mapped(lambda *values: _C.ops.stack(list(values), 0), *steps)


def _steps_of_program(step, now, most):
    """The same as a loop of the program, behind a first step."""
    from proa.jit import structure
    from proa.utils import unique_name

    piece = unique_name.Repeated()  # cells of 1.x make their parameters when they are called

    def named_step(time, *now):
        with piece:
            return step(time, *now)

    ops, at = _C.ops, _C.ops.full([1], 0, _C.int64)
    now, outputs = named_step(at, *now)
    trees = structure.flatten(now, kept := []), structure.flatten(outputs, given := [])

    def taken(values):
        return structure.unflatten(trees[0], iter(values[: len(kept)]))

    def goes_on(at, *values):
        unfinished = ops.logical_not(taken(values)[2].all())
        if most is None:
            return [unfinished]
        last = most if isinstance(most, _C.Tensor) else ops.full([1], int(most), _C.int64)
        return [ops.logical_and(unfinished, (at <= last.astype("int64")).all())]

    def turn(at, *values):
        after, outputs = named_step(at, *taken(values))
        structure.flatten(after, new := [])
        structure.flatten(outputs, made := [])
        rows = [ops.concat([old, ops.unsqueeze(o, [0])], 0) for old, o in zip(values[len(kept) :], made, strict=True)]
        return [at + 1, *new, *rows]

    found = _C.while_loop(goes_on, turn, [at + 1, *kept, *(ops.unsqueeze(o, [0]) for o in given)])[1:]
    return taken(found), structure.unflatten(trees[1], iter(found[len(kept) :]))


def _keep(finished, old, new):
    shape = list(finished.shape) + [1] * (len(new.shape) - len(finished.shape))
    return _C.ops.where(finished.reshape(shape), old, new)
