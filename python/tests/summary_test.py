"""summary and flops: rows, sizes and counts of networks."""

import pytest

import proa
from proa import nn


def test_summary_and_flops(capsys):
    net = nn.Sequential(nn.Conv2D(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(2 * 6 * 6, 5))
    assert proa.summary(net, (1, 1, 8, 8)) == {"total_params": 20 + 365, "trainable_params": 385}
    output = capsys.readouterr().out
    number = int(net[0].full_name().rpartition("_")[2]) + 1
    row = f"{f'Conv2D-{number}':^15} {'[[1, 1, 8, 8]]':^20} {'[1, 2, 6, 6]':^20} {20:^15}"
    assert row in output.splitlines() and output.startswith("-" * 75 + "\n Layer (type)       Input Shape ")
    # Biases of linear layers are not counted, as in the reference.
    assert proa.flops(net, [1, 1, 8, 8]) == 72 * 10 + 5 * 72
    assert net.training


# What the reference 3.3 counts: side of the image, multiply-adds.
_FLOPS = {
    "LeNet": (28, 347560), "resnet18": (64, 148965888), "mobilenet_v2": (64, 26825216), "densenet121": (64, 234877952),
    "mobilenet_v3_small": (64, 6778496), "shufflenet_v2_x0_25": (64, 2017216), "squeezenet1_1": (64, 21889144),
    "googlenet": (224, 1437208976), "inception_v3": (139, 1006612672),
}  # fmt: skip


@pytest.mark.parametrize("name", _FLOPS)
def test_flops(name, capsys):
    side, count = _FLOPS[name]
    net = getattr(proa.vision.models, name)()
    assert proa.flops(net, [1, 1 if name == "LeNet" else 3, side, side]) == count
    total = sum(p.size for p in net.parameters())
    assert capsys.readouterr().out == f"Total Flops: {count}     Total Params: {total}\n"


def test_flops_of_layers(capsys):
    """One of each kind, by the reference's table."""
    nn = proa.nn
    net = nn.Sequential(nn.Conv2D(3, 4, 3), nn.BatchNorm2D(4), nn.ReLU(), nn.AvgPool2D(2), nn.Upsample(scale_factor=2),
                        nn.Conv2DTranspose(4, 2, 3), nn.PReLU(), nn.LeakyReLU(), nn.Softmax(), nn.AdaptiveAvgPool2D(2),
                        nn.MaxPool2D(2))  # fmt: skip
    counts = [43904, 3136, 0, 392, 0, 37888, 0, 1024, 0, 1040, 0]
    assert proa.flops(net, [2, 3, 16, 16], print_detail=True) == sum(counts)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines()]
    assert [int(row[-1]) for row in rows if len(row) == 5 and row[-1].isdigit()] == counts
    assert ["Layer Name", "Input Shape", "Output Shape", "Params", "Flops"] in rows

    def by_attribute(layer, inputs, outputs):
        layer.total_ops += 7

    own = {nn.PReLU: lambda layer, inputs, outputs: 5, nn.Softmax: by_attribute}
    assert proa.flops(net, [2, 3, 16, 16], custom_ops=own) == sum(counts) + 12
    assert not hasattr(net[8], "total_ops")


def test_rows_of_summaries(capsys):
    nn = proa.nn

    class Tagger(nn.Layer):
        def __init__(self):
            super().__init__()
            self.words, self.memory = nn.Embedding(10, 4), nn.LSTM(4, 5, 2, "bidirect")
            self.tags = nn.Sequential(nn.Linear(10, 2), nn.ReLU())

        def forward(self, x):
            return self.tags(self.memory(self.words(x))[0])

    net = Tagger()
    counts = proa.summary(net, (2, 7), "int64")
    memory = sum(p.size for p in net.memory.parameters())
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    found = {row[0]: int(row[-1].replace(",", "")) for row in rows if row and "-" in row[0].strip("-")}
    found.pop("Non-trainable", None)
    # Numbered among those of their kind, by the names of the layers.
    number = {layer: int(layer.full_name().rpartition("_")[2]) + 1 for layer in net.sublayers()}
    memory_row = f"LSTM-{number[net.memory]}"
    assert found == {f"Embedding-{number[net.words]}": 40, memory_row: memory, f"Linear-{number[net.tags[0]]}": 22,
                     f"ReLU-{number[net.tags[1]]}": 0}  # fmt: skip
    assert counts == {"total_params": 62 + memory, "trainable_params": 62 + memory}
    proa.summary(proa.vision.models.resnet18(), (1, 3, 32, 32))
    text = capsys.readouterr().out
    assert text.count("BasicBlock-") == 8 and "Params size (MB): 44.63" in text


def test_one_recurrent_layer_is_one_row(capsys):
    """Found beside PaddlePaddle 3.3: the cells and loops inside were rows, and no row was the layer's."""
    net = nn.LSTM(3, 4, 2)
    assert proa.summary(net, (2, 5, 3))["total_params"] == 304
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if "[[" in line]
    number = int(net.full_name().rpartition("_")[2]) + 1
    assert rows == [[f"LSTM-{number}", *"[[2, 5, 3]] [[2, 5, 4], [[2, 2, 4], [2, 2, 4]]] 304".split()]]


def test_what_summary_and_flops_refuse():
    for call, says in (
        (lambda: proa.summary(3, (1, 2)), "summary: net must be a Layer, not int"),
        (lambda: proa.flops(3, [1, 2]), "flops: net must be a Layer, not int"),
        (lambda: proa.flops(nn.Linear(1, 1), 3), "flops: input_size must be a list of ints, not 3"),
        (lambda: proa.summary(nn.Linear(2, 1), (0, 2)), "sizes must be positive, or None or -1"),
        (lambda: proa.summary(nn.Linear(2, 1)), "summary: give input_size or input"),
    ):
        with pytest.raises(ValueError, match=says):
            call()
