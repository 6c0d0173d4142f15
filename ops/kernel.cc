#include "ops/kernel.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "tensor/allocator.h"
#include "tensor/device.h"
#include "tensor/error.h"
#include "tensor/generator.h"
#include "tensor/parallel.h"

namespace proa::inline v0 {
namespace {

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

Isa DetectIsa() {
  __builtin_cpu_init();
  Isa isa = Isa::kBaseline;
  if (__builtin_cpu_supports("x86-64-v3")) isa = Isa::kAvx2;
  if (__builtin_cpu_supports("x86-64-v4") &&
      __builtin_cpu_supports("avx512vnni")) {
    isa = Isa::kAvx512;
  }
  if (const char* limit = std::getenv("PROA_MAX_ISA")) {
    const std::string_view name = limit;
    const Isa most = name == "sse2"   ? Isa::kBaseline
                     : name == "avx2" ? Isa::kAvx2
                                      : Isa::kAvx512;
    isa = std::min(isa, most);
  }
  return isa;
}

}  // namespace

thread_local constinit const char* chosen_implementation
    __attribute__((tls_model("initial-exec"))) = nullptr;

StreamTag* KernelContext::stream() const {
  return place.is_cpu() ? nullptr
                        : RuntimeOf(place).current_stream(place.index);
}

Generator& KernelContext::generator() const { return DefaultGenerator(place); }

int KernelContext::num_threads() const { return GetNumThreads(); }

Workspace::Workspace(const KernelContext& ctx, int64_t bytes)
    : allocator_(ctx.place.is_cpu()
                     ? &CpuAllocator()
                     : &RuntimeOf(ctx.place).allocator(ctx.place.index)),
      bytes_(bytes) {
  PROA_REQUIRE(bytes >= 0, "Workspace: size ", bytes, " is negative");
  if (bytes > 0) data_ = allocator_->Allocate(bytes);
}

Workspace::~Workspace() {
  if (data_ != nullptr) allocator_->Free(data_, bytes_);
}

const char* Name(Isa isa) {
  constexpr const char* kNames[] = {"sse2", "avx2", "avx512"};
  return kNames[static_cast<int>(isa)];
}

Isa MachineIsa() {
  static const Isa isa = DetectIsa();
  return isa;
}

void KernelTable::Register(DeviceKind kind, uint32_t dtypes, Isa isa,
                           AnyKernel kernel) {
  if (kind == DeviceKind::kCPU && isa > MachineIsa()) return;
  const int k = static_cast<int>(kind);
  for (int t = 0; t < kNumDTypes; ++t) {
    if ((dtypes >> t & 1) == 0) continue;
    if (kernels_[k][t] != nullptr && isa_[k][t] > static_cast<int8_t>(isa)) {
      continue;
    }
    kernels_[k][t] = kernel;
    isa_[k][t] = static_cast<int8_t>(isa);
  }
}

void KernelTable::RegisterForDevices(uint32_t dtypes, AnyKernel kernel) {
  for (int k = 0; k < kMaxDeviceKinds; ++k) {
    if (k == static_cast<int>(DeviceKind::kCPU)) continue;
    for (int t = 0; t < kNumDTypes; ++t) {
      if ((dtypes >> t & 1) == 0 || kernels_[k][t] != nullptr) continue;
      kernels_[k][t] = kernel;
      // The lowest, so that one of the kind's own comes over it.
      isa_[k][t] = static_cast<int8_t>(Isa::kBaseline);
    }
  }
}

void RegisterEach(KernelTable& table, DeviceKind kind, uint32_t dtypes, Isa isa,
                  AnyKernel (*find)(DType)) {
  if (isa > MachineIsa()) return;
  for (int t = 0; t < kNumDTypes; ++t) {
    if ((dtypes >> t & 1) == 0) continue;
    const DType dtype = static_cast<DType>(t);
    table.Register(kind, DTypeBit(dtype), isa, find(dtype));
  }
}

void FailNoKernel(const char* op, uint32_t declared_dtypes, DType dtype,
                  Place place) {
  if ((declared_dtypes & DTypeBit(dtype)) != 0) {
    Fail(absl::StatusCode::kUnimplemented, op, ": no kernel for ",
         View(Name(dtype)), " on ", ToString(place),
         "; move the tensors to the cpu");
  }
  std::string accepted;
  for (int t = 0; t < kNumDTypes; ++t) {
    if ((declared_dtypes >> t & 1) == 0) continue;
    absl::StrAppend(&accepted, accepted.empty() ? "" : ", ",
                    View(Name(static_cast<DType>(t))));
  }
  ThrowTypeError(absl::StrCat(op, ": does not accept ", View(Name(dtype)),
                              "; it accepts ", accepted));
}

}  // namespace proa::inline v0
