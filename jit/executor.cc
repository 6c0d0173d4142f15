#include "jit/executor.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/environment.h"
#include "jit/evaluate.h"
#include "jit/pass.h"
#include "jit/plan.h"
#include "tensor/allocator.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::jit {
namespace {

bool Fits(const Shape& declared, const Shape& given) {
  if (declared.rank() != given.rank()) return false;
  for (int i = 0; i < given.rank(); ++i) {
    if (!IsUnknown(declared[i]) && declared[i] != given[i]) return false;
  }
  return true;
}

void CheckFeed(const ValueInfo& input, const Tensor& t) {
  PROA_REQUIRE(t.defined() && !t.is_symbolic(), "input '", input.name,
               "' needs a tensor with values");
  const TensorMeta& m = input.meta;
  if (t.dtype() != m.dtype) {
    ThrowTypeError(absl::StrCat(
        "input '", input.name, "' is ", Describe(t), "; expected ",
        absl::string_view(Name(m.dtype).data(), Name(m.dtype).size())));
  }
  PROA_REQUIRE(Fits(m.shape, t.shape()), "input '", input.name, "' is ",
               Describe(t), "; expected shape ", ToString(m.shape));
}

// The values that a run was given or has made.
void Clear(const Program& program, Environment& env) {
  for (size_t i = 0; i < env.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (env[id].defined() && program.value(id).kind != ValueKind::kCaptured) {
      env[id] = Tensor();
    }
  }
}

// The executors of a program, latest first.
class Kept final : public Program::Attachment {
 public:
  struct Entry {
    std::vector<ValueId> outputs;
    Changes changes;
    std::shared_ptr<const Executor> executor;
  };
  static constexpr size_t kMost = 16;

  Kept(uint64_t version, std::vector<Entry> entries,
       std::optional<std::vector<std::string>> passes)
      : version(version),
        entries(std::move(entries)),
        passes(std::move(passes)) {}
  const uint64_t version;
  const std::vector<Entry> entries;
  const std::optional<std::vector<std::string>> passes;  // that were chosen
};

std::vector<int64_t> ShapesOf(
    std::span<const std::pair<ValueId, Tensor>> feeds) {
  std::vector<int64_t> shapes;
  for (const auto& [id, tensor] : feeds) {
    shapes.push_back(id);
    shapes.push_back(tensor.shape().rank());
    shapes.insert(shapes.end(), tensor.shape().begin(), tensor.shape().end());
  }
  return shapes;
}

}  // namespace

// The plans of memory of a program that is run, by the shapes of its inputs:
// the latest ones. Thread-safe.
class MemoryPlans {
 public:
  static constexpr size_t kMost = 64;

  // The plan for these inputs. Null where shapes seldom come again: a record
  // costs, for memory that is taken block by block, and would not be used.
  std::shared_ptr<MemoryPlan> For(
      std::span<const std::pair<ValueId, Tensor>> feeds);

 private:
  static constexpr int kMostNew = 16;
  struct Entry {
    std::vector<int64_t> shapes;
    std::shared_ptr<MemoryPlan> plan;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;  // latest first
  int new_in_a_row_ = 0;
};

std::shared_ptr<MemoryPlan> MemoryPlans::For(
    std::span<const std::pair<ValueId, Tensor>> feeds) {
  std::vector<int64_t> shapes = ShapesOf(feeds);
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(entries_, shapes, &Entry::shapes);
  if (at != entries_.end()) {
    new_in_a_row_ = 0;
    std::rotate(entries_.begin(), at, at + 1);
    return entries_.front().plan;
  }
  if (entries_.size() == kMost) entries_.pop_back();
  entries_.insert(entries_.begin(),
                  {std::move(shapes), std::make_shared<MemoryPlan>()});
  return ++new_in_a_row_ > kMostNew ? nullptr : entries_.front().plan;
}

// Environments that no run uses now, for the next ones: they hold captured
// tensors and what is worked out about the blocks. Lock-free, so that a child
// of fork finds them usable.
class IdleEnvironments {
 public:
  ~IdleEnvironments() {
    for (auto& place : places_) delete place.load();
  }

  // Null if there is none.
  std::unique_ptr<Environment> Take() {
    for (auto& place : places_) {
      Environment* env = place.exchange(nullptr, std::memory_order_acquire);
      if (env != nullptr) return std::unique_ptr<Environment>(env);
    }
    return nullptr;
  }
  void Keep(std::unique_ptr<Environment> env) {
    for (auto& place : places_) {
      Environment* free = nullptr;
      if (place.compare_exchange_strong(free, env.get(),
                                        std::memory_order_release,
                                        std::memory_order_relaxed)) {
        env.release();
        return;
      }
    }
  }

 private:
  std::array<std::atomic<Environment*>, 4> places_ = {};
};

Executor::Executor(const Program& program, std::vector<ValueId> fetches,
                   Changes changes)
    : plan_(std::make_unique<const Plan>(
          MakePlan(program, std::move(fetches), changes))),
      idle_(std::make_unique<IdleEnvironments>()) {}

Executor::Executor(const Program& program, std::vector<ValueId> fetches,
                   Changes changes, std::span<const std::string_view> passes,
                   Memory memory)
    : plan_(std::make_unique<const Plan>(
          MakePlan(program, std::move(fetches), changes, passes))),
      idle_(std::make_unique<IdleEnvironments>()),
      memory_(memory == Memory::kPlanned ? std::make_unique<MemoryPlans>()
                                         : nullptr) {}

Executor::~Executor() = default;

const Program& Executor::program() const { return *plan_->program; }

std::vector<Tensor> Executor::Run(
    std::span<const std::pair<ValueId, Tensor>> feeds) const {
  const Program& program = *plan_->program;
  for (const auto& [id, tensor] : feeds) {
    PROA_REQUIRE(id >= 0 &&
                     id < static_cast<ValueId>(program.values().size()) &&
                     program.value(id).kind == ValueKind::kInput,
                 "feed %", id, " is no input of the program");
    CheckFeed(program.value(id), tensor);
  }
  const InterpreterScope scope =
      InterpreterScope::Forbid(kAllInterpreters & ~kProfile);
  const PlannedBlocks blocks(memory_ ? memory_->For(feeds) : nullptr);
  return Replay(feeds);
}

std::vector<Tensor> Executor::Replay(
    std::span<const std::pair<ValueId, Tensor>> feeds) const {
  const Program& program = *plan_->program;
  std::unique_ptr<Environment> kept = idle_->Take();
  if (kept == nullptr) {
    kept = std::make_unique<Environment>(program.values().size());
    for (ValueId id : plan_->captured) {
      (*kept)[id] = program.value(id).captured;
    }
  }
  // An error leaves it to be destroyed: half a run stands in it.
  Environment& env = *kept;
  for (const auto& [id, tensor] : feeds) env[id] = tensor;
  for (ValueId id : plan_->inputs) {
    PROA_REQUIRE(env[id].defined(), "input '", program.value(id).name,
                 "' is not fed");
  }
  Evaluate(program, program.block(), env, &plan_->liveness.last_use);
  std::vector<Tensor> out;
  out.reserve(plan_->outputs.size());
  for (ValueId id : plan_->outputs) out.push_back(env[id]);
  Clear(program, env);
  idle_->Keep(std::move(kept));
  return out;
}

std::shared_ptr<const Executor> ExecutorOf(const Program& program,
                                           const std::vector<ValueId>& fetches,
                                           Changes changes) {
  const auto kept = std::static_pointer_cast<Kept>(program.attachment());
  const bool fresh = kept != nullptr && kept->version == program.version();
  if (fresh) {
    for (const Kept::Entry& e : kept->entries) {
      if (e.changes == changes && e.outputs == fetches) return e.executor;
    }
  }
  std::optional<std::vector<std::string>> passes;
  if (kept != nullptr) passes = kept->passes;
  std::shared_ptr<const Executor> executor;
  if (passes.has_value()) {
    const std::vector<std::string_view> names(passes->begin(), passes->end());
    executor =
        std::make_shared<const Executor>(program, fetches, changes, names);
  } else {
    executor = std::make_shared<const Executor>(program, fetches, changes);
  }
  std::vector<Kept::Entry> entries = {{fetches, changes, executor}};
  if (fresh) {
    for (const Kept::Entry& e : kept->entries) {
      if (entries.size() < Kept::kMost) entries.push_back(e);
    }
  }
  program.Attach(std::make_shared<Kept>(program.version(), std::move(entries),
                                        std::move(passes)));
  return executor;
}

void ChoosePasses(const Program& program, std::vector<std::string> passes) {
  for (const std::string& name : passes) {
    PROA_REQUIRE(FindPass(name) != nullptr, "no pass is named '", name, "'");
  }
  program.Attach(std::make_shared<Kept>(
      program.version(), std::vector<Kept::Entry>(), std::move(passes)));
}

}  // namespace proa::inline v0::jit
