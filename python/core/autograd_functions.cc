#include "python/core/autograd_functions.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autograd/grad_state.h"
#include "autograd/node.h"
#include "python/core/casters.h"
#include "python/core/gil.h"
#include "python/core/tensor_hooks.h"
#include "python/core/tensor_object.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;

using Tensors = std::vector<Tensor>;

// A Tensor or a list of them, as the Python functions take; None is the empty
// list, and inside a list an undefined tensor.
Tensors TensorsOf(const char* op, const char* param, const py::object& o,
                  bool none_items) {
  if (o.is_none()) return {};
  if (IsTensor(o.ptr())) return {Unwrap(o.ptr())};
  if (!PyList_Check(o.ptr()) && !PyTuple_Check(o.ptr())) {
    ThrowTypeError(absl::StrCat(op, ": ", param,
                                " must be a Tensor or a list of Tensor, not ",
                                TypeName(o.ptr())));
  }
  Tensors out;
  for (const py::handle item : o) {
    if (IsTensor(item.ptr())) {
      out.push_back(Unwrap(item.ptr()));
    } else if (none_items && item.is_none()) {
      out.emplace_back();
    } else {
      ThrowTypeError(absl::StrCat(op, ": element ", out.size(), " of ", param,
                                  " must be a Tensor, not ",
                                  TypeName(item.ptr())));
    }
  }
  return out;
}

// Numbers of the nodes that backward last began at, plus one: unique in the
// process, but leaves share theirs. (Not of each thread: the space that a
// library has for such variables is nearly full.)
constinit std::array<std::atomic<uint64_t>, 64> last_roots = {};
constinit std::atomic<uint64_t> next_root = 0;

void NoteRoots(std::span<const Tensor> roots) {
  for (const Tensor& root : roots) {
    const autograd::Edge edge = autograd::GradEdge(root);
    if (!edge.node || edge.node->is_accumulate_grad()) continue;
    const uint64_t place =
        next_root.fetch_add(1, std::memory_order_relaxed) % last_roots.size();
    last_roots[place].store(edge.node->sequence() + 1,
                            std::memory_order_relaxed);
  }
}

bool BackwardRanFrom(const py::handle& tensor) {
  const Tensor& root = Unwrap(tensor.ptr());
  if (!autograd::RequiresGrad(root)) return false;
  const autograd::Edge edge = autograd::GradEdge(root);
  if (!edge.node || edge.node->is_accumulate_grad()) return false;
  const uint64_t number = edge.node->sequence() + 1;
  return std::any_of(
      last_roots.begin(), last_roots.end(),
      [number](const std::atomic<uint64_t>& root) { return root == number; });
}

void BackwardOf(const py::object& tensors, const py::object& grads,
                bool retain_graph) {
  const Tensors outputs = TensorsOf("backward", "tensors", tensors, false);
  const Tensors given = TensorsOf("backward", "grad_tensors", grads, true);
  PROA_REQUIRE(given.empty() || given.size() == outputs.size(),
               "backward: ", outputs.size(), " tensors and ", given.size(),
               " grad_tensors");
  RunBackward(outputs, given, {.retain_graph = retain_graph});
}

py::list GradOf(const py::object& outputs, const py::object& inputs,
                const py::object& grads, std::optional<bool> retain_graph,
                bool create_graph, bool allow_unused,
                const py::object& no_grad_vars) {
  const Tensors from = TensorsOf("grad", "outputs", outputs, false);
  const Tensors to = TensorsOf("grad", "inputs", inputs, false);
  const Tensors given = TensorsOf("grad", "grad_outputs", grads, true);
  const Tensors stops = TensorsOf("grad", "no_grad_vars", no_grad_vars, false);
  PROA_REQUIRE(given.empty() || given.size() == from.size(),
               "grad: ", from.size(), " outputs and ", given.size(),
               " grad_outputs");
  const autograd::BackwardOptions options{
      .retain_graph = retain_graph.value_or(create_graph),
      .create_graph = create_graph};
  Tensors found;
  {
    const GilRelease release;
    found = autograd::Grad(from, to, given, options, allow_unused, stops);
  }
  return py::reinterpret_steal<py::list>(Wrap(std::move(found)));
}

// Called around every use of no_grad, so without pybind11.
PyObject* SetGradEnabled(PyObject*, PyObject* mode) {
  const int on = PyObject_IsTrue(mode);
  if (on < 0) return nullptr;
  const bool was = GradEnabled();
  if (on != 0) {
    thread_interpreters.allowed |= kDifferentiate;
  } else {
    thread_interpreters.allowed &= ~kDifferentiate;
  }
  return PyBool_FromLong(was);
}

PyObject* IsGradEnabled(PyObject*, PyObject*) {
  return PyBool_FromLong(GradEnabled());
}

PyMethodDef functions[] = {
    {"set_grad_enabled", &SetGradEnabled, METH_O,
     "set_grad_enabled(mode)\n--\n\nSwitches recording on this thread; returns "
     "what it was."},
    {"is_grad_enabled", &IsGradEnabled, METH_NOARGS,
     "is_grad_enabled()\n--\n\n"
     R"(True if this thread records gradients.

Examples:
    >>> with proa.no_grad():
    ...     proa.is_grad_enabled()
    False
    >>> proa.is_grad_enabled()
    True
)"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void RefuseInRecording(const char* what) {
  if ((ActiveInterpreters(0) & kRecord) == 0) [[likely]]
    return;
  const Ref use = Ref::New(PyImport_ImportModule("proa.nn.layer.use"));
  Ref::New(PyObject_CallMethod(use.get(), "refuse_in_recording", "s", what));
}

void RunBackward(std::span<const Tensor> outputs, std::span<const Tensor> grads,
                 const autograd::BackwardOptions& options) {
  if (!outputs.empty() && outputs[0].is_symbolic()) [[unlikely]] {
    RefuseInRecording("Tensor.backward");
  }
  const bool all_require =
      std::all_of(outputs.begin(), outputs.end(), &autograd::RequiresGrad);
  Tensors roots, root_grads;
  if (!all_require) [[unlikely]] {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!autograd::RequiresGrad(outputs[i])) continue;
      roots.push_back(outputs[i]);
      if (!grads.empty()) root_grads.push_back(grads[i]);
    }
    if (roots.empty()) return;
    outputs = roots;
    grads = root_grads;
  }
  {
    const GilRelease release;
    autograd::Backward(outputs, grads, options);
  }
  NoteRoots(outputs);
}

void BindAutograd(py::module_& m) {
  m.def("backward", &BackwardOf, py::arg("tensors"),
        py::arg("grad_tensors") = py::none(), py::arg("retain_graph") = false,
        "Adds the derivatives of the tensors to `grad` of the leaves.");
  m.def("backward_ran_from", &BackwardRanFrom, py::arg("tensor"),
        "Whether one of the last 64 calls of backward began at "
        "the operation that made the tensor.");
  m.def("grad", &GradOf, py::arg("outputs"), py::arg("inputs"),
        py::arg("grad_outputs") = py::none(),
        py::arg("retain_graph") = py::none(), py::arg("create_graph") = false,
        py::arg("allow_unused") = false, py::arg("no_grad_vars") = py::none(),
        "Gradients of `inputs`; `grad` of no tensor changes.");
  CheckStatus(PyModule_AddFunctions(m.ptr(), functions));
}

}  // namespace proa::inline v0::python
