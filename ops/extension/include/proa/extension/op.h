// Part of "proa/extension.h": the description of operators, and the table that
// the library exports.
#ifndef PROA_EXTENSION_OP_H_
#define PROA_EXTENSION_OP_H_

#include <cctype>
#include <functional>
#include <limits>
#include <memory>
#include <unordered_map>

#include "proa/extension/arguments.h"

namespace proa {
namespace extension __attribute__((visibility("hidden"))) {

  // Names of inputs and outputs: Grad("x") is the gradient of x, Vec("xs") a
  // list of tensors, Optional("y") may be None. New(Grad("out")) is, among the
  // outputs of a double gradient, the gradient of input Grad("out")'s namesake
  // `out`.
  inline std::string Grad(const std::string& name) { return name + "@GRAD"; }
  inline std::string Vec(const std::string& name) { return name + "@VECTOR"; }
  inline std::string New(const std::string& name) { return name + "@NEW"; }
  inline std::string Optional(const std::string& name) {
    return name + "@OPTIONAL";
  }

  struct OpSpec;
  using KernelFunction = std::function<void(const OpSpec&, const ProaValue*,
                                            size_t, ProaResultSink, void*)>;
  using ShapeFunction = std::function<std::vector<Sizes>(
      const OpSpec&, const ProaValue*, size_t)>;
  using DTypeFunction = std::function<std::vector<DataType>(
      const OpSpec&, const ProaValue*, size_t)>;

  // A function with the kinds of what it takes.
  template <typename F>
  struct Wrapped {
    F call;
    std::vector<ArgKind> kinds;
  };

  struct Param {
    std::string name;
    ArgKind kind = ArgKind::kTensor;
    bool optional = false;
    bool has_default = false;
    ProaValue default_value = {};
    std::string default_text;
  };

  struct Output {
    std::string name;
    bool is_list = false;
    bool optional = false;
    int inplace = -1;
  };

  // An operator, as the builder collects it.
  struct OpSpec {
    std::string name, base, doc;
    int level = 0;  // 0: the operator, 1: its gradient, 2: the gradient of that
    bool composite = false;
    std::vector<Param> inputs, attributes;
    std::vector<Output> outputs;
    std::unordered_map<std::string, std::string> inplace;
    Wrapped<KernelFunction> kernel;
    Wrapped<ShapeFunction> infer_shape;
    Wrapped<DTypeFunction> infer_dtype;
    std::string gradient;

    // What the table points to.
    std::vector<ProaParam> abi_params;
    std::vector<const ProaParam*> abi_param_list;
    std::vector<ProaOutput> abi_outputs;
    std::vector<const ProaOutput*> abi_output_list;
    ProaOp abi = {};

    bool IsGradientOfNone(const ProaValue* args,
                          const std::string& name) const {
      for (size_t p = 0; p < inputs.size(); ++p) {
        if (name == Grad(inputs[p].name)) return args[p].kind == PROA_NONE;
      }
      return false;
    }
    // How many tensors of `total` belong to each output that is not in place.
    std::vector<size_t> Shares(const ProaValue* args, size_t total,
                               const char* what) const {
      std::vector<size_t> out(outputs.size());
      size_t plain = 0;
      int open = -1;
      for (size_t i = 0; i < outputs.size(); ++i) {
        const Output& o = outputs[i];
        if (o.inplace >= 0) continue;
        out[i] = 1;
        if (o.optional && IsGradientOfNone(args, o.name)) {
          out[i] = 0;
        } else if (o.is_list) {
          out[i] = 0;
          bool found = false;
          for (size_t p = 0; p < inputs.size(); ++p) {
            if (o.name != Grad(inputs[p].name)) continue;
            out[i] = static_cast<size_t>(args[p].count);
            found = true;
          }
          if (!found) {
            if (open >= 0) throw Error("of two lists nobody knows the lengths");
            open = static_cast<int>(i);
          }
        }
        plain += out[i];
      }
      if (open >= 0 && total >= plain) {
        out[static_cast<size_t>(open)] = total - plain;
        plain = total;
      }
      // Optional outputs at the end may be left out.
      for (size_t i = outputs.size(); i-- > 0 && plain > total;) {
        if (outputs[i].inplace >= 0 || !outputs[i].optional) continue;
        plain -= out[i];
        out[i] = 0;
      }
      if (plain != total) {
        throw Error(PROA_VALUE_ERROR,
                    Text(what, " returned ", total, " results; the op has ",
                         plain, " outputs that are not in place"));
      }
      return out;
    }
  };

  namespace internal {

  inline std::vector<std::shared_ptr<OpSpec>>& Specs() {
    static auto* specs = new std::vector<std::shared_ptr<OpSpec>>;
    return *specs;
  }

  inline void Give(const OpSpec& op, const std::vector<Tensor>& results,
                   Arguments<Tensor>& arguments, const ProaValue* args,
                   ProaResultSink sink, void* context) {
    const std::vector<size_t> shares =
        op.Shares(args, results.size(), "the kernel");
    size_t next = 0;
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      for (size_t k = 0; k < shares[i]; ++k) {
        Check(sink(context, i, results[next++].handle()));
      }
      const int param = op.outputs[i].inplace;
      if (param < 0) continue;
      const auto p = static_cast<size_t>(param);
      const std::vector<Tensor> now = arguments.TensorsOf(p);
      const ProaValue& v = args[p];
      bool same = true;
      for (size_t k = 0; k < now.size(); ++k) {
        same &= now[k].handle() ==
                (v.kind == PROA_TENSOR ? v.as.tensor : v.as.tensors[k]);
      }
      if (same) continue;
      for (const Tensor& t : now) Check(sink(context, i, t.handle()));
    }
  }

  template <typename R, typename... Args>
  Wrapped<KernelFunction> MakeKernel(R (*f)(Args...)) {
    return {[f](const OpSpec& op, const ProaValue* args, size_t count,
                ProaResultSink sink, void* context) {
              Arguments<Tensor> arguments(args, count, op.inputs.size(),
                                          op.outputs.size());
              std::vector<Tensor> results;
              constexpr auto order = std::index_sequence_for<Args...>();
              if constexpr (std::is_void_v<R>) {
                CallWith<Tensor>(f, arguments, order);
                if (arguments.any_output_taken()) results = arguments.outputs;
              } else if constexpr (std::is_same_v<R, Tensor>) {
                results.push_back(CallWith<Tensor>(f, arguments, order));
              } else {
                results = CallWith<Tensor>(f, arguments, order);
              }
              Give(op, results, arguments, args, sink, context);
            },
            {KindOf<Plain<Args>>()...}};
  }

  template <typename R, typename... Args>
  Wrapped<ShapeFunction> MakeInferShape(R (*f)(Args...)) {
    return {[f](const OpSpec& op, const ProaValue* args, size_t count) {
              Arguments<Sizes> arguments(args, count, op.inputs.size(), 0);
              return std::vector<Sizes>(CallWith<Sizes>(
                  f, arguments, std::index_sequence_for<Args...>()));
            },
            {KindOf<Plain<Args>>()...}};
  }

  template <typename R, typename... Args>
  Wrapped<DTypeFunction> MakeInferDtype(R (*f)(Args...)) {
    return {[f](const OpSpec& op, const ProaValue* args, size_t count) {
              Arguments<DataType> arguments(args, count, op.inputs.size(), 0);
              return std::vector<DataType>(CallWith<DataType>(
                  f, arguments, std::index_sequence_for<Args...>()));
            },
            {KindOf<Plain<Args>>()...}};
  }

  // Runs `body`; what it throws becomes a code and a text.
  template <typename F>
  int32_t Edge(F&& body) noexcept {
    int32_t kind = PROA_ERROR;
    std::string text;
    try {
      body();
      return PROA_OK;
    } catch (const Error& e) {
      kind = e.kind();
      text = e.what();
    } catch (const std::bad_alloc&) {
      kind = PROA_OUT_OF_MEMORY;
      text = "out of memory";
    } catch (const std::invalid_argument& e) {
      kind = PROA_VALUE_ERROR;
      text = e.what();
    } catch (const std::out_of_range& e) {
      kind = PROA_INDEX_ERROR;
      text = e.what();
    } catch (const std::exception& e) {
      text = e.what();
    } catch (...) {
      text = "an exception that is no std::exception";
    }
    HostSlot()->set_error(kind, text.data(), text.size());
    return kind;
  }

  inline int32_t RunKernel(void* data, const ProaValue* args, size_t count,
                           ProaResultSink sink, void* context) {
    return Edge([&] {
      const auto& op = *static_cast<const OpSpec*>(data);
      op.kernel.call(op, args, count, sink, context);
    });
  }

  inline int32_t RunInfer(void* data, const ProaValue* args, size_t count,
                          ProaMetaSink sink, void* context) {
    return Edge([&] {
      const auto& op = *static_cast<const OpSpec*>(data);
      std::vector<Sizes> shapes;
      std::vector<DataType> dtypes;
      if (op.infer_shape.call) shapes = op.infer_shape.call(op, args, count);
      if (op.infer_dtype.call) dtypes = op.infer_dtype.call(op, args, count);
      const bool both = op.infer_shape.call && op.infer_dtype.call;
      if (both && shapes.size() != dtypes.size()) {
        throw Error(PROA_VALUE_ERROR,
                    Text("inference gave ", shapes.size(), " shapes and ",
                         dtypes.size(), " dtypes"));
      }
      const size_t n = op.infer_shape.call ? shapes.size() : dtypes.size();
      const std::vector<size_t> shares = op.Shares(args, n, "inference");
      size_t next = 0;
      for (size_t i = 0; i < op.outputs.size(); ++i) {
        for (size_t k = 0; k < shares[i]; ++k, ++next) {
          ProaMeta m{};
          m.struct_size = sizeof(m);
          m.rank = m.dtype = -1;
          if (op.infer_shape.call) {
            m.rank = static_cast<int32_t>(shapes[next].size());
            m.sizes = shapes[next].data();
          }
          if (op.infer_dtype.call) m.dtype = static_cast<int32_t>(dtypes[next]);
          Check(sink(context, i, &m));
        }
      }
    });
  }

  // "x@VECTOR@OPTIONAL" without what is not of the name.
  inline std::string TakeMark(std::string name, const char* mark, bool* found) {
    const size_t at = name.find(mark);
    *found = at != std::string::npos;
    if (*found) name.erase(at, std::strlen(mark));
    return name;
  }

  inline std::string Trimmed(const std::string& s) {
    const size_t from = s.find_first_not_of(" \t");
    if (from == std::string::npos) return "";
    return s.substr(from, s.find_last_not_of(" \t") - from + 1);
  }

  inline ArgKind AttributeKindOf(const std::string& type) {
    static const std::unordered_map<std::string, ArgKind> kKinds = {
        {"bool", ArgKind::kBool},
        {"int", ArgKind::kInt},
        {"int32_t", ArgKind::kInt},
        {"int64_t", ArgKind::kInt},
        {"float", ArgKind::kFloat},
        {"double", ArgKind::kFloat},
        {"std::string", ArgKind::kString},
        {"std::vector<int>", ArgKind::kIntList},
        {"std::vector<int64_t>", ArgKind::kIntList},
        {"std::vector<float>", ArgKind::kFloatList},
        {"std::vector<double>", ArgKind::kFloatList},
        {"std::vector<std::string>", ArgKind::kStringList}};
    const auto found = kKinds.find(type);
    return found == kKinds.end() ? ArgKind::kUnknown : found->second;
  }

  }  // namespace internal

  // Describes an operator: PROA_OP(name).Inputs({...})....
  class OpBuilder {
   public:
    OpBuilder(const std::string& name, int level) : spec_(new OpSpec) {
      std::string plain;
      for (const char c : name) {
        if (c != '"') plain += c;
      }
      spec_->base = plain;
      spec_->level = level;
      for (int i = 0; i < level; ++i) plain += "_grad";
      spec_->name = plain;
      internal::Specs().push_back(spec_);
    }

    OpBuilder& Inputs(const std::vector<std::string>& names) {
      for (const std::string& name : names) {
        Param p;
        bool list = false;
        p.name = internal::TakeMark(name, "@VECTOR", &list);
        p.name = internal::TakeMark(p.name, "@OPTIONAL", &p.optional);
        p.kind = list ? ArgKind::kTensorList : ArgKind::kTensor;
        spec_->inputs.push_back(p);
      }
      return *this;
    }
    OpBuilder& Outputs(const std::vector<std::string>& names) {
      for (const std::string& name : names) {
        Output o;
        o.name = internal::TakeMark(name, "@VECTOR", &o.is_list);
        o.name = internal::TakeMark(o.name, "@OPTIONAL", &o.optional);
        spec_->outputs.push_back(o);
      }
      return *this;
    }
    // "name: type", or "name: type = 0.5" for numbers, bools and strings, which
    // the function in Python then has as its default.
    OpBuilder& Attrs(const std::vector<std::string>& attributes) {
      attribute_texts_ = attributes;
      for (const std::string& text : attributes)
        spec_->attributes.push_back(Parse(text));
      return *this;
    }
    OpBuilder& SetKernelFn(Wrapped<KernelFunction> f) {
      spec_->kernel = std::move(f);
      return *this;
    }
    OpBuilder& SetInferShapeFn(Wrapped<ShapeFunction> f) {
      spec_->infer_shape = std::move(f);
      return *this;
    }
    OpBuilder& SetInferDtypeFn(Wrapped<DTypeFunction> f) {
      spec_->infer_dtype = std::move(f);
      return *this;
    }
    // Which inputs are changed, and become which outputs.
    OpBuilder& SetInplaceMap(
        const std::unordered_map<std::string, std::string>& map) {
      spec_->inplace = map;
      return *this;
    }
    OpBuilder& Doc(const std::string& text) {
      spec_->doc = text;
      return *this;
    }
    // The kernel calls operators and touches no elements: these are
    // differentiated and recorded in its place. It needs no inference, and no
    // gradient of its own.
    OpBuilder& Composite() {
      spec_->composite = true;
      return *this;
    }

   private:
    static Param Parse(const std::string& text) {
      Param p;
      const size_t colon = text.find(':');
      const size_t equals = text.find('=');
      p.name = internal::Trimmed(text.substr(0, colon));
      p.kind = ArgKind::kUnknown;
      if (colon == std::string::npos) return p;
      p.kind = internal::AttributeKindOf(internal::Trimmed(text.substr(
          colon + 1, equals == std::string::npos ? std::string::npos
                                                 : equals - colon - 1)));
      if (equals == std::string::npos) return p;
      p.has_default = true;
      p.default_text = internal::Trimmed(text.substr(equals + 1));
      return p;
    }

    std::shared_ptr<OpSpec> spec_;
    std::vector<std::string> attribute_texts_;
  };

  namespace internal {

  inline int32_t ValueKindOf(ArgKind k) {
    switch (k) {
      case ArgKind::kTensor:
        return PROA_TENSOR;
      case ArgKind::kTensorList:
        return PROA_TENSOR_LIST;
      case ArgKind::kBool:
        return PROA_VALUE_BOOL;
      case ArgKind::kInt:
        return PROA_INT;
      case ArgKind::kFloat:
        return PROA_FLOAT;
      case ArgKind::kString:
        return PROA_STRING;
      case ArgKind::kIntList:
        return PROA_INT_LIST;
      case ArgKind::kFloatList:
        return PROA_FLOAT_LIST;
      case ArgKind::kStringList:
        return PROA_STRING_LIST;
      default:
        return PROA_NONE;
    }
  }

  // Throws unless what a function takes is what the op declares.
  inline void CheckKinds(const OpSpec& op, const char* which,
                         const std::vector<ArgKind>& kinds, bool needs_all) {
    std::vector<ArgKind> tensors, attributes;
    for (const ArgKind k : kinds) {
      if (k == ArgKind::kOutput) continue;
      const bool shape = tensors.size() < op.inputs.size();
      if (shape && (k == ArgKind::kTensor || k == ArgKind::kTensorList)) {
        tensors.push_back(k);
      } else {
        attributes.push_back(k == ArgKind::kTensor ? ArgKind::kIntList : k);
      }
    }
    if (tensors.size() != op.inputs.size()) {
      throw Error(Text(op.name, ": ", which, " takes ", tensors.size(),
                       " tensors; Inputs names ", op.inputs.size()));
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i] != op.inputs[i].kind) {
        throw Error(Text(op.name, ": ", which, " takes ", Name(tensors[i]),
                         " for ", op.inputs[i].name, "; Inputs says ",
                         Name(op.inputs[i].kind)));
      }
    }
    if (attributes.empty() && !needs_all) return;
    if (attributes.size() != op.attributes.size()) {
      throw Error(Text(op.name, ": ", which, " takes ", attributes.size(),
                       " attributes; Attrs names ", op.attributes.size()));
    }
    for (size_t i = 0; i < attributes.size(); ++i) {
      if (attributes[i] != op.attributes[i].kind) {
        throw Error(Text(op.name, ": ", which, " takes ", Name(attributes[i]),
                         " for ", op.attributes[i].name, "; Attrs says ",
                         Name(op.attributes[i].kind)));
      }
    }
  }

  inline void SetDefault(const OpSpec& op, Param& p) {
    if (!p.has_default) return;
    ProaValue& v = p.default_value;
    v.kind = ValueKindOf(p.kind);
    try {
      size_t used = p.default_text.size();
      if (p.kind == ArgKind::kBool) {
        if (p.default_text != "true" && p.default_text != "false") throw 0;
        v.as.i = p.default_text == "true";
      } else if (p.kind == ArgKind::kInt) {
        v.as.i = std::stoll(p.default_text, &used);
      } else if (p.kind == ArgKind::kFloat) {
        v.as.f = std::stod(p.default_text, &used);
      } else if (p.kind == ArgKind::kString) {
        v.as.text = p.default_text.c_str();
        v.count = static_cast<int64_t>(p.default_text.size());
      } else {
        throw 0;
      }
      if (used != p.default_text.size()) throw 0;
    } catch (...) {
      throw Error(Text(op.name, ": attribute ", p.name, " has the default '",
                       p.default_text, "', which is no ", Name(p.kind)));
    }
  }

  inline void FindInplace(OpSpec& op) {
    for (const auto& [input, output] : op.inplace) {
      bool ignored = false;
      const auto plain = [&](const std::string& name) {
        return TakeMark(TakeMark(name, "@VECTOR", &ignored), "@OPTIONAL",
                        &ignored);
      };
      int from = -1;
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        if (op.inputs[i].name == plain(input)) from = static_cast<int>(i);
      }
      bool found = false;
      for (Output& o : op.outputs) {
        if (o.name != plain(output)) continue;
        o.inplace = from;
        found = true;
      }
      if (from < 0 || !found) {
        throw Error(Text(op.name, ": SetInplaceMap says that ", input,
                         " becomes ", output, "; there is no such ",
                         from < 0 ? "input" : "output"));
      }
    }
  }

  inline void AddParam(OpSpec& op, Param& p) {
    if (p.kind == ArgKind::kUnknown) {
      throw Error(Text(op.name, ": attribute '", p.name,
                       "' has no type that an attribute may have; write it as "
                       "\"name: type\""));
    }
    SetDefault(op, p);
    op.abi_params.push_back({sizeof(ProaParam), p.name.c_str(),
                             ValueKindOf(p.kind),
                             p.optional ? uint32_t{PROA_PARAM_OPTIONAL} : 0,
                             p.has_default ? &p.default_value : nullptr});
  }

  // Fills in what the table points to.
  inline void Finish(OpSpec& op,
                     const std::vector<std::shared_ptr<OpSpec>>& all) {
    FindInplace(op);
    // A gradient is called with attributes of its operator if it declares them.
    for (Param& p : op.inputs) AddParam(op, p);
    for (Param& p : op.attributes) AddParam(op, p);
    for (const ProaParam& p : op.abi_params) op.abi_param_list.push_back(&p);
    for (const Output& o : op.outputs) {
      op.abi_outputs.push_back(
          {sizeof(ProaOutput), o.name.c_str(),
           (o.is_list ? uint32_t{PROA_OUTPUT_LIST} : 0) |
               (o.optional ? uint32_t{PROA_OUTPUT_OPTIONAL} : 0),
           o.inplace});
    }
    for (const ProaOutput& o : op.abi_outputs) op.abi_output_list.push_back(&o);
    if (op.kernel.call) CheckKinds(op, "the kernel", op.kernel.kinds, true);
    if (op.infer_shape.call) {
      CheckKinds(op, "inference of shapes", op.infer_shape.kinds, false);
    }
    if (op.infer_dtype.call) {
      CheckKinds(op, "inference of dtypes", op.infer_dtype.kinds, false);
    }
    for (const auto& other : all) {
      if (other->base == op.base && other->level == op.level + 1) {
        op.gradient = other->name;
      }
    }
    op.abi.struct_size = sizeof(ProaOp);
    op.abi.name = op.name.c_str();
    op.abi.doc = op.doc.c_str();
    op.abi.flags = op.composite ? uint32_t{PROA_OP_COMPOSITE} : 0;
    op.abi.params = op.abi_param_list.data();
    op.abi.num_params = op.abi_param_list.size();
    op.abi.outputs = op.abi_output_list.data();
    op.abi.num_outputs = op.abi_output_list.size();
    op.abi.data = &op;
    op.abi.kernel = op.kernel.call ? &RunKernel : nullptr;
    op.abi.infer =
        op.infer_shape.call || op.infer_dtype.call ? &RunInfer : nullptr;
    op.abi.gradient = op.gradient.empty() ? nullptr : op.gradient.c_str();
  }

  inline const ProaExtension* Describe(const ProaHost* host) {
    HostSlot() = host;
    static std::vector<const ProaOp*>* ops = nullptr;
    static ProaExtension extension = {};
    const int32_t kind = Edge([&] {
      if (host->abi_major != PROA_EXTENSION_ABI_MAJOR ||
          host->struct_size < sizeof(ProaHost)) {
        throw Error(Text("it was built for version ", PROA_EXTENSION_ABI_MAJOR,
                         ".", PROA_EXTENSION_ABI_MINOR,
                         " of the extension interface; this release of Proa (",
                         host->release, ") has ", host->abi_major, ".",
                         host->abi_minor));
      }
      ops = new std::vector<const ProaOp*>;
      for (const auto& op : Specs()) {
        Finish(*op, Specs());
        ops->push_back(&op->abi);
      }
    });
    if (kind != PROA_OK) return nullptr;
    extension.struct_size = sizeof(ProaExtension);
    extension.abi_major = PROA_EXTENSION_ABI_MAJOR;
    extension.abi_minor = PROA_EXTENSION_ABI_MINOR;
    extension.ops = ops->data();
    extension.num_ops = ops->size();
    return &extension;
  }

  }  // namespace internal
}  // namespace extension
}  // namespace proa

// Once in the library, however many sources include this.
extern "C"
    __attribute__((visibility("default"), used)) inline const ProaExtension*
    ProaExtensionEntry(const ProaHost* host) {
  return ::proa::extension::internal::Describe(host);
}

#define PROA_EXTENSION_JOIN(a, b) PROA_EXTENSION_JOIN_NOW(a, b)
#define PROA_EXTENSION_JOIN_NOW(a, b) a##b
#define PROA_EXTENSION_BUILD(name, level)                                   \
  static ::proa::extension::OpBuilder PROA_EXTENSION_JOIN(proa_op_builder_, \
                                                          __COUNTER__) =    \
      ::proa::extension::OpBuilder(#name, level)

#define PROA_OP(name) PROA_EXTENSION_BUILD(name, 0)
#define PROA_GRAD_OP(name) PROA_EXTENSION_BUILD(name, 1)
#define PROA_DOUBLE_GRAD_OP(name) PROA_EXTENSION_BUILD(name, 2)

#define PROA_KERNEL(...) ::proa::extension::internal::MakeKernel(__VA_ARGS__)
#define PROA_INFER_SHAPE(...) \
  ::proa::extension::internal::MakeInferShape(__VA_ARGS__)
#define PROA_INFER_DTYPE(...) \
  ::proa::extension::internal::MakeInferDtype(__VA_ARGS__)

#endif  // PROA_EXTENSION_OP_H_
