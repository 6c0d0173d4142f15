// ONNX Runtime by its C interface. There is nothing to link against: the
// library is loaded when a predictor asks for it, so that programs that do not
// need it run without.
//
// Its interface is a table of functions whose places never change, only grow;
// what is used here has been there from version 1 on.
#include "inference/onnxruntime_engine.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensor/copy.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/shape.h"
#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace proa::inline v0::inference {
namespace {

// Objects of ONNX Runtime, known by their addresses alone.
struct OrtStatus;
struct OrtEnv;
struct OrtSession;
struct OrtSessionOptions;
struct OrtMemoryInfo;
struct OrtTypeInfo;
struct OrtTensorInfo;
struct OrtValue;
struct OrtAllocator;

// Numbers of its enumerations.
constexpr int kErrorsOnly = 3;  // of logging levels
constexpr int kDisableAll = 0;  // of graph optimizations
constexpr int kEnableAll = 99;
constexpr int kArenaAllocator = 1;
constexpr int kDefaultMemory = 0;

// Where a function stands in the table.
enum Place {
  kGetErrorMessage = 2,
  kCreateEnv = 3,
  kCreateSession = 7,
  kCreateSessionFromArray = 8,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetGraphOptimizationLevel = 23,
  kSetIntraOpNumThreads = 24,
  kSessionGetInputCount = 30,
  kSessionGetOutputCount = 31,
  kSessionGetInputTypeInfo = 33,
  kSessionGetOutputTypeInfo = 34,
  kSessionGetInputName = 36,
  kSessionGetOutputName = 37,
  kCreateTensorWithData = 49,
  kGetTensorMutableData = 51,
  kCastTypeInfoToTensorInfo = 55,
  kGetTensorElementType = 60,
  kGetDimensionsCount = 61,
  kGetDimensions = 62,
  kGetTensorTypeAndShape = 65,
  kCreateCpuMemoryInfo = 69,
  kAllocatorFree = 76,
  kGetAllocatorWithDefaultOptions = 78,
  kReleaseStatus = 93,
  kReleaseSession = 95,
  kReleaseValue = 96,
  kReleaseTypeInfo = 98,
  kReleaseTensorInfo = 99,
  kReleaseSessionOptions = 100,
};

// Element types of ONNX by their numbers; strings and unsigned integers of 16
// bits and more are not here.
constexpr std::optional<DType> kElementTypes[] = {
    std::nullopt,    DType::kFloat32, DType::kUInt8,     DType::kInt8,
    std::nullopt,    DType::kInt16,   DType::kInt32,     DType::kInt64,
    std::nullopt,    DType::kBool,    DType::kFloat16,   DType::kFloat64,
    std::nullopt,    std::nullopt,    DType::kComplex64, DType::kComplex128,
    DType::kBFloat16};

DType TypeOf(int number, const std::string& name) {
  PROA_REQUIRE(number >= 0 &&
                   number < static_cast<int>(std::size(kElementTypes)) &&
                   kElementTypes[number].has_value(),
               "EnableONNXRuntime: '", name, "' has elements of ONNX's type ",
               number, ", which is not here");
  return *kElementTypes[number];
}

int NumberOf(DType t) {
  return static_cast<int>(std::ranges::find(kElementTypes, t) -
                          std::begin(kElementTypes));
}

class Runtime {
 public:
  // Loads the library once for each name.
  static const Runtime& Get(const std::string& library);

  template <typename... Args>
  void Call(Place place, Args... args) const {
    auto* const f =
        reinterpret_cast<OrtStatus* (*)(Args...) noexcept>(table_[place]);
    if (OrtStatus* const status = f(args...); status != nullptr) {
      const std::string said =
          reinterpret_cast<const char* (*)(const OrtStatus*)>(
              table_[kGetErrorMessage])(status);
      Release(kReleaseStatus, status);
      FailArgument("ONNX Runtime: ", said);
    }
  }
  template <typename T>
  void Release(Place place, T* object) const {
    reinterpret_cast<void (*)(T*)>(table_[place])(object);
  }
  OrtEnv* env() const { return env_; }
  const OrtMemoryInfo* memory() const { return memory_; }
  OrtAllocator* allocator() const { return allocator_; }

 private:
  explicit Runtime(void* const* table) : table_(table) {
    Call(kCreateEnv, kErrorsOnly, static_cast<const char*>("proa"), &env_);
    Call(kCreateCpuMemoryInfo, kArenaAllocator, kDefaultMemory, &memory_);
    Call(kGetAllocatorWithDefaultOptions, &allocator_);
  }

  void* const* const table_;
  OrtEnv* env_ = nullptr;
  OrtMemoryInfo* memory_ = nullptr;
  OrtAllocator* allocator_ = nullptr;
};

// The table of a library, or null and why.
void* const* TableOf(const std::string& library, std::string* why) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    *why = dlerror();
    return nullptr;
  }
  struct Base {
    void* const* (*table)(uint32_t version);
    const char* (*version)();
  };
  const auto base =
      reinterpret_cast<const Base* (*)()>(dlsym(handle, "OrtGetApiBase"));
  if (base == nullptr) {
    *why = absl::StrCat(library, " is no library of ONNX Runtime");
    return nullptr;
  }
  // It stays loaded: its threads may outlive the last predictor.
  void* const* const table = base()->table(1);
  if (table == nullptr) *why = absl::StrCat(library, " has no version 1");
  return table;
}

const Runtime& Runtime::Get(const std::string& library) {
  // Never destroyed: a predictor may be the last thing that the process lets
  // go of.
  static auto* const mutex = new std::mutex;
  static auto* const loaded = new std::map<std::string, const Runtime*>;
  const std::lock_guard lock(*mutex);
  const Runtime*& runtime = (*loaded)[library];
  if (runtime != nullptr) return *runtime;
  std::vector<std::string> names;
  const char* const named = std::getenv("PROA_ONNXRUNTIME_LIBRARY");
  if (!library.empty()) {
    names = {library};
  } else if (named != nullptr && *named != '\0') {
    names = {named};
  } else {
    names = {"libonnxruntime.so.1", "libonnxruntime.so"};
  }
  std::vector<std::string> reasons;
  for (const std::string& name : names) {
    std::string why;
    if (void* const* const table = TableOf(name, &why); table != nullptr) {
      runtime = new Runtime(table);
      return *runtime;
    }
    reasons.push_back(std::move(why));
  }
  Fail(absl::StatusCode::kUnimplemented,
       "EnableONNXRuntime: the library of ONNX Runtime cannot be loaded (",
       absl::StrJoin(reasons, "; "),
       "); give EnableONNXRuntime its path, or name it in the environment "
       "variable PROA_ONNXRUNTIME_LIBRARY, or leave EnableONNXRuntime out");
}

// An object of ONNX Runtime that goes when this goes.
template <typename T>
class Owned {
 public:
  Owned(const Runtime& runtime, Place release)
      : runtime_(runtime), release_(release) {}
  ~Owned() {
    if (object_ != nullptr) runtime_.Release(release_, object_);
  }
  Owned(Owned&& other) noexcept
      : runtime_(other.runtime_),
        release_(other.release_),
        object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&&) = delete;
  T** address() { return &object_; }
  T* get() const { return object_; }

 private:
  const Runtime& runtime_;
  Place release_;
  T* object_ = nullptr;
};

class OnnxRuntimeEngine final : public Engine {
 public:
  OnnxRuntimeEngine(const std::string& model, bool is_path,
                    const OnnxRuntimeSettings& settings)
      : runtime_(Runtime::Get(settings.library)),
        session_(runtime_, kReleaseSession) {
    Owned<OrtSessionOptions> options(runtime_, kReleaseSessionOptions);
    runtime_.Call(kCreateSessionOptions, options.address());
    if (settings.threads > 0) {
      runtime_.Call(kSetIntraOpNumThreads, options.get(), settings.threads);
    }
    runtime_.Call(kSetGraphOptimizationLevel, options.get(),
                  settings.optimized ? kEnableAll : kDisableAll);
    if (is_path) {
      runtime_.Call(kCreateSession, runtime_.env(), model.c_str(),
                    options.get(), session_.address());
    } else {
      runtime_.Call(kCreateSessionFromArray, runtime_.env(),
                    static_cast<const void*>(model.data()), model.size(),
                    options.get(), session_.address());
    }
    inputs_ = Ports(kSessionGetInputCount, kSessionGetInputName,
                    kSessionGetInputTypeInfo);
    outputs_ = Ports(kSessionGetOutputCount, kSessionGetOutputName,
                     kSessionGetOutputTypeInfo);
  }

  std::vector<proa::Tensor> Run(const std::vector<proa::Tensor>& inputs,
                                const Hooks&) const override {
    std::vector<Owned<OrtValue>> values;
    std::vector<proa::Tensor> rows;  // as ONNX Runtime reads elements
    std::vector<const OrtValue*> given;
    std::vector<const char*> names, wanted;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const proa::Tensor& t = rows.emplace_back(Contiguous(inputs[i]));
      Owned<OrtValue>& value = values.emplace_back(runtime_, kReleaseValue);
      const std::vector<int64_t> sizes(t.shape().begin(), t.shape().end());
      static char none;  // an address where there are no elements
      runtime_.Call(kCreateTensorWithData, runtime_.memory(),
                    t.numel() == 0 ? static_cast<void*>(&none) : t.raw_data(),
                    static_cast<size_t>(t.numel() * ItemSize(t.dtype())),
                    sizes.data(), sizes.size(), NumberOf(t.dtype()),
                    value.address());
      given.push_back(value.get());
      names.push_back(inputs_[i].name.c_str());
    }
    std::vector<OrtValue*> results(outputs_.size(), nullptr);
    for (const Port& o : outputs_) wanted.push_back(o.name.c_str());
    runtime_.Call(kRun, session_.get(), static_cast<const void*>(nullptr),
                  names.data(), given.data(), given.size(), wanted.data(),
                  wanted.size(), results.data());
    std::vector<Owned<OrtValue>> made;
    for (OrtValue* r : results) {
      *made.emplace_back(runtime_, kReleaseValue).address() = r;
    }
    std::vector<proa::Tensor> out;
    for (size_t i = 0; i < made.size(); ++i) {
      out.push_back(Take(std::move(made[i]), outputs_[i].name));
    }
    return out;
  }

  void CheckHooks() const override {
    Fail(absl::StatusCode::kUnimplemented,
         "hooks: ONNX Runtime does not show what its operators read and make; "
         "leave EnableONNXRuntime out to see it");
  }

  std::string Plan() const override { return "ONNX Runtime"; }

 private:
  TensorMeta MetaOf(const OrtTensorInfo* info, const std::string& name) const {
    int type = 0;
    size_t rank = 0;
    runtime_.Call(kGetTensorElementType, info, &type);
    runtime_.Call(kGetDimensionsCount, info, &rank);
    std::vector<int64_t> sizes(rank);
    runtime_.Call(kGetDimensions, info, sizes.data(), rank);
    for (int64_t& n : sizes) n = n < 0 ? kUnknownDim : n;
    TensorMeta meta;
    meta.shape = Shape(std::span<const int64_t>(sizes));
    meta.dtype = TypeOf(type, name);
    return meta;
  }

  std::vector<Port> Ports(Place count_of, Place name_of, Place type_of) const {
    size_t count = 0;
    runtime_.Call(count_of, session_.get(), &count);
    std::vector<Port> ports;
    for (size_t i = 0; i < count; ++i) {
      char* text = nullptr;
      runtime_.Call(name_of, session_.get(), i, runtime_.allocator(), &text);
      const std::string name = text;
      runtime_.Call(kAllocatorFree, runtime_.allocator(),
                    static_cast<void*>(text));
      Owned<OrtTypeInfo> type(runtime_, kReleaseTypeInfo);
      runtime_.Call(type_of, session_.get(), i, type.address());
      const OrtTensorInfo* info = nullptr;  // part of `type`
      runtime_.Call(kCastTypeInfoToTensorInfo, type.get(), &info);
      PROA_REQUIRE(info != nullptr, "EnableONNXRuntime: '", name,
                   "' is no tensor but a sequence, map or optional value");
      ports.push_back({name, MetaOf(info, name)});
    }
    return ports;
  }

  // A result as a tensor that lies where ONNX Runtime put it.
  proa::Tensor Take(Owned<OrtValue> value, const std::string& name) const {
    Owned<OrtTensorInfo> info(runtime_, kReleaseTensorInfo);
    runtime_.Call(kGetTensorTypeAndShape, value.get(), info.address());
    const TensorMeta meta = MetaOf(info.get(), name);
    void* data = nullptr;
    runtime_.Call(kGetTensorMutableData, value.get(), &data);
    const int64_t bytes = meta.shape.numel() * ItemSize(meta.dtype);
    const auto held = std::make_shared<Owned<OrtValue>>(std::move(value));
    return proa::Tensor::FromStorage(
        Storage::Wrap(data, bytes, proa::Place{}, [held] {}), meta.dtype,
        meta.shape, ContiguousStrides(meta.shape));
  }

  const Runtime& runtime_;
  Owned<OrtSession> session_;
};

}  // namespace

std::shared_ptr<const Engine> OnnxRuntimeEngineOfFile(
    const std::string& model, const OnnxRuntimeSettings& settings) {
  return std::make_shared<OnnxRuntimeEngine>(model, true, settings);
}

std::shared_ptr<const Engine> OnnxRuntimeEngineOfBytes(
    const std::string& model, const OnnxRuntimeSettings& settings) {
  return std::make_shared<OnnxRuntimeEngine>(model, false, settings);
}

}  // namespace proa::inline v0::inference
