// Autocast: inside of a scope, op calls compute in a 16-bit type where that is
// faster and safe. Which op wants what is the key `amp` of its schema; this is
// the interpreter that casts the arguments accordingly and goes on, so that
// eager, recorded and differentiated calls are cast alike.
//
//   amp::AutocastScope scope({.dtype = DType::kBFloat16});
//   Tensor y = ops::matmul(x, w);      // in bfloat16
//   Tensor p = ops::softmax(y);        // in float32
//
// Only float16, bfloat16 and float32 arguments are cast, and never those of an
// op that changes its argument. Settings are those of a thread. Inside of a
// scope a parameter is cast once, until it changes (cast_cache.h).
#ifndef PROA_AMP_AUTOCAST_H_
#define PROA_AMP_AUTOCAST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::amp {

enum class AutocastLevel : uint8_t {
  // Ops of class `lower` in the 16-bit type, of class `raise` in float32.
  kO1,
  // As well, ops of class `promote`, and ops without a class: of these the
  // first
  // floating argument is cast (the data; not what a normalization keeps beside
  // it).
  kO2,
};

struct Autocast {
  DType dtype = DType::kFloat16;  // or bfloat16
  AutocastLevel level = AutocastLevel::kO1;
  // Names of ops that are to be computed in `dtype`, or in float32, whatever
  // their schema says.
  std::vector<std::string> lower = {};
  std::vector<std::string> raise = {};
  friend bool operator==(const Autocast&, const Autocast&) = default;
};

// The number of these settings, the same for equal ones; they are kept until
// the process ends. Throws Error if the dtype is not a 16-bit float, or an op
// is in both lists or in none of the registry.
uint32_t RegisterAutocast(const Autocast& settings);

// Switches this thread to settings number `settings`, 0 to none; returns what
// was on. Use AutocastScope where a scope does: this keeps no casts.
uint32_t ExchangeAutocast(uint32_t settings);

// Null if it is off on this thread.
const Autocast* CurrentAutocast();

class AutocastScope {
 public:
  explicit AutocastScope(const Autocast& settings);
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;
  ~AutocastScope();

 private:
  uint32_t saved_;
  bool outermost_;  // of those on this thread: its end gives casts back
};

}  // namespace proa::inline v0::amp

#endif  // PROA_AMP_AUTOCAST_H_
