// Descriptor: one of cuDNN's graph interface, which goes with its owner.
//
//   Descriptor x(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
//   if (!(x.Set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims) && ... && x.Finalize()))
//     return false;                  // cuDNN does not do this
//
// What cuDNN refuses is told by `false`, since a caller has another way then.
#ifndef PROA_OPS_CUDNN_DESCRIPTOR_H_
#define PROA_OPS_CUDNN_DESCRIPTOR_H_

#include <cudnn.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ops/cudnn/handle.h"

namespace proa::inline v0::ops::cudnn {

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    CheckCudnn(cudnnBackendCreateDescriptor(type, &descriptor_),
               "cudnnBackendCreateDescriptor");
  }
  Descriptor(Descriptor&& from) noexcept
      : descriptor_(std::exchange(from.descriptor_, nullptr)) {}
  Descriptor& operator=(Descriptor&& from) noexcept {
    std::swap(descriptor_, from.descriptor_);
    return *this;
  }
  ~Descriptor() {
    if (descriptor_ != nullptr) cudnnBackendDestroyDescriptor(descriptor_);
  }

  cudnnBackendDescriptor_t get() const { return descriptor_; }

  bool Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           int64_t count, const void* values) {
    return cudnnBackendSetAttribute(descriptor_, name, type, count, values) ==
           CUDNN_STATUS_SUCCESS;
  }
  bool Set(cudnnBackendAttributeName_t name, std::span<const int64_t> values) {
    return Set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()),
               values.data());
  }
  bool Set(cudnnBackendAttributeName_t name, int64_t value) {
    return Set(name, CUDNN_TYPE_INT64, 1, &value);
  }
  bool Set(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
    return Set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
  }
  bool Set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    return Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor_);
  }
  bool Set(cudnnBackendAttributeName_t name, cudnnHandle_t handle) {
    return Set(name, CUDNN_TYPE_HANDLE, 1, &handle);
  }
  bool Finalize() {
    return cudnnBackendFinalize(descriptor_) == CUDNN_STATUS_SUCCESS;
  }

  // Number of values written to `values`; 0 also of an error.
  int64_t Get(cudnnBackendAttributeName_t name,
              cudnnBackendAttributeType_t type, int64_t most,
              void* values) const {
    int64_t count = 0;
    return cudnnBackendGetAttribute(descriptor_, name, type, most, &count,
                                    values) == CUDNN_STATUS_SUCCESS
               ? count
               : 0;
  }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace proa::inline v0::ops::cudnn

#endif  // PROA_OPS_CUDNN_DESCRIPTOR_H_
