"""JPEG images beside Pillow's, byte for byte: whole, in parts, and as images that are decoded later."""

import io
import itertools
import os
import pickle
import random
import struct

import numpy as np
import pytest
from PIL import Image, ImageOps

import proa
from proa import _C
from proa.vision import transforms as T
from proa.vision.image import converted, image_load
from proa.vision.undecoded import Undecoded

# Ways of writing: quality, subsampling, progressive, blocks between marks to begin anew at.
_WAYS = list(itertools.product([5, 75, 95], [0, 1, 2], [False, True], [0, 3]))
_SIZES = [(1, 1), (7, 9), (16, 16), (33, 47), (97, 130), (17, 121), (120, 17)]


def _picture(rng, height, width, mode="RGB"):
    """Blots and noise."""
    bands = len(Image.new(mode, (1, 1)).getbands())
    blots = rng.integers(0, 256, (height // 6 + 2, width // 6 + 2, bands)).repeat(6, 0).repeat(6, 1)[:height, :width]
    pixels = np.clip(blots + rng.integers(-20, 20, blots.shape), 0, 255).astype("uint8")
    image = Image.new(mode, (width, height))
    image.frombytes(pixels.tobytes())
    return image


def _file(image, **how):
    memory = io.BytesIO()
    image.save(memory, "JPEG", **how)
    return memory.getvalue()


def _written(image, way):
    quality, subsampling, progressive, restart = way
    how = {} if image.mode == "L" else {"subsampling": subsampling}
    return _file(image, quality=quality, progressive=progressive, restart_marker_blocks=restart, **how)


def _by_pillow(content, mode=None):
    image = Image.open(io.BytesIO(content))
    pixels = np.asarray(image if mode is None else image.convert(mode))
    return pixels[:, :, None] if pixels.ndim == 2 else pixels


def _boxes(rng, height, width, count=12):
    """(top, left, height, width) of all, of each edge and corner, and within."""
    yield 0, 0, height, width
    for _ in range(count):
        h, w = int(rng.integers(1, height + 1)), int(rng.integers(1, width + 1))
        top, left = (int(rng.choice([0, room, rng.integers(0, room + 1)])) for room in (height - h, width - w))
        yield top, left, h, w


def _check(rng, content):
    want = _by_pillow(content)
    height, width, channels = want.shape
    assert _C.jpeg_size(content) == want.shape
    for top, left, h, w in _boxes(rng, height, width):
        pixels = np.empty((h, w, channels), "uint8")
        assert _C.jpeg_pixels(content, pixels, top, left)
        assert np.array_equal(pixels, want[top : top + h, left : left + w]), (want.shape, top, left, h, w)


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
@pytest.mark.parametrize("size", _SIZES)
def test_regions_are_those_of_pillow(mode, size):
    rng = np.random.default_rng(0)
    for way in _WAYS:
        if mode != "L" or way[1] == 0:
            _check(rng, _written(_picture(rng, *size, mode), way))


class _Bits:
    """Codes of Huffman's, as the data of a scan."""

    def __init__(self):
        self.text = []

    def put(self, value, count):
        self.text.append(format(value, f"0{count}b") if count else "")

    def bytes(self):
        text = "".join(self.text)
        text += "1" * (-len(text) % 8)
        return int(text, 2).to_bytes(len(text) // 8, "big").replace(b"\xff", b"\xff\0")


def _tables(content):
    """(the segments of tables, from class and number of a table to its codes) of a file."""
    segments, codes, at = b"", {}, 2
    while content[at + 1] != 0xDA:
        kind, length = struct.unpack(">xBH", content[at : at + 4])
        if kind in (0xDB, 0xC4):
            segments += content[at : at + 2 + length]
        body = content[at + 4 : at + 2 + length]
        while kind == 0xC4 and body:
            counts, code, place, table = body[1:17], 0, 17, codes.setdefault(body[0], {})
            for bits, count in enumerate(counts, 1):
                for value in body[place : place + count]:
                    table[value], code = (code, bits), code + 1
                place, code = place + count, code << 1
            body = body[place:]
        at += 2 + length
    return segments, codes


def _sampled(rng, height, width, sampling):
    """A file of components that are sampled in any way, (across, down) of each, of coefficients drawn at random: Pillow
    writes three ways only."""
    segments, codes = _tables(_file(_picture(rng, 8, 8), quality=80))
    most = [max(s[i] for s in sampling) for i in (0, 1)]
    units = -(-width // (8 * most[0])) * -(-height // (8 * most[1]))
    bits, last = _Bits(), [0] * len(sampling)

    def put_number(size):
        value = int(rng.integers(0, 2 ** max(size - 1, 0)))
        return value + (2 ** (size - 1) if rng.random() < 0.5 and size else 0)

    def put_block(component):
        table = int(component > 0)
        size = int(rng.integers(0, 5))
        number = put_number(size)
        step = number if size and number >> (size - 1) else number - 2**size + 1
        if abs(last[component] + step) > 40:
            number, step = 2**size - 1 - number, -step
        last[component] += step
        bits.put(*codes[table][size])
        bits.put(number, size)
        for _ in range(int(rng.integers(0, 6))):
            run, size = int(rng.integers(0, 5)), int(rng.integers(1, 4))
            bits.put(*codes[16 + table][16 * run + size])
            bits.put(int(rng.integers(0, 2**size)), size)
        bits.put(*codes[16 + table][0])

    for _ in range(units):
        for component, (across, down) in enumerate(sampling):
            for _ in range(across * down):
                put_block(component)
    numbers = range(1, len(sampling) + 1)
    frame = b"".join(bytes([i, 16 * s[0] + s[1], int(i > 1)]) for i, s in zip(numbers, sampling))
    scan = b"".join(bytes([i, 17 * int(i > 1)]) for i in numbers)
    header = struct.pack(">BHHB", 8, height, width, len(sampling)) + frame
    scan = bytes([len(sampling)]) + scan + bytes([0, 63, 0])
    marked = b"".join(struct.pack(">BBH", 0xFF, kind, len(x) + 2) + x for kind, x in ((0xC0, header), (0xDA, scan)))
    return b"\xff\xd8" + segments + marked + bits.bytes() + b"\xff\xd9"


@pytest.mark.parametrize(
    "sampling",
    [[(a, d), (1, 1), (1, 1)] for a, d in ((1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4), (4, 2), (2, 4), (3, 1))]
    + [[(2, 2), (2, 1), (1, 2)], [(1, 1), (2, 2), (2, 2)], [(2, 2), (2, 2), (1, 1)], [(2, 1), (1, 1), (1, 1), (2, 1)]],
    ids=str,
)
def test_every_way_of_sampling(sampling):
    rng = np.random.default_rng(1)
    for size in _SIZES:
        _check(rng, _sampled(rng, *size, sampling))


def test_decode_jpeg_converts_as_pillow_does():
    rng = np.random.default_rng(2)
    for mode, way in itertools.product(["RGB", "L", "CMYK"], [(75, 2, False, 0), (95, 0, True, 0)]):
        content = _written(_picture(rng, 37, 53, mode), way)
        data = proa.to_tensor(np.frombuffer(content, "uint8"))
        for wanted, pillow in (("unchanged", None), ("rgb", "RGB"), ("gray", "L")):
            got = proa.vision.ops.decode_jpeg(data, wanted)
            assert got.dtype == proa.uint8
            assert np.array_equal(got.numpy(), _by_pillow(content, pillow).transpose(2, 0, 1)), (mode, wanted)


def test_a_turned_photograph_stays_turned(tmp_path):
    """As Pillow's does: ImageOps.exif_transpose is for who wants it."""
    exif = Image.Exif()
    exif[0x0112] = 6
    content = _file(_picture(np.random.default_rng(3), 20, 30), exif=exif)
    assert proa.vision.ops.decode_jpeg(proa.to_tensor(np.frombuffer(content, "uint8"))).shape == [3, 20, 30]
    (tmp_path / "a.jpg").write_bytes(content)
    image = converted(str(tmp_path / "a.jpg"), "RGB")
    assert image.size == (30, 20) and image.getexif()[0x0112] == 6
    turned = ImageOps.exif_transpose(image)
    assert turned.size == (20, 30)
    assert np.array_equal(turned, ImageOps.exif_transpose(Image.open(io.BytesIO(content))))


# Images that are decoded later -------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    name = str(tmp_path / "a.jpg")
    _picture(np.random.default_rng(4), 90, 120).save(name, quality=85)
    return name


def _plain(path):
    return Image.open(path).convert("RGB")


def test_any_cuts_and_turns(path):
    rng, plain = random.Random(5), _plain(path)
    kept = 0
    for _ in range(300):
        image, want = converted(path, "RGB"), plain
        for _ in range(rng.randrange(1, 5)):
            width, height = want.size
            kind = rng.randrange(6)
            if kind < 3:
                w, h = rng.randrange(1, width + 1), rng.randrange(1, height + 1)
                left, top = rng.randrange(-3, width - w + 3), rng.randrange(-3, height - h + 3)
                image, want = T.crop(image, top, left, h, w), want.crop((left, top, left + w, top + h))
            elif kind == 3:
                image, want = T.hflip(image), want.transpose(Image.FLIP_LEFT_RIGHT)
            elif kind == 4:
                image, want = T.vflip(image), want.transpose(Image.FLIP_TOP_BOTTOM)
            else:
                image, want = image.convert("RGB"), want.convert("RGB")
            assert image.size == want.size and image.mode == want.mode == "RGB"
        kept += isinstance(image, Undecoded)
        tensor = T.to_tensor(image)
        assert np.array_equal(tensor.numpy(), T.to_tensor(np.asarray(want)).numpy())
        assert image == want and want == image
        assert np.array_equal(np.asarray(image), np.asarray(want))
    assert kept > 50


def test_is_used_as_any_image(path):
    plain = _plain(path)
    assert converted(path, "RGB") == plain and converted(path, "RGB").info == plain.info
    assert converted(path, "RGB") != plain.crop((0, 0, 9, 9)) and converted(path, "RGB") != 3
    copy = pickle.loads(pickle.dumps(converted(path, "RGB").crop((3, 4, 50, 60))))  # noqa: S301
    assert type(copy) is Image.Image and copy == plain.crop((3, 4, 50, 60))
    image = converted(path, "RGB")
    parts = [image.crop((i, i, i + 20, i + 30)) for i in range(5)]
    assert [type(part) for part in parts] == [Undecoded, Undecoded, *3 * [Image.Image]]
    image.putpixel((0, 0), (1, 2, 3))
    assert image.getpixel((0, 0)) == (1, 2, 3) and np.asarray(image.crop((0, 0, 2, 2)))[0, 0].tolist() == [1, 2, 3]
    assert all(part == plain.crop((i, i, i + 20, i + 30)) for i, part in enumerate(parts))
    for change in (
        lambda x: x.resize((31, 17)),
        lambda x: x.rotate(30),
        lambda x: x.convert("L"),
        lambda x: x.transpose(Image.ROTATE_90),
        lambda x: x.copy(),
        lambda x: x.crop(),
        lambda x: Image.blend(x, plain, 0.5),
        lambda x: Image.merge("RGB", x.split()[::-1]),
        lambda x: ImageOps.autocontrast(x),
        lambda x: T.RandomErasing(0.0)(T.adjust_brightness(x, 0.7)),
        lambda x: T.pad(x, 3),
        lambda x: T.resize(T.center_crop(x, 40), 20),
    ):
        assert change(converted(path, "RGB")) == change(plain)
    kept = T.hflip(converted(path, "RGB"))
    array = np.asarray(kept)
    assert not array.flags.writeable and np.array_equal(array, plain.transpose(Image.FLIP_LEFT_RIGHT))
    kept.putpixel((0, 0), (1, 2, 3))
    assert np.asarray(kept)[0, 0].tolist() == [1, 2, 3] and np.array_equal(np.asarray(kept)[1:], array[1:])
    closed = converted(path, "RGB")
    closed.close()
    with pytest.raises(ValueError, match="closed"):
        closed.getpixel((0, 0))


def test_what_pillow_opened_is_cut_without_decoding_it_all(path):
    plain = _plain(path)
    with open(path, "rb") as file:
        content = file.read()
    for image in (Image.open(io.BytesIO(content)), image_load(path)):
        assert image.format == "JPEG"
        part = T.crop(image, 5, 6, 40, 30)
        assert type(part) is Undecoded and part == plain.crop((6, 5, 36, 45))
        image.load()
        assert type(T.crop(image, 5, 6, 40, 30)) is Image.Image
    scaled = Image.open(io.BytesIO(content))
    scaled.draft("RGB", (60, 45))
    assert type(T.crop(scaled, 0, 0, 8, 8)) is Image.Image
    gray = _file(plain.convert("L"))
    assert type(T.crop(Image.open(io.BytesIO(gray)), 0, 0, 8, 8)) is Image.Image


def test_images_keep_no_file_open(path):
    before = len(os.listdir("/proc/self/fd"))
    images = [image_load(path) for _ in range(20)] + [converted(path, "RGB") for _ in range(20)]
    assert len(os.listdir("/proc/self/fd")) == before and images[0].filename == path


def test_damage_is_an_error_that_names_the_file(path, tmp_path):
    with open(path, "rb") as file:
        content = file.read()
    cut = str(tmp_path / "cut.jpg")
    with open(cut, "wb") as file:
        file.write(content[: len(content) // 2])
    with pytest.raises(ValueError, match="truncated") as expected:
        converted(cut, "L")
    for use in (np.asarray, T.to_tensor, pickle.dumps, lambda x: T.to_tensor(T.crop(x, 70, 0, 20, 20))):
        with pytest.raises(ValueError, match="cut.jpg: no whole image of a kind that Pillow reads") as found:
            use(converted(cut, "RGB"))
        assert type(found.value) is type(expected.value) and "truncated" in str(found.value)
    # Rows above it are whole.
    assert T.crop(converted(cut, "RGB"), 0, 0, 20, 30) == _plain(path).crop((0, 0, 30, 20))
    # Of what is doubted, Pillow's pixels.
    at = content.index(b"\xff\xda") + 200
    doubted = content[:at] + b"\xff\xd3" + content[at + 2 :]
    with open(cut, "wb") as file:
        file.write(doubted)
    assert not _C.jpeg_pixels(doubted, np.empty((90, 120, 3), "uint8"))
    for box in ((0, 0, 20, 30), (40, 50, 50, 70)):
        assert T.crop(converted(cut, "RGB"), *box) == T.crop(_plain(cut), *box)


# Pixels as planes --------------------------------------------------------------------------------------------------------

_MEAN, _STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def _by_ops(image, mean, std):
    array = np.asarray(image)
    array = array[:, :, None] if array.ndim == 2 else array
    x = proa.to_tensor(array.transpose(2, 0, 1).copy()).astype("float32") / 255
    return x, (x - proa.to_tensor(np.float32(mean).reshape(-1, 1, 1))) / proa.to_tensor(
        np.float32(std).reshape(-1, 1, 1)
    )


def test_to_tensor_and_normalize_are_the_ops_to_the_bit(path):
    plain = _plain(path)
    array = np.asarray(plain)
    rgb = [
        plain,
        converted(path, "RGB"),
        T.hflip(converted(path, "RGB").crop((3, 4, 50, 60))),
        array,
        array[::-1],
        array[:, ::-1],
        array[::2, ::3],
        array[:, :1],
        np.asfortranarray(array),
        array.transpose(1, 0, 2),
    ]
    gray = [plain.convert("L"), array[..., 0], array[..., :1], array[::2, 5:9, 1]]
    others = [array[..., :2], plain.convert("CMYK"), plain.convert("RGBA"), plain.convert("P")]
    for image in rgb + gray + others:
        channels = 1 if np.asarray(image).ndim == 2 else np.asarray(image).shape[2]
        both = [(0.5, 0.25)] + [(_MEAN, _STD)] * (channels == 3) + [([0.1] * channels, [0.0] * channels)]
        for mean, std in both:
            unit, want = _by_ops(image, mean, std)
            assert np.array_equal(T.to_tensor(image).numpy(), unit.numpy())
            normalize = T.Normalize(mean, std)
            if channels not in (1, 3) and not isinstance(mean, list):
                normalize.mean, normalize.std = [mean], [std]  # one number is of three channels otherwise
            elif channels == 1 and not isinstance(mean, list):
                want = want.expand([3, -1, -1])
            np.testing.assert_array_equal(T.Compose([T.ToTensor(), normalize])(image).numpy(), want.numpy())


def test_what_compose_does_not_join(path):
    image = np.asarray(_plain(path))
    normalize = T.Normalize(_MEAN, _STD)
    want = normalize(T.ToTensor()(image)).numpy()
    assert np.array_equal(T.Compose([T.ToTensor(), normalize])((image, 3))[0].numpy(), want)

    class Doubled(T.ToTensor):
        def _apply_image(self, img):
            return 2 * super()._apply_image(img)

    assert not np.array_equal(T.Compose([Doubled(), normalize])(image).numpy(), want)
    rows = T.Compose([T.ToTensor("HWC"), T.Normalize(_MEAN, _STD, "HWC")])(image)
    np.testing.assert_allclose(rows.numpy().transpose(2, 0, 1), want, rtol=1e-6)
    floats = T.Compose([T.ToTensor(), normalize])(image.astype("float32"))
    assert floats.dtype == proa.float32 and floats.shape == list(want.shape)
    with pytest.raises(ValueError, match="one for each channel"):
        T.Compose([T.ToTensor(), T.Normalize([0.5] * 2, [0.5] * 2)])(image)
    changed = T.Compose([T.ToTensor(), normalize])
    changed.transforms[1] = lambda x: x + 1
    assert np.array_equal(changed(image).numpy(), (T.ToTensor()(image) + 1).numpy())


def test_workers_give_what_the_process_gives(tmp_path):
    rng = np.random.default_rng(6)
    for i in range(12):
        (tmp_path / f"{i % 2}").mkdir(exist_ok=True)
        _picture(rng, 60, 80).save(tmp_path / f"{i % 2}" / f"{i}.jpg")
    steps = [T.CenterCrop(40), T.RandomHorizontalFlip(1.0), T.ToTensor(), T.Normalize(_MEAN, _STD)]
    data = proa.vision.datasets.DatasetFolder(str(tmp_path), transform=T.Compose(steps))
    loaded = [
        np.concatenate([x.numpy() for x, _ in proa.io.DataLoader(data, batch_size=4, num_workers=workers)])
        for workers in (0, 2)
    ]
    want = np.stack([steps[3](steps[2](T.hflip(T.center_crop(_plain(path), 40)))).numpy() for path, _ in data.samples])
    assert np.array_equal(loaded[0], want) and np.array_equal(loaded[1], want)
