"""A call of every layer: for tests that loop over all."""

import proa as paddle
from proa import nn

# Arguments of the constructor, input.
LAYERS = {
    "AdaptiveAvgPool1D": ("3", "f32[2,3,7]"),
    "AdaptiveAvgPool2D": ("3", "f32[2,3,7,8]"),
    "AdaptiveAvgPool3D": ("2", "f32[2,3,4,5,6]"),
    "AdaptiveMaxPool1D": ("3", "f32[2,3,7]"),
    "AdaptiveMaxPool2D": ("3", "f32[2,3,7,8]"),
    "AdaptiveMaxPool3D": ("2", "f32[2,3,4,5,6]"),
    "AlphaDropout": ("0.5", "f32[8,16]"),
    "AvgPool1D": ("2", "f32[2,3,8]"),
    "AvgPool2D": ("2", "f32[2,3,8,7]"),
    "AvgPool3D": ("2", "f32[2,3,4,6,5]"),
    "BCELoss": ("", "f32[2,3]=0.3, f32[2,3]=0.5"),
    "BCEWithLogitsLoss": ("", "f32[2,3], f32[2,3]=0.5"),
    "BatchNorm": ("3", "f32[4,3,2]"),
    "BatchNorm1D": ("3", "f32[4,3]"),
    "BatchNorm2D": ("3", "f32[4,3,2,2]"),
    "BatchNorm3D": ("3", "f32[4,3,2,2,2]"),
    "Bilinear": ("3, 4, 5", "f32[2,3], f32[2,4]"),
    "CTCLoss": ("", "f32[6,2,5], i32[2,3]=1..5, i64[2]=6, i64[2]=3"),
    "ChannelShuffle": ("2", "f32[2,4,3,3]"),
    "Conv1D": ("3, 4, 3", "f32[2,3,8]"),
    "Conv1DTranspose": ("3, 4, 3", "f32[2,3,5]"),
    "Conv2D": ("3, 4, 3, padding_mode='reflect', padding=1", "f32[2,3,8,8]"),
    "Conv2DTranspose": ("3, 4, 3", "f32[2,3,5,5]"),
    "Conv3D": ("2, 3, 3", "f32[2,2,4,5,5]"),
    "Conv3DTranspose": ("2, 3, 2", "f32[2,2,3,4,4]"),
    "CosineSimilarity": ("", "f32[2,3], f32[2,3]"),
    "CrossEntropyLoss": ("", "f32[4,5], i64[4]=0..5"),
    "Dropout": ("0.5", "f32[8,16]"),
    "Dropout2D": ("0.5", "f32[8,16,2,2]"),
    "Dropout3D": ("0.5", "f32[8,16,2,2,2]"),
    "Embedding": ("7, 4", "i64[2,3]=0..7"),
    "Flatten": ("", "f32[2,3,4]"),
    "Fold": ("[4,5], [2,2]", "f32[2,12,12]"),
    "GRU": ("3, 4", "f32[2,5,3]"),
    "GRUCell": ("3, 4", "f32[2,3]"),
    "GroupNorm": ("3, 6", "f32[2,6,4]"),
    "InstanceNorm1D": ("3", "f32[2,3,5]"),
    "InstanceNorm2D": ("3", "f32[2,3,5,4]"),
    "InstanceNorm3D": ("3", "f32[2,3,2,3,4]"),
    "HSigmoidLoss": ("3, 5", "f32[4,3], i64[4,1]=0..5"),
    "HingeEmbeddingLoss": ("", "f32[2,3], f32[2,3]=1"),
    "KLDivLoss": ("'batchmean'", "f32[2,3], f32[2,3]>0"),
    "L1Loss": ("", "f32[2,3], f32[2,3]"),
    "LSTM": ("3, 4, direction='bidirect'", "f32[2,5,3]"),
    "LSTMCell": ("3, 4", "f32[2,3]"),
    "LayerNorm": ("4", "f32[2,3,4]"),
    "Linear": ("3, 4", "f32[2,3]"),
    "LocalResponseNorm": ("3", "f32[2,6,4]"),
    "MSELoss": ("", "f32[2,3], f32[2,3]"),
    "MarginRankingLoss": ("", "f32[4], f32[4], f32[4]=1"),
    "MaxPool1D": ("2", "f32[2,3,8]"),
    "MaxPool2D": ("2", "f32[2,3,8,7]"),
    "MaxPool3D": ("2", "f32[2,3,4,6,5]"),
    "MaxUnPool1D": ("2", "f32[2,3,4], i32[2,3,4]=0..8"),
    "MaxUnPool2D": ("2", "f32[2,3,4,4], i32[2,3,4,4]=0..64"),
    "MaxUnPool3D": ("2", "f32[2,3,2,2,2], i32[2,3,2,2,2]=0..64"),
    "Maxout": ("2", "f32[2,6,3]"),
    "MultiHeadAttention": ("4, 2", "f32[2,3,4]"),
    "NLLLoss": ("", "f32[4,5], i64[4]=0..5"),
    "Pad1D": ("[1,2]", "f32[2,3,4]"),
    "Pad2D": ("1", "f32[2,3,4,5]"),
    "Pad3D": ("1", "f32[2,3,2,2,2]"),
    "PairwiseDistance": ("", "f32[2,3], f32[2,3]"),
    "PixelUnshuffle": ("2", "f32[2,3,4,6]"),
    "PixelShuffle": ("2", "f32[2,8,3,4]"),
    "CosineEmbeddingLoss": ("", "f32[4,3], f32[4,3], i64[4]=-1..2"),
    "GaussianNLLLoss": ("", "f32[2,3], f32[2,3], f32[2,3]>0"),
    "MultiLabelSoftMarginLoss": ("", "f32[2,3], i64[2,3]=0..2"),
    "MultiMarginLoss": ("", "f32[4,3], i64[4]=0..3"),
    "PoissonNLLLoss": ("", "f32[2,3], i64[2,3]=0..4"),
    "SoftMarginLoss": ("", "f32[2,3], i64[2,3]=0..2"),
    "TripletMarginLoss": ("", "f32[2,3], f32[2,3], f32[2,3]"),
    "TripletMarginWithDistanceLoss": ("", "f32[2,3], f32[2,3], f32[2,3]"),
    "RNNTLoss": ("", "f32[2,4,3,5], i32[2,2]=1..5, i64[2]=3..5, i64[2]=0..3"),
    "SimpleRNN": ("3, 4", "f32[2,5,3]"),
    "SimpleRNNCell": ("3, 4", "f32[2,3]"),
    "SmoothL1Loss": ("", "f32[2,3], f32[2,3]"),
    "SpectralNorm": ("[3,4], power_iters=2", "f32[3,4]"),
    "SyncBatchNorm": ("3", "f32[4,3,2,2]"),
    "Transformer": ("4, 2, 1, 1, 8", "f32[2,3,4], f32[2,5,4]"),
    "TransformerDecoderLayer": ("4, 2, 8", "f32[2,3,4], f32[2,5,4]"),
    "TransformerEncoderLayer": ("4, 2, 8", "f32[2,3,4]"),
    "Unfold": ("2", "f32[2,3,5,6]"),
    "Upsample": ("size=[8,7]", "f32[2,3,4,5]"),
    "UpsamplingBilinear2D": ("size=[8,7]", "f32[2,3,4,5]"),
    "UpsamplingNearest2D": ("size=[8,7]", "f32[2,3,4,5]"),
    "Unflatten": ("1, [2, -1]", "f32[3,8,2]"),
    "Softmax2D": ("", "f32[2,3,2,2]"),
    "ZeroPad1D": ("[1,2]", "f32[2,3,4]"),
    "ZeroPad3D": ("1", "f32[2,3,2,2,2]"),
    "ZeroPad2D": ("1", "f32[2,3,4,5]"),
}
# Functions of one tensor.
LAYERS |= {
    name: ("", "f32[2,6,3]")
    for name in dir(nn)
    if name not in LAYERS and getattr(getattr(nn, name), "__module__", "") == "proa.nn.layer.activation"
}
LAYERS |= {"Maxout": ("2", "f32[2,6,3]"), "GLU": ("", "f32[2,3,4]"), "Identity": ("", "f32[2,3]")}
# Containers and bases; layers that are made of layers (their parts stand above).
NO_LAYERS = """BiRNN Layer LayerDict LayerList ParameterList RNN RNNCellBase Sequential TransformerDecoder
    TransformerEncoder ClipGradByGlobalNorm ClipGradByNorm ClipGradByValue BeamSearchDecoder""".split()


def layer_of(name):
    """The layer of a name, and the text of its inputs."""
    arguments, text = LAYERS[name]
    args, kwargs = eval(f"(lambda *a, **k: (a, k))({arguments})")
    paddle.seed(5)
    return getattr(nn, name)(*args, **kwargs), text
