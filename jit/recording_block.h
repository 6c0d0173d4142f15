// Where recorded operations go: the program's own block, or the innermost
// region that this thread is recording. Shared by the recorder and control
// flow.
#ifndef PROA_JIT_RECORDING_BLOCK_H_
#define PROA_JIT_RECORDING_BLOCK_H_

#include <memory>
#include <vector>

#include "jit/program.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

// A region being recorded. It also notes the tensors from outside that it
// reads: the inputs of the control-flow operation in the eyes of autograd.
class RegionScope {
 public:
  // What the region makes is its own from its end on; unless it is `lent`: a
  // place to record what goes elsewhere.
  explicit RegionScope(const std::shared_ptr<Program>& program,
                       bool lent = false);
  ~RegionScope();
  RegionScope(const RegionScope&) = delete;
  RegionScope& operator=(const RegionScope&) = delete;

  // Ends the region with these returns and hands it over.
  std::unique_ptr<Block> Finish(const std::vector<Tensor>& returns);
  Block& block() { return *block_; }
  const Program* program() const { return program_.get(); }
  RegionScope* parent() const { return parent_; }
  bool is_lent() const { return lent_; }
  // Its values have gradients where those of the eager program have; else none
  // has one while it is recorded.
  void FollowGradients() { follows_gradients_ = true; }
  bool follows_gradients() const { return follows_gradients_; }
  ValueId first() const { return first_; }  // values from here on are inside
  // What the region reads from outside, in order of use, with repetitions.
  const std::vector<ValueUse>& outer_uses() const { return outer_; }
  // Adds a use of `id`, as `t` names it, to the regions being recorded that it
  // comes to from outside.
  static void NoteOuter(const std::shared_ptr<Program>& program, ValueId id,
                        const Tensor& t);

 private:
  std::shared_ptr<Program> program_;
  std::unique_ptr<Block> block_;
  ValueId first_;  // values from here on are made inside
  bool lent_;
  bool follows_gradients_ = false;
  std::vector<ValueUse> outer_;
  RegionScope* parent_;
};

// Whether the innermost region of the program follows gradients.
bool IsInFollowingRegion(const Program& program);
Block& CurrentBlock(Program& program);
// Whether that is a region of an operation.
bool IsInRegion(const Program& program);
// The blocks whose values may be used now, outer ones first.
std::vector<const Block*> VisibleBlocks(const Program& program);

// A reference to `t` in `program`: its value, kNoValue if undefined, a captured
// value if it is concrete. Throws Error for a value of another program, or of a
// region that has ended.
ValueRef RefTo(const std::shared_ptr<Program>& program, const Tensor& t);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_RECORDING_BLOCK_H_
