"""A tree whose leaves are items, for recommendation by tree-based deep models (TDM): a model learns, layer by layer, which
node an item that a user likes lies below, beside other nodes of that layer.

Nodes are numbered by codes: the root is 0, and the children of c are c * branch + 1 and following. A node has an id, as
embeddings have; the ids of leaves are those of items.

A file is a sequence of records, each a length (int32) and a message of protocol buffers: a key (1) and a value (2), both
bytes. The value below ".tree_meta" holds height (1) and branch (2); below the code in decimals stands a node: id (1),
whether it is a leaf (2), probability (3).
"""

import bisect
import random
import struct

from proa import _C
from proa.framework.attributes import a_list, ints, known_int
from proa.framework.container import FileError
from proa.framework.damage import damage_named
from proa.onnx.wire import Form, read

__all__ = ["TreeIndex"]

_FORMS = {
    "record": Form("record", {1: ("key", "bytes", False), 2: ("value", "bytes", False)}),
    "meta": Form("meta", {1: ("height", "int", False), 2: ("branch", "int", False)}),
    "node": Form("node", {1: ("id", "int", False), 2: ("is_leaf", "int", False), 3: ("probability", "float", False)}),
}
# Codes are numbers of 64 bits: a tree of two branches has so many layers.
_MOST_LAYERS = 64


class Node:
    """A node: `id()`, `is_leaf()` and `probability()`."""

    def __init__(self, number=0, leaf=False, probability=0.0):
        self._id, self._leaf, self._probability = number, leaf, probability

    def id(self):
        """Its number among items or embeddings; 0 of what is no node."""
        return self._id

    def is_leaf(self):
        """Whether it is an item."""
        return self._leaf

    def probability(self):
        """How often it occurs, as who made the tree has it."""
        return self._probability

    def __repr__(self):
        return f"Node(id={self._id}, is_leaf={self._leaf}, probability={self._probability})"


class TreeIndex:
    """The tree in a file.

    Args:
        name (str): of the tree.
        path (str): the file.

    Raises:
        ValueError: the file is not whole, or no tree.

    Examples:
        >>> import os, struct, tempfile
        >>> def field(n, data):
        ...     return bytes([n << 3 | 2, len(data)]) + data
        >>> def record(key, value):
        ...     body = field(1, key) + field(2, value)
        ...     return struct.pack("<i", len(body)) + body
        >>> nodes = {0: (7, 0), 1: (8, 0), 2: (9, 0), 3: (1, 1), 4: (2, 1), 5: (3, 1)}
        >>> path = os.path.join(tempfile.mkdtemp(), "tree")
        >>> with open(path, "wb") as file:
        ...     _ = file.write(record(b".tree_meta", bytes([8, 3, 16, 2])))
        ...     for code, (number, leaf) in nodes.items():
        ...         _ = file.write(record(b"%d" % code, bytes([8, number, 16, leaf, 29]) + bytes(4)))
        >>> tree = proa.distributed.fleet.dataset.TreeIndex("items", path)
        >>> tree.height(), tree.branch(), tree.total_node_nums()
        (3, 2, 6)
        >>> [node.id() for node in tree.get_nodes(tree.get_travel_codes(3, start_level=1))]
        [3, 9]
        >>> tree.init_layerwise_sampler([1, 1], seed=5)
        >>> [row[:2] for row in tree.layerwise_sample([[10]], [3]) if row[2] == 1]  # the user, and what is above item 3
        [[10, 3], [10, 9]]
    """

    def __init__(self, name, path):
        self._name = name
        self._nodes, self._codes, self._height, self._branch = _read(path)
        self._layers = {}
        for code in sorted(self._nodes):
            self._layers.setdefault(_layer_of(code, self._branch), []).append(code)
        self._sampler = None

    # What it is

    def height(self):
        """How many layers it has."""
        return self._height

    def branch(self):
        """How many children a node has at most."""
        return self._branch

    def total_node_nums(self):
        """How many nodes it has."""
        return len(self._nodes)

    def emb_size(self):
        """How many rows an embedding of all ids needs."""
        return 1 + max((node.id() for node in self._nodes.values()), default=0)

    # Nodes

    def get_all_leafs(self):
        """The nodes that are items."""
        return [self._nodes[code] for code in self._codes.values()]

    def get_nodes(self, codes):
        """The node of each code; one of id 0 for a code without a node."""
        return [self._nodes.get(code) or Node() for code in a_list("TreeIndex.get_nodes", "codes", codes)]

    def get_layer_codes(self, level):
        """The codes of the nodes of a layer; the root's is 0."""
        return list(self._layers.get(known_int("TreeIndex.get_layer_codes", "level", level), ()))

    def get_travel_codes(self, id, start_level=0):  # noqa: A002
        """The codes from the leaf of an item up to a layer.

        Raises:
            ValueError: there is no such item.
        """
        code = self._code(id)
        found, level = [], _layer_of(code, self._branch)
        while level >= start_level:
            found.append(code)
            code, level = (code - 1) // self._branch, level - 1
        return found

    def get_ancestor_codes(self, ids, level):
        """The code in a layer that each item lies below; what is no item has one that no node has."""
        nowhere = 1 + max(self._nodes, default=0)
        return [
            self._ancestor(self._codes[item], level) if item in self._codes else nowhere
            for item in a_list("TreeIndex.get_ancestor_codes", "ids", ids)
        ]

    def get_children_codes(self, ancestor, level):
        """The codes of the nodes of a layer that lie below a node."""
        below, first, count = _layer_of(ancestor, self._branch), ancestor, 1
        while below < level:
            first, count, below = first * self._branch + 1, count * self._branch, below + 1
        codes = self._layers.get(level, ()) if below == level else ()
        return list(codes[bisect.bisect_left(codes, first) : bisect.bisect_left(codes, first + count)])

    def get_travel_path(self, child, ancestor):
        """The codes from a node up to, but without, one above it."""
        found = []
        while child > ancestor:
            found.append(child)
            child = (child - 1) // self._branch
        return found

    def get_pi_relation(self, ids, level):
        """For each item its code in a layer: {id: code}."""
        return dict(zip(ids, self.get_ancestor_codes(ids, level)))

    def _code(self, item):
        if item not in self._codes:
            raise _C.located(ValueError(f"TreeIndex: there is no item {item!r} in the tree {self._name!r}"))
        return self._codes[item]

    def _ancestor(self, code, level):
        for _ in range(_layer_of(code, self._branch) - max(level, 0)):
            code = (code - 1) // self._branch
        return code

    # Samples

    def init_layerwise_sampler(self, layer_sample_counts, start_sample_layer=1, seed=0):
        """Decides how `layerwise_sample` draws.

        Args:
            layer_sample_counts (list[int]): how many other nodes are drawn in each layer from `start_sample_layer` down; one
                in layers that are not mentioned.
            start_sample_layer (int): the first layer, from 1.
            seed (int): of the draws; 0 leaves it to `proa.seed`.

        Raises:
            ValueError: there is no such layer, or it has no other node to draw.
        """
        op = "TreeIndex.init_layerwise_sampler"
        top, given = (
            known_int(op, "start_sample_layer", start_sample_layer),
            ints(op, "layer_sample_counts", layer_sample_counts),
        )
        if not 1 <= top < self._height:
            raise _C.located(
                ValueError(f"{op}: start_sample_layer must be from 1 to {self._height - 1}, not {start_sample_layer}")
            )
        counts = dict(zip(range(top, self._height), [*given, *[1] * self._height]))
        for layer, count in counts.items():
            if count < 0 or count and len(self._layers.get(layer, ())) < 2:
                there = len(self._layers.get(layer, ()))
                raise _C.located(ValueError(f"{op}: {count} other nodes of layer {layer}, which has {there}"))
        self._sampler = counts, top, _random(known_int(op, "seed", seed))

    def layerwise_sample(self, user_input, index_input, with_hierarchy=False):
        """Rows to learn from: for each item, its nodes from the leaf up, and behind each other nodes of its layer.

        Args:
            user_input (list[list[int]]): numbers that stand before, for each item.
            index_input (list[int]): ids of items.
            with_hierarchy (bool): numbers of `user_input`, which are items then, become their ancestors in the layer.

        Returns:
            list[list[int]]: [*numbers of the user, id of a node, 1 for the item's own or 0].
        """
        rows = []
        for user, item in zip(user_input, index_input, strict=True):
            for layer, node, own in self.drawn(item):
                numbers = user
                if with_hierarchy and layer < self._height - 1:
                    numbers = [n.id() for n in self.get_nodes(self.get_ancestor_codes(user, layer))]
                rows.append([*numbers, node.id(), own])
        return rows

    def drawn(self, item):
        """(layer, node, 1 or 0) of the nodes of an item from the leaf up, and others behind each."""
        if self._sampler is None:
            raise _C.located(ValueError("TreeIndex: call init_layerwise_sampler first"))
        counts, top, draw = self._sampler
        for code in self.get_travel_codes(item, top):
            layer = _layer_of(code, self._branch)
            codes = self._layers[layer]
            yield layer, self._nodes.get(code) or Node(), 1
            at = bisect.bisect_left(codes, code)
            there = at < len(codes) and codes[at] == code
            for _ in range(counts[layer]):
                other = draw.randrange(len(codes) - there)
                yield layer, self._nodes[codes[other + (there and other >= at)]], 0


def _random(seed):
    if seed:
        return random.Random(seed)
    with _C.eager_mode():
        return random.Random(int(_C.ops.randint(0, 2**31 - 1, [1]).item()))


def _layer_of(code, branch):
    layer, first, count = 0, 0, 1
    while code >= first + count:
        layer, first, count = layer + 1, first + count, count * branch
    return layer


def _read(path):
    """({code: node}, {id of an item: code}, height, branch) of a file."""
    with open(path, "rb") as file:
        data = memoryview(file.read())
    nodes, meta, at = {}, None, 0
    with damage_named("no tree of items", path):
        while at < len(data):
            (size,) = struct.unpack_from("<i", data, at)
            if not 0 < size <= len(data) - at - 4:
                raise FileError(f"a record of {size} bytes at byte {at} of {len(data)}")
            record = read(data, _FORMS, "record", at + 4, at + 4 + size)
            at += 4 + size
            key, value = bytes(record.key), memoryview(record.value)
            if key == b".tree_meta":
                meta = read(value, _FORMS, "meta")
            elif len(key) <= 20 and key.isdigit():
                node = read(value, _FORMS, "node")
                nodes[int(key)] = Node(node.id % 2**64, bool(node.is_leaf), node.probability)
            else:
                raise FileError(f"the key {key[:30]!r} is no code")
        if meta is None:
            raise FileError("height and branch are missing")
        if not 2 <= meta.branch < 2**31 or not 1 <= meta.height <= _MOST_LAYERS:
            raise FileError(f"a tree of height {meta.height} with {meta.branch} branches")
        if nodes and _layer_of(max(nodes), meta.branch) >= meta.height:
            raise FileError(f"the node {max(nodes)} lies below its {meta.height} layers")
        return nodes, {n.id(): code for code, n in nodes.items() if n.is_leaf()}, meta.height, meta.branch
