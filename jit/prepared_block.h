// A block as it is run: its calls laid out once, so that a run only puts
// tensors into their places.
//
// Attributes stand in `values` from the beginning. Of a tensor that is not
// needed after a call, the environment's handle moves there: it is neither
// counted up nor down.
#ifndef PROA_JIT_PREPARED_BLOCK_H_
#define PROA_JIT_PREPARED_BLOCK_H_

#include <cstdint>
#include <vector>

#include "jit/program.h"
#include "ops/value.h"

namespace proa::inline v0::jit {

// Values to release after each operation of a block, by index of the operation
// (Liveness::last_use).
using ReleasePlan = std::vector<std::vector<ValueId>>;

struct PreparedBlock {
  // A tensor of the environment that goes into an argument.
  struct Take {
    Tensor* place = nullptr;  // in `values`
    ValueId id = kNoValue;
    bool last = false;  // nothing reads it later
  };
  // A result that goes into the environment: a tensor into `id`, a list where
  // the operation says, in its results of this index.
  struct Give {
    Value* value = nullptr;  // in `values`
    ValueId id = kNoValue;
    int32_t list = -1;
  };
  struct Range {
    uint32_t begin = 0;
    uint32_t end = 0;
    uint32_t size() const { return end - begin; }
  };
  // What is done for one operation; one with regions has releases alone.
  struct Step {
    const Operation* operation = nullptr;
    Range args, results;  // in `values`
    Range takes, gives, releases;
    bool late = false;  // an attribute is a value of the program
    // A collective whose results are not what the next operation is for: it
    // runs beside those that follow.
    bool beside = false;
  };

  PreparedBlock() = default;
  PreparedBlock(PreparedBlock&&) = default;  // pointers into `values` hold
  PreparedBlock& operator=(PreparedBlock&&) = default;

  std::vector<Step> steps;
  std::vector<Value> values;
  std::vector<Take> takes;
  std::vector<Give> gives;
  std::vector<ValueId> releases;
  // Of a region, by what it returns: it made that, and gives it away.
  std::vector<bool> gives_away;
  // Its arguments that no operation reads, nor it returns.
  std::vector<ValueId> unread;
};

// `release`, of the outer block of a program: as in Liveness; null: nothing is
// released. Of a region, which shows its values to nobody, they are worked out
// here. Captured tensors are never released.
PreparedBlock Prepare(const Program& program, const Block& block,
                      const ReleasePlan* release);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_PREPARED_BLOCK_H_
