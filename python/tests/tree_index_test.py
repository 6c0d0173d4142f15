"""TreeIndex and InMemoryDataset.tdm_sample, on trees that the tests write byte by byte, beside walks over plain dicts."""

import collections
import struct

import numpy as np
import pytest

import proa
from proa.distributed import InMemoryDataset
from proa.distributed.fleet.dataset import TreeIndex


def _field(number, data):
    assert len(data) < 128
    return bytes([number << 3 | 2, len(data)]) + data


def _varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def _record(key, value):
    body = _field(1, key) + _field(2, value)
    return struct.pack("<i", len(body)) + body


def tree_bytes(nodes, height, branch):
    """A file of nodes {code: (id, whether a leaf, probability)}."""
    meta = b"\x08" + _varint(height) + b"\x10" + _varint(branch)
    parts = [_record(b".tree_meta", meta)]
    for code, (number, leaf, probability) in nodes.items():
        node = b"\x08" + _varint(number) + b"\x10" + bytes([leaf]) + b"\x1d" + struct.pack("<f", probability)
        parts.append(_record(b"%d" % code, node))
    return b"".join(parts)


def nodes_of(height, branch, leaves):
    """A tree of which some places of the last layer are items 1, 2, ...: nodes above get ids from 1000 on."""
    first = sum(branch**layer for layer in range(height - 1))
    nodes = {}
    for item, place in enumerate(leaves, 1):
        code = first + place
        nodes[code] = (item, 1, item / 4)
        while code:
            code = (code - 1) // branch
            nodes[code] = (1000 + code, 0, 0.0)
    return nodes


SHAPES = [(4, 2, range(8)), (4, 2, (0, 3, 5, 6, 7)), (3, 3, (0, 1, 4, 8)), (3, 5, (0, 7, 24))]


def written(tmp_path, *shape):
    nodes = nodes_of(*shape)
    (tmp_path / "tree").write_bytes(tree_bytes(nodes, *shape[:2]))
    return nodes, TreeIndex("tree", tmp_path / "tree")


@pytest.mark.parametrize("shape", SHAPES)
def test_walks(shape, tmp_path):
    height, branch, leaves = shape
    nodes, tree = written(tmp_path, *shape)
    assert (tree.height(), tree.branch(), tree.total_node_nums()) == (height, branch, len(nodes))
    assert tree.emb_size() == 1 + max(number for number, _, _ in nodes.values())
    assert sorted(n.id() for n in tree.get_all_leafs()) == list(range(1, len(leaves) + 1))

    layers = [[0]]
    for _ in range(height):
        layers.append([c * branch + i for c in layers[-1] for i in range(1, branch + 1)])
    for level in range(height + 1):
        assert tree.get_layer_codes(level) == [c for c in layers[level] if c in nodes]

    for item, place in enumerate(leaves, 1):
        way = [layers[height - 1][place]]
        while way[-1]:
            way.append((way[-1] - 1) // branch)
        for start in range(height):
            assert tree.get_travel_codes(item, start) == way[: height - start]
            assert tree.get_ancestor_codes([item], start) == [way[height - 1 - start]]
        assert tree.get_travel_path(way[0], way[-1]) == way[:-1]
        assert [n.id() for n in tree.get_nodes(way)] == [nodes[c][0] for c in way]
        assert tree.get_nodes(way)[0].probability() == item / 4
        assert [n.is_leaf() for n in tree.get_nodes(way)] == [True] + [False] * (height - 1)
    assert tree.get_pi_relation([1, 99], 1) == {1: tree.get_travel_codes(1, 1)[-1], 99: max(nodes) + 1}
    assert tree.get_nodes([max(nodes) + 1])[0].id() == 0

    for code in nodes:
        below, level = [code], 0
        while code not in layers[level]:
            level += 1
        for deeper in range(level, height):
            assert tree.get_children_codes(code, deeper) == [c for c in below if c in nodes]
            below = [c * branch + i for c in below for i in range(1, branch + 1)]
        assert tree.get_children_codes(code, level - 1) == []


def test_samples_of_layers(tmp_path):
    nodes, tree = written(tmp_path, 4, 2, (0, 3, 5, 6, 7))
    with pytest.raises(ValueError, match="init_layerwise_sampler first"):
        tree.layerwise_sample([[1]], [1])
    tree.init_layerwise_sampler([1, 2, 3], start_sample_layer=1, seed=3)
    users, items = [[1, 5], [4, 2]] * 300, [2, 5] * 300
    rows = tree.layerwise_sample(users, items)
    assert len(rows) == 600 * (2 + 3 + 4)
    drawn = collections.defaultdict(collections.Counter)
    for i, (user, item) in enumerate(zip(users, items)):
        part = rows[9 * i : 9 * i + 9]
        assert all(row[:2] == user for row in part)
        at = 0
        for layer, count in ((3, 3), (2, 2), (1, 1)):  # from the leaves up; counts are given from the first layer down
            own = nodes[tree.get_ancestor_codes([item], layer)[0]][0]
            assert part[at][2:] == [own, 1]
            for row in part[at + 1 : at + 1 + count]:
                assert row[3] == 0 and row[2] != own
                drawn[layer, own][row[2]] += 1
            at += 1 + count
    for (layer, own), counts in drawn.items():
        others = {nodes[c][0] for c in tree.get_layer_codes(layer)} - {own}
        assert set(counts) == others  # every one, alike
        assert min(counts.values()) > 0.7 * sum(counts.values()) / len(others)


def test_ancestors_of_what_users_liked(tmp_path):
    nodes, tree = written(tmp_path, 4, 2, range(8))
    tree.init_layerwise_sampler([1, 1], start_sample_layer=2, seed=1)
    rows = tree.layerwise_sample([[1, 8, 77]], [3], with_hierarchy=True)
    assert [row[:3] for row in rows[:2]] == [[1, 8, 77]] * 2
    above = [nodes[c][0] for c in tree.get_ancestor_codes([1, 8], 2)]
    assert [row[:3] for row in rows[2:]] == [[*above, 0]] * 2


def test_seeds(tmp_path):
    _, tree = written(tmp_path, 4, 2, range(8))

    def rows(seed):
        tree.init_layerwise_sampler([2, 3, 4], seed=seed)
        return tree.layerwise_sample([[1]], [3])

    assert rows(5) == rows(5) != rows(6)
    proa.seed(1)
    first, second = rows(0), rows(0)
    proa.seed(1)
    assert rows(0) == first != second


def test_what_cannot_be_sampled(tmp_path):
    _, tree = written(tmp_path, 3, 2, (0, 1))  # one node in layer 1
    with pytest.raises(ValueError, match="1 other nodes of layer 1, which has 1"):
        tree.init_layerwise_sampler([1, 1])
    with pytest.raises(ValueError, match="start_sample_layer must be from 1 to 2, not 3"):
        tree.init_layerwise_sampler([1], 3)
    tree.init_layerwise_sampler([0, 1])
    with pytest.raises(ValueError, match="no item 7 in the tree 'tree'"):
        tree.layerwise_sample([[1]], [7])
    assert len(tree.layerwise_sample([[1]], [2])) == 3


def test_files_that_are_no_trees(tmp_path):
    good = tree_bytes(nodes_of(3, 2, range(4)), 3, 2)
    for data, says in [
        (b"", "height and branch are missing"),
        (good[:-1], "a record of 1[0-9] bytes at byte"),
        (good[:40] + b"\xff\xff\xff\x7f" + good[44:], "no tree of items"),
        (tree_bytes({0: (1, 1, 0)}, 3, 1), "3 with 1 branches"),
        (tree_bytes({0: (1, 1, 0)}, 2**20, 2), "a tree of height 1048576"),
        (tree_bytes({7: (1, 1, 0)}, 3, 2), "the node 7 lies below its 3 layers"),
        (_record(b"-1", b""), "the key b'-1' is no code"),
    ]:
        (tmp_path / "bad").write_bytes(data)
        with pytest.raises(ValueError, match=f"bad: .*{says}"):
            TreeIndex("bad", tmp_path / "bad")


@pytest.fixture
def static():
    proa.enable_static()
    yield
    proa.disable_static()


def dataset(tmp_path, lines, label="int64"):
    (tmp_path / "part").write_text(lines)
    made = InMemoryDataset()
    with proa.static.program_guard(proa.static.Program()):
        variables = [
            proa.static.data("user", [None, 2], "int64"),
            proa.static.data("item", [None, 1], "int64"),
            proa.static.data("label", [None, 1], label),
        ]
    made.init(batch_size=1000, use_var=variables)
    made.set_filelist([tmp_path / "part"])
    return made


@pytest.mark.parametrize("slot, label", [("item", "int64"), (1, "float32")])
def test_a_data_set(slot, label, static, tmp_path):
    nodes, tree = written(tmp_path, 4, 2, range(8))
    data = dataset(tmp_path, "2 50 51 1 3 1 1\n2 60 61 1 8 1 1\n", label)
    sample = ["tree", tmp_path / "tree", [1, 2], 2, False, 4, slot]
    with pytest.raises(RuntimeError, match="load_into_memory first"):
        data.tdm_sample(*sample)
    data.load_into_memory()
    data.tdm_sample(*sample)
    assert data.get_memory_data_size() == 2 * (3 + 2)
    (feed,) = data.batches()
    tree.init_layerwise_sampler([1, 2], 2, seed=4)
    rows = np.array(tree.layerwise_sample([[50, 51], [60, 61]], [3, 8]))
    assert np.array_equal(np.concatenate([feed["user"], feed["item"], feed["label"]], 1), rows)
    assert feed["item"].dtype == np.int64 and feed["label"].dtype == np.dtype(label)


def test_a_data_set_without_items(static, tmp_path):
    written(tmp_path, 4, 2, range(8))
    data = dataset(tmp_path, "2 50 51 1 9 1 1\n")
    data.load_into_memory()
    for slot in ("label", "none", 2, -1, None):
        with pytest.raises(ValueError, match="id_slot must be an int64 slot with the label behind it"):
            data.tdm_sample("tree", tmp_path / "tree", [1], 1, False, 0, slot)
    with pytest.raises(ValueError, match="no item 9"):
        data.tdm_sample("tree", tmp_path / "tree", [1], 1, False, 0, "item")
    with pytest.raises(ValueError, match="slot 'user' has 2 items in a sample"):
        data.tdm_sample("tree", tmp_path / "tree", [1], 1, False, 0, "user")
    assert data.get_memory_data_size() == 1
