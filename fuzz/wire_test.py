"""Program files are taken apart and put together as they were."""

import random

import proa
from fuzz import replay, wire


def _file(tmp_path):
    prefix = str(tmp_path / "model")
    program, feeds, outputs = replay._recorded(
        lambda x: proa.nn.functional.relu(proa.reshape(x * 2.5, [-1])),
        [replay.tensor("float32", [2, 3])],
        {},
        False,
        False,
    )
    proa._C.save_program(prefix, program, list(feeds), outputs)
    return (tmp_path / "model.pdmodel").read_bytes()


def test_a_file_is_written_as_it_was_read(tmp_path):
    data = _file(tmp_path)
    payload = data[24:]
    assert wire.write(wire.read(payload)) == payload
    assert wire.sealed(data[:8], payload) == data


def test_a_change_is_the_same_for_the_same_number_and_another_for_others(tmp_path):
    data = _file(tmp_path)
    for how in ("bytes", "payload", "structure"):
        changed = [wire.changed_file(data, how, n) for n in range(20)]
        assert changed == [wire.changed_file(data, how, n) for n in range(20)]
        assert len(set(changed)) > 15


def test_changes_reach_the_reader(tmp_path):
    """Most changed files get past the checksum: the structure of the rest is what is wrong with them."""
    data, said = _file(tmp_path), []
    for n in range(100):
        (tmp_path / "model.pdmodel").write_bytes(wire.changed_file(data, "structure", n))
        try:
            proa._C.load_program(str(tmp_path / "model"))
            said.append("")
        except (ValueError, RuntimeError, NotImplementedError, OSError, IndexError) as e:
            said.append(str(e))
    assert not any("checksum" in s for s in said)
    assert len(set(said)) > 10


def test_crc():
    assert wire.crc32c(b"123456789") == 0xE3069283
    assert wire.write(wire.read(b"\x08\x96\x01")) == b"\x08\x96\x01"
    wire.change([], random.Random(0))
