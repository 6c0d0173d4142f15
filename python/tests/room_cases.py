"""A right call of everything public in rooms of few tensors: transforms, metrics, optimizers, schedules, samplers, distributions.

ROOMS: of each room its module, its calls (name to the text of the arguments), what is done with a result, and the names that have no call and why.
"""

import random

import numpy as np
from PIL import Image

import proa as paddle
from proa import distribution, io, vision

IMAGE = np.random.default_rng(3).integers(0, 255, [8, 6, 3], dtype="uint8")
PICTURE = Image.fromarray(IMAGE)
PIXELS = paddle.to_tensor(IMAGE.transpose(2, 0, 1).astype("float32") / 255)
BOXES = paddle.to_tensor([[0.0, 0, 4, 4], [1, 1, 5, 6], [4, 4, 6, 6]])
ONE = paddle.to_tensor([3], dtype="int32")
DATA = io.TensorDataset([paddle.arange(6)])
NORMAL = distribution.Normal([0.0, 1.0], [1.0, 2.0])


class Stream(io.IterableDataset):
    def __iter__(self):
        return iter(range(5))


def tensor(*shape):
    return paddle.to_tensor(np.random.default_rng(5).random(shape).astype("float32"))


def parameters():
    made = paddle.create_parameter([3], "float32")
    made.name = "w_0"
    return [made]


def transformed(transform):
    np.random.seed(1)
    random.seed(1)
    for image in (IMAGE, PICTURE, PIXELS)[2 * isinstance(transform, vision.transforms.Normalize) :]:
        transform(image)


def trained(optimizer):
    for p in optimizer._parameter_list:
        (p * p).sum().backward()
    optimizer.step()
    optimizer.clear_grad()
    optimizer.step()


def scheduled(schedule):
    for _ in range(4):
        schedule.step(*([1.0] if isinstance(schedule, paddle.optimizer.lr.ReduceOnPlateau) else []))
        assert isinstance(float(schedule()), float)


def measured(metric):
    guesses, labels = np.array([0.2, 0.9, 0.7], "float32"), np.array([[0], [1], [1]])
    if isinstance(metric, paddle.metric.Accuracy):
        metric.update(metric.compute(paddle.to_tensor(np.stack([1 - guesses, guesses], 1)), paddle.to_tensor(labels)))
    else:
        metric.update(guesses, labels)
    metric.accumulate()
    metric.name()


def read(source):
    if isinstance(source, (io.Sampler, io.DataLoader)):
        for i, _ in enumerate(source):
            if i > 3:
                break
        isinstance(getattr(source, "dataset", None), Stream) or len(source)
    elif isinstance(source, io.Dataset) and not isinstance(source, io.IterableDataset):
        len(source)
        if not isinstance(source, io.Subset):  # of no samples, or no indices
            source[0]


def drawn(made):
    if isinstance(made, distribution.Distribution):
        made.sample([2])
    elif isinstance(made, distribution.Transform):
        made.forward_shape([2, 3])


def applied(layer):
    return layer


def ignored(value):
    return value


TRANSFORMS = {
    "BrightnessTransform": "0.4",
    "CenterCrop": "4",
    "ColorJitter": "0.4, 0.4, 0.4, 0.1",
    "ContrastTransform": "0.4",
    "Grayscale": "",
    "HueTransform": "0.4",
    "Normalize": "0.5, 0.5",
    "Pad": "1",
    "RandomAffine": "10, (0.1, 0.1), (0.5, 1.5), 5.0",
    "RandomCrop": "4, 1",
    "RandomErasing": "1.0",
    "RandomHorizontalFlip": "1.0",
    "RandomPerspective": "1.0",
    "RandomResizedCrop": "4",
    "RandomRotation": "10",
    "RandomVerticalFlip": "1.0",
    "Resize": "4",
    "SaturationTransform": "0.4",
    "ToTensor": "",
    "Transpose": "",
    "Compose": "[]",
    "adjust_brightness": "IMAGE, 0.5",
    "adjust_contrast": "IMAGE, 0.5",
    "adjust_hue": "IMAGE, 0.25",
    "adjust_saturation": "IMAGE, 0.5",
    "affine": "IMAGE, 10, (1, 1), 0.5, 5.0",
    "center_crop": "IMAGE, 4",
    "crop": "IMAGE, 1, 1, 4, 4",
    "erase": "IMAGE, 1, 1, 4, 4, 0",
    "hflip": "IMAGE",
    "normalize": "IMAGE, [0.5] * 3, [0.5] * 3, 'HWC'",
    "pad": "IMAGE, 1",
    "perspective": "IMAGE, [(0, 0), (5, 0), (5, 7), (0, 7)], [(1, 0), (5, 1), (5, 7), (0, 6)]",
    "resize": "IMAGE, 4",
    "rotate": "IMAGE, 10",
    "to_grayscale": "IMAGE",
    "to_tensor": "IMAGE",
    "vflip": "IMAGE",
}

VISION_OPS = {
    "box_coder": "BOXES, [0.1, 0.1, 0.2, 0.2], BOXES",
    "deform_conv2d": "tensor(1, 2, 4, 4), tensor(1, 18, 4, 4), tensor(3, 2, 3, 3), padding=1",
    "distribute_fpn_proposals": "BOXES, 2, 3, 2, 4",
    "generate_proposals": "tensor(1, 2, 2, 2), tensor(1, 8, 2, 2), tensor(1, 2) + 8, tensor(2, 2, 2, 4), tensor(2, 2, 2, 4)",
    "matrix_nms": "tensor(1, 3, 4), tensor(1, 2, 3), 0.1, 0.1, 3, 3",
    "nms": "BOXES",
    "prior_box": "tensor(1, 3, 2, 2), tensor(1, 3, 8, 8), [2.0]",
    "psroi_pool": "tensor(1, 8, 8, 8), BOXES, ONE, 2",
    "roi_align": "tensor(1, 2, 8, 8), BOXES, ONE, 2",
    "roi_pool": "tensor(1, 2, 8, 8), BOXES, ONE, 2",
    "yolo_box": "tensor(1, 14, 2, 2), paddle.to_tensor([[8, 8]]), [2, 3, 4, 5], 2, 0.01, 4",
    "yolo_loss": "tensor(1, 14, 2, 2), tensor(1, 2, 4), paddle.zeros([1, 2], 'int64'), [2, 3, 4, 5], [0, 1], 2, 0.5, 4",
    "DeformConv2D": "2, 3, 3",
    "PSRoIPool": "2",
    "RoIAlign": "2",
    "RoIPool": "2",
}

METRICS = {
    "Accuracy": "",
    "Auc": "",
    "Precision": "",
    "Recall": "",
    "accuracy": "tensor(3, 2), paddle.zeros([3, 1], 'int64')",
}

OPTIMIZERS = {
    **dict.fromkeys("Adam AdamW Adadelta Adamax Lamb Momentum SGD".split(), "0.1, parameters=parameters()"),
    **dict.fromkeys("Adagrad RMSProp".split(), "0.1, parameters=parameters()"),
}

SCHEDULES = {
    "CosineAnnealingDecay": "0.1, 5",
    "CyclicLR": "0.1, 0.5, 3",
    "ExponentialDecay": "0.1, 0.9",
    "InverseTimeDecay": "0.1, 0.9",
    "LambdaDecay": "0.1, lambda epoch: 0.9",
    "LinearWarmup": "0.1, 3, 0.0, 0.1",
    "MultiStepDecay": "0.1, [1, 3]",
    "MultiplicativeDecay": "0.1, lambda epoch: 0.9",
    "NaturalExpDecay": "0.1, 0.9",
    "NoamDecay": "64, 10",
    "OneCycleLR": "0.1, 20",
    "PiecewiseDecay": "[1, 3], [0.3, 0.2, 0.1]",
    "PolynomialDecay": "0.1, 10",
    "ReduceOnPlateau": "0.1",
    "StepDecay": "0.1, 2",
}

READERS = {
    "BatchSampler": "DATA",
    "ChainDataset": "[Stream()]",
    "ComposeDataset": "[DATA]",
    "ConcatDataset": "[DATA, DATA]",
    "DataLoader": "DATA",
    "DistributedBatchSampler": "DATA, 2, 1, 0",
    "RandomSampler": "DATA",
    "SequenceSampler": "DATA",
    "Subset": "DATA, [0, 2]",
    "SubsetRandomSampler": "[0, 2]",
    "TensorDataset": "[tensor(3, 2)]",
    "WeightedRandomSampler": "[0.5, 0.5], 2",
    "default_collate_fn": "[np.zeros(2), np.zeros(2)]",
    "default_convert_fn": "[np.zeros(2)]",
    "random_split": "DATA, [2, 4]",
}

DISTRIBUTIONS = {
    "AffineTransform": "tensor(1), tensor(1)",
    "Beta": "0.5, 0.5",
    "Categorical": "[0.5, 0.5]",
    "ChainTransform": "[distribution.ExpTransform()]",
    "Dirichlet": "[0.5, 0.5]",
    "Independent": "NORMAL, 1",
    "IndependentTransform": "distribution.ExpTransform(), 1",
    "Multinomial": "3, [0.5, 0.5]",
    "Normal": "0.0, 1.0",
    "PowerTransform": "tensor(1)",
    "ReshapeTransform": "(3,), (1, 3)",
    "StackTransform": "[distribution.ExpTransform()]",
    "TransformedDistribution": "NORMAL, [distribution.ExpTransform()]",
    "Uniform": "0.0, 1.0",
    "kl_divergence": "NORMAL, NORMAL",
}

TEXTS = {
    "ViterbiDecoder": "tensor(3, 3)",
    "viterbi_decode": "tensor(1, 4, 3), tensor(3, 3), paddle.to_tensor([4])",
    "FasterTokenizer": "['[UNK]', 'a', 'b']",
    "WordPieceTokenizer": "['[UNK]', 'a', 'b']",
    **dict.fromkeys("Imdb Movielens UCIHousing".split(), "download=False"),
    "Conll05st": "__file__, __file__, __file__, __file__, download=False",
    "Imikolov": "window_size=2, download=False",
    "WMT14": "dict_size=5, download=False",
    "WMT16": "src_dict_size=5, trg_dict_size=5, download=False",
}

# Module, calls, what is done with a result, names without a call.
ROOMS = {
    "vision.transforms": (TRANSFORMS, transformed, "BaseTransform"),
    "vision.ops": (VISION_OPS, applied, "decode_jpeg read_file"),
    "metric": (METRICS, measured, "Metric"),
    "optimizer": (OPTIMIZERS, trained, "Optimizer"),
    "optimizer.lr": (SCHEDULES, scheduled, "LRScheduler"),
    "io": (READERS, read, "Dataset IterableDataset Sampler WorkerInfo get_worker_info"),
    "distribution": (
        DISTRIBUTIONS,
        drawn,
        "AbsTransform Distribution ExpTransform ExponentialFamily SigmoidTransform SoftmaxTransform StickBreakingTransform "
        "TanhTransform Transform register_kl",
    ),
    "text": (TEXTS, ignored, ""),
}


def arguments_of(text):
    """(positional, by name) of a text in the words of this module."""
    return eval(f"(lambda *a, **k: (list(a), k))({text})", globals())


def result_used(room, name, function, args, kwargs):
    """Calls `function`; what it makes, if that is an object of the room, is used as programs do."""
    use = ROOMS[room][1]
    value = function(*args, **kwargs)
    if args and args[0] is IMAGE:
        function(PICTURE, *args[1:], **kwargs)
    return use(value) if isinstance(function, type) else value
