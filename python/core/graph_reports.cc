#include "python/core/graph_reports.h"

#include <Python.h>

#include <string>
#include <vector>

#include "autograd/graph_print.h"
#include "autograd/saved_summary.h"
#include "python/core/casters.h"
#include "python/core/error.h"
#include "python/core/tensor_object.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;
using Tensors = std::vector<Tensor>;

// The name that a program gave its tensor; made-up ones say nothing.
std::string LeafName(const TensorImpl& leaf) {
  if (leaf.python_object == nullptr) return {};
  const auto* o = static_cast<const TensorObject*>(leaf.python_object);
  return o->name == nullptr ? std::string() : TextOf(o->name);
}

autograd::GraphPrintOptions Options(size_t max_nodes) {
  return {.max_nodes = max_nodes, .leaf_name = &LeafName};
}

py::list Rows(const autograd::SavedSummary& summary) {
  static constexpr const char* kGroups[] = {"activation", "leaf", "constant",
                                            "packed"};
  py::list rows;
  for (const auto& row : summary.rows) {
    rows.append(py::make_tuple(kGroups[static_cast<int>(row.group)], row.op,
                               row.name, row.tensors, row.bytes));
  }
  return rows;
}

}  // namespace

void BindGraphReports(py::module_& m) {
  m.def(
      "graph_text",
      [](const Tensors& outputs, size_t max_nodes) {
        return autograd::GraphText(outputs, Options(max_nodes));
      },
      py::arg("outputs"), py::arg("max_nodes"), "The backward graph as text.");
  m.def(
      "graph_dot",
      [](const Tensors& outputs, size_t max_nodes) {
        return autograd::GraphDot(outputs, Options(max_nodes));
      },
      py::arg("outputs"), py::arg("max_nodes"),
      "The backward graph in the DOT language.");
  m.def(
      "saved_summary",
      [](const Tensors& outputs) {
        const autograd::SavedSummary summary =
            autograd::SummarizeSaved(outputs);
        return py::make_tuple(Rows(summary), summary.nodes);
      },
      py::arg("outputs"),
      "What the graph saved: rows (group, op, name, tensors, bytes), and the "
      "number of ops.");
}

}  // namespace proa::inline v0::python
