"""Writes reference_layers.json: what each layer of PaddlePaddle has for names. Run it where PaddlePaddle is installed.

    python reference_layers.py reference_layers.json

For each call of a layer class: the names and shapes of its state, its parameters and whether they are trained, its
sublayers, what in its state does not follow a default dtype of float64, its attributes besides those that all layers
have, and how it is printed. The calls cover every layer class with parameters, and the settings that change which parameters there are.
"""

import json
import sys

CALLS = """
AdaptiveAvgPool1D(2) AdaptiveAvgPool2D(2) AdaptiveAvgPool3D(2) AdaptiveMaxPool1D(2) AdaptiveMaxPool2D(2)
AdaptiveMaxPool3D(2) AlphaDropout() AvgPool1D(2) AvgPool2D(2) AvgPool3D(2) BCELoss() BCEWithLogitsLoss() BatchNorm(3)
BatchNorm1D(3) BatchNorm2D(3) BatchNorm2D(3,weight_attr=False,bias_attr=False) BatchNorm2D(3,use_global_stats=True)
BatchNorm3D(3) SyncBatchNorm(3) BiRNN(nn.LSTMCell(3,4),nn.LSTMCell(3,4)) Bilinear(2,3,4) CTCLoss() Conv1D(2,4,3)
Conv1DTranspose(2,4,3) Conv2D(2,4,3) Conv2D(2,4,3,bias_attr=False) Conv2D(2,4,3,padding=1,padding_mode='reflect')
Conv2DTranspose(2,4,3) Conv3D(2,4,3) Conv3DTranspose(2,4,3) CosineSimilarity() CrossEntropyLoss() CELU() Dropout()
Dropout2D() Dropout3D() ELU() Embedding(10,3) Embedding(10,3,padding_idx=1) Flatten() Fold(4,2) GELU() GRU(3,4)
GRU(3,4,2,'bidirect') GRUCell(3,4) GroupNorm(2,4) Hardshrink() Hardsigmoid() Hardswish() Hardtanh()
HSigmoidLoss(3,5) HingeEmbeddingLoss() Identity() InstanceNorm1D(3) InstanceNorm2D(3) InstanceNorm3D(3) KLDivLoss() L1Loss() LSTM(3,4)
LSTM(3,4,2,'bidirect') LSTMCell(3,4) LayerDict({'a':nn.Linear(2,2)}) LayerList([nn.Linear(2,2)]) LayerNorm(4)
LayerNorm([2,4]) LeakyReLU() Linear(2,3) LocalResponseNorm(3) LogSigmoid() LogSoftmax() MSELoss() MarginRankingLoss()
MaxPool1D(2) MaxPool2D(2) MaxPool3D(2) MaxUnPool1D(2) MaxUnPool2D(2) Maxout(2) Mish() MultiHeadAttention(4,2) NLLLoss()
PReLU() PReLU(3) Pad1D(1) Pad2D(1) Pad3D(1) PairwiseDistance() PixelShuffle(2) RNN(nn.GRUCell(3,4)) ReLU() ReLU6()
SELU() Sequential(nn.Linear(2,2),nn.ReLU()) Sequential(('a',nn.Linear(2,2)),('b',nn.ReLU())) Sigmoid() Silu()
SimpleRNN(3,4) SimpleRNN(3,4,2,'bidirect') SimpleRNNCell(3,4) SmoothL1Loss() Softmax() Softplus() Softshrink() Softsign()
SpectralNorm([3,4]) Swish() Tanh() Tanhshrink() ThresholdedReLU() Transformer(4,2,1,1,8)
TransformerDecoder(nn.TransformerDecoderLayer(4,2,8),2) TransformerDecoderLayer(4,2,8)
TransformerEncoder(nn.TransformerEncoderLayer(4,2,8),2,nn.LayerNorm(4)) TransformerEncoderLayer(4,2,8) Unfold(2)
Upsample(scale_factor=2) UpsamplingBilinear2D(scale_factor=2) UpsamplingNearest2D(scale_factor=2) ZeroPad2D(1)
Conv1DTranspose(2,4,3,output_padding=1,stride=2) BatchNorm1D(3,data_format='NLC') BatchNorm2D(3,data_format='NHWC')
BatchNorm3D(3,data_format='NDHWC') Fold(5,[2,3],dilations=2,strides=1,paddings=[1,1]) Unfold([2,3],2,[1,0,2,1],[1,2])
PairwiseDistance(1.,.1,True) PixelShuffle(2,'NHWC') LocalResponseNorm(4,.1,.5,2.,'NHWC') SimpleRNN(3,4,activation='relu')
SimpleRNNCell(3,4,'relu') LSTM(3,4,2,dropout=0.5,time_major=True) PReLU(3,.1) CosineSimilarity(0,.5)
Upsample([7,6],mode='bilinear',align_corners=True,align_mode=1,data_format='NHWC') Embedding(5,3,sparse=True)
""".split()


def facts(paddle, call):
    """What a layer has, with `paddle` for the framework: the same function asks both."""
    nn = paddle.nn  # noqa: F841  what the calls name
    paddle.set_default_dtype("float64")
    dtypes = {name: str(t.dtype).rpartition(".")[2] for name, t in eval(f"nn.{call}").state_dict().items()}
    paddle.set_default_dtype("float32")
    layer = eval(f"nn.{call}")
    return {
        "state": {name: list(t.shape) for name, t in layer.state_dict().items()},
        "parameters": {name: bool(p.trainable) for name, p in layer.named_parameters()},
        "sublayers": [name for name, _ in layer.named_sublayers()],
        "not_float64": sorted(name for name, dtype in dtypes.items() if dtype != "float64"),
    }


def main():
    import paddle

    nn = paddle.nn  # noqa: F841  what the calls name
    base = set(vars(nn.Layer()))
    out = {}
    for call in CALLS:
        out[call] = facts(paddle, call)
        layer = eval(f"nn.{call}")
        members = {*layer._parameters, *layer._sub_layers}
        out[call]["attributes"] = sorted(set(vars(layer)) - base - members)
        out[call]["repr"] = repr(layer)
    with open(sys.argv[1], "w") as stream:
        stream.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in out.items()) + "\n}\n")


if __name__ == "__main__":
    main()
