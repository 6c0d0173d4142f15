#include "ops/extension/host.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/boxed_call.h"
#include "ops/version.h"
#include "tensor/copy.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/storage.h"

namespace proa::inline v0::ops {
namespace {

// Of this thread: what the last call across the interface failed with.
struct LastError {
  int32_t kind = PROA_OK;
  std::string text;
};
thread_local LastError last_error;

int32_t SetError(int32_t kind, std::string text) {
  last_error = {kind, std::move(text)};
  return kind;
}

int32_t KindOf(const Error& e) {
  if (dynamic_cast<const TypeError*>(&e) != nullptr) return PROA_TYPE_ERROR;
  switch (e.code()) {
    case absl::StatusCode::kInvalidArgument:
      return PROA_VALUE_ERROR;
    case absl::StatusCode::kOutOfRange:
      return PROA_INDEX_ERROR;
    case absl::StatusCode::kUnimplemented:
      return PROA_NOT_IMPLEMENTED;
    case absl::StatusCode::kResourceExhausted:
      return PROA_OUT_OF_MEMORY;
    case absl::StatusCode::kNotFound:
      return PROA_NOT_FOUND;
    default:
      return PROA_ERROR;
  }
}

// Runs `body`, which may throw; nothing leaves.
template <typename F>
int32_t Edge(F&& body) noexcept {
  try {
    body();
    return PROA_OK;
  } catch (const Error& e) {
    return SetError(KindOf(e), e.what());
  } catch (const std::exception& e) {
    return SetError(PROA_ERROR, e.what());
  } catch (...) {
    return SetError(PROA_ERROR, "an exception of unknown type");
  }
}

ProaTensor Handle(const Tensor& t) {
  return reinterpret_cast<ProaTensor>(t.impl());
}
// A handle is a description; it is counted by the descriptions' own count.
Tensor FromHandle(ProaTensor t) {
  return Tensor(
      IntrusivePtr<TensorImpl>::Share(reinterpret_cast<TensorImpl*>(t)));
}
ProaTensor Release(Tensor t) {
  return reinterpret_cast<ProaTensor>(t.release().release());
}

Place FromAbi(ProaPlace p) {
  PROA_REQUIRE(p.kind >= 0 && p.kind < kMaxDeviceKinds && p.index >= 0 &&
                   p.index <= INT16_MAX,
               "there is no place of kind ", p.kind, " and index ", p.index);
  return {static_cast<DeviceKind>(p.kind), static_cast<int16_t>(p.index)};
}
ProaPlace ToAbi(Place p) { return {static_cast<int32_t>(p.kind), p.index}; }

DType ToDType(int64_t t) {
  if (t < 0 || t >= kNumDTypes) {
    ThrowTypeError(absl::StrCat("there is no dtype of number ", t));
  }
  return static_cast<DType>(t);
}
static_assert(static_cast<int>(DType::kBool) == PROA_BOOL &&
              static_cast<int>(DType::kInt64) == PROA_INT64 &&
              static_cast<int>(DType::kFloat16) == PROA_FLOAT16 &&
              static_cast<int>(DType::kBFloat16) == PROA_BFLOAT16 &&
              static_cast<int>(DType::kFloat32) == PROA_FLOAT32 &&
              static_cast<int>(DType::kComplex128) == PROA_COMPLEX128);

Shape ToShape(const int64_t* sizes, int32_t rank) {
  PROA_REQUIRE(rank >= 0 && rank <= kMaxRank && (rank == 0 || sizes != nullptr),
               "a shape of ", rank, " dims; ", kMaxRank, " are the most");
  return Shape(std::span<const int64_t>(sizes, static_cast<size_t>(rank)));
}

void Retain(ProaTensor t) {
  if (t != nullptr) Release(FromHandle(t));
}

void ReleaseTensor(ProaTensor t) {
  if (t == nullptr) return;
  Tensor(IntrusivePtr<TensorImpl>::Adopt(reinterpret_cast<TensorImpl*>(t)));
}

int32_t DescribeTensor(ProaTensor tensor, ProaMeta* meta) {
  return Edge([&] {
    PROA_REQUIRE(tensor != nullptr, "an undefined tensor has no shape");
    const TensorImpl& t = *reinterpret_cast<TensorImpl*>(tensor);
    ProaMeta out{};
    out.struct_size = meta->struct_size;
    out.dtype = static_cast<int32_t>(t.dtype);
    out.rank = t.shape.rank();
    out.sizes = t.shape.data();
    out.strides = t.strides.data();
    out.place = ToAbi(t.place);
    out.numel = t.numel;
    out.data = t.data;
    out.is_real = t.storage != nullptr ? 1 : 0;
    std::memcpy(meta, &out, std::min(meta->struct_size, sizeof(out)));
  });
}

int32_t NewEmpty(const int64_t* sizes, int32_t rank, int32_t dtype,
                 ProaPlace place, ProaTensor* out) {
  return Edge([&] {
    *out = Release(
        Tensor::Empty(ToShape(sizes, rank), ToDType(dtype), FromAbi(place)));
  });
}

int32_t WrapMemory(void* data, const int64_t* sizes, int32_t rank,
                   int32_t dtype, void (*release)(void*), void* context,
                   ProaTensor* out) {
  return Edge([&] {
    const Shape shape = ToShape(sizes, rank);
    const DType t = ToDType(dtype);
    const int64_t bytes = shape.numel() * ItemSize(t);
    PROA_REQUIRE(shape.known() && bytes >= 0, "a tensor over memory of ",
                 ToString(shape), " elements");
    auto storage = Storage::Wrap(data, bytes, Place{}, [release, context] {
      if (release != nullptr) release(context);
    });
    *out = Release(Tensor::FromStorage(std::move(storage), t, shape,
                                       ContiguousStrides(shape)));
  });
}

int32_t CopyToPlace(ProaTensor tensor, ProaPlace place, ProaTensor* out) {
  return Edge(
      [&] { *out = Release(CopyTo(FromHandle(tensor), FromAbi(place))); });
}

int32_t CopyElements(ProaTensor target, ProaTensor source) {
  return Edge([&] { CopyInto(FromHandle(source), FromHandle(target)); });
}

// A list of strings is one, as in a custom op.
Value Attribute(const ProaValue& v) {
  const auto n = static_cast<size_t>(v.count);
  switch (v.kind) {
    case PROA_NONE:
      return Value();
    case PROA_TENSOR:
      return v.as.tensor != nullptr ? FromHandle(v.as.tensor) : Tensor();
    case PROA_TENSOR_LIST: {
      std::vector<Tensor> out;
      for (size_t i = 0; i < n; ++i) {
        out.push_back(v.as.tensors[i] != nullptr ? FromHandle(v.as.tensors[i])
                                                 : Tensor());
      }
      return out;
    }
    case PROA_VALUE_BOOL:
      return v.as.i != 0;
    case PROA_INT:
      return v.as.i;
    case PROA_FLOAT:
      return v.as.f;
    case PROA_STRING:
      return std::string(v.as.text, n);
    case PROA_INT_LIST:
      return std::vector<int64_t>(v.as.ints, v.as.ints + n);
    case PROA_FLOAT_LIST:
      return std::vector<double>(v.as.floats, v.as.floats + n);
    case PROA_STRING_LIST: {
      std::vector<std::string> out;
      for (size_t i = 0; i < n; ++i) {
        out.emplace_back(v.as.texts[i].data, v.as.texts[i].size);
      }
      return JoinStrings(out);
    }
    case PROA_VALUE_DTYPE:
      return ToDType(v.as.i);
    case PROA_VALUE_PLACE:
      return FromAbi(v.as.place);
    case PROA_COMPLEX:
      return Scalar(complex128(v.as.parts[0], v.as.parts[1]));
    default:
      FailArgument("a value of kind ", v.kind, ", which this release lacks");
  }
}

// The positions of the arguments among the parameters of `op`.
std::vector<Value> Bind(const OpDefinition& op, const ProaArgument* args,
                        size_t count) {
  std::vector<Value> out(op.params.size());
  std::vector<bool> given(op.params.size());
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    size_t at = next;
    if (args[i].name != nullptr) {
      at = 0;
      while (at < op.params.size() &&
             std::strcmp(op.params[at].name, args[i].name) != 0) {
        ++at;
      }
      if (at == op.params.size()) {
        ThrowTypeError(absl::StrCat(op.name, ": has no parameter ",
                                    args[i].name, "; ", op.signature));
      }
    } else {
      ++next;
      if (at >= op.params.size()) {
        ThrowTypeError(absl::StrCat(op.name, ": takes ", op.params.size(),
                                    " arguments; ", op.signature));
      }
    }
    if (given[at]) {
      ThrowTypeError(
          absl::StrCat(op.name, ": ", op.params[at].name, " is given twice"));
    }
    given[at] = true;
    out[at] = Attribute(args[i].value);
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const ParamInfo& p = op.params[i];
    if (given[i] || (p.optional && p.default_value == nullptr)) continue;
    if (p.default_value == nullptr) {
      ThrowTypeError(
          absl::StrCat(op.name, ": ", p.name, " is not given; ", op.signature));
    }
    out[i] = p.default_value();
  }
  return out;
}

int32_t CallOp(const char* name, const ProaArgument* args, size_t count,
               ProaResultSink sink, void* context) {
  return Edge([&] {
    PROA_REQUIRE(name != nullptr, "an op without name is called");
    const OpDefinition* op = FindOp(name);
    if (op == nullptr) {
      Fail(absl::StatusCode::kNotFound, "there is no op '", name, "'");
    }
    std::vector<Value> results(op->outputs.size());
    CallBoxed(*op, Bind(*op, args, count), results);
    for (size_t i = 0; i < results.size(); ++i) {
      std::vector<Tensor> list;
      if (auto* t = std::get_if<Tensor>(&results[i])) list = {*t};
      if (auto* ts = std::get_if<std::vector<Tensor>>(&results[i])) list = *ts;
      for (const Tensor& t : list) {
        if (const int32_t kind = sink(context, i, Handle(t)); kind != 0) {
          ThrowExtensionError(kind, name);
        }
      }
    }
  });
}

int32_t ParallelFor(int64_t begin, int64_t end, int64_t grain,
                    int32_t (*body)(void*, int64_t, int64_t), void* context) {
  return Edge([&] {
    parallel_for(begin, end, std::max<int64_t>(grain, 1),
                 [&](int64_t from, int64_t to) {
                   if (const int32_t kind = body(context, from, to); kind != 0)
                     ThrowExtensionError(kind, "parallel_for");
                 });
  });
}

void SetErrorText(int32_t kind, const char* text, size_t size) {
  last_error = {kind, std::string(text, size)};
}

const char* LastErrorText(int32_t* kind) {
  if (kind != nullptr) *kind = last_error.kind;
  return last_error.text.c_str();
}

constexpr ProaHost kHost = {
    .struct_size = sizeof(ProaHost),
    .abi_major = PROA_EXTENSION_ABI_MAJOR,
    .abi_minor = PROA_EXTENSION_ABI_MINOR,
    .release = PROA_OPS_VERSION_STRING,
    .set_error = &SetErrorText,
    .last_error = &LastErrorText,
    .retain = &Retain,
    .release_tensor = &ReleaseTensor,
    .describe = &DescribeTensor,
    .empty = &NewEmpty,
    .wrap = &WrapMemory,
    .copy_to = &CopyToPlace,
    .copy_into = &CopyElements,
    .call = &CallOp,
    .parallel_for = &ParallelFor,
};

}  // namespace

const ProaHost& ExtensionHost() { return kHost; }

Value FromAbi(const ProaValue& v) { return Attribute(v); }

AbiValues::AbiValues(const std::vector<CustomParam>& params,
                     std::span<const Value> args) {
  tensors_.reserve(args.size());
  strings_.reserve(args.size());
  texts_.reserve(args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    ProaValue v{};
    if (const auto* t = std::get_if<Tensor>(&args[i])) {
      v.kind = t->defined() ? PROA_TENSOR : PROA_NONE;
      if (t->defined()) v.as.tensor = Handle(*t);
    } else if (const auto* ts = std::get_if<std::vector<Tensor>>(&args[i])) {
      std::vector<ProaTensor>& list = tensors_.emplace_back();
      for (const Tensor& t : *ts) list.push_back(Handle(t));
      v.kind = PROA_TENSOR_LIST;
      v.count = static_cast<int64_t>(list.size());
      v.as.tensors = list.data();
    } else if (const auto* b = std::get_if<bool>(&args[i])) {
      v.kind = PROA_VALUE_BOOL;
      v.as.i = *b ? 1 : 0;
    } else if (const auto* n = std::get_if<int64_t>(&args[i])) {
      v.kind = PROA_INT;
      v.as.i = *n;
    } else if (const auto* f = std::get_if<double>(&args[i])) {
      v.kind = PROA_FLOAT;
      v.as.f = *f;
    } else if (const auto* s = std::get_if<std::string>(&args[i])) {
      if (params[i].is_string_list) {
        const auto& items = strings_.emplace_back(SplitStrings(*s));
        std::vector<ProaText>& texts = texts_.emplace_back();
        for (const std::string& item : items) {
          texts.push_back({item.data(), item.size()});
        }
        v.kind = PROA_STRING_LIST;
        v.count = static_cast<int64_t>(texts.size());
        v.as.texts = texts.data();
      } else {
        v.kind = PROA_STRING;
        v.count = static_cast<int64_t>(s->size());
        v.as.text = s->c_str();
      }
    } else if (const auto* l = std::get_if<std::vector<int64_t>>(&args[i])) {
      v.kind = PROA_INT_LIST;
      v.count = static_cast<int64_t>(l->size());
      v.as.ints = l->data();
    } else if (const auto* d = std::get_if<std::vector<double>>(&args[i])) {
      v.kind = PROA_FLOAT_LIST;
      v.count = static_cast<int64_t>(d->size());
      v.as.floats = d->data();
    }
    values_.push_back(v);
  }
}

void ThrowExtensionError(int32_t kind, const char* what) {
  LastError error = std::exchange(last_error, {});
  if (error.text.empty()) {
    error.text = absl::StrCat(what, ": failed with code ", kind,
                              " and no message (set_error)");
  }
  switch (kind) {
    case PROA_VALUE_ERROR:
      Fail(absl::StatusCode::kInvalidArgument, error.text);
    case PROA_TYPE_ERROR:
      ThrowTypeError(error.text);
    case PROA_INDEX_ERROR:
      Fail(absl::StatusCode::kOutOfRange, error.text);
    case PROA_NOT_IMPLEMENTED:
      Fail(absl::StatusCode::kUnimplemented, error.text);
    case PROA_OUT_OF_MEMORY:
      Fail(absl::StatusCode::kResourceExhausted, error.text);
    default:
      Fail(absl::StatusCode::kFailedPrecondition, error.text);
  }
}

int32_t SinkResult(void* results, size_t output, ProaTensor tensor) {
  return Edge([&] {
    auto& out = *static_cast<CustomResults*>(results);
    PROA_REQUIRE(output < out.size(), "the kernel gave output ", output,
                 "; there are ", out.size());
    out[output].push_back(tensor != nullptr ? FromHandle(tensor) : Tensor());
  });
}

int32_t SinkMeta(void* metas, size_t output, const ProaMeta* meta) {
  return Edge([&] {
    auto& out = *static_cast<CustomMetas*>(metas);
    PROA_REQUIRE(output < out.size(), "inference gave output ", output,
                 "; there are ", out.size());
    CustomMeta m;
    if (meta->rank >= 0) m.shape = ToShape(meta->sizes, meta->rank);
    if (meta->dtype >= 0) m.dtype = ToDType(meta->dtype);
    out[output].push_back(std::move(m));
  });
}

}  // namespace proa::inline v0::ops
