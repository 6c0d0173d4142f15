# BERT for sentence pairs, written out; fine-tuned with decay on matrices only.
import numpy as np
import paddle
import paddle.nn as nn


class BertEmbeddings(nn.Layer):
    def __init__(self, vocab_size, hidden_size, max_position_embeddings, type_vocab_size):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, hidden_size, padding_idx=0)
        self.position_embeddings = nn.Embedding(max_position_embeddings, hidden_size)
        self.token_type_embeddings = nn.Embedding(type_vocab_size, hidden_size)
        self.layer_norm = nn.LayerNorm(hidden_size, epsilon=1e-12)
        self.dropout = nn.Dropout(0.0)

    def forward(self, input_ids, token_type_ids=None, position_ids=None):
        if position_ids is None:
            ones = paddle.ones_like(input_ids, dtype="int64")
            seq_length = paddle.cumsum(ones, axis=-1)
            position_ids = seq_length - ones
            position_ids.stop_gradient = True
        if token_type_ids is None:
            token_type_ids = paddle.zeros_like(input_ids, dtype="int64")
        embeddings = (
            self.word_embeddings(input_ids)
            + self.position_embeddings(position_ids)
            + self.token_type_embeddings(token_type_ids)
        )
        return self.dropout(self.layer_norm(embeddings))


class BertPooler(nn.Layer):
    def __init__(self, hidden_size):
        super().__init__()
        self.dense = nn.Linear(hidden_size, hidden_size)
        self.activation = nn.Tanh()

    def forward(self, hidden_states):
        return self.activation(self.dense(hidden_states[:, 0]))


class BertModel(nn.Layer):
    def __init__(self, vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=28):
        super().__init__()
        self.pad_token_id = 0
        self.initializer_range = 0.02
        self.embeddings = BertEmbeddings(vocab_size, hidden_size, 24, 2)
        encoder_layer = nn.TransformerEncoderLayer(
            hidden_size,
            num_attention_heads,
            intermediate_size,
            dropout=0.0,
            activation="gelu",
            attn_dropout=0.0,
            act_dropout=0,
        )
        self.encoder = nn.TransformerEncoder(encoder_layer, num_hidden_layers)
        self.pooler = BertPooler(hidden_size)

    def forward(self, input_ids, token_type_ids=None, attention_mask=None):
        if attention_mask is None:
            attention_mask = paddle.unsqueeze(
                (input_ids == self.pad_token_id).astype(self.pooler.dense.weight.dtype) * -1e9, axis=[1, 2]
            )
        encoder_outputs = self.encoder(self.embeddings(input_ids, token_type_ids), attention_mask)
        return encoder_outputs, self.pooler(encoder_outputs)


class BertForSequenceClassification(nn.Layer):
    def __init__(self, bert, num_classes=2):
        super().__init__()
        self.bert = bert
        self.classifier = nn.Linear(bert.pooler.dense.weight.shape[1], num_classes)

    def forward(self, input_ids, token_type_ids=None):
        _, pooled_output = self.bert(input_ids, token_type_ids)
        return self.classifier(pooled_output)


rng = np.random.RandomState(23)
input_ids = rng.randint(1, 40, (12, 10)).astype("int64")
for row in range(12):
    input_ids[row, 6 + row % 5 :] = 0
segments = (np.arange(10)[None] > 4).astype("int64").repeat(12, 0)
labels = (input_ids[:, 1] % 2).astype("int64")
model = BertForSequenceClassification(BertModel())
for name, p in model.named_parameters():
    if "encoder.layers.1." in name:  # Copies of a layer are equal in the reference.
        p.set_value(model.state_dict()[name.replace("layers.1.", "layers.0.")])
decay_params = [p.name for n, p in model.named_parameters() if not any(nd in n for nd in ["bias", "norm"])]
lr_scheduler = paddle.optimizer.lr.LambdaDecay(5e-3, lambda step: min((step + 1) / 3, max(0.0, (9 - step) / 6)))
optimizer = paddle.optimizer.AdamW(
    learning_rate=lr_scheduler,
    epsilon=1e-6,
    parameters=model.parameters(),
    weight_decay=0.01,
    apply_decay_param_fun=lambda x: x in decay_params,
    grad_clip=nn.ClipGradByGlobalNorm(clip_norm=1.0),
)
criterion = nn.CrossEntropyLoss()
for step in range(6):
    pick = slice(step % 3 * 4, step % 3 * 4 + 4)
    logits = model(paddle.to_tensor(input_ids[pick]), paddle.to_tensor(segments[pick]))
    loss = criterion(logits, paddle.to_tensor(labels[pick]))
    loss.backward()
    optimizer.step()
    lr_scheduler.step()
    optimizer.clear_grad()
    print("global step %d, loss: %.5f, lr %.6f" % (step, loss, optimizer.get_lr()))
model.eval()
with paddle.no_grad():
    sequence, pooled = model.bert(paddle.to_tensor(input_ids[:2]))
print(sequence.shape, "%.5f %.5f" % (sequence.abs().mean().item(), pooled.mean().item()))
print(len(decay_params), len(model.parameters()))
