#include "inference/tensor.h"

#include <climits>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "inference/tensor_state.h"
#include "tensor/copy.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/storage.h"

namespace proa::inline v0::inference {
namespace {

// The public enumeration repeats the core's, so that the header needs no other;
// the compiler sees to it that each has the same name and number.
#define PROA_SAME_NUMBER(e, T, name, kind) \
  static_assert(static_cast<int>(DataType::e) == static_cast<int>(DType::e));
PROA_FOR_EACH_DTYPE(PROA_SAME_NUMBER)
#undef PROA_SAME_NUMBER

DataType TypeOf(DType t) { return static_cast<DataType>(t); }

DType ToDType(DataType t) {
  PROA_REQUIRE(static_cast<int>(t) < kNumDTypes, "DataType ",
               static_cast<int>(t), " is none");
  return static_cast<DType>(t);
}

Shape ToShape(const std::vector<int64_t>& shape, const std::string& name) {
  PROA_REQUIRE(shape.size() <= static_cast<size_t>(kMaxRank), "'", name,
               "': a shape of ", shape.size(), " dims; there may be ",
               kMaxRank);
  for (int64_t n : shape) {
    PROA_REQUIRE(n >= 0, "'", name, "': size ", n, " is negative");
  }
  const Shape out{std::span<const int64_t>(shape)};
  out.numel();  // throws when it overflows
  return out;
}

}  // namespace

int GetNumBytesOfDataType(DataType type) {
  return static_cast<int>(ItemSize(ToDType(type)));
}

// TensorState

DataType TensorState::type() const {
  if (kind_ != Kind::kFree) return TypeOf(declared_.dtype);
  const std::lock_guard lock(mutex_);
  return TypeOf(dtype_.value_or(DType::kFloat32));
}

std::vector<int64_t> TensorState::shape() const {
  const std::lock_guard lock(mutex_);
  const Shape& s =
      tensor_.defined() ? tensor_.shape() : shape_.value_or(declared_.shape);
  std::vector<int64_t> sizes(s.begin(), s.end());
  for (int64_t& n : sizes) n = IsUnknown(n) ? kUnknownDim : n;
  return sizes;
}

int64_t TensorState::numel() const {
  const std::lock_guard lock(mutex_);
  if (tensor_.defined()) return tensor_.numel();
  const Shape s = shape_.value_or(declared_.shape);
  if (kind_ == Kind::kFree && !shape_.has_value()) return 0;
  return s.known() ? s.numel() : 0;
}

void TensorState::CheckWritable(const char* what) const {
  PROA_REQUIRE(kind_ != Kind::kOutput, "output '", name_, "' cannot be ", what);
}

void TensorState::CheckType(DataType type) const {
  const DType given = ToDType(type);
  const std::optional<DType> mine =
      kind_ == Kind::kFree ? dtype_ : std::optional<DType>(declared_.dtype);
  if (mine.has_value() && *mine != given) {
    const auto text = [](DType t) {
      return absl::string_view(Name(t).data(), Name(t).size());
    };
    ThrowTypeError(
        absl::StrCat("'", name_, "' is ", text(*mine), ", not ", text(given)));
  }
}

void TensorState::CheckShape(const Shape& given) const {
  if (kind_ == Kind::kFree) return;
  const Shape& want = declared_.shape;
  bool fits = given.rank() == want.rank();
  for (int i = 0; fits && i < given.rank(); ++i) {
    fits = IsUnknown(want[i]) || want[i] == given[i];
  }
  PROA_REQUIRE(fits, "input '", name_, "' takes shape ", ToString(want),
               ", not ", ToString(given));
}

template <typename F>
void TensorState::Write(const F& f) {
  try {
    f();
  } catch (const std::exception& e) {
    const std::lock_guard lock(mutex_);
    if (kind_ != Kind::kOutput) {
      tensor_ = {};
      external_ = false;
      refused_ = e.what();
    }
    throw;
  }
  const std::lock_guard lock(mutex_);
  refused_.clear();
}

void TensorState::Reshape(const std::vector<int64_t>& shape) {
  Write([&] {
    CheckWritable("reshaped");
    const Shape given = ToShape(shape, name_);
    CheckShape(given);
    const std::lock_guard lock(mutex_);
    if (tensor_.defined() && tensor_.shape() == given) return;
    shape_ = given;
    tensor_ = {};
    external_ = false;
  });
}

void TensorState::Prepare(DataType type, bool keep) {
  if (kind_ == Kind::kFree && !external_ && !tensor_.defined()) dtype_.reset();
  CheckType(type);
  if (!tensor_.defined()) {
    if (!shape_.has_value() && kind_ == Kind::kInput &&
        declared_.shape.known()) {
      shape_ = declared_.shape;
    }
    PROA_REQUIRE(shape_.has_value(), "'", name_, "' has ",
                 kind_ == Kind::kFree
                     ? std::string("no shape")
                     : absl::StrCat("shape ", ToString(declared_.shape)),
                 "; call Reshape first");
    tensor_ = proa::Tensor::Empty(*shape_, ToDType(type));
    dtype_ = ToDType(type);
    return;
  }
  // Of the caller, or still read: by a run, or as an output that is a view of
  // this input.
  const bool read =
      tensor_.impl()->use_count() > 1 || tensor_.storage()->use_count() > 1;
  if (external_ || (read && !keep)) {
    proa::Tensor own = proa::Tensor::Empty(tensor_.shape(), tensor_.dtype());
    if (keep && own.bytes() > 0) {
      std::memcpy(own.raw_data(), tensor_.raw_data(),
                  static_cast<size_t>(own.bytes()));
    }
    tensor_ = std::move(own);
    external_ = false;
  }
}

void TensorState::CopyFrom(const void* data, int64_t bytes, DataType type) {
  Write([&] {
    CheckWritable("written");
    const std::lock_guard lock(mutex_);
    Prepare(type, /*keep=*/false);
    PROA_REQUIRE(bytes < 0 || bytes == tensor_.bytes(), "'", name_,
                 "': ", bytes, " bytes for ", Describe(tensor_), ", which has ",
                 tensor_.bytes());
    if (tensor_.numel() == 0) return;
    PROA_REQUIRE(data != nullptr, "input '", name_, "': data is null");
    std::memcpy(tensor_.raw_data(), data, static_cast<size_t>(tensor_.bytes()));
  });
}

void TensorState::CopyTo(void* data, int64_t bytes, DataType type) const {
  const void* from = nullptr;
  proa::Tensor held;
  {
    const std::lock_guard lock(mutex_);
    CheckType(type);
    held = tensor_;
  }
  PROA_REQUIRE(held.defined(), "'", name_,
               "' has no elements yet; call Run first");
  PROA_REQUIRE(bytes < 0 || bytes == held.bytes(), "'", name_, "': ", bytes,
               " bytes for ", Describe(held), ", which has ", held.bytes());
  if (held.numel() == 0) return;
  PROA_REQUIRE(data != nullptr, "output '", name_, "': data is null");
  from = held.raw_data();
  std::memcpy(data, from, static_cast<size_t>(held.bytes()));
}

void TensorState::Share(const void* data, const std::vector<int64_t>& shape,
                        DataType type) {
  Write([&] {
    CheckWritable("given elements");
    const Shape given = ToShape(shape, name_);
    CheckShape(given);
    const DType dtype = ToDType(type);
    const int64_t bytes = CheckedMul(given.numel(), ItemSize(dtype));
    PROA_REQUIRE(data != nullptr || bytes == 0, "input '", name_,
                 "': data is null");
    const auto alignment = static_cast<uintptr_t>(
        IsComplex(dtype) ? ItemSize(dtype) / 2 : ItemSize(dtype));
    PROA_REQUIRE(reinterpret_cast<uintptr_t>(data) % alignment == 0, "input '",
                 name_, "': the memory is not aligned to ", alignment,
                 " bytes");
    const std::lock_guard lock(mutex_);
    if (kind_ != Kind::kFree) CheckType(type);
    // Read only: no op may change it in place.
    auto storage = Storage::Wrap(
        const_cast<void*>(data), bytes, Place{}, [] {},
        /*read_only=*/true);
    tensor_ = proa::Tensor::FromStorage(std::move(storage), dtype, given,
                                        ContiguousStrides(given));
    dtype_ = dtype;
    shape_ = given;
    external_ = true;
  });
}

void* TensorState::MutableData(DataType type) {
  void* elements = nullptr;
  Write([&] {
    CheckWritable("written");
    const std::lock_guard lock(mutex_);
    Prepare(type, /*keep=*/true);
    elements = tensor_.raw_data();
  });
  return elements;
}

const void* TensorState::Data(DataType type) const {
  const std::lock_guard lock(mutex_);
  CheckType(type);
  PROA_REQUIRE(tensor_.defined(), "'", name_,
               "' has no elements yet; call Run first");
  return tensor_.raw_data();
}

void TensorState::SetLoD(std::vector<std::vector<size_t>> lod) {
  const std::lock_guard lock(mutex_);
  lod_ = std::move(lod);
}

std::vector<std::vector<size_t>> TensorState::lod() const {
  const std::lock_guard lock(mutex_);
  return lod_;
}

proa::Tensor TensorState::Take() const {
  const std::lock_guard lock(mutex_);
  return tensor_;
}

std::string TensorState::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

void TensorState::Give(proa::Tensor t) {
  // The caller reads elements in order, on the CPU.
  t = Contiguous(t.place().is_cpu() ? t : proa::CopyTo(t, Place{}, true));
  const std::lock_guard lock(mutex_);
  dtype_ = t.dtype();
  shape_ = t.shape();
  tensor_ = std::move(t);
  external_ = false;
}

void TensorState::Clear() {
  const std::lock_guard lock(mutex_);
  shape_.reset();
  tensor_ = {};
}

// Tensor

Tensor::Tensor(const std::string& name)
    : state_(std::make_shared<TensorState>(name, TensorMeta{},
                                           TensorState::Kind::kFree)) {}

const std::string& Tensor::name() const { return state_->name(); }
DataType Tensor::type() const { return state_->type(); }
std::vector<int64_t> Tensor::shape() const { return state_->shape(); }
int64_t Tensor::numel() const { return state_->numel(); }
void Tensor::Reshape(const std::vector<int64_t>& shape) {
  state_->Reshape(shape);
}
void Tensor::CopyFromCpu(const void* data, size_t bytes, DataType type) {
  state_->CopyFrom(data, static_cast<int64_t>(bytes), type);
}
void Tensor::CopyToCpu(void* data, size_t bytes, DataType type) const {
  state_->CopyTo(data, static_cast<int64_t>(bytes), type);
}
void Tensor::ShareExternalData(const void* data,
                               const std::vector<int64_t>& shape,
                               DataType type) {
  state_->Share(data, shape, type);
}
void* Tensor::mutable_data(DataType type) { return state_->MutableData(type); }
const void* Tensor::data(DataType type) const { return state_->Data(type); }
void Tensor::SetLoD(const std::vector<std::vector<size_t>>& lod) {
  state_->SetLoD(lod);
}
std::vector<std::vector<size_t>> Tensor::lod() const { return state_->lod(); }

#define PROA_INFERENCE_TYPE(T)                                             \
  template <>                                                              \
  void Tensor::CopyFromCpu<T>(const T* data) {                             \
    state_->CopyFrom(data, -1, TypeOf(kDTypeOf<T>));                       \
  }                                                                        \
  template <>                                                              \
  void Tensor::CopyToCpu<T>(T * data) const {                              \
    state_->CopyTo(data, -1, TypeOf(kDTypeOf<T>));                         \
  }                                                                        \
  template <>                                                              \
  T* Tensor::mutable_data<T>(PlaceType place) {                            \
    PROA_REQUIRE(place == PlaceType::kCPU, "mutable_data: '", name(),      \
                 "' lies on the CPU");                                     \
    return static_cast<T*>(state_->MutableData(TypeOf(kDTypeOf<T>)));      \
  }                                                                        \
  template <>                                                              \
  T* Tensor::data<T>(PlaceType * place, int* size) const {                 \
    const void* p = state_->Data(TypeOf(kDTypeOf<T>));                     \
    const int64_t n = numel();                                             \
    PROA_REQUIRE(size == nullptr || n <= INT_MAX, "data: '", name(),       \
                 "' has more elements than an int counts; ask numel()");   \
    if (place != nullptr) *place = PlaceType::kCPU;                        \
    if (size != nullptr) *size = static_cast<int>(n);                      \
    return static_cast<T*>(const_cast<void*>(p));                          \
  }                                                                        \
  template <>                                                              \
  void Tensor::ShareExternalData<T>(const T* data,                         \
                                    const std::vector<int64_t>& shape,     \
                                    PlaceType place, DataLayout layout) {  \
    PROA_REQUIRE(place == PlaceType::kCPU, "ShareExternalData: '", name(), \
                 "' takes memory of the CPU");                             \
    state_->Share(data, shape, TypeOf(kDTypeOf<T>));                       \
  }
PROA_INFERENCE_TYPE(bool)
PROA_INFERENCE_TYPE(uint8_t)
PROA_INFERENCE_TYPE(int8_t)
PROA_INFERENCE_TYPE(int16_t)
PROA_INFERENCE_TYPE(int32_t)
PROA_INFERENCE_TYPE(int64_t)
PROA_INFERENCE_TYPE(float)
PROA_INFERENCE_TYPE(double)
#undef PROA_INFERENCE_TYPE

}  // namespace proa::inline v0::inference
