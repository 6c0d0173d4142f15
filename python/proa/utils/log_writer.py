"""LogWriter: numbers, distributions, images, texts and graphs of a training, in event files that TensorBoard shows.

A file is a row of records: the size of an event, its checksum, the event, its checksum. An event is a protocol buffer
(tensorflow/core/util/event.proto), written here field by field.
"""

import functools
import os
import socket
import struct
import time
import zlib

import numpy as np

from proa import _C
from proa.utils import proto_fields

__all__ = ["LogWriter"]


@functools.cache
def _table():
    """CRC-32C of each byte."""
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


def _checksum(data):
    """CRC-32C, turned and shifted as the format has it."""
    table, crc = _table(), 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _png(pixels):
    """An array [H, W, C] of bytes as a PNG image."""
    height, width, channels = pixels.shape
    rows = np.concatenate([np.zeros([height, 1], "uint8"), pixels.reshape(height, -1)], 1)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    color = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows.tobytes()))
        + chunk(b"IEND", b"")
    )


def _array(value):
    return value.numpy() if isinstance(value, _C.Tensor) else np.asarray(value)


class LogWriter:
    """Writes events to a new file in a folder; each is in the file when the call returns.

    Args:
        logdir (str): the folder; made if it is missing. "runs/<time>" unless given.
        file_name (str, optional): the file's name; it must hold "tfevents" for TensorBoard to find it.

    Raises:
        OSError: the file cannot be written.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with proa.utils.LogWriter(folder) as writer:
        ...     for step in range(3):
        ...         writer.add_scalar("loss", 1.0 / (step + 1), step)
        >>> ["tfevents" in name for name in os.listdir(folder)]
        [True]
    """

    def __init__(self, logdir=None, file_name=None):
        self.logdir = logdir or os.path.join("runs", time.strftime("%Y-%m-%d_%H-%M-%S"))
        os.makedirs(self.logdir, exist_ok=True)
        name = (
            file_name
            or f"events.out.tfevents.{time.time_ns() // 10**9}.{socket.gethostname()}.{os.getpid()}.{time.time_ns()}"
        )
        self.file_name = os.path.join(self.logdir, name)
        self._file = open(self.file_name, "xb", buffering=0)
        self._write(proto_fields.double_field(1, time.time()) + proto_fields.bytes_field(3, b"brain.Event:2"))

    def _write(self, event):
        if self._file is None:
            raise _C.located(ValueError("LogWriter: the file is closed"))
        size = struct.pack("<Q", len(event))
        # At once, so that a reader sees whole records, and so does who comes after a kill.
        self._file.write(size + _checksum(size) + event + _checksum(event))

    def _add(self, tag, value, step, walltime):
        event = proto_fields.double_field(1, time.time() if walltime is None else walltime)
        if step is not None:
            event += proto_fields.integer_field(2, int(step))
        self._write(
            event
            + proto_fields.bytes_field(
                5, proto_fields.bytes_field(1, proto_fields.bytes_field(1, str(tag).encode()) + value)
            )
        )

    def add_scalar(self, tag, value, step=None, walltime=None):
        """A number.

        Args:
            tag (str): its name; slashes make groups.
            value (float|Tensor): of one element.
            step (int, optional): when.
            walltime (float, optional): seconds since 1970; now unless given.
        """
        self._add(tag, proto_fields.float_field(2, float(_array(value).reshape(()))), step, walltime)

    def add_histogram(self, tag, values, step=None, walltime=None, buckets=30):
        """How numbers are distributed; what is not finite is left out.

        Args:
            values (Tensor|array): the numbers.
            buckets (int): parts of their range.
        """
        values = _array(values).astype("float64").ravel()
        values = values[np.isfinite(values)]
        if values.size:
            counts, edges = np.histogram(values, bins=buckets)
            figures = [values.min(), values.max(), values.size, values.sum(), (values**2).sum()]
        else:
            counts, edges, figures = [0], [0.0, 0.0], [0.0] * 5
        data = b"".join(proto_fields.double_field(i, float(figure)) for i, figure in enumerate(figures, 1))
        self._add(
            tag,
            proto_fields.bytes_field(
                5, data + proto_fields.doubles_field(6, edges[1:]) + proto_fields.doubles_field(7, counts)
            ),
            step,
            walltime,
        )

    def add_image(self, tag, img, step=None, walltime=None, dataformats="HWC"):
        """An image.

        Args:
            img (Tensor|array): uint8, or floating point in 0..1, of 1 to 4 channels.
            dataformats (str): "HWC", "CHW" or "HW".

        Raises:
            ValueError: img has other dims.
        """
        pixels = _array(img)
        if dataformats not in ("HWC", "CHW", "HW") or pixels.ndim != len(dataformats):
            raise _C.located(
                ValueError(f"LogWriter.add_image: img is {list(pixels.shape)}, and dataformats {dataformats!r}")
            )
        pixels = {"HWC": lambda p: p, "CHW": lambda p: p.transpose(1, 2, 0), "HW": lambda p: p[:, :, None]}[
            dataformats
        ](pixels)
        if not 1 <= pixels.shape[2] <= 4 or 0 in pixels.shape:
            raise _C.located(
                ValueError(f"LogWriter.add_image: img must have 1 to 4 channels and pixels; it is {list(pixels.shape)}")
            )
        if pixels.dtype != np.uint8:
            pixels = np.rint(np.clip(np.nan_to_num(pixels), 0, 1) * 255).astype("uint8")
        height, width, channels = pixels.shape
        data = (
            proto_fields.integer_field(1, height)
            + proto_fields.integer_field(2, width)
            + proto_fields.integer_field(3, channels)
            + proto_fields.bytes_field(4, _png(pixels))
        )
        self._add(tag, proto_fields.bytes_field(4, data), step, walltime)

    def add_graph(self, model, input_spec=None, verbose=False):
        """What a network computes: parameters, operations and the shapes between them, in groups by layer.

        Args:
            model (Layer|Program): the network, or a program of `paddle.static`.
            input_spec (InputSpec|Tensor|list): what the network takes; not for a program.
            verbose (bool): print the program, too.

        Examples:
            >>> import tempfile
            >>> with proa.utils.LogWriter(tempfile.mkdtemp()) as writer:
            ...     writer.add_graph(proa.nn.Linear(4, 2), [proa.static.InputSpec([None, 4])])
        """
        from proa.utils import log_graph

        text = log_graph.program_text(model, input_spec)
        if verbose:
            print(text)
        self._write(proto_fields.double_field(1, time.time()) + proto_fields.bytes_field(4, log_graph.graph(text)))

    def add_text(self, tag, text_string, step=None, walltime=None):
        """A text, which TensorBoard shows as Markdown."""
        # A tensor of one string (dtype 7, no dims); the plugin's name tells what it is.
        value = proto_fields.integer_field(1, 7) + proto_fields.bytes_field(2, b"")
        value += proto_fields.bytes_field(8, str(text_string))
        plugin = proto_fields.bytes_field(1, proto_fields.bytes_field(1, "text"))
        self._add(tag, proto_fields.bytes_field(9, plugin) + proto_fields.bytes_field(8, value), step, walltime)

    def flush(self):
        """Puts what was written on the disk."""
        if self._file is not None:
            os.fsync(self._file.fileno())

    def close(self):
        """Ends the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
