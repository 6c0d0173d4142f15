"""Transforms of images against Pillow itself, NumPy, and one another; random ones draw as programs seed them."""

import io
import random
import resource
import struct

import numpy as np
import pytest
from PIL import Image, ImageEnhance

import proa
from proa.vision import transforms as T

_ARRAY = np.random.RandomState(0).randint(0, 256, (37, 53, 3)).astype("uint8")
_IMAGE = Image.fromarray(_ARRAY)
_SMOOTH = np.add.outer(np.linspace(0, 120, 40), np.linspace(0, 130, 60)).astype("float32")[..., None].repeat(3, 2)


def _tensor(array):
    return proa.to_tensor(np.ascontiguousarray(array.transpose(2, 0, 1)))


def _kinds(array):
    return {"array": array, "tensor": _tensor(array), "pil": Image.fromarray(array)}


def _back(image):
    if isinstance(image, proa.Tensor):
        return np.moveaxis(image.numpy(), -3, -1)
    return np.asarray(image)


@pytest.mark.parametrize("kind", ["array", "tensor", "pil"])
def test_geometry_that_only_moves_pixels(kind):
    image = _kinds(_ARRAY)[kind]
    assert np.array_equal(_back(T.crop(image, 3, 5, 7, 11)), _ARRAY[3:10, 5:16])
    assert np.array_equal(_back(T.center_crop(image, (11, 21))), _ARRAY[13:24, 16:37])
    assert np.array_equal(_back(T.hflip(image)), _ARRAY[:, ::-1])
    assert np.array_equal(_back(T.vflip(image)), _ARRAY[::-1])
    assert np.array_equal(_back(T.pad(image, (1, 2, 3, 4), 9)),
                          np.pad(_ARRAY, ((2, 4), (1, 3), (0, 0)), constant_values=9))  # fmt: skip
    for mode in ("edge", "reflect", "symmetric"):
        want = np.pad(_ARRAY, ((3, 3), (2, 2), (0, 0)), mode)
        assert np.array_equal(_back(T.pad(image, (2, 3), padding_mode=mode)), want)
    assert _back(T.erase(image, 1, 2, 3, 4, 0))[1:4, 2:6].sum() == 0


@pytest.mark.parametrize("size", [20, (30, 80), (37, 20), [74, 106]])
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_resize_of_pillow_images_is_pillows(size, mode):
    height, width = (20, int(20 * 53 / 37)) if size == 20 else size
    want = _IMAGE.resize((width, height), getattr(Image, mode.upper()))
    assert np.array_equal(np.asarray(T.resize(_IMAGE, size, mode)), np.asarray(want))


@pytest.mark.parametrize("size", [(20, 30), (80, 90), (40, 30), 20])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_resize_of_arrays_is_interpolate(size, mode):
    got = T.resize(_SMOOTH, size, mode)
    want = T.resize(_tensor(_SMOOTH), size, mode)
    np.testing.assert_allclose(got, _back(want), atol=1e-3)


def test_resize_by_area_keeps_the_mean_and_nearest_keeps_values():
    assert T.resize(_SMOOTH, (7, 9), "area").mean() == pytest.approx(_SMOOTH.mean(), rel=1e-5)
    assert set(np.unique(T.resize(_ARRAY, (90, 100), "nearest"))) <= set(np.unique(_ARRAY))
    assert T.resize(_ARRAY[:, :, 0], 10).shape == (10, 14)
    assert T.resize(_ARRAY, 37) is _ARRAY


@pytest.mark.parametrize("kind", ["array", "tensor", "pil"])
def test_turns_by_right_angles_are_exact(kind):
    square = _ARRAY[:, :37]
    image = _kinds(square)[kind]
    want = np.rot90(square)
    got = _back(T.rotate(image, 90))
    if kind == "array":  # about (w / 2, h / 2), as the reference turns arrays: one row lies outside
        assert np.array_equal(got[1:], want[:-1]) or np.array_equal(got[:, 1:], want[:, :-1]) or np.array_equal(
            got[1:, :], want[:-1, :])  # fmt: skip
    else:
        assert np.array_equal(got, want)
    assert np.array_equal(_back(T.rotate(image, 0)), square)
    wide = _back(T.rotate(_kinds(_ARRAY)[kind], 90, expand=True))
    # Tensors have a pixel more where half pixels stick out on both sides, as in the reference.
    assert wide.shape == ((54, 38, 3) if kind == "tensor" else (53, 37, 3))


# What the reference 3.3 gives for a random tensor: shape, sum, and sum times the cosine of each place.
_OF_TENSORS = {
    ("rotate", "nearest"): ([3, 13, 18], 287.638, -10.322),
    ("rotate", "bilinear"): ([3, 13, 18], 284.239, -9.447),
    ("expand", "nearest"): ([3, 22, 22], 357.428, -2.007),
    ("expand", "bilinear"): ([3, 22, 22], 333.471, 1.05),
    ("right angle", "nearest"): ([3, 18, 14], 378.059, 8.191),
    ("right angle", "bilinear"): ([3, 18, 14], 334.62, 3.227),
    ("center", "nearest"): ([3, 13, 18], 354.869, 6.178),
    ("center", "bilinear"): ([3, 13, 18], 345.286, 3.445),
    ("affine", "nearest"): ([3, 13, 18], 181.602, -5.551),
    ("affine", "bilinear"): ([3, 13, 18], 177.319, -2.573),
    ("perspective", "nearest"): ([3, 13, 18], 206.71, 0.576),
    ("perspective", "bilinear"): ([3, 13, 18], 194.88, 2.052),
}
_TURNS = {
    "rotate": lambda x, m: T.rotate(x, 30, m),
    "expand": lambda x, m: T.rotate(x, -45.5, m, expand=True),
    "right angle": lambda x, m: T.rotate(x, 90, m, expand=True),
    "center": lambda x, m: T.rotate(x, 20, m, center=(2, 3), fill=[0.5]),
    "affine": lambda x, m: T.affine(x, 30, (2, 3), 0.8, (10, 5), m),
    "perspective": lambda x, m: T.perspective(
        x, [[0, 0], [17, 0], [17, 12], [0, 12]], [[1, 2], [14, 1], [15, 11], [2, 10]], m
    ),
}


@pytest.mark.parametrize("case", _OF_TENSORS, ids=lambda case: f"{case[0]}-{case[1]}")
def test_turns_of_tensors(case):
    name, mode = case
    x = proa.to_tensor(np.random.RandomState(0).rand(3, 13, 18).astype("float32"), stop_gradient=False)
    shape, total, weighed = _OF_TENSORS[case]
    result = _TURNS[name](x, mode)
    assert result.shape == shape
    y = result.detach().numpy().astype("float64")
    assert y.sum() == pytest.approx(total, abs=2e-3)
    assert (y * np.cos(np.arange(y.size)).reshape(y.shape)).sum() == pytest.approx(weighed, abs=2e-3)
    # Several images at once, whole numbers, and gradients.
    both = _TURNS[name](proa.stack([x, x * 2]).detach(), mode)
    if name != "center":
        np.testing.assert_allclose(both[1].numpy(), 2 * y, rtol=1e-5, atol=1e-6)
    whole = _TURNS[name]((x.detach() * 255).astype("uint8"), mode)
    assert whole.dtype == proa.uint8 and whole.shape == shape
    result.sum().backward()
    assert x.grad.abs().sum().item() > 0


def test_turn_and_affine_of_arrays_agree_with_pillow_inside():
    smooth = _SMOOTH.astype("uint8")
    inside = (slice(12, 28), slice(20, 40))
    for call in (
        lambda image: T.rotate(image, 20, "bilinear"),
        lambda image: T.affine(image, 20, (3, -2), 1.2, (5, 3), "bilinear"),
        lambda image: T.perspective(
            image, [(0, 0), (59, 0), (59, 39), (0, 39)], [(3, 4), (55, 2), (50, 33), (5, 36)], "bilinear"
        ),
    ):
        want = np.asarray(call(Image.fromarray(smooth))).astype(float)
        for kind in ("array", "tensor"):
            got = _back(call(_kinds(smooth)[kind])).astype(float)
            assert np.abs(got - want)[inside].max() <= 6, kind


def test_colors_of_pillow_images_are_pillows():
    for function, enhancer in (
        (T.adjust_brightness, ImageEnhance.Brightness),
        (T.adjust_contrast, ImageEnhance.Contrast),
        (T.functional.adjust_saturation, ImageEnhance.Color),
    ):
        for factor in (0.0, 0.6, 1.0, 1.7):
            want = enhancer(_IMAGE).enhance(factor)
            assert np.array_equal(np.asarray(function(_IMAGE, factor)), np.asarray(want))


@pytest.mark.parametrize("kind", ["array", "tensor"])
def test_colors_of_arrays_and_tensors(kind):
    values = np.random.RandomState(1).rand(6, 7, 3).astype("float32")
    image = _tensor(values) if kind == "tensor" else values
    limit = (lambda v: np.clip(v, 0, 1)) if kind == "tensor" else (lambda v: v)
    gray = (values @ np.array([0.299, 0.587, 0.114]))[..., None]
    np.testing.assert_allclose(_back(T.adjust_brightness(image, 1.5)), limit(values * 1.5), atol=1e-6)
    np.testing.assert_allclose(_back(T.functional.adjust_saturation(image, 0.3)), values * 0.3 + gray * 0.7, atol=1e-6)
    np.testing.assert_allclose(_back(T.to_grayscale(image)), gray, atol=1e-6)
    turned = T.adjust_hue(T.adjust_hue(image, 0.3), -0.3)
    np.testing.assert_allclose(_back(turned), values, atol=1e-5)
    red = np.zeros((1, 1, 3), "float32") + np.array([1, 0, 0], "float32")
    red = _tensor(red) if kind == "tensor" else red
    np.testing.assert_allclose(_back(T.adjust_hue(red, 1 / 3)).ravel(), [0, 1, 0], atol=1e-6)


def test_hue_agrees_with_colorsys():
    import colorsys

    for r, g, b in _ARRAY.reshape(-1, 3)[:50] / 255.0:
        want = colorsys.hsv_to_rgb((colorsys.rgb_to_hsv(r, g, b)[0] + 0.2) % 1.0, *colorsys.rgb_to_hsv(r, g, b)[1:])
        got = T.adjust_hue(np.array([[[r, g, b]]]), 0.2)
        np.testing.assert_allclose(got.ravel(), want, atol=1e-9)


def test_to_tensor_and_normalize():
    got = T.to_tensor(_IMAGE)
    assert got.shape == [3, 37, 53] and got.dtype == proa.float32
    np.testing.assert_array_equal(got.numpy(), _ARRAY.transpose(2, 0, 1).astype("float32") / np.float32(255))
    assert T.to_tensor(_ARRAY[:, :, 0]).shape == [1, 37, 53]
    assert T.to_tensor(_IMAGE.convert("1")).max().item() == 1.0
    assert T.to_tensor(_ARRAY, "HWC").shape == [37, 53, 3]
    pipeline = T.Compose([T.ToTensor(), T.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4])])
    want = (got.numpy() - np.float32([0.5, 0.4, 0.3]).reshape(-1, 1, 1)) / np.float32([0.2, 0.3, 0.4]).reshape(-1, 1, 1)
    np.testing.assert_allclose(pipeline(_IMAGE).numpy(), want, rtol=1e-6)
    assert T.normalize(_ARRAY, [0.0] * 3, [1.0] * 3, "HWC", to_rgb=True)[0, 0, 0] == _ARRAY[0, 0, 2]


# The numbers that Python's random gives for the seed decide, in the order in which the reference asks for them: these
# corners and sides were printed by the reference 3.3.
def test_random_parts_are_those_of_the_seed():
    random.seed(3)
    np.random.seed(4)
    transform = T.RandomResizedCrop(16)
    assert [transform._get_param(_IMAGE) for _ in range(3)] == _PARTS
    random.seed(5)
    crop = T.RandomCrop(16)
    assert [crop._get_param(_IMAGE, (16, 16))[:2] for _ in range(3)] == _CORNERS


_PARTS = [(3, 18, 25, 24), (0, 2, 36, 48), (15, 4, 21, 22)]
_CORNERS = [(19, 16), (11, 33), (0, 29)]


def test_every_class_on_every_kind():
    transforms = [
        T.Resize(12), T.RandomResizedCrop(9), T.CenterCrop(8), T.RandomHorizontalFlip(1.0), T.RandomVerticalFlip(1.0),
        T.RandomCrop(60, pad_if_needed=True), T.Pad(2), T.RandomRotation(10), T.RandomAffine(10, (0.1, 0.1), (0.9, 1.1), 5),
        T.RandomPerspective(1.0), T.RandomErasing(1.0), T.ColorJitter(0.4, 0.4, 0.4, 0.2), T.Grayscale(3),
    ]  # fmt: skip
    for transform in transforms:
        shapes = {kind: _back(transform(image)).shape for kind, image in _kinds(_ARRAY).items()}
        assert len(set(shapes.values())) == 1, (transform, shapes)
        assert shapes["pil"][2] == 3


def test_keys_of_samples():
    class Move(T.BaseTransform):
        def _get_params(self, inputs):
            return len(inputs)

        def _apply_image(self, image):
            return image + self.params

        def _apply_coords(self, coords):
            return coords * 10

    assert Move(keys=("image", "coords"))((1, 2, "label")) == (4, 20, "label")
    assert Move()(1) == 2
    with pytest.raises(NotImplementedError, match="_apply_nothing"):
        Move(keys=("nothing",))


def test_bad_input():
    for call, kind, says in (
        (lambda: T.resize("image", 3), TypeError, "must be a Pillow image"),
        (lambda: T.resize(np.zeros([2, 2, 2, 2]), 3), TypeError, "array of rank 4"),
        (lambda: T.resize(_ARRAY, (3,)), TypeError, "size"),
        (lambda: T.resize(_ARRAY, (0, 3)), ValueError, "positive"),
        (lambda: T.resize(_ARRAY, 3, "cubic"), ValueError, "interpolation"),
        (lambda: T.pad(_ARRAY, (1, 2, 3)), TypeError, "padding"),
        (lambda: T.pad(_ARRAY, 1, padding_mode="wrap"), ValueError, "padding_mode"),
        (lambda: T.adjust_hue(_ARRAY, 0.6), ValueError, "hue_factor"),
        (lambda: T.adjust_brightness(_ARRAY, -1), ValueError, "brightness_factor"),
        (lambda: T.RandomCrop(100)(_IMAGE), ValueError, "pad_if_needed"),
        (lambda: T.to_tensor(_IMAGE, "CWH"), ValueError, "data_format"),
        (lambda: T.ColorJitter(brightness=-1)(_IMAGE), ValueError, "negative"),
        (lambda: T.RandomHorizontalFlip(2), ValueError, "prob"),
    ):
        with pytest.raises(kind, match=says):
            call()


def test_empty_images():
    for empty in (np.zeros([0, 4, 3], "uint8"), np.zeros([4, 0, 3], "uint8")):
        assert T.hflip(empty).shape == empty.shape
        assert T.pad(empty, 1).shape == (empty.shape[0] + 2, empty.shape[1] + 2, 3)


def test_images_from_files(tmp_path):
    path = str(tmp_path / "image.png")
    _IMAGE.save(path)
    assert np.array_equal(np.asarray(proa.vision.image_load(path)), _ARRAY)
    assert np.array_equal(proa.vision.image_load(path, "cv2"), _ARRAY[:, :, ::-1])
    np.testing.assert_allclose(
        proa.vision.image_load(path, "tensor").numpy() * 255, _ARRAY.transpose(2, 0, 1), atol=1e-4
    )
    assert proa.vision.get_image_backend() == "pil"
    with pytest.raises(ValueError, match="backend"):
        proa.vision.set_image_backend("gif")


def test_images_that_say_they_are_huge_take_no_memory(tmp_path):
    memory = io.BytesIO()
    Image.new("RGB", (16, 16)).save(memory, "JPEG")
    data = bytearray(memory.getvalue())
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = struct.pack(">HH", 12000, 12000)
    (tmp_path / "huge.jpg").write_bytes(data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for source in (str(tmp_path / "huge.jpg"), io.BytesIO(data)):
        with pytest.raises(ValueError, match="12000 by 12000 pixels are too many"):
            proa.vision.image_load(source, backend="tensor")
    with pytest.raises(ValueError, match="12000 by 12000 pixels"):
        proa.vision.ops.decode_jpeg(proa.vision.ops.read_file(str(tmp_path / "huge.jpg")))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10


def test_resample_is_another_name_of_interpolation():
    image = np.random.default_rng(0).integers(0, 256, (7, 9, 3), dtype="uint8")
    for kind in (image, Image.fromarray(image)):
        turned = [np.asarray(T.rotate(kind, 30, **{name: "bilinear"})) for name in ("resample", "interpolation")]
        assert np.array_equal(*turned) and not np.array_equal(turned[0], np.asarray(T.rotate(kind, 30)))


def test_to_tensor_of_16_bit_pictures_keeps_large_values():
    values = np.array([[0, 1, 40000], [65535, 32768, 7]], "uint16")
    made = T.functional.to_tensor(Image.fromarray(values))
    assert made.shape == [1, 2, 3] and (made.numpy()[0] == values).all()


def test_area_of_tensors_is_that_of_interpolate():
    """As in PaddlePaddle: a mean over all pixels that a new one touches; it was that of arrays, by how much it covers."""
    image = proa.rand([3, 9, 12])
    want = proa.nn.functional.interpolate(image[None], (5, 7), mode="area")[0]
    assert np.array_equal(T.resize(image, (5, 7), "area").numpy(), want.numpy())
    assert np.allclose(T.resize(image, (3, 4), "area").numpy(), image.numpy().reshape(3, 3, 3, 4, 3).mean((2, 4)))
    with pytest.raises(ValueError, match="interpolation must be one of"):
        T.resize(image, (3, 4), "box")


@pytest.mark.parametrize("kind", ["array", "tensor"])
def test_what_one_channel_is_filled_with(kind):
    """It was NumPy's sentence about shapes that do not broadcast."""
    image = _tensor(_ARRAY[:, :, :1]) if kind == "tensor" else _ARRAY[:, :, 0]
    with pytest.raises(
        ValueError, match=r"pad: fill must be a number, or a list with one for each channel, not \(1, 2, 3\)"
    ):
        T.pad(image, 1, fill=(1, 2, 3))
    assert _back(T.pad(image, 1, fill=(7,))).ravel()[0] == 7


def test_ranges_are_tuples():
    assert T.RandomRotation(30).degrees == T.RandomRotation([-30, 30]).degrees == (-30, 30)
    assert T.RandomAffine(30, shear=[-1, 1]).shear == (-1, 1)


def test_noise_for_tensors_is_drawn_from_the_generator_of_tensors():
    """As in PaddlePaddle: the places of the next ones, NumPy's numbers, are those of a plain value."""
    image, places = proa.full([3, 24, 30], 0.5), []
    for value in (0, "random"):
        proa.seed(3)
        np.random.seed(1)
        erase = T.RandomErasing(1.0, value=value)
        places.append([(erase(image) != 0.5).numpy() for _ in range(3)])
    np.testing.assert_array_equal(*places)
    proa.seed(3)
    np.random.seed(1)
    again = T.RandomErasing(1.0, value="random")(image).numpy()
    assert len(np.unique(again)) > 10 and again[places[0][0]].std() > 0.3
