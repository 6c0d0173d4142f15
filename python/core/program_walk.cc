// A program as plain Python objects, for those who write it in another form
// (proa.onnx): its values and operations, what the text says and besides where
// each operation was recorded.
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "jit/program.h"
#include "python/core/casters.h"
#include "python/core/module.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;
using jit::kNoValue;
using jit::Operation;
using jit::Program;
using jit::ValueId;
using jit::ValueInfo;
using jit::ValueKind;
using jit::ValueRef;

py::object Number(ValueId id) {
  return id == kNoValue ? py::object(py::none()) : py::object(py::int_(id));
}

// What is no tensor of the program.
struct Plain {
  py::object operator()(std::monostate) const { return py::none(); }
  py::object operator()(const Tensor&) const { return py::none(); }
  py::object operator()(const std::vector<Tensor>&) const { return py::list(); }
  py::object operator()(const IntArray& a) const {
    return py::cast(std::vector<int64_t>(a.values().begin(), a.values().end()));
  }
  py::object operator()(const Scalar& s) const {
    if (s.is_bool()) return py::cast(s.to<bool>());
    if (s.is_integer()) return py::cast(s.to<int64_t>());
    if (s.is_float()) return py::cast(s.to<double>());
    const auto z = s.to<complex128>();
    return py::reinterpret_steal<py::object>(
        PyComplex_FromDoubles(z.real(), z.imag()));
  }
  template <class T>
  py::object operator()(const T& v) const {
    return py::cast(v);
  }
};

py::list Numbers(const std::vector<ValueId>& ids) {
  py::list out;
  for (ValueId id : ids) out.append(Number(id));
  return out;
}

py::dict Describe(const jit::Block& block);

py::dict Describe(const Operation& o) {
  py::dict values, attributes;
  for (size_t i = 0; i < o.args.size(); ++i) {
    const char* name = o.op->params[i].name;
    if (const auto* ref = std::get_if<ValueRef>(&o.args[i])) {
      values[name] = Number(ref->id);
    } else if (const auto* refs =
                   std::get_if<std::vector<ValueRef>>(&o.args[i])) {
      py::list ids;
      for (ValueRef r : *refs) ids.append(Number(r.id));
      values[name] = ids;
    } else {
      attributes[name] = std::visit(Plain(), std::get<Value>(o.args[i]));
    }
  }
  py::list results, regions;
  for (const std::vector<ValueId>& ids : o.results)
    results.append(Numbers(ids));
  for (const auto& region : o.regions) regions.append(Describe(*region));
  py::dict d;
  d["op"] = std::string(o.op->name);
  d["values"] = values;
  d["attributes"] = attributes;
  d["results"] = results;
  d["regions"] = regions;
  d["where"] = o.where == nullptr ? py::object(py::none())
                                  : py::object(py::str(o.where));
  return d;
}

py::dict Describe(const jit::Block& block) {
  py::list operations;
  for (const Operation& o : block.operations) operations.append(Describe(o));
  py::dict d;
  d["arguments"] = Numbers(block.arguments);
  d["operations"] = operations;
  d["returns"] = Numbers(block.returns);
  return d;
}

py::dict Describe(const ValueInfo& v) {
  constexpr const char* kKinds[] = {"input", "captured", "result", "argument"};
  py::dict d;
  d["kind"] = kKinds[static_cast<int>(v.kind)];
  d["name"] = v.name;
  d["shape"] = std::vector<int64_t>(v.meta.shape.begin(), v.meta.shape.end());
  d["dtype"] = v.meta.dtype;
  d["captured"] = v.captured;
  return d;
}

const ModulePart part([](py::module_& m) {
  m.def(
      "program_values",
      [](const Program& p) {
        py::list out;
        for (const ValueInfo& v : p.values()) out.append(Describe(v));
        return out;
      },
      py::arg("program"),
      "Each value by its number: {kind, name, shape, dtype, captured}. An open "
      "size is a negative number of its own, the same wherever it is the "
      "same.");
  m.def(
      "program_block", [](const Program& p) { return Describe(p.block()); },
      py::arg("program"),
      "{arguments, operations, returns}; an operation is {op, values, "
      "attributes, results, regions, where}, by the numbers of values.");
});

}  // namespace

}  // namespace proa::inline v0::python
