// The readable form of a program, and its parser.
//
//   program {
//     %0 = input "x" : [?, 64] float32
//     %1 = captured "linear_0.w_0" : [64, 10] float32
//     %2 = matmul(%0, %1, transpose_x=false, transpose_y=false)
//         : [?, 10] float32
//     %3 = cond(%2) {
//       ...
//       return %5
//     } {
//       return %2
//     } : [?, 10] float32
//   }
//
// ParseText(ToText(p), captured tensors of p) has the same text and meaning as
// p.
#ifndef PROA_JIT_TEXT_H_
#define PROA_JIT_TEXT_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "jit/program.h"
#include "ops/value.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

std::string ToText(const Program& program);

// One operation, without its regions, on one line.
std::string OperationText(const Program& program, const Operation& operation);

// An operation without its results and regions: "relu(%3)".
std::string CallText(const Operation& operation);

// An attribute as it stands in the text.
std::string AttributeText(const Value& attribute);

// `captured` are the tensors of the captured values in order of appearance; a
// program printed without them cannot be run. Errors name the line. The result
// is verified. Values are numbered anew; `numbers`, if given, maps those of the
// text to them.
absl::StatusOr<std::shared_ptr<Program>> ParseText(
    std::string_view text, std::span<const Tensor> captured,
    absl::flat_hash_map<int64_t, ValueId>* numbers = nullptr);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_TEXT_H_
