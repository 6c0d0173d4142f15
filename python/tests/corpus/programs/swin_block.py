# Windows of attention that are shifted: roll, masks, relative position bias tables, patch merging.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

rng = np.random.RandomState(21)
trunc_normal_ = nn.initializer.TruncatedNormal(std=0.02)
zeros_, ones_ = nn.initializer.Constant(value=0.0), nn.initializer.Constant(value=1.0)


def to_2tuple(x):
    return tuple([x] * 2)


def drop_path(x, drop_prob=0.0, training=False):
    if drop_prob == 0.0 or not training:
        return x
    keep = paddle.to_tensor(1 - drop_prob)
    shape = (paddle.shape(x)[0],) + (1,) * (x.ndim - 1)
    return x.divide(keep) * paddle.floor(keep + paddle.rand(shape, dtype=x.dtype))


def window_partition(x, ws):
    B, H, W, C = x.shape
    x = x.reshape([B, H // ws, ws, W // ws, ws, C])
    return x.transpose([0, 1, 3, 2, 4, 5]).reshape([-1, ws, ws, C])


def window_reverse(windows, ws, H, W, C):
    x = windows.reshape([-1, H // ws, W // ws, ws, ws, C])
    return x.transpose([0, 1, 3, 2, 4, 5]).reshape([-1, H, W, C])


class WindowAttention(nn.Layer):
    def __init__(self, dim, window_size, num_heads):
        super().__init__()
        self.window_size, self.num_heads, self.scale = window_size, num_heads, (dim // num_heads) ** -0.5
        self.relative_position_bias_table = self.create_parameter(
            shape=((2 * window_size[0] - 1) * (2 * window_size[1] - 1), num_heads), default_initializer=zeros_
        )
        self.add_parameter("relative_position_bias_table", self.relative_position_bias_table)
        coords = paddle.stack(paddle.meshgrid([paddle.arange(window_size[0]), paddle.arange(window_size[1])]))
        flat = paddle.flatten(coords, 1)
        relative = (flat.unsqueeze(2) - flat.unsqueeze(1)).transpose([1, 2, 0])
        relative[:, :, 0] += window_size[0] - 1
        relative[:, :, 1] += window_size[1] - 1
        relative[:, :, 0] *= 2 * window_size[1] - 1
        self.register_buffer("relative_position_index", relative.sum(-1))
        self.qkv, self.proj = nn.Linear(dim, dim * 3, bias_attr=True), nn.Linear(dim, dim)
        trunc_normal_(self.relative_position_bias_table)
        self.softmax = nn.Softmax(axis=-1)

    def forward(self, x, mask=None):
        B_, N, C = x.shape
        qkv = self.qkv(x).reshape([B_, N, 3, self.num_heads, C // self.num_heads]).transpose([2, 0, 3, 1, 4])
        q, k, v = qkv[0] * self.scale, qkv[1], qkv[2]
        attn = paddle.mm(q, k.transpose([0, 1, 3, 2]))
        index = self.relative_position_index.reshape([-1])
        bias = paddle.index_select(self.relative_position_bias_table, index)
        attn = attn + bias.reshape([N, N, -1]).transpose([2, 0, 1]).unsqueeze(0)
        if mask is not None:
            nW = mask.shape[0]
            attn = attn.reshape([B_ // nW, nW, self.num_heads, N, N]) + mask.unsqueeze(1).unsqueeze(0)
            attn = attn.reshape([-1, self.num_heads, N, N])
        attn = self.softmax(attn)
        return self.proj(paddle.mm(attn, v).transpose([0, 2, 1, 3]).reshape([B_, N, C]))


class SwinBlock(nn.Layer):
    def __init__(self, dim, resolution, heads, ws=4, shift=0):
        super().__init__()
        self.resolution, self.ws, self.shift = resolution, ws, shift
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = WindowAttention(dim, to_2tuple(ws), heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Dropout(0.0), nn.Linear(2 * dim, dim))
        mask = None
        if shift > 0:
            H, W = resolution
            img = paddle.zeros((1, H, W, 1))
            cnt = 0
            slices = (slice(0, -ws), slice(-ws, -shift), slice(-shift, None))
            for h in slices:
                for w in slices:
                    img[:, h, w, :] = cnt
                    cnt += 1
            windows = window_partition(img, ws).reshape([-1, ws * ws])
            mask = windows.unsqueeze(1) - windows.unsqueeze(2)
            huge = paddle.ones_like(mask) * -100.0
            mask = paddle.where(mask != 0, huge, mask)
        self.register_buffer("attn_mask", mask)

    def forward(self, x):
        H, W = self.resolution
        B, L, C = x.shape
        shortcut, x = x, self.norm1(x).reshape([B, H, W, C])
        if self.shift > 0:
            x = paddle.roll(x, shifts=(-self.shift, -self.shift), axis=(1, 2))
        windows = window_partition(x, self.ws).reshape([-1, self.ws * self.ws, C])
        windows = self.attn(windows, mask=self.attn_mask).reshape([-1, self.ws, self.ws, C])
        x = window_reverse(windows, self.ws, H, W, C)
        if self.shift > 0:
            x = paddle.roll(x, shifts=(self.shift, self.shift), axis=(1, 2))
        x = shortcut + drop_path(x.reshape([B, H * W, C]), 0.1, False)
        return x + self.mlp(self.norm2(x))


class PatchMerging(nn.Layer):
    def __init__(self, dim):
        super().__init__()
        self.reduction, self.norm = nn.Linear(4 * dim, 2 * dim, bias_attr=False), nn.LayerNorm(4 * dim)

    def forward(self, x, h, w):
        b, l, c = x.shape
        x = x.reshape([b, h, w, c])
        x = paddle.concat([x[:, 0::2, 0::2, :], x[:, 1::2, 0::2, :], x[:, 0::2, 1::2, :], x[:, 1::2, 1::2, :]], -1)
        return self.reduction(self.norm(x.reshape([b, h * w // 4, 4 * c])))


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2D(3, 8, kernel_size=2, stride=2)
        self.pos = self.create_parameter((1, 64, 8), default_initializer=zeros_)
        self.blocks = nn.LayerList([SwinBlock(8, (8, 8), 2, 4, shift) for shift in (0, 2)])
        self.merge = PatchMerging(8)
        self.norm, self.pool, self.head = nn.LayerNorm(16), nn.AdaptiveAvgPool1D(1), nn.Linear(16, 4)
        self.apply(self._init_weights)

    def _init_weights(self, m):
        if isinstance(m, nn.Linear) and m.bias is not None:
            zeros_(m.bias)
        elif isinstance(m, nn.LayerNorm):
            zeros_(m.bias)
            ones_(m.weight)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose([0, 2, 1]) + self.pos
        for block in self.blocks:
            x = block(x)
        x = self.norm(self.merge(x, 8, 8))
        return self.head(paddle.flatten(self.pool(x.transpose([0, 2, 1])), 1))


net = Net()
for b in net.blocks:  # drawn, so the same in every framework
    table = b.attn.relative_position_bias_table
    table.set_value(paddle.to_tensor(rng.randn(*table.shape).astype("float32") * 0.02))
print([k for k in net.state_dict() if "blocks.1" in k][:4], net.blocks[0].attn_mask is None)
x = paddle.to_tensor(rng.randn(2, 3, 16, 16).astype("float32"))
y = paddle.to_tensor([1, 3])
decay = [p for n, p in net.named_parameters() if not n.endswith("bias") and "norm" not in n]
optimizer = paddle.optimizer.SGD(learning_rate=0.1, parameters=net.parameters())
for step in range(3):
    loss = F.cross_entropy(net(x), F.one_hot(y, 4) * 0.9 + 0.025, soft_label=True)
    loss.backward()
    optimizer.minimize(loss)
    net.clear_gradients()
    print("loss %.5f" % float(loss.numpy()), len(decay))
print(net.blocks[1].attn_mask.sum().item(), int(net.blocks[0].attn.relative_position_index.max()))
