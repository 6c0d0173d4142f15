# Beam search over a recurrent decoder: by hand, and with the package's classes.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

embedder, cell, output = nn.Embedding(12, 5), nn.GRUCell(5, 7), nn.Linear(7, 12)
rng = np.random.RandomState(137)
state = paddle.to_tensor(rng.randn(2, 7).astype("float32"))
for layer in (embedder, cell, output):
    for p in layer.parameters():
        p.set_value(p * 3)


def beam_search(state, beam, steps, bos=1, eos=2):
    batch = state.shape[0]
    state = paddle.tile(state.unsqueeze(1), [1, beam, 1]).reshape([batch * beam, -1])
    tokens = paddle.full([batch * beam, 1], bos, dtype="int64")
    scores = paddle.to_tensor([[0.0] + [-1e9] * (beam - 1)] * batch)
    offsets = (paddle.arange(batch) * beam).unsqueeze(-1)
    finished = paddle.zeros([batch * beam], dtype="bool")
    for _ in range(steps):
        out, state = cell(embedder(tokens[:, -1]), state)
        logp = F.log_softmax(output(out), axis=-1)
        only_eos = paddle.full([1, 12], -1e9)
        only_eos[0, eos] = 0.0
        logp = paddle.where(finished.unsqueeze(-1), only_eos, logp)
        total = (logp.reshape([batch, beam, 12]) + scores.unsqueeze(-1)).reshape([batch, -1])
        scores, index = paddle.topk(total, beam)
        parent = (index // 12 + offsets).flatten()
        token = (index % 12).flatten()
        state, tokens = paddle.gather(state, parent), paddle.gather(tokens, parent)
        finished = paddle.logical_or(paddle.gather(finished, parent), token == eos)
        tokens = paddle.concat([tokens, token.unsqueeze(-1)], axis=1)
        if bool(finished.all()):
            break
    return tokens.reshape([batch, beam, -1]), scores


with paddle.no_grad():
    tokens, scores = beam_search(state, 3, 5)
    for i in range(2):
        print(tokens[i].tolist(), ["%.4f" % s for s in scores[i].tolist()])
    decoder = nn.BeamSearchDecoder(
        cell, start_token=1, end_token=2, beam_size=3, embedding_fn=embedder, output_fn=output
    )
    outputs, _, lengths = nn.dynamic_decode(decoder, inits=state, max_step_num=4, return_length=True)
    print(outputs.shape, outputs[0, :, 0].tolist(), outputs[1, :, 0].tolist())
    print(
        F.gather_tree(
            paddle.to_tensor([[[2, 2]], [[6, 1]], [[3, 9]]]), paddle.to_tensor([[[0, 0]], [[1, 1]], [[0, 1]]])
        ).tolist()
    )
