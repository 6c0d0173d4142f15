#include "jit/recording_block.h"

#include "jit/constant.h"
#include "jit/detach.h"
#include "jit/recorder.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::jit {
namespace {

thread_local RegionScope* innermost = nullptr;

ValueId AppendDetach(const std::shared_ptr<Program>& program, ValueId id) {
  Operation o;
  o.op = &DetachOp();
  o.args.push_back(ValueRef{id});
  const ValueId result =
      program->AddValue(ValueKind::kResult, program->value(id).meta);
  program->value(result).no_gradient = true;
  o.results.push_back({result});
  CurrentBlock(*program).operations.push_back(std::move(o));
  return result;
}

bool IsLent(const Program& program) {
  for (RegionScope* r = innermost; r != nullptr; r = r->parent()) {
    if (r->program() == &program && r->is_lent()) return true;
  }
  return false;
}

// Whether the handles of a value tell if it has a gradient: those of a program
// that follows gradients do, but for what is made in a region that does not;
// else those of what a region makes that does. Those that a pass makes tell
// nothing: it rewrites what was recorded with its gradients.
bool HandlesTell(const Program& program, ValueId id) {
  if (IsLent(program)) return false;
  for (RegionScope* r = innermost; r != nullptr; r = r->parent()) {
    if (r->program() == &program && id >= r->first()) {
      return r->follows_gradients();
    }
  }
  return program.follows_gradients();
}

// The value of a region that has ended is seen by nobody outside; a constant
// may leave it.
bool IsHidden(const Program& program, ValueId id) {
  const ValueInfo& v = program.value(id);
  return v.of_finished_region &&
         (v.kind == ValueKind::kResult ||
          v.kind == ValueKind::kRegionArgument) &&
         !IsLent(program);
}

}  // namespace

RegionScope::RegionScope(const std::shared_ptr<Program>& program, bool lent)
    : program_(program),
      block_(std::make_unique<Block>()),
      first_(static_cast<ValueId>(program->values().size())),
      lent_(lent),
      parent_(std::exchange(innermost, this)) {}

RegionScope::~RegionScope() {
  innermost = parent_;
  if (lent_) return;
  const auto end = static_cast<ValueId>(program_->values().size());
  for (ValueId id = first_; id < end; ++id) {
    program_->value(id).of_finished_region = true;
  }
}

std::unique_ptr<Block> RegionScope::Finish(const std::vector<Tensor>& returns) {
  for (const Tensor& t : returns) {
    block_->returns.push_back(RefTo(program_, t).id);
  }
  return std::move(block_);
}

Block& CurrentBlock(Program& program) {
  for (RegionScope* r = innermost; r != nullptr; r = r->parent()) {
    if (r->program() == &program) return r->block();
  }
  return program.block();
}

bool IsInFollowingRegion(const Program& program) {
  for (RegionScope* r = innermost; r != nullptr; r = r->parent()) {
    if (r->program() == &program) return r->follows_gradients();
  }
  return false;
}

bool IsInRegion(const Program& program) {
  for (RegionScope* r = innermost; r != nullptr; r = r->parent()) {
    if (r->program() == &program) return true;
  }
  return false;
}

std::vector<const Block*> VisibleBlocks(const Program& program) {
  std::vector<const Block*> blocks;
  for (RegionScope* r = innermost; r != nullptr; r = r->parent()) {
    if (r->program() == &program) blocks.insert(blocks.begin(), &r->block());
  }
  blocks.insert(blocks.begin(), &program.block());
  return blocks;
}

void RegionScope::NoteOuter(const std::shared_ptr<Program>& program, ValueId id,
                            const Tensor& t) {
  for (RegionScope* r = innermost; r != nullptr; r = r->parent_) {
    const ValueKind kind = program->value(id).kind;
    const bool outside = id < r->first_ || kind == ValueKind::kCaptured ||
                         kind == ValueKind::kInput;
    if (r->program_ == program && outside) r->outer_.push_back({id, t});
  }
}

ValueRef RefTo(const std::shared_ptr<Program>& program, const Tensor& t) {
  if (!t.defined()) return {};
  ValueId id;
  if (t.is_symbolic() && SymbolOf(t).program() != program) {
    const Tensor elements = ElementsOfConstant(t);
    PROA_REQUIRE(elements.defined(),
                 "a value of another program is used: ", Describe(t));
    id = program->Capture(elements);
  } else if (t.is_symbolic() && IsHidden(*program, SymbolOf(t).id())) {
    const Tensor elements = ElementsOfConstant(t);
    PROA_REQUIRE(elements.defined(), "a value that is made in a branch or a ",
                 "loop is used outside of it: ", Describe(t),
                 "; let the branch or the body return it");
    id = program->Capture(elements);
  } else if (t.is_symbolic()) {
    id = SymbolOf(t).id();
    // The function took the gradient away; so does the program.
    if ((t.flags() & kDifferentiate) == 0 && IsDifferentiable(t.dtype()) &&
        !program->value(id).no_gradient && HandlesTell(*program, id)) {
      // The regions read what is cut off, too: a replay has to find it.
      RegionScope::NoteOuter(program, id, t);
      id = AppendDetach(program, id);
    }
  } else {
    id = program->Capture(t);
  }
  RegionScope::NoteOuter(program, id, t);
  return {id};
}

}  // namespace proa::inline v0::jit
