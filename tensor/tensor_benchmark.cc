// Cost of making tensors and storages, and of moving their elements.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>

#include "tensor/allocator.h"
#include "tensor/copy.h"
#include "tensor/dtype.h"
#include "tensor/place.h"
#include "tensor/shape.h"
#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {
namespace {

void BM_StorageAllocate(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(Storage::Allocate(state.range(0), Place{}));
  }
}
BENCHMARK(BM_StorageAllocate)->Arg(16)->Arg(256)->Arg(4096)->Arg(64 << 20);

void BM_TensorEmpty(benchmark::State& state) {
  const Shape shape{state.range(0)};
  for (auto _ : state) {
    benchmark::DoNotOptimize(Tensor::Empty(shape, DType::kFloat32));
  }
}
BENCHMARK(BM_TensorEmpty)->Arg(4)->Arg(64)->Arg(1024)->Arg(16 << 20);

void BM_TensorEmpty4d(benchmark::State& state) {
  const Shape shape{1, 2, 2, 2};
  for (auto _ : state) {
    benchmark::DoNotOptimize(Tensor::Empty(shape, DType::kFloat32));
  }
}
BENCHMARK(BM_TensorEmpty4d);

void BM_AsStrided(benchmark::State& state) {
  const Tensor x = Tensor::Empty({2, 3}, DType::kFloat32);
  const Shape shape{3, 2};
  const Strides strides{1, 3};
  for (auto _ : state) {
    benchmark::DoNotOptimize(x.AsStrided(shape, strides, 0));
  }
}
BENCHMARK(BM_AsStrided);

// What the allocator is for: filling memory that is kept...
void BM_FillKept(benchmark::State& state) {
  const int64_t bytes = state.range(0);
  for (auto _ : state) {
    auto s = Storage::Allocate(bytes, Place{});
    std::memset(s->data(), 1, bytes);
    benchmark::DoNotOptimize(s);
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}
BENCHMARK(BM_FillKept)->Arg(64 << 20);

// ... and memory that is new from the system each time.
void BM_FillFresh(benchmark::State& state) {
  const int64_t bytes = state.range(0);
  for (auto _ : state) {
    auto s = Storage::Allocate(bytes, Place{});
    std::memset(s->data(), 1, bytes);
    benchmark::DoNotOptimize(s);
    s = nullptr;
    CpuAllocator().Release();
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}
BENCHMARK(BM_FillFresh)->Arg(64 << 20);

void CopyOf(benchmark::State& state, const Tensor& x) {
  for (auto _ : state) benchmark::DoNotOptimize(CopyTo(x, Place{}));
  // Read once and written once.
  state.SetBytesProcessed(state.iterations() * 2 * x.bytes());
}

Tensor Filled(const Shape& shape) {
  Tensor x = Tensor::Empty(shape, DType::kFloat32);
  std::memset(x.raw_data(), 1, x.bytes());
  return x;
}

void BM_CopyContiguous(benchmark::State& state) {
  CopyOf(state, Filled({state.range(0)}));
}
BENCHMARK(BM_CopyContiguous)->Arg(4)->Arg(1 << 10)->Arg(1 << 18)->Arg(16 << 20);

void BM_CopyTransposed(benchmark::State& state) {
  const int64_t n = state.range(0);
  CopyOf(state, Filled({n, n}).AsStrided({n, n}, {1, n}, 0));
}
BENCHMARK(BM_CopyTransposed)->Arg(4)->Arg(64)->Arg(512)->Arg(4096);

// [N, C, H, W] to [N, H, W, C].
void BM_CopyChannelsLast(benchmark::State& state) {
  CopyOf(state,
         Filled({32, 64, 56, 56})
             .AsStrided({32, 56, 56, 64}, {64 * 56 * 56, 56, 1, 56 * 56}, 0));
}
BENCHMARK(BM_CopyChannelsLast);

// Every second column: runs of one element.
void BM_CopyStepped(benchmark::State& state) {
  CopyOf(state, Filled({4096, 4096}).AsStrided({4096, 2048}, {4096, 2}, 0));
}
BENCHMARK(BM_CopyStepped);

}  // namespace
}  // namespace proa::inline v0
