#include "ops/profile.h"

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "ops/call_site.h"
#include "ops/kernel_used.h"
#include "ops/observers.h"
#include "profiler/events.h"
#include "profiler/source.h"
#include "tensor/allocation_hooks.h"
#include "tensor/allocator.h"
#include "tensor/dtype.h"
#include "tensor/place.h"

namespace proa::inline v0 {
namespace {

constinit std::atomic<uint64_t (*)()> last_grad_node{nullptr};

template <typename F>
void ForEachTensor(std::span<const Value> values, F&& f) {
  for (const Value& v : values) {
    if (const Tensor* t = std::get_if<Tensor>(&v)) {
      if (t->defined()) f(*t);
    } else if (const auto* list = std::get_if<std::vector<Tensor>>(&v)) {
      for (const Tensor& t : *list) {
        if (t.defined()) f(t);
      }
    }
  }
}

double Elements(std::span<const Value> values) {
  double n = 0;
  ForEachTensor(values, [&](const Tensor& t) {
    if (!t.is_symbolic()) n += static_cast<double>(t.numel());
  });
  return n;
}

const char* ShapesOf(std::span<const Value> args) {
  std::string text;
  ForEachTensor(args, [&](const Tensor& t) {
    if (!text.empty()) text += ", ";
    text += Describe(t);
  });
  return profiler::Intern(text);
}

const profiler::Details* DetailsOf(const OpDefinition& op,
                                   std::span<const Value> args,
                                   std::span<const Value> results,
                                   const char* line) {
  profiler::Details d;
  d.source = line;
  if (profiler::Wants(profiler::kShapes)) d.shapes = ShapesOf(args);
  if (profiler::Wants(profiler::kFlops)) {
    d.flops = FlopsOf(op, args, results);
    d.bytes = BytesOf(op, args, results);
  }
  return profiler::InternDetails(d);
}

uint64_t LastGradNode() {
  const auto f = last_grad_node.load(std::memory_order_relaxed);
  return f != nullptr ? f() : 0;
}

const char* CallersLine() {
  return profiler::Wants(profiler::kSource) ? SourceLine() : nullptr;
}

// "conv2d float32 brg_conv:avx512_core". Calls repeat: what a thread looked up
// last is kept, by the addresses of the parts.
const char* KernelName(const char* op, DType dtype,
                       const char* implementation) {
  struct Entry {
    const char* op = nullptr;
    const char* implementation = nullptr;
    DType dtype = DType::kFloat32;
    const char* name = nullptr;
  };
  // On the heap: a library that is loaded late has little thread-local room.
  static thread_local const auto cache_of_thread =
      std::make_unique<std::array<Entry, 256>>();
  std::array<Entry, 256>& cache = *cache_of_thread;
  const size_t hash = reinterpret_cast<uintptr_t>(op) / 8 +
                      reinterpret_cast<uintptr_t>(implementation) / 8 * 31 +
                      static_cast<size_t>(dtype) * 7;
  Entry& e = cache[hash % cache.size()];
  if (e.op != op || e.implementation != implementation || e.dtype != dtype) {
    const std::string name =
        std::string(op) + " " + std::string(Name(dtype)) + " " + implementation;
    e = {op, implementation, dtype, profiler::Intern(name)};
  }
  return e.name;
}

// The range of one call, also of one that throws.
class OpRange {
 public:
  explicit OpRange(const OpDefinition& op)
      : op_(op),
        line_(CallersLine()),
        node_before_(LastGradNode()),
        kernel_(op, &profiler::internal::Ticks),
        range_(profiler::BeginRange()) {}
  ~OpRange() {
    if (profiler::Wants(profiler::kKernels)) AddKernel();
    const uint64_t node = LastGradNode();
    profiler::EndRange(&range_, op_.name, "op", details_,
                       node != node_before_ ? node : 0);
  }
  OpRange(const OpRange&) = delete;
  OpRange& operator=(const OpRange&) = delete;

  // After the call. The time that the description takes is not the op's.
  void Describe(std::span<const Value> args, std::span<const Value> results) {
    constexpr uint32_t kAny =
        profiler::kShapes | profiler::kSource | profiler::kFlops;
    if (!profiler::Wants(kAny)) return;
    profiler::MarkEnd(&range_);
    marked_ = true;
    details_ = DetailsOf(op_, args, results, line_);
  }

 private:
  // A view has none: it computes nothing.
  void AddKernel() {
    if (!kernel_.ran() || (op_.traits & kTraitView) != 0) return;
    if (!marked_) profiler::MarkEnd(&range_);
    profiler::AddKernel(
        range_, kernel_.start(),
        KernelName(op_.name, kernel_.dtype(), kernel_.implementation()),
        details_);
  }

  const OpDefinition& op_;
  const char* const line_;
  const uint64_t node_before_;
  const KernelProbe kernel_;
  bool marked_ = false;
  profiler::OpenRange range_;
  const profiler::Details* details_ = nullptr;
};

void Profile(ObservedCall& call) {
  OpRange range(call.op);
  call.Proceed();
  range.Describe(call.args, call.results);
}

// Allocations
// ------------------------------------------------------------------

constexpr int kMaxIndex = 16;
std::array<std::array<std::atomic<int64_t>, kMaxIndex>, kMaxDeviceKinds> totals;

std::atomic<int64_t>& TotalOf(Place place) {
  return totals[static_cast<int>(place.kind) % kMaxDeviceKinds]
               [place.index % kMaxIndex];
}

const char* PlaceName(Place place) {
  return place.is_cpu() ? "cpu" : profiler::Intern(ToString(place));
}

void OnAllocated(Place place, const void* data, int64_t bytes, bool pooled) {
  if (pooled) return;
  const int64_t total =
      TotalOf(place).fetch_add(bytes, std::memory_order_relaxed) + bytes;
  profiler::Allocated(PlaceName(place), "tensor",
                      reinterpret_cast<uint64_t>(data), bytes, total);
}

void OnFreed(Place place, const void* data, int64_t bytes) {
  const int64_t total =
      TotalOf(place).fetch_sub(bytes, std::memory_order_relaxed) - bytes;
  profiler::Freed(PlaceName(place), "tensor", reinterpret_cast<uint64_t>(data),
                  bytes, total);
}

constexpr AllocationHooks kHooks{&OnAllocated, &OnFreed};

class OpSource final : public profiler::Source {
 public:
  void Start(const profiler::Options& options) override {
    if ((options.details & profiler::kMemory) != 0) {
      for (auto& kind : totals) {
        for (auto& total : kind) total = 0;
      }
      TotalOf(Place{}) = CpuAllocator().Figures().allocated;
      SetMemoryObserver(&kHooks);
    }
    SetObserver(Observer::kProfiler, true);
  }
  void Stop() override {
    SetMemoryObserver(nullptr);
    SetObserver(Observer::kProfiler, false);
  }
};

const bool registered = [] {
  InstallObserver(Observer::kProfiler, &Profile);
  profiler::RegisterSource(new OpSource);
  return true;
}();

}  // namespace

void InstallProfileHooks(const ProfileHooks& hooks) {
  last_grad_node = hooks.last_grad_node;
}

double FlopsOf(const OpDefinition& op, std::span<const Value> args,
               std::span<const Value> results) {
  if (op.flops != nullptr) return op.flops(args, results);
  if (op.fuse == FuseClass::kPointwise) return Elements(results);
  if (op.fuse == FuseClass::kReduction) return Elements(args);
  return 0;
}

double BytesOf(const OpDefinition& op, std::span<const Value> args,
               std::span<const Value> results) {
  if ((op.traits & (kTraitView | kTraitComposite)) != 0) return 0;
  double bytes = 0;
  const auto add = [&](const Tensor& t) {
    if (t.is_symbolic()) return;
    bytes += static_cast<double>(t.numel()) *
             static_cast<double>(ItemSize(t.dtype()));
  };
  ForEachTensor(args, add);
  ForEachTensor(results, add);
  return bytes;
}

}  // namespace proa::inline v0
