#include "python/core/op_registry.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "ops/definition.h"
#include "python/core/casters.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;

const char* TypeText(ParamType t) {
  switch (t) {
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
      return "str";
    case ParamType::kIntList:
      return "int[]";
    case ParamType::kFloatList:
      return "float[]";
    case ParamType::kIntArray:
      return "IntArray";
    case ParamType::kScalar:
      return "Scalar";
    case ParamType::kDType:
      return "DType";
    case ParamType::kPlace:
      return "Place";
  }
  return "?";
}

const char* Text(AmpClass c) {
  constexpr const char* kNames[] = {"keep", "lower", "raise", "promote"};
  return kNames[static_cast<int>(c)];
}

const char* Text(FuseClass c) {
  constexpr const char* kNames[] = {"none",   "pointwise", "reduction",
                                    "matmul", "view",      "broadcast"};
  return kNames[static_cast<int>(c)];
}

py::list Params(const OpDefinition& op) {
  py::list out;
  for (const ParamInfo& p : op.params) {
    py::dict d;
    d["name"] = p.name;
    d["type"] = TypeText(p.type);
    d["optional"] = p.optional;
    d["default"] = p.default_text == nullptr ? py::object(py::none())
                                             : py::str(p.default_text);
    out.append(d);
  }
  return out;
}

py::list Outputs(const OpDefinition& op) {
  py::list out;
  for (const OutputInfo& o : op.outputs) {
    py::dict d;
    d["name"] = o.name;
    d["is_list"] = o.is_list;
    d["aliases"] = o.aliases < 0 ? py::object(py::none())
                                 : py::str(op.params[o.aliases].name);
    out.append(d);
  }
  return out;
}

py::list Traits(const OpDefinition& op) {
  constexpr std::pair<uint32_t, const char*> kNames[] = {
      {kTraitView, "view"},
      {kTraitInplace, "inplace"},
      {kTraitRandom, "random"},
      {kTraitDataDependent, "data_dependent"},
      {kTraitDifferentiable, "differentiable"},
      {kTraitComposite, "composite"}};
  py::list out;
  for (const auto& [bit, name] : kNames) {
    if ((op.traits & bit) != 0) out.append(name);
  }
  return out;
}

// Others are of programs only, and no functions.
bool InSchema(const OpDefinition& op) {
  return absl::StrContains(op.source, ".yaml:");
}

py::dict Describe(const OpDefinition& op) {
  py::dict d;
  d["name"] = op.name;
  d["version"] = op.version;
  d["signature"] = op.signature;
  d["doc"] = op.doc;
  d["source"] = op.source;
  d["params"] = Params(op);
  d["outputs"] = Outputs(op);
  d["traits"] = Traits(op);
  d["amp"] = Text(op.amp);
  d["fuse"] = Text(op.fuse);
  py::list dtypes;
  for (int i = 0; i < kNumDTypes; ++i) {
    if ((op.dtypes >> i & 1) != 0)
      dtypes.append(std::string(kDTypeInfo[i].name));
  }
  d["dtypes"] = dtypes;
  return d;
}

}  // namespace

void BindOpRegistry(py::module_& m) {
  m.def(
      "op_registry",
      [] {
        py::list out;
        for (const OpDefinition* op : AllOps()) {
          if (InSchema(*op)) out.append(Describe(*op));
        }
        return out;
      },
      "What is known of each op of the schemas, sorted by name.");
}

}  // namespace proa::inline v0::python
