# Optimizing a picture: Gram matrices, total variation, an image that is a parameter.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

rng = np.random.RandomState(79)
content = paddle.to_tensor(rng.rand(1, 3, 14, 14).astype("float32"))
style = paddle.to_tensor(rng.rand(1, 3, 14, 14).astype("float32"))
vgg = nn.Sequential(
    nn.Conv2D(3, 6, 3, padding=1, padding_mode="reflect"),
    nn.ReLU(),
    nn.MaxPool2D(2),
    nn.Conv2D(6, 8, 3, padding=1, padding_mode="replicate"),
    nn.ReLU(),
)
for p in vgg.parameters():
    p.trainable = False
vgg.eval()


def get_features(image):
    features, x = {}, image
    for name, layer in vgg._sub_layers.items():
        x = layer(x)
        if name in ("1", "4"):
            features[name] = x
    return features


def gram_matrix(tensor):
    _, c, h, w = tensor.shape
    tensor = tensor.reshape([c, h * w])
    return paddle.matmul(tensor, tensor, transpose_y=True)


content_features, style_features = get_features(content), get_features(style)
style_grams = {layer: gram_matrix(style_features[layer]) for layer in style_features}
target = content.clone()
target.stop_gradient = False
optimizer = paddle.optimizer.Adam(parameters=[target], learning_rate=0.05)
for step in range(5):
    features = get_features(target)
    content_loss = F.mse_loss(features["4"], content_features["4"])
    style_loss = 0
    for layer in style_grams:
        b, c, h, w = features[layer].shape
        style_loss += paddle.mean((gram_matrix(features[layer]) - style_grams[layer]) ** 2) / (c * h * w)
    tv = (target[:, :, 1:] - target[:, :, :-1]).abs().mean() + (target[:, :, :, 1:] - target[:, :, :, :-1]).abs().mean()
    total = content_loss + 10 * style_loss + 0.01 * tv
    total.backward()
    optimizer.step()
    optimizer.clear_grad()
    print("content %.6f style %.6f tv %.6f" % (content_loss.item(), style_loss.item(), tv.item()))
print("%.5f" % target.clip(0, 1).mean().item())
