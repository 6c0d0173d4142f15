// Program: what was recorded of op calls, in static single assignment form.
//
//   program {
//     %0 = input "x" : [?, 64] float32
//     %1 = captured "linear_0.w_0" : [64, 10] float32
//     %2 = matmul(%0, %1, false, false) : [?, 10] float32
//     return %2
//   }
//
// A value is made once: by an input, a captured tensor, an operation, or as the
// argument of a region. An operation calls an op of the registry with recorded
// attributes; that of an op with regions (region_op.h) holds these:
//   %4 = cond(%3) {then} {otherwise}
//   %9, %10 = while([%4, %5]) {condition} {body}
// A region sees the values made before it in the blocks around it.
// Captured tensors are held by handle: a program that changes them (optimizer
// updates, running statistics) changes the tensors the user holds.
// Building is not thread-safe; a finished program may be run from many threads.
#ifndef PROA_JIT_PROGRAM_H_
#define PROA_JIT_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "ops/definition.h"
#include "ops/value.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

using ValueId = int32_t;  // index into Program::values()
inline constexpr ValueId kNoValue = -1;

enum class ValueKind : uint8_t { kInput, kCaptured, kResult, kRegionArgument };

struct ValueInfo {
  ValueKind kind = ValueKind::kResult;
  TensorMeta meta;
  std::string name;  // may be empty
  Tensor captured;   // kCaptured only
  // While it is recorded: a result that depends on no input, parameter or
  // random draw, so that it is the same in each run (constant.h).
  bool constant = false;
  // Of a tensor of sizes, those that are known, and names of those that are not
  // (kUnknownDim otherwise); may be empty.
  std::vector<int64_t> sizes;
  // While it is recorded, of a program that follows gradients: it is known that
  // an evaluation under autograd leads no gradients through this value.
  bool no_gradient = false;
  // While it is recorded: made in a region that is recorded no more, where
  // nothing outside can see it.
  bool of_finished_region = false;
};

struct ValueRef {
  ValueId id = kNoValue;  // kNoValue: None
  friend bool operator==(const ValueRef&, const ValueRef&) = default;
};

// One argument of an operation: a value, a list of values, or an attribute (an
// alternative of Value that holds no tensor; an IntArray of plain integers is a
// std::vector<int64_t>).
using Argument = std::variant<ValueRef, std::vector<ValueRef>, Value>;

struct Block;

// A value that was used, and the handle that named it: the handle may name
// another value later (in-place changes rebind it).
struct ValueUse {
  ValueId id = kNoValue;
  Tensor tensor;
};

struct Operation {
  const OpDefinition* op = nullptr;
  std::vector<Argument> args;
  // Per output of the op the values made; a Tensor[] output makes several.
  std::vector<std::vector<ValueId>> results;
  std::vector<std::unique_ptr<Block>> regions;  // as op->regions has
  // Where the program that was recorded made the call, for messages: "in layer
  // Mlp.hidden (Linear), train.py:12". Null if unknown, not part of files;
  // lives for ever.
  const char* where = nullptr;
};

// Regions in regions; deeper ones are refused by all readers.
inline constexpr int kMaxRegionDepth = 200;

struct Block {
  std::vector<ValueId> arguments;  // of a region
  std::vector<Operation> operations;
  std::vector<ValueId> returns;  // of a region
};

class Program : public std::enable_shared_from_this<Program> {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const std::vector<ValueInfo>& values() const { return values_; }
  ValueInfo& value(ValueId id) { return values_[id]; }
  const ValueInfo& value(ValueId id) const { return values_[id]; }
  Block& block() {
    ++version_;
    return block_;
  }
  const Block& block() const { return block_; }

  // Rises with each change of what the program does: what was found out about
  // an older version may be wrong now.
  uint64_t version() const { return version_; }

  ValueId AddValue(ValueInfo info);
  ValueId AddValue(ValueKind kind, TensorMeta meta, std::string name = "") {
    return AddValue(ValueInfo{kind, std::move(meta), std::move(name)});
  }
  // The value of a captured tensor, made on first use of this TensorImpl.
  ValueId Capture(const Tensor& tensor, std::string name = "");

  // Notes that this is a copy, whose values that are there now are those of
  // `original`, under the same numbers.
  void NoteCopyOf(const std::shared_ptr<const Program>& original);
  // Is value `id` of `other` a value of this program, under the same number?
  bool Shares(const std::shared_ptr<const Program>& other, ValueId id) const;

  // What is kept with a program for those who run it (executor.h). Not copied.
  struct Attachment {
    virtual ~Attachment() = default;
  };
  std::shared_ptr<Attachment> attachment() const;
  void Attach(std::shared_ptr<Attachment> attachment) const;

  // Another tensor for a captured value.
  void SetCaptured(ValueId id, Tensor tensor);

  // The captured value of this TensorImpl, or kNoValue.
  ValueId FindCaptured(const Tensor& tensor) const;

  // Set before it is recorded: it is to be evaluated under autograd, and then
  // to lead gradients where the recorded function did. What had no gradient in
  // the function (no_grad, a detached tensor) passes through the op `detach`.
  bool follows_gradients() const { return follows_gradients_; }
  void FollowGradients() { follows_gradients_ = true; }

  // In order of creation.
  std::vector<ValueId> inputs() const;
  std::vector<ValueId> captured() const;
  // The first input (or captured tensor) of that name; kNoValue if there is
  // none.
  ValueId Find(const std::string& name) const;
  // Gives a result a name; of inputs and captured tensors nothing changes.
  void NameResult(ValueId id, std::string name);
  // The last value of that name, results too.
  ValueId FindAny(const std::string& name) const;

 private:
  std::vector<ValueInfo> values_;
  Block block_;
  bool follows_gradients_ = false;
  uint64_t version_ = 0;
  struct Original {
    std::weak_ptr<const Program> program;
    ValueId values = 0;  // so many are shared
  };
  std::vector<Original> originals_;
  mutable std::mutex attachment_mutex_;
  mutable std::shared_ptr<Attachment> attachment_;
  // (A container of Abseil would not survive an allocation that fails.)
  std::unordered_map<const TensorImpl*, ValueId> captures_;
};

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_PROGRAM_H_
