// Rewriter: the way to change a program.
//
//   Rewriter r(program, outputs);
//   r.ForEachOperation([&](Operation& o) {
//     if (IsIdentity(o)) r.ReplaceUses(o.results[0][0], InputOf(o));
//   });
//   r.Commit();
//
// Operations stay where they are until Commit, so that references to them hold
// while a pass looks at them; def-use chains are those of the changed program
// at all times. An operation put in is not visited by the loop that runs.
#ifndef PROA_JIT_REWRITER_H_
#define PROA_JIT_REWRITER_H_

#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "jit/program.h"
#include "jit/uses.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

class Rewriter {
 public:
  // `outputs`: values that are needed when the program has run. They keep their
  // numbers: no pass may replace them by others.
  Rewriter(const std::shared_ptr<Program>& program,
           std::span<const ValueId> outputs)
      : program_(program), uses_(*program, outputs) {}
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;

  Program& program() { return *program_; }
  const Program& program() const { return *program_; }
  const std::shared_ptr<Program>& shared_program() { return program_; }
  const Uses& uses() const { return uses_; }

  // In the order of execution, those of regions before the one that holds them;
  // erased ones are left out.
  void ForEachOperation(const std::function<void(Operation&)>& f);
  // The place of an operation in its block, before this rewriter changed it.
  size_t index_of(const Operation& o) const;
  bool is_erased(const Operation& o) const { return erased_.contains(&o); }
  // Does this rewriter put the operation elsewhere, or into the program?
  bool is_moved(const Operation& o) const { return moved_.contains(&o); }
  // Calls f(o) for the operations that will stand right before or behind `at`
  // and did not before.
  template <typename F>
  void ForEachNeighbour(const Operation& at, const F& f) const {
    if (const auto found = before_.find(&at); found != before_.end()) {
      for (const auto& o : found->second) f(*o);
    }
    if (const auto found = behind_.find(&at); found != behind_.end()) {
      for (const Operation* o : found->second) f(*o);
    }
  }

  // Puts an operation before `at`.
  Operation& InsertBefore(const Operation& at, Operation o);
  // Calls `f`, and puts what it records before `at`.
  void RecordBefore(const Operation& at, const std::function<void()>& f);
  // Takes an operation out; nothing may use what it makes, or another one
  // makes it by now.
  void Erase(const Operation& o);
  // Who uses `from` uses `to`. Not for outputs.
  void ReplaceUses(ValueId from, ValueId to);
  // `to`, made by an operation that was put in, is made under the number (and
  // with the name) of `from`, whose maker is erased afterwards.
  void MakeAs(ValueId from, ValueId to);
  // Moves an operation behind `at`, in the same block.
  void MoveBehind(const Operation& o, const Operation& at);

  bool changed() const { return changed_; }
  // Carries the changes out; true if there were some. The rewriter is of no use
  // afterwards.
  bool Commit();

 private:
  void Visit(Block& block, const std::function<void(Operation&)>& f);
  void Rebuild(Block& block);

  std::shared_ptr<Program> program_;
  Uses uses_;
  // What stands before (or behind) an operation of the program.
  std::unordered_map<const Operation*, std::vector<std::unique_ptr<Operation>>>
      before_;
  std::unordered_map<const Operation*, std::vector<Operation*>> behind_;
  std::unordered_set<const Operation*> erased_;
  std::unordered_set<const Operation*> moved_;
  bool changed_ = false;
};

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_REWRITER_H_
