"""Every header that a source includes must belong to a target its own target lists.

gcc finds a first-party header of an indirect dependency too, so a BUILD file could
leave a dependency out and break when the one between is changed. Reads the graph from
`bazel query`, the includes from the sources; prints a line for each that is wrong.
"""

import collections
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

_INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)

# Start of an include to the repository that has it.
_EXTERNAL = {
    "Eigen/": "@eigen//",
    "absl/": "@com_google_absl//",
    "benchmark/": "@google_benchmark//",
    "dnnl": "@onednn//",
    "gflags/": "@glog//",
    "glog/": "@glog//",
    "gloo/": "@gloo//",
    "gmock/": "@googletest//",
    "google/protobuf/": "@com_google_protobuf//",
    "gtest/": "@googletest//",
    "jerror.h": "@libjpeg_turbo//",
    "jpeglib.h": "@libjpeg_turbo//",
    "numpy/": "@local_python//",
    "oneapi/dnnl": "@onednn//",
    "openssl/": "@openssl//",
    "pybind11/": "@pybind11//",
    "unsupported/Eigen/": "@eigen//",
}

_SOURCES = (".cc", ".cu", ".cuh", ".h", ".inc")


def _path(label):
    """File path of a first-party label, or None."""
    if not label.startswith("//"):
        return None
    package, _, name = label[2:].partition(":")
    return f"{package}/{name}" if package else name


class Graph:
    """The rules of a `bazel query --output=xml`."""

    def __init__(self, xml):
        self.rules = {}  # label -> (class, {attribute: [labels]})
        self._generated = {}  # label of an output -> the rule
        for rule in ElementTree.fromstring(xml).iter("rule"):
            label = rule.get("name")
            lists = collections.defaultdict(list)
            for child in rule:
                if child.tag == "list":
                    lists[child.get("name")] = [v.get("value") for v in child if v.get("value")]
                elif child.tag == "label":
                    lists[child.get("name")] = [child.get("value")]
            self.rules[label] = (rule.get("class"), lists)
            for output in rule.iter("rule-output"):
                self._generated[output.get("name")] = label

    def files(self, label):
        """Paths that a label in srcs or hdrs stands for."""
        kind, lists = self.rules.get(label, (None, {}))
        if kind is None:
            return [_path(label)] if _path(label) else []
        if kind in ("filegroup", "alias"):
            return [f for s in lists["srcs"] + lists["actual"] for f in self.files(s)]
        return [_path(o) for o, r in self._generated.items() if r == label]

    def headers(self, label):
        """Headers that a dependency on `label` entitles to include."""
        kind, lists = self.rules.get(label, (None, {}))
        if kind == "alias":
            return self.headers(lists["actual"][0])
        if kind == "cc_proto_library":
            protos = [s for d in lists["deps"] for s in self.rules.get(d, (0, {"srcs": []}))[1]["srcs"]]
            return [_path(p)[: -len(".proto")] + ".pb.h" for p in protos]
        if kind is None:
            return []
        if not lists["srcs"] and not lists["hdrs"] + lists["textual_hdrs"]:
            # A target without files stands for its dependencies (//:inference_library).
            return [h for d in lists["deps"] for h in self.headers(d)]
        return [f for s in lists["hdrs"] + lists["textual_hdrs"] for f in self.files(s)]

    def is_cc(self, label):
        kind = self.rules[label][0]
        return kind.startswith("cc_") and kind != "cc_proto_library" or kind in ("_isa_library", "_cuda_library")


def problems(graph, read):
    """Sentences, sorted; `read(path)` gives a source's text or None."""
    owners = collections.defaultdict(list)
    for label in graph.rules:
        kind, lists = graph.rules[label]
        if kind == "cc_proto_library" or graph.is_cc(label) and lists["hdrs"] + lists["textual_hdrs"]:
            for header in graph.headers(label):
                owners[header].append(label)

    found = set()
    for label, (_, lists) in graph.rules.items():
        if not label.startswith("//") or not graph.is_cc(label):
            continue
        own = [f for a in ("srcs", "hdrs", "textual_hdrs") for s in lists[a] for f in graph.files(s)]
        deps = lists["deps"] + lists["implementation_deps"]
        visible = set(own) | {h for d in deps for h in graph.headers(d)}
        for source in own:
            text = read(source) if source.endswith(_SOURCES) else None
            for include in _INCLUDE.findall(text or ""):
                if include in visible:
                    continue
                if include in owners:
                    found.add(
                        f"{source} includes {include}; list {' or '.join(sorted(owners[include])[:3])} in deps of {label}"
                    )
                repository = next((r for p, r in _EXTERNAL.items() if include.startswith(p)), None)
                if repository and not any(d.startswith(repository) for d in deps):
                    # The macros' protobuf code has its runtime from the rule.
                    found.add(f"{source} includes {include}; list a target of {repository} in deps of {label}")
    return sorted(found)


def _read(path):
    for root in ("", "bazel-bin/"):
        if os.path.exists(root + path):
            with open(root + path, encoding="utf-8", errors="replace") as file:
                return file.read()
    return None


def main():
    xml = subprocess.run(
        ["bazel", "query", "--output=xml", "--noshow_progress", "--keep_going", "//..."],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if xml.returncode not in (0, 3):
        print("failed: reading the build graph:\n" + xml.stderr.decode())
        return 1
    # Expat knows XML 1.0 only; the text has nothing of 1.1.
    wrong = problems(Graph(xml.stdout.decode().replace('version="1.1"', 'version="1.0"', 1)), _read)
    for sentence in wrong:
        print("failed:", sentence)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
