// How many products a second a core multiplies and adds in registers: float32
// by fused multiply-adds, bfloat16 by the dot product of pairs (AVX-512 BF16).
// It is what a step in bfloat16 can gain by its products on this CPU, if its
// tiles (AMX) are not there; benchmarks/mixed_precision.py says how near steps
// come. gemm_onednn.cc chooses by the same fact.
//
//   bazel run //ops/linalg:multiply_rate_benchmark
//
// Of the CPU's clock on one thread, the best of many short runs: other
// processes do not count.
#include <cpuid.h>
#include <immintrin.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace {

constexpr int64_t kSteps = 100'000;
constexpr int kSums = 16;  // hides the latency, fits into registers
constexpr int kRuns = 300;
constexpr int kLanes = 16;

double Seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

__attribute__((target("avx512f"))) float Total(const __m512 (&sums)[kSums]) {
  float lanes[kLanes], total = 0;
  for (const __m512& sum : sums) {
    _mm512_storeu_ps(lanes, sum);
    for (const float lane : lanes) total += lane;
  }
  return total;
}

__attribute__((target("avx512f"), noinline)) float Float32() {
  __m512 sums[kSums], x = _mm512_set1_ps(1), y = x;
  asm volatile("" : "+v"(x), "+v"(y));  // unknown from here on
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  for (int64_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 16
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(x, y, sum);
  }
  return Total(sums);
}

__attribute__((target("avx512f,avx512bf16"), noinline)) float BFloat16() {
  __m512i ones = _mm512_set1_epi32(0x3f803f80);  // pairs of 1
  asm volatile("" : "+v"(ones));
  const auto x = (__m512bh)ones, y = x;
  __m512 sums[kSums];
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  for (int64_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 16
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, x, y);
  }
  return Total(sums);
}

constexpr double kSumsOfLanes = 1.0 * kSteps * kSums * kLanes;

// Keeps the least time of a run in `least`; false if its sum is wrong.
bool Time(float (*run)(), double want, double* least) {
  const double start = Seconds();
  const float total = run();
  *least = std::min(*least, Seconds() - start);
  return total == static_cast<float>(want);
}

// Leaf 7 of cpuid; what a virtual machine hides is not there.
bool HasTilesOfBFloat16() {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 &&
         (edx >> 22 & 1) != 0;
}

}  // namespace

int main() {
  if (!__builtin_cpu_supports("avx512f")) {
    std::puts("no AVX-512: bfloat16 is computed from float32 copies");
    return 0;
  }
  const bool has_bfloat16 = __builtin_cpu_supports("avx512bf16");
  double wide = 1e9, low = 1e9;
  for (int i = 0; i < kRuns; ++i) {  // by turns: the clock's rate changes
    bool right = Time(&Float32, kSumsOfLanes, &wide);
    if (has_bfloat16) right = Time(&BFloat16, 2 * kSumsOfLanes, &low) && right;
    if (!right) {
      std::puts("wrong sums");
      return 1;
    }
  }
  std::printf("float32, fused multiply-add: %.1f G products/s\n",
              1e-9 * kSumsOfLanes / wide);
  if (has_bfloat16) {
    std::printf("bfloat16, dot product of pairs: %.1f G products/s\n",
                2e-9 * kSumsOfLanes / low);
    std::printf("bfloat16 of float32: %.3f\n", 2 * wide / low);
  } else {
    std::puts("no AVX-512 BF16");
  }
  std::printf("tiles (AMX) of bfloat16: %s\n",
              HasTilesOfBFloat16() ? "there, not measured here" : "none");
  return 0;
}
