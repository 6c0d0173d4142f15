# A ResNet of the package with a new head: frozen layers, eval-mode batch norm, parameter counts.
import numpy as np
import paddle
from paddle.vision.models import resnet18

rng = np.random.RandomState(109)
model = resnet18(pretrained=False, num_classes=10)
print(sum(int(np.prod(p.shape)) for p in model.parameters() if p.trainable))
print([name for name, _ in model.named_children()])
for name, p in model.named_parameters():
    if not name.startswith("layer4.1") and not name.startswith("fc"):
        p.stop_gradient = True
model.fc = paddle.nn.Linear(512, 3)
for layer in model.sublayers():
    if isinstance(layer, paddle.nn.BatchNorm2D):
        layer.eval()
images = paddle.to_tensor(rng.rand(2, 3, 33, 33).astype("float32"))
labels = paddle.to_tensor([[0], [2]])
trainable = [p for p in model.parameters() if not p.stop_gradient]
opt = paddle.optimizer.Momentum(0.01, parameters=trainable)
for step in range(2):
    loss = paddle.nn.CrossEntropyLoss()(model(images), labels)
    loss.backward()
    opt.step()
    opt.clear_grad()
    print("step %d loss %.5f" % (step, loss.item()))
print(len(trainable), model.conv1.weight.grad is None)
keys = list(model.state_dict().keys())
print(len(keys), keys[0], keys[-1], [k for k in keys if k.startswith("layer2.0.down")])
backbone = resnet18(num_classes=0, with_pool=False)
backbone.eval()
print(backbone(images).shape)
