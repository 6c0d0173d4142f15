// Copies elements between two strided blocks of one GPU's memory.
#ifndef PROA_TENSOR_CUDA_STRIDED_COPY_H_
#define PROA_TENSOR_CUDA_STRIDED_COPY_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace proa::inline v0 {

// As DeviceRuntime::CopyStrided, on the current device: strides in bytes, the
// blocks do not overlap. False where more dims remain than it walks, after
// neighbours that lie one behind the other have become one. Transpositions go
// by tiles of shared memory.
bool CudaStridedCopy(void* dst, const int64_t* dst_strides, const void* src,
                     const int64_t* src_strides, const int64_t* sizes, int rank,
                     int64_t item_size, cudaStream_t stream);

// At most 16 bytes, taken from the host when this is called.
void CudaStoreValue(void* dst, const void* src_host, int64_t bytes,
                    cudaStream_t stream);

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_CUDA_STRIDED_COPY_H_
