#include "jit/reference/parameters.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "jit/reference/program_desc.h"
#include "tensor/copy.h"
#include "tensor/error.h"
#include "tensor/shape.h"

namespace proa::inline v0::jit::reference {

std::string_view TensorStream::Take(uint64_t n, const std::string& name) {
  PROA_REQUIRE(n <= bytes_.size() - at_, what_, ": byte ", at_,
               ": the file ends within tensor '", name,
               "'; it is truncated, or belongs to another program");
  const std::string_view out = bytes_.substr(at_, n);
  at_ += n;
  return out;
}

template <typename T>
T TensorStream::Number(const std::string& name) {
  T value;
  std::memcpy(&value, Take(sizeof value, name).data(), sizeof value);
  return value;
}

Tensor TensorStream::Next(const std::string& name) {
  const auto version = [&] {
    const auto v = Number<uint32_t>(name);
    PROA_REQUIRE(v == 0, what_, ": byte ", at_ - 4, ": tensor '", name,
                 "' is of version ", v,
                 "; known is 0. It is no such file, or belongs to another "
                 "program");
  };
  version();
  const auto levels = Number<uint64_t>(name);
  PROA_REQUIRE(levels <= 64, what_, ": byte ", at_ - 8, ": tensor '", name,
               "' has ", levels, " levels of sequences");
  for (uint64_t i = 0; i < levels; ++i) Take(Number<uint64_t>(name), name);
  version();
  const auto size = Number<int32_t>(name);
  PROA_REQUIRE(size >= 0, what_, ": byte ", at_ - 4, ": tensor '", name,
               "' has a description of ", size, " bytes");
  const size_t start = at_;
  const TensorDesc desc =
      ParseTensorDesc(Take(static_cast<uint64_t>(size), name), start);
  PROA_REQUIRE(desc.dtype.has_value(), what_, ": byte ", start, ": tensor '",
               name, "' has elements of an unknown type");
  PROA_REQUIRE(desc.dims.size() <= kMaxRank, what_, ": byte ", start,
               ": tensor '", name, "' has ", desc.dims.size(), " dims");
  // No memory before it is known that the elements are there.
  uint64_t bytes = ItemSize(*desc.dtype);
  for (int64_t d : desc.dims) {
    PROA_REQUIRE(d >= 0 && !__builtin_mul_overflow(
                               bytes, static_cast<uint64_t>(d), &bytes),
                 what_, ": byte ", start, ": tensor '", name,
                 "' has an impossible size");
  }
  const std::string_view data = Take(bytes, name);
  Tensor t =
      Tensor::Empty(Shape(std::span<const int64_t>(desc.dims)), *desc.dtype);
  if (!data.empty()) std::memcpy(t.raw_data(), data.data(), data.size());
  return t;
}

void AppendTensor(const Tensor& t, std::string& bytes) {
  const Tensor host =
      Contiguous(t.place().is_cpu() ? t : CopyTo(t, Place{}, true));
  const auto number = [&](auto v) {
    bytes.append(reinterpret_cast<const char*>(&v), sizeof v);
  };
  const std::string desc = SerializeTensorDesc(
      {host.dtype(), {host.shape().begin(), host.shape().end()}});
  number(uint32_t{0});
  number(uint64_t{0});
  number(uint32_t{0});
  number(static_cast<int32_t>(desc.size()));
  bytes += desc;
  bytes.append(static_cast<const char*>(host.raw_data()),
               static_cast<size_t>(host.bytes()));
}

}  // namespace proa::inline v0::jit::reference
