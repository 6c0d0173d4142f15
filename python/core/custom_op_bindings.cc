// Custom ops for Python (ops/extension): extensions are loaded, ops are defined
// by functions of Python, and both are called by name.
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autograd/moved_leaf.h"
#include "ops/boxed_call.h"
#include "ops/definition.h"
#include "ops/extension/custom_op.h"
#include "ops/extension/loader.h"
#include "ops/interpreter.h"
#include "ops/value.h"
#include "python/core/arguments.h"
#include "python/core/casters.h"
#include "python/core/convert.h"
#include "python/core/error.h"
#include "python/core/gil.h"
#include "python/core/module.h"
#include "python/core/pybind.h"
#include "python/core/tensor_object.h"
#include "tensor/error.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;
using ops::CustomMeta;
using ops::CustomMetas;
using ops::CustomOp;
using ops::CustomOpRules;
using ops::CustomOutput;
using ops::CustomParam;
using ops::CustomResults;

// --- Calls from Python

// What the converters of arguments ask for, of an op.
struct Callee {
  const CustomOp* op;
  const OpDefinition* definition;
  std::vector<const char*> names;
  std::unique_ptr<Signature> signature;
};

// By name; under the global lock. Ops are for ever, so these are too.
Callee& CalleeOf(const std::string& name) {
  static auto* callees = new std::unordered_map<std::string, Callee>;
  const auto found = callees->find(name);
  if (found != callees->end()) return found->second;
  const OpDefinition* definition = FindOp(name);
  const CustomOp* op =
      definition != nullptr ? ops::FindCustomOp(*definition) : nullptr;
  PROA_REQUIRE(op != nullptr, "there is no custom op '", name, "'");
  Callee& callee = (*callees)[name];
  callee.op = op;
  callee.definition = definition;
  for (const ParamInfo& p : definition->params) callee.names.push_back(p.name);
  const auto n = static_cast<int>(callee.names.size());
  callee.signature =
      std::make_unique<Signature>(definition->name, callee.names.data(), n, n);
  return callee;
}

Value BoxStrings(const Signature& s, int i, PyObject* o) {
  if (!PyList_Check(o) && !PyTuple_Check(o)) {
    FailType(s, i, "a list of str", o);
  }
  std::vector<std::string> items;
  for (const py::handle item : py::reinterpret_borrow<py::object>(o)) {
    if (!PyUnicode_Check(item.ptr())) FailType(s, i, "a list of str", o);
    items.push_back(item.cast<std::string>());
  }
  return ops::JoinStrings(items);
}

Value Box(const Signature& s, int i, const CustomParam& p, PyObject* const* a) {
  PyObject* o = a[i];
  if (p.optional && o == Py_None) {
    return p.type == ParamType::kTensor ? Value(Tensor()) : Value();
  }
  if (p.type == ParamType::kTensor) return ToTensorArgument(s, i, a);
  if (p.type == ParamType::kTensorList) return ToTensorList(s, i, o);
  if (p.is_string_list) return BoxStrings(s, i, o);
  if (p.type == ParamType::kString) return std::string(ToString(s, i, o));
  // A number that only the run of a program knows.
  if (Tensor late = FindLate(s, i, o); late.defined()) return late;
  switch (p.type) {
    case ParamType::kBool:
      return ToBool(s, i, o);
    case ParamType::kInt:
      return ToInt(s, i, o);
    case ParamType::kFloat:
      return ToFloat(s, i, o);
    case ParamType::kIntList: {
      const DimVector list = ToIntList(s, i, o);
      return std::vector<int64_t>(list.begin(), list.end());
    }
    default:
      return ToFloatList(s, i, o);
  }
}

py::object Unbox(const Value& value) {
  if (const auto* list = std::get_if<std::vector<Tensor>>(&value)) {
    return py::cast(*list);
  }
  const auto* t = std::get_if<Tensor>(&value);
  return t != nullptr && t->defined()
             ? py::reinterpret_steal<py::object>(WrapOneOfSeveral(*t))
             : py::none();
}

py::object CallCustomOp(const std::string& name, const py::tuple& given) {
  const Callee& callee = CalleeOf(name);
  const std::vector<CustomParam>& params = callee.op->rules().params;
  if (given.size() != params.size()) {
    ThrowTypeError(absl::StrCat(name, ": takes ", params.size(), " arguments, ",
                                given.size(), " given"));
  }
  std::vector<PyObject*> objects;
  for (const py::handle o : given) objects.push_back(o.ptr());
  std::vector<Value> args;
  int64_t work = 0;
  for (size_t i = 0; i < params.size(); ++i) {
    args.push_back(
        Box(*callee.signature, static_cast<int>(i), params[i], objects.data()));
    if (const auto* t = std::get_if<Tensor>(&args.back())) work += Elements(*t);
  }
  std::vector<Value> results(callee.definition->outputs.size());
  WithoutGil(work, [&] { CallBoxed(*callee.definition, args, results); });
  if (results.size() == 1) return Unbox(results[0]);
  py::tuple out(results.size());
  for (size_t i = 0; i < results.size(); ++i) out[i] = Unbox(results[i]);
  return out;
}

// --- What is known of an op

const char* TypeText(const CustomParam& p) {
  switch (p.type) {
    case ParamType::kTensor:
      return "Tensor";
    case ParamType::kTensorList:
      return "Tensor[]";
    case ParamType::kBool:
      return "bool";
    case ParamType::kInt:
      return "int";
    case ParamType::kFloat:
      return "float";
    case ParamType::kString:
      return p.is_string_list ? "str[]" : "str";
    case ParamType::kIntList:
      return "int[]";
    default:
      return "float[]";
  }
}

py::object DefaultOf(const CustomParam& p) {
  if (!p.default_value.has_value()) return py::none();
  const Value& v = *p.default_value;
  if (const auto* b = std::get_if<bool>(&v)) return py::bool_(*b);
  if (const auto* i = std::get_if<int64_t>(&v)) return py::int_(*i);
  if (const auto* f = std::get_if<double>(&v)) return py::float_(*f);
  if (const auto* s = std::get_if<std::string>(&v)) return py::str(*s);
  return py::none();
}

py::dict Describe(const CustomOp& op) {
  py::dict d;
  const CustomOpRules& rules = op.rules();
  d["name"] = rules.name;
  d["extension"] = op.extension();
  d["doc"] = rules.doc;
  d["signature"] = op.definition().signature;
  d["gradient"] = rules.gradient;
  d["composite"] = rules.composite;
  d["inplace"] = op.inplace_definition() != nullptr;
  py::list params, outputs;
  for (size_t i = 0; i < rules.params.size(); ++i) {
    const CustomParam& p = rules.params[i];
    py::dict param;
    param["name"] = op.definition().params[i].name;
    param["type"] = TypeText(p);
    param["optional"] = p.optional;
    param["has_default"] = p.default_value.has_value();
    param["default"] = DefaultOf(p);
    params.append(param);
  }
  for (const OutputInfo& o : op.definition().outputs) {
    py::dict output;
    output["name"] = o.name;
    output["is_list"] = o.is_list;
    outputs.append(output);
  }
  d["params"] = params;
  d["outputs"] = outputs;
  return d;
}

py::list Describe(const std::vector<const CustomOp*>& all) {
  py::list out;
  for (const CustomOp* op : all) out.append(Describe(*op));
  return out;
}

// --- Ops that are functions of Python

// An argument as the function gets it. In inference, of a tensor (shape,
// dtype).
py::object ToPython(const CustomParam& p, const Value& v, bool meta) {
  const auto tensor = [&](const Tensor& t) -> py::object {
    if (!t.defined()) return py::none();
    if (!meta) return py::cast(t);
    return py::make_tuple(
        std::vector<int64_t>(t.shape().begin(), t.shape().end()), t.dtype());
  };
  if (const auto* t = std::get_if<Tensor>(&v)) return tensor(*t);
  if (const auto* ts = std::get_if<std::vector<Tensor>>(&v)) {
    py::list out;
    for (const Tensor& t : *ts) out.append(tensor(t));
    return out;
  }
  if (const auto* b = std::get_if<bool>(&v)) return py::bool_(*b);
  if (const auto* i = std::get_if<int64_t>(&v)) return py::int_(*i);
  if (const auto* f = std::get_if<double>(&v)) return py::float_(*f);
  if (const auto* s = std::get_if<std::string>(&v)) {
    if (p.is_string_list) return py::cast(ops::SplitStrings(*s));
    return py::str(*s);
  }
  if (const auto* l = std::get_if<std::vector<int64_t>>(&v))
    return py::cast(*l);
  if (const auto* l = std::get_if<std::vector<double>>(&v)) return py::cast(*l);
  return py::none();
}

// `function`, which is kept for ever, on these arguments. The lock is held.
py::object CallFunction(PyObject* function,
                        const std::vector<CustomParam>& params,
                        std::span<const Value> args, bool meta) {
  py::tuple given(args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    given[i] = ToPython(params[i], args[i], meta);
  }
  PyObject* result =
      CallingPython([&] { return PyObject_CallObject(function, given.ptr()); });
  if (result == nullptr) throw py::error_already_set();  // past the C++ frames
  return py::reinterpret_steal<py::object>(result);
}

ParamType TypeNamed(const std::string& op, const std::string& name) {
  if (name == "Tensor") return ParamType::kTensor;
  if (name == "Tensor[]") return ParamType::kTensorList;
  if (name == "bool") return ParamType::kBool;
  if (name == "int") return ParamType::kInt;
  if (name == "float") return ParamType::kFloat;
  if (name == "str" || name == "str[]") return ParamType::kString;
  if (name == "int[]") return ParamType::kIntList;
  if (name == "float[]") return ParamType::kFloatList;
  FailArgument(op, ": there is no type '", name, "' of parameters");
}

// (name, type, optional); (name, is list, optional).
using ParamTuple = std::tuple<std::string, std::string, bool>;
using OutputTuple = std::tuple<std::string, bool, bool>;

CustomOpRules RulesOf(const py::dict& d) {
  CustomOpRules out;
  out.name = d["name"].cast<std::string>();
  out.doc = d["doc"].cast<std::string>();
  for (const auto& [name, type, optional] :
       d["params"].cast<std::vector<ParamTuple>>()) {
    CustomParam p;
    p.name = name;
    p.type = TypeNamed(out.name, type);
    p.optional = optional;
    p.is_string_list = type == "str[]";
    out.params.push_back(std::move(p));
  }
  for (const auto& [name, list, optional] :
       d["outputs"].cast<std::vector<OutputTuple>>()) {
    out.outputs.push_back({name, list, optional});
  }
  out.composite = d["composite"].cast<bool>();
  out.gradient = d["gradient"].cast<std::string>();
  PyObject* kernel = py::object(d["kernel"]).release().ptr();  // for ever
  out.kernel = [kernel, params = out.params](std::span<const Value> args,
                                             CustomResults& results) {
    const GilAcquire gil;
    results = CallFunction(kernel, params, args, /*meta=*/false)
                  .cast<CustomResults>();
  };
  if (!d["infer"].is_none()) {
    PyObject* infer = py::object(d["infer"]).release().ptr();
    out.infer = [infer, params = out.params](std::span<const Value> args,
                                             CustomMetas& metas) {
      using MetaTuple = std::tuple<std::vector<int64_t>, DType>;
      const GilAcquire gil;
      const auto found = CallFunction(infer, params, args, /*meta=*/true)
                             .cast<std::vector<std::vector<MetaTuple>>>();
      for (size_t i = 0; i < found.size() && i < metas.size(); ++i) {
        for (const auto& [shape, dtype] : found[i]) {
          metas[i].push_back({Shape(std::span<const int64_t>(shape)), dtype});
        }
      }
    };
  }
  return out;
}

const ModulePart part([](py::module_& m) {
  m.def(
      "load_extension",
      [](const std::string& path) {
        return Describe(ops::LoadExtension(path));
      },
      py::arg("path"), "Loads an extension; what is known of each of its ops.");
  m.def("loaded_extensions", &ops::LoadedExtensions,
        "The paths of the extensions that are loaded.");
  m.def(
      "define_ops",
      [](const std::string& extension, const py::list& given) {
        std::vector<CustomOpRules> rules;
        for (const py::handle d : given) {
          rules.push_back(RulesOf(py::reinterpret_borrow<py::dict>(d)));
        }
        return Describe(ops::DefineOps(extension, std::move(rules)));
      },
      py::arg("extension"), py::arg("ops"),
      "Defines ops whose kernels are functions of Python.");
  m.def(
      "rebind", [](const Tensor& x, const Tensor& value) { Rebind(x, value); },
      py::arg("x"), py::arg("value"),
      "Makes the handle x another one on what value is.");
  m.def(
      "move",
      [](const Tensor& x, const Tensor& value) {
        autograd::MovedLeaf kept(x);
        Rebind(x, value);
        kept.Restore();
      },
      py::arg("x"), py::arg("value"),
      "Makes x what value is; a leaf with its hooks and its earlier graphs.");
  m.def("call_custom_op", &CallCustomOp, py::arg("name"), py::arg("args"),
        "Calls a custom op with a value for each parameter.");
});

}  // namespace
}  // namespace proa::inline v0::python
