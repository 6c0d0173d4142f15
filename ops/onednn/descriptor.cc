#include "ops/onednn/descriptor.h"

#include "glog/logging.h"

namespace proa::inline v0::onednn {
namespace {

dnnl::memory::dims Dims(std::span<const int64_t> v) {
  return dnnl::memory::dims(v.begin(), v.end());
}

}  // namespace

dnnl::memory::data_type DataType(DType t) {
  switch (t) {
    case DType::kFloat32:
      return dnnl::memory::data_type::f32;
    case DType::kBFloat16:
      return dnnl::memory::data_type::bf16;
    case DType::kInt32:
      return dnnl::memory::data_type::s32;
    case DType::kInt8:
      return dnnl::memory::data_type::s8;
    case DType::kUInt8:
      return dnnl::memory::data_type::u8;
    default:
      LOG(FATAL) << "oneDNN has no " << Name(t);
  }
}

dnnl::memory::desc Descriptor(std::span<const int64_t> dims,
                              std::span<const int64_t> strides, DType dtype) {
  dnnl::memory::dims fixed = Dims(strides);
  int64_t dense = 1;
  for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) {
    if (dims[i] == 1) {
      fixed[i] = dense;
    } else {
      dense = std::max<int64_t>(dense, dims[i] * fixed[i]);
    }
  }
  return {Dims(dims), DataType(dtype), fixed};
}

dnnl::memory::desc Descriptor(std::span<const int64_t> dims, DType dtype) {
  dnnl::memory::dims strides(dims.size());
  int64_t dense = 1;
  for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) {
    strides[i] = dense;
    dense *= std::max<int64_t>(dims[i], 1);
  }
  return {Dims(dims), DataType(dtype), strides};
}

dnnl::memory::desc Descriptor(const Tensor& t) {
  const std::span<const int64_t> strides{t.strides().data(),
                                         t.strides().size()};
  return Descriptor(t.shape().span(), strides, t.dtype());
}

dnnl::memory::desc AnyFormat(std::span<const int64_t> dims, DType dtype) {
  return {Dims(dims), DataType(dtype), dnnl::memory::format_tag::any};
}

}  // namespace proa::inline v0::onednn
