// Kernels of random.yaml: the numbers that the CPU draws, element by element.
// Integers, uniform and Bernoulli numbers are the same bits; where a logarithm
// or a sine is taken the last place may differ. A thread computes one block of
// the Philox stream. Products and sums are rounded each, as on the CPU.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "ops/creation/random_arguments.h"
#include "ops/creation/random_kernels.h"
#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/numbers.cuh"
#include "ops/primitives/cuda/visit.cuh"
#include "tensor/cuda/fault.h"
#include "tensor/philox.h"

namespace proa::inline v0::ops::cuda {
namespace {

constexpr int kThreads = 256;
using Words = std::array<uint32_t, 4>;

__device__ __forceinline__ float Mul(float a, float b) {
  return __fmul_rn(a, b);
}
__device__ __forceinline__ double Mul(double a, double b) {
  return __dmul_rn(a, b);
}
__device__ __forceinline__ float Add(float a, float b) {
  return __fadd_rn(a, b);
}
__device__ __forceinline__ double Add(double a, double b) {
  return __dadd_rn(a, b);
}

// Numbers of type T that one block of words gives.
template <class T>
inline constexpr int kPerBlock = std::is_same_v<T, double> ? 2 : 4;

// Writes elements [first, first + N) of n; `aligned` if N can be written at
// once.
template <class M, int N>
__device__ __forceinline__ void StoreBlock(const M (&v)[N], M* out,
                                           int64_t first, int64_t n,
                                           bool aligned) {
  if (aligned && first + N <= n) {
    Pack<M, N> pack;
#pragma unroll
    for (int j = 0; j < N; ++j) pack.v[j] = v[j];
    *reinterpret_cast<Pack<M, N>*>(out + first) = pack;
    return;
  }
#pragma unroll
  for (int j = 0; j < N; ++j) {
    if (first + j < n) out[first + j] = v[j];
  }
}

// out[i] = f.Get<M>(u, i) with u in [0, 1).
template <class T, class F>
__global__ void __launch_bounds__(kThreads)
    FillUniform(PhiloxStream stream, F f, Memory<T>* out, int64_t n,
                bool aligned) {
  constexpr int N = kPerBlock<T>;
  const int64_t block = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t first = block * N;
  if (first >= n) return;
  const Words r = stream.Block(static_cast<uint64_t>(block));
  Memory<T> v[N];
#pragma unroll
  for (int j = 0; j < N; ++j) {
    if constexpr (N == 2) {
      v[j] = f.template Get<Memory<T>>(UniformDouble(r[2 * j], r[2 * j + 1]),
                                       min(first + j, n - 1));
    } else {
      v[j] =
          f.template Get<Memory<T>>(UniformFloat(r[j]), min(first + j, n - 1));
    }
  }
  StoreBlock(v, out, first, n, aligned);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    FillNormal(PhiloxStream stream, Compute<T> mean, Compute<T> std,
               Memory<T>* out, int64_t n, bool aligned) {
  using C = Compute<T>;
  constexpr int N = kPerBlock<T>;
  const int64_t block = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t first = block * N;
  if (first >= n) return;
  const Words r = stream.Block(static_cast<uint64_t>(block));
  // As NormalFloat and NormalDouble of tensor/philox.h.
  C z[N];
#pragma unroll
  for (int j = 0; j < N; j += 2) {
    C u, angle, sine, cosine;
    if constexpr (N == 2) {
      u = UniformDouble(r[0], r[1]) + 0x1p-53;
      angle = Mul(UniformDouble(r[2], r[3]), 6.2831853071795865);
      sincos(angle, &sine, &cosine);
    } else {
      u = Mul(static_cast<float>(r[j]) + 1.0f, 0x1p-32f);
      angle = Mul(UniformFloat(r[j + 1]), 6.2831853071795865f);
      sincosf(angle, &sine, &cosine);
    }
    const C radius = std::sqrt(C{-2} * std::log(u));
    z[j] = Mul(radius, cosine);
    z[j + 1] = Mul(radius, sine);
  }
  Memory<T> v[N];
#pragma unroll
  for (int j = 0; j < N; ++j) {
    v[j] = Store<Memory<T>>(Add(mean, Mul(std, z[j])));
  }
  StoreBlock(v, out, first, n, aligned);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    FillIntegers(PhiloxStream stream, uint64_t from, uint64_t range, T* out,
                 int64_t n, bool aligned) {
  const int64_t block = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t first = block * 2;
  if (first >= n) return;
  const Words r = stream.Block(static_cast<uint64_t>(block));
  const T v[2] = {static_cast<T>(from + UniformInt(r[0], r[1], range)),
                  static_cast<T>(from + UniformInt(r[2], r[3], range))};
  StoreBlock(v, out, first, n, aligned);
}

struct UniformIn {
  double low, high;
  template <class M, class U>
  __device__ M Get(U u, int64_t) const {
    const M v = Store<M>(Add(static_cast<U>(low),
                             Mul(u, static_cast<U>(__dadd_rn(high, -low)))));
    // Rounding may reach max, which does not belong to the range.
    return Load<double>(v) >= high ? Store<M>(static_cast<U>(low)) : v;
  }
};

// Of erf, as on the CPU: the approximation of M. Giles and two Newton steps.
__device__ double InverseErf(double y) {
  const double w = -log((1.0 - y) * (1.0 + y));
  const double near[] = {3.43273939e-07, -3.5233877e-06, -4.39150654e-06,
                         0.00021858087,  -0.00125372503, -0.00417768164,
                         0.246640727,    1.50140941};
  const double far[] = {0.000100950558, 0.00134934322, -0.00367342844,
                        0.00573950773,  -0.0076224613, 0.00943887047,
                        1.00167406,     2.83297682};
  double x;
  if (w < 5.0) {
    x = 2.81022636e-08;
#pragma unroll
    for (int i = 0; i < 8; ++i) x = near[i] + x * (w - 2.5);
  } else {
    const double v = sqrt(w) - 3.0;
    x = -0.000200214257;
#pragma unroll
    for (int i = 0; i < 8; ++i) x = far[i] + x * v;
  }
  x *= y;
  for (int i = 0; i < 2; ++i) {
    x -= (erf(x) - y) / (1.1283791670955126 * exp(-x * x));
  }
  return x;
}

// By inversion: erf at the ends, a number between, back.
struct Truncated {
  double mean, std, a, b, low, high;
  template <class M, class U>
  __device__ M Get(U u, int64_t) const {
    const double p = low + (high - low) * static_cast<double>(u);
    const double z =
        1.4142135623730951 * InverseErf(fmin(fmax(p, -1 + 1e-16), 1 - 1e-16));
    return Store<M>(mean + std * fmin(fmax(z, a), b));
  }
};

struct Clock {
  double lam;
  template <class M, class U>
  __device__ M Get(U u, int64_t) const {
    return Store<M>(-std::log1p(-u) / static_cast<U>(lam));
  }
};

// One where a number lies below p[i].
template <class M>
struct Coin {
  const M* p;
  CudaFaultSink sink;
  const char* op = "bernoulli";  // a literal of the host
  template <class, class U>
  __device__ M Get(U u, int64_t i) const {
    const U probability = Load<U>(p[i]);
    if (!(probability >= 0 && probability <= 1)) {
      sink.Report({CudaFault::kProbability, 0, op, 0, i, 0,
                   static_cast<double>(probability)});
    }
    return Store<M>(u < probability ? U{1} : U{0});
  }
};

bool IsAligned(const Tensor& out) {
  return reinterpret_cast<uintptr_t>(out.raw_data()) % 16 == 0;
}

template <class T>
uint32_t Blocks(int64_t n) {
  return static_cast<uint32_t>(CeilDiv(n, kPerBlock<T> * kThreads));
}

// f_of(Tag<T>) is the function for elements of T.
template <class F>
void Draw(const KernelContext& ctx, int64_t seed, Tensor* out, const F& f_of) {
  const int64_t n = out->numel();
  const PhiloxStream stream =
      RandomStream(ctx, seed, n * (out->dtype() == DType::kFloat64 ? 2 : 1));
  if (n == 0) return;
  VisitFloat(out->dtype(), [&]<class T>(Tag<T> tag) {
    const auto f = f_of(tag);
    FillUniform<T><<<Blocks<T>(n), kThreads, 0, StreamOf(ctx)>>>(
        stream, f, static_cast<Memory<T>*>(out->raw_data()), n,
        IsAligned(*out));
  });
  CheckLaunch("random numbers");
}

}  // namespace

void Uniform(const KernelContext& ctx, const IntArray&, std::optional<DType>,
             const Scalar& min, const Scalar& max, int64_t seed,
             std::optional<Place>, Tensor* out) {
  const UniformIn f{min.to<double>(), max.to<double>()};
  CheckUniform(f.low, f.high);
  Draw(ctx, seed, out, [&](auto) { return f; });
}

void Gaussian(const KernelContext& ctx, const IntArray&, std::optional<DType>,
              double mean, double std, int64_t seed, std::optional<Place>,
              Tensor* out) {
  CheckGaussian(std);
  const int64_t n = out->numel();
  const PhiloxStream stream =
      RandomStream(ctx, seed, n * (out->dtype() == DType::kFloat64 ? 2 : 1));
  if (n == 0) return;
  VisitFloat(out->dtype(), [&]<class T>(Tag<T>) {
    FillNormal<T><<<Blocks<T>(n), kThreads, 0, StreamOf(ctx)>>>(
        stream, static_cast<Compute<T>>(mean), static_cast<Compute<T>>(std),
        static_cast<Memory<T>*>(out->raw_data()), n, IsAligned(*out));
  });
  CheckLaunch("normal numbers");
}

void TruncatedGaussian(const KernelContext& ctx, const IntArray&,
                       std::optional<DType>, double mean, double std, double a,
                       double b, int64_t seed, std::optional<Place>,
                       Tensor* out) {
  CheckTruncatedGaussian(std, a, b);
  const Truncated f{mean,
                    std,
                    a,
                    b,
                    std::erf(a * 0.7071067811865476),
                    std::erf(b * 0.7071067811865476)};
  Draw(ctx, seed, out, [&](auto) { return f; });
}

void Randint(const KernelContext& ctx, int64_t low, std::optional<int64_t> high,
             const IntArray&, std::optional<DType>, int64_t seed,
             std::optional<Place>, Tensor* out) {
  const int64_t from = high.has_value() ? low : 0, to = high.value_or(low);
  // As unsigned numbers: the range may be wider than int64.
  const uint64_t range =
      static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
  const int64_t n = out->numel();
  const PhiloxStream stream = RandomStream(ctx, seed, CheckedMul(n, 2));
  if (n == 0) return;
  VisitReal(out->dtype(), [&]<class T>(Tag<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      FillIntegers<T><<<static_cast<uint32_t>(CeilDiv(n, 2 * kThreads)),
                        kThreads, 0, StreamOf(ctx)>>>(
          stream, static_cast<uint64_t>(from), range,
          static_cast<T*>(out->raw_data()), n, IsAligned(*out));
    }
  });
  CheckLaunch("random integers");
}

void Bernoulli(const KernelContext& ctx, const Tensor& x, int64_t seed,
               Tensor* out) {
  const CudaFaultSink sink = CudaFaultSinkOf(ctx.place.index);
  Draw(ctx, seed, out, [&]<class T>(Tag<T>) {
    return Coin<Memory<T>>{static_cast<const Memory<T>*>(x.raw_data()), sink};
  });
  ThrowCudaFaultOfLaunch(ctx.place.index);
}

void Exponential(const KernelContext& ctx, const Tensor&, double lam,
                 int64_t seed, Tensor* out) {
  CheckExponential(lam);
  Draw(ctx, seed, out, [&](auto) { return Clock{lam}; });
}

}  // namespace proa::inline v0::ops::cuda
