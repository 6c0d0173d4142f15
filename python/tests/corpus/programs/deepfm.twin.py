# deepfm.py with dense gradients. By its definition Adam over row-sparse ones is the same computation; on the CPU the newest
# reference takes the powers of the betas of the next step there, so that its first step is 0.744 of the rate.
import math

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class FM(nn.Layer):
    def __init__(self, sparse_feature_number, sparse_feature_dim, dense_feature_dim):
        super(FM, self).__init__()
        self.init_value_ = 0.1
        self.embedding_one = paddle.nn.Embedding(
            sparse_feature_number,
            1,
            sparse=False,
            padding_idx=0,
            weight_attr=paddle.ParamAttr(
                initializer=paddle.nn.initializer.TruncatedNormal(
                    mean=0.0, std=self.init_value_ / math.sqrt(float(sparse_feature_dim))
                )
            ),
        )
        self.embedding = paddle.nn.Embedding(sparse_feature_number, sparse_feature_dim, sparse=False, padding_idx=0)
        self.dense_w_one = paddle.create_parameter(
            shape=[dense_feature_dim], dtype="float32", default_initializer=paddle.nn.initializer.Constant(value=1.0)
        )
        self.dense_w = paddle.create_parameter(
            shape=[1, dense_feature_dim, sparse_feature_dim],
            dtype="float32",
            default_initializer=paddle.nn.initializer.Constant(value=1.0),
        )

    def forward(self, sparse_inputs, dense_inputs):
        sparse_inputs_concat = paddle.concat(sparse_inputs, axis=1)
        sparse_emb_one = self.embedding_one(sparse_inputs_concat)
        dense_emb_one = paddle.unsqueeze(paddle.multiply(dense_inputs, self.dense_w_one), axis=2)
        y_first_order = paddle.sum(sparse_emb_one, 1) + paddle.sum(dense_emb_one, 1)
        sparse_embeddings = self.embedding(sparse_inputs_concat)
        dense_embeddings = paddle.multiply(paddle.unsqueeze(dense_inputs, axis=2), self.dense_w)
        feat_embeddings = paddle.concat([sparse_embeddings, dense_embeddings], 1)
        summed_features_emb_square = paddle.square(paddle.sum(feat_embeddings, 1))
        squared_sum_features_emb = paddle.sum(paddle.square(feat_embeddings), 1)
        y_second_order = 0.5 * paddle.sum(summed_features_emb_square - squared_sum_features_emb, 1, keepdim=True)
        return y_first_order, y_second_order, feat_embeddings


class DNN(nn.Layer):
    def __init__(self, num_field, sparse_feature_dim, layer_sizes):
        super().__init__()
        sizes = [num_field * sparse_feature_dim] + layer_sizes + [1]
        acts = ["relu" for _ in range(len(layer_sizes))] + [None]
        self._mlp_layers = []
        for i in range(len(sizes) - 1):
            linear = nn.Linear(in_features=sizes[i], out_features=sizes[i + 1])
            self.add_sublayer("linear_%d" % i, linear)
            self._mlp_layers.append(linear)
            if acts[i] == "relu":
                act = nn.ReLU()
                self.add_sublayer("act_%d" % i, act)
                self._mlp_layers.append(act)

    def forward(self, feat_embeddings):
        y = paddle.reshape(feat_embeddings, [feat_embeddings.shape[0], -1])
        for layer in self._mlp_layers:
            y = layer(y)
        return y


class DeepFM(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fm = FM(50, 6, 3)
        self.dnn = DNN(8, 6, [16, 8])
        self.bias = paddle.create_parameter([1], "float32", is_bias=True)

    def forward(self, sparse_inputs, dense_inputs):
        first, second, emb = self.fm(sparse_inputs, dense_inputs)
        return F.sigmoid(first + second + self.dnn(emb) + self.bias)


rng = np.random.RandomState(41)
model = DeepFM()
optimizer = paddle.optimizer.Adam(learning_rate=0.01, parameters=model.parameters(), lazy_mode=False)
auc = paddle.metric.Auc("ROC")
for batch in range(5):
    sparse = [paddle.to_tensor(rng.randint(0, 50, (16, 1)).astype("int64")) for _ in range(5)]
    dense = paddle.to_tensor(rng.rand(16, 3).astype("float32"))
    label = paddle.to_tensor(((sparse[0].numpy() % 2) ^ (sparse[1].numpy() > 25)).astype("int64"))
    pred = model(sparse, dense)
    loss = paddle.mean(F.log_loss(pred, label.astype("float32")))
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    auc.update(preds=paddle.concat([1 - pred, pred], 1).numpy(), labels=label.numpy())
    print("batch %d loss %.5f auc %.4f" % (batch, loss.item(), auc.accumulate()))
