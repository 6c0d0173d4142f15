# Pretraining of a text encoder: masked words and sentence order, tied weights, groups of parameters, accumulation, EMA.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.optimizer import AdamW
from paddle.optimizer.lr import LambdaDecay

rng = np.random.RandomState(103)
VOCAB, MASK, PAD = 24, 3, 0


class Embeddings(nn.Layer):
    def __init__(self, vocab, dim, max_len):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.position_embeddings, self.token_type_embeddings = nn.Embedding(max_len, dim), nn.Embedding(2, dim)
        self.layer_norm, self.dropout = nn.LayerNorm(dim, epsilon=1e-12), nn.Dropout(0.0)

    def forward(self, input_ids, token_type_ids=None, position_ids=None):
        if position_ids is None:
            ones = paddle.ones_like(input_ids, dtype="int64")
            position_ids = paddle.cumsum(ones, axis=-1) - ones
            position_ids.stop_gradient = True
        if token_type_ids is None:
            token_type_ids = paddle.zeros_like(input_ids, dtype="int64")
        total = (
            self.word_embeddings(input_ids)
            + self.position_embeddings(position_ids)
            + self.token_type_embeddings(token_type_ids)
        )
        return self.dropout(self.layer_norm(total))


class Pretraining(nn.Layer):
    base_model_prefix = "bert"

    def __init__(self, dim=8):
        super().__init__()
        self.embeddings = Embeddings(VOCAB, dim, 16)
        layer = nn.TransformerEncoderLayer(
            dim, 2, 16, dropout=0.0, activation="gelu", attn_dropout=0.0, act_dropout=0.0
        )
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.pooler = nn.Sequential(nn.Linear(dim, dim), nn.Tanh())
        self.transform, self.layer_norm = nn.Linear(dim, dim), nn.LayerNorm(dim)
        self.decoder_weight = self.embeddings.word_embeddings.weight
        self.decoder_bias = self.create_parameter(shape=[VOCAB], dtype=self.decoder_weight.dtype, is_bias=True)
        self.relationship = nn.Linear(dim, 2)

    def forward(self, ids, types, masked_positions=None):
        mask = ((ids == PAD).astype(self.pooler[0].weight.dtype) * -1e4).unsqueeze([1, 2])
        seq = self.encoder(self.embeddings(ids, types), mask)
        pooled = self.pooler(seq[:, 0])
        if masked_positions is not None:
            seq = paddle.tensor.gather(paddle.reshape(seq, [-1, seq.shape[-1]]), masked_positions)
        h = self.layer_norm(F.gelu(self.transform(seq)))
        return paddle.tensor.matmul(h, self.decoder_weight, transpose_y=True) + self.decoder_bias, self.relationship(
            pooled
        )


class EMA(object):
    def __init__(self, model, decay=0.9):
        self.model, self.decay = model, decay
        self.shadow = {n: p.clone().detach() for n, p in model.named_parameters() if not p.stop_gradient}

    def update(self):
        for n, p in self.model.named_parameters():
            if n in self.shadow:
                self.shadow[n] = self.decay * self.shadow[n] + (1.0 - self.decay) * p.detach()

    def apply(self):
        self.backup = {n: p.numpy() for n, p in self.model.named_parameters()}
        for n, p in self.model.named_parameters():
            p.set_value(self.shadow[n])

    def restore(self):
        for n, p in self.model.named_parameters():
            p.set_value(self.backup[n])


def make_batch():
    ids = rng.randint(4, VOCAB, [3, 7])
    ids[1, 5:] = PAD
    types = np.concatenate([np.zeros([3, 4]), np.ones([3, 3])], axis=1).astype("int64")
    labels, positions = [], []
    for b in range(3):
        for t in (1, 3):
            labels.append(ids[b, t]), positions.append(b * 7 + t)
            ids[b, t] = MASK
    return [paddle.to_tensor(np.asarray(v)) for v in (ids, types, positions, labels, rng.randint(0, 2, [3]))]


model = Pretraining()
schedule = LambdaDecay(0.01, lambda step: min((step + 1) / 2.0, max(0.0, (6 - step) / 5.0)))
decay = [p.name for n, p in model.named_parameters() if not any(nd in n for nd in ["bias", "norm"])]
optimizer = AdamW(
    learning_rate=schedule,
    beta1=0.9,
    beta2=0.95,
    epsilon=1e-4,
    parameters=model.parameters(),
    weight_decay=0.01,
    apply_decay_param_fun=lambda name: name in decay,
    grad_clip=nn.ClipGradByGlobalNorm(1.0),
)
scaler = paddle.amp.GradScaler(enable=False, init_loss_scaling=1024)
ema, accumulate = EMA(model), 2
for step in range(6):
    ids, types, positions, labels, order = make_batch()
    words, relation = model(ids, types, positions)
    mlm = F.cross_entropy(words, labels, ignore_index=-1)
    sop = F.cross_entropy(relation, order)
    loss = (mlm + sop) / accumulate
    scaler.scale(loss).backward()
    if (step + 1) % accumulate == 0:
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
        schedule.step()
        ema.update()
    print("step %d mlm %.4f sop %.4f lr %.5f" % (step, mlm.item(), sop.item(), optimizer.get_lr()))
model.eval()
ema.apply()
with paddle.no_grad():
    averaged = model(ids, types)[0]
ema.restore()
print("ema %.3f plain %.3f" % (averaged.abs().mean().item(), model(ids, types)[0].abs().mean().item()), averaged.shape)
print(
    len(model.state_dict()),
    len(model.parameters()),
    len(decay),
    model.decoder_weight is model.embeddings.word_embeddings.weight,
)
