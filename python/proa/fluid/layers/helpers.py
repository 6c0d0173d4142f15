"""Decoding whose next input is said by a helper: what the targets are, the most probable word, or a drawn one."""

import collections

import proa
from proa import _C
from proa.nn.decode import Decoder, _mapped

__all__ = ["BasicDecoder", "DecodeHelper", "GreedyEmbeddingHelper", "SampleEmbeddingHelper", "TrainingHelper"]


class DecodeHelper:
    """Base of helpers: subclasses define the three."""

    def initialize(self):
        """(inputs of the first step, whether samples are finished)."""
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define initialize"))

    def sample(self, time, outputs, states):
        """The ids of a step."""
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define sample"))

    def next_inputs(self, time, outputs, states, sample_ids):
        """(whether samples are finished, inputs of the next step, states of the next step)."""
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define next_inputs"))


class TrainingHelper(DecodeHelper):
    """The inputs are those of the targets, whatever is decoded.

    Args:
        inputs (Tensor): [batch, steps, ...], or [steps, batch, ...] with time_major; nested ones too.
        sequence_length (Tensor): int64, [batch].
        time_major (bool): see inputs.
    """

    def __init__(self, inputs, sequence_length, time_major=False):
        self._lengths = sequence_length.astype("int64")
        turned = lambda x: x if time_major else _C.ops.transpose(x, [1, 0, *range(2, len(x.shape))])
        # Behind the last step stand zeros, for who is finished.
        self._steps = _mapped(lambda x: _C.ops.concat([turned(x), turned(x)[:1] * 0], 0), inputs)

    def _at(self, time):
        one = _C.ops.reshape(time, [1])
        take = lambda x: _C.ops.gather(x, _C.ops.minimum(one, _C.ops.shape(x)[:1].astype("int64") - 1), 0)
        return _mapped(lambda x: _C.ops.squeeze(take(x), [0]), self._steps)

    def initialize(self):
        return self._at(_C.ops.full([1], 0, _C.int64)), self._lengths == 0

    def sample(self, time, outputs, states):
        return _C.ops.argmax(outputs, len(outputs.shape) - 1)

    def next_inputs(self, time, outputs, states, sample_ids):
        following = time + 1
        return _C.ops.reshape(following, [1]) >= self._lengths, self._at(following), states


class GreedyEmbeddingHelper(DecodeHelper):
    """The input is the most probable word of the step before.

    Args:
        embedding_fn (Callable): from words to inputs.
        start_tokens (Tensor): int64, [batch].
        end_token (int): ends a sequence.
    """

    def __init__(self, embedding_fn, start_tokens, end_token):
        self.embedding_fn, self.start_tokens = embedding_fn, start_tokens
        self._end = int(end_token.item()) if isinstance(end_token, _C.Tensor) else int(end_token)

    def initialize(self):
        return self.embedding_fn(self.start_tokens), self.start_tokens != self.start_tokens

    def sample(self, time, outputs, states):
        return _C.ops.argmax(outputs, len(outputs.shape) - 1)

    def next_inputs(self, time, outputs, states, sample_ids):
        return sample_ids == self._end, self.embedding_fn(sample_ids), states


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """The input is a word that is drawn by the probabilities of the step before.

    Args:
        embedding_fn, start_tokens, end_token: as of GreedyEmbeddingHelper.
        softmax_temperature (float, optional): divides the scores.
        seed (int, optional): accepted; numbers are drawn from the generator of the place.
    """

    def __init__(self, embedding_fn, start_tokens, end_token, softmax_temperature=None, seed=None):
        super().__init__(embedding_fn, start_tokens, end_token)
        self._temperature = softmax_temperature

    def sample(self, time, outputs, states):
        scores = outputs if self._temperature is None else outputs / self._temperature
        return _C.ops.reshape(proa.multinomial(_C.ops.softmax(scores, len(scores.shape) - 1), 1), [-1])


class BasicDecoder(Decoder):
    """A cell, and a helper that says what comes into it; for `dynamic_decode`.

    Args:
        cell (Callable): (inputs, states) -> (outputs, states).
        helper (DecodeHelper): the helper.
        output_fn (Callable, optional): from outputs of the cell to scores of the words.

    Examples:
        >>> from proa import fluid
        >>> helper = fluid.layers.GreedyEmbeddingHelper(proa.nn.Embedding(5, 4), proa.zeros([2], "int64"), 1)
        >>> decoder = fluid.layers.BasicDecoder(proa.nn.GRUCell(4, 4), helper, proa.nn.Linear(4, 5))
        >>> outputs, states = proa.nn.dynamic_decode(decoder, proa.zeros([2, 4]), max_step_num=3)
        >>> outputs.cell_outputs.shape[0], outputs.cell_outputs.shape[2]
        (2, 5)
    """

    OutputWrapper = collections.namedtuple("OutputWrapper", ("cell_outputs", "sample_ids"))

    def __init__(self, cell, helper, output_fn=None):
        self.cell, self.helper, self.output_fn = cell, helper, output_fn

    def initialize(self, initial_cell_states):
        inputs, finished = self.helper.initialize()
        return inputs, initial_cell_states, finished

    def step(self, time, inputs, states, **kwargs):
        outputs, states = self.cell(inputs, states, **kwargs)
        outputs = outputs if self.output_fn is None else self.output_fn(outputs)
        ids = self.helper.sample(time, outputs, states)
        finished, inputs, states = self.helper.next_inputs(time, outputs, states, ids)
        return self.OutputWrapper(outputs, ids), states, inputs, finished
