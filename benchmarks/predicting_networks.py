"""Networks that are measured when they predict, besides those of networks.py; written once for every framework."""

from __future__ import annotations

from networks import Api, TorchApi


def _layer(a: Api):
    return a.nn.Module if isinstance(a, TorchApi) else a.nn.Layer


def vgg16(a: Api):
    nn, layers, i = a.nn, [], 3
    for o, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            layers += [a.conv(i, o, 3, bias=True), nn.ReLU()]
            i = o
        layers.append(a.max_pool(2, 2))
    layers += [nn.Flatten(), nn.Linear(512 * 49, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(4096, 1000))


def mobilenet_v3(a: Api):
    """MobileNet v3 large: inverted residuals with squeeze-and-excitation and hard swish."""
    nn = a.nn

    class Excite(_layer(a)):
        def __init__(self, channels, narrow):
            super().__init__()
            self.pool, self.relu, self.gate = a.global_pool(), nn.ReLU(), nn.Hardsigmoid()
            self.down, self.up = a.conv(channels, narrow, 1, bias=True), a.conv(narrow, channels, 1, bias=True)

        def forward(self, x):
            return x * self.gate(self.up(self.relu(self.down(self.pool(x)))))

    def conv(i, o, kernel, stride=1, groups=1, activation=None):
        parts = [a.conv(i, o, kernel, stride, groups), a.batch_norm(o)]
        return parts + ([activation()] if activation else [])

    class Inverted(_layer(a)):
        def __init__(self, i, wide, o, kernel, stride, excite, activation):
            super().__init__()
            parts = conv(i, wide, 1, activation=activation) if wide != i else []
            parts += conv(wide, wide, kernel, stride, wide, activation)
            if excite:
                parts.append(Excite(wide, (wide // 4 + 7) // 8 * 8))
            self.body = nn.Sequential(*parts, *conv(wide, o, 1))
            self.adds = stride == 1 and i == o

        def forward(self, x):
            return x + self.body(x) if self.adds else self.body(x)

    relu, swish = nn.ReLU, nn.Hardswish
    plan = [
        (16, 16, 3, 1, False, relu), (64, 24, 3, 2, False, relu), (72, 24, 3, 1, False, relu),
        (72, 40, 5, 2, True, relu), (120, 40, 5, 1, True, relu), (120, 40, 5, 1, True, relu),
        (240, 80, 3, 2, False, swish), (200, 80, 3, 1, False, swish), (184, 80, 3, 1, False, swish),
        (184, 80, 3, 1, False, swish), (480, 112, 3, 1, True, swish), (672, 112, 3, 1, True, swish),
        (672, 160, 5, 2, True, swish), (960, 160, 5, 1, True, swish), (960, 160, 5, 1, True, swish),
    ]  # fmt: skip
    layers, i = conv(3, 16, 3, 2, activation=swish), 16
    for wide, o, kernel, stride, excite, activation in plan:
        layers.append(Inverted(i, wide, o, kernel, stride, excite, activation))
        i = o
    layers += [*conv(i, 960, 1, activation=swish), a.global_pool(), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(960, 1280), swish(), nn.Linear(1280, 1000))


def _residual(a: Api, i, o, stride):
    """A block of ResNet-18."""

    class Residual(_layer(a)):
        def __init__(self):
            super().__init__()
            self.body, self.end = a.block(i, o, 3, stride), a.block(o, o, 3)
            self.short = a.nn.Sequential(a.conv(i, o, 1, stride), a.batch_norm(o)) if stride > 1 or i != o else None

        def forward(self, x):
            return self.end(self.body(x), x if self.short is None else self.short(x))

    return Residual()


def text_detector(a: Api):
    """The shape of DB: four levels of ResNet-18, joined by a pyramid, and a map of probabilities of the size of the picture."""
    nn = a.nn

    class Detector(_layer(a)):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(a.block(3, 64, 7, 2), a.max_pool(3, 2, 1))
            levels, i = [], 64
            for o, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
                levels.append(nn.Sequential(_residual(a, i, o, stride), _residual(a, o, o, 1)))
                i = o
            self.level1, self.level2, self.level3, self.level4 = levels
            self.in1, self.in2, self.in3, self.in4 = (a.conv(c, 256, 1) for c in (64, 128, 256, 512))
            self.out1, self.out2, self.out3, self.out4 = (a.conv(256, 64, 3) for _ in range(4))
            self.head = nn.Sequential(a.block(256, 64, 3))
            self.last = a.conv(64, 1, 3, bias=True)
            self.sigmoid = nn.Sigmoid()

        def forward(self, x):
            c1 = self.level1(self.stem(x))
            c2 = self.level2(c1)
            c3 = self.level3(c2)
            c4 = self.level4(c3)
            p4 = self.in4(c4)
            p3 = self.in3(c3) + a.upsample(p4, 2)
            p2 = self.in2(c2) + a.upsample(p3, 2)
            p1 = self.in1(c1) + a.upsample(p2, 2)
            parts = [a.upsample(self.out4(p4), 8), a.upsample(self.out3(p3), 4), a.upsample(self.out2(p2), 2)]
            joined = a.concat([*parts, self.out1(p1)], 1)
            return self.sigmoid(a.upsample(self.last(self.head(joined)), 4))

    return Detector()


def crnn(a: Api, signs: int = 97):
    """A recognizer of lines of text: convolutions to a row of features, an LSTM in both directions, a class for each column."""
    nn = a.nn

    class Recognizer(_layer(a)):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(
                a.conv(3, 64, 3, bias=True), nn.ReLU(), a.max_pool(2, 2),
                a.conv(64, 128, 3, bias=True), nn.ReLU(), a.max_pool(2, 2),
                a.block(128, 256, 3), a.conv(256, 256, 3, bias=True), nn.ReLU(), a.max_pool((2, 1), (2, 1)),
                a.block(256, 512, 3), a.conv(512, 512, 3, bias=True), nn.ReLU(), a.max_pool((4, 1), (4, 1)),
            )  # fmt: skip
            self.lstm, self.head = a.lstm(512, 256, 2), nn.Linear(512, signs)

        def forward(self, x):
            features = self.features(x)  # [N, 512, 1, columns]
            n, columns = features.shape[0], features.shape[3]
            rows = features.reshape([n, 512, columns])
            rows = rows.transpose(1, 2) if isinstance(a, TorchApi) else rows.transpose([0, 2, 1])
            return self.head(self.lstm(rows))

    return Recognizer()


def tagger(a: Api, words: int = 20000, tags: int = 32):
    """A tag for each word: embedding, an LSTM of two layers in both directions, a linear layer."""
    nn = a.nn
    return nn.Sequential(nn.Embedding(words, 256), a.lstm(256, 256, 2), nn.Linear(512, tags))


def gpt2_decoder(a: Api, words: int = 50257, layers: int = 12, width: int = 768, heads: int = 12):
    """A step of GPT-2: scores of the next word, and the keys and values of this one, from those before it.

    Takes words [N, 1] and a cache [2 * layers, N, words before, heads, size]; gives scores [N, 1, words] and what the cache grows by,
    [2 * layers, N, 1, heads, size].
    """
    nn, lib = a.nn, a.lib
    torch = isinstance(a, TorchApi)

    class Block(_layer(a)):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
            self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x, keys, values):
            y = self.norm1(x)
            q, k, v = (f(y).reshape([x.shape[0], 1, heads, width // heads]) for f in (self.query, self.key, self.value))
            y = a.attention(q, a.concat([keys, k], 1), a.concat([values, v], 1))
            x = x + self.out(y.reshape([x.shape[0], 1, width]))
            return x + self.narrow(a.F.gelu(self.wide(self.norm2(x)))), k, v

    class Decoder(_layer(a)):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(1024, width)
            self.blocks = (nn.ModuleList if torch else nn.LayerList)([Block() for _ in range(layers)])
            self.norm = nn.LayerNorm(width)

        def forward(self, x, cache):
            before = cache.shape[2]
            x = self.words(x) + self.places.weight[before : before + 1]
            new = []
            for i, block in enumerate(self.blocks):
                x, k, v = block(x, cache[2 * i], cache[2 * i + 1])
                new += [k, v]
            x, table = self.norm(x), self.words.weight
            scores = lib.matmul(x, table.t()) if torch else lib.matmul(x, table, transpose_y=True)
            return scores, lib.stack(new, 0)

    return Decoder()
