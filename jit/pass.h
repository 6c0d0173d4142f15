// Passes: named changes of programs.
//
//   RunPasses(program, outputs, {"identities", "dead_code"});
//
// A pass is one source in jit/passes: a function on a Rewriter, and
//
//   const PassRegistration registration(
//       {"dead_code", "Takes out operations that nobody needs.", &Run});
#ifndef PROA_JIT_PASS_H_
#define PROA_JIT_PASS_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "jit/program.h"
#include "jit/rewriter.h"

namespace proa::inline v0::jit {

struct Pass {
  const char* name;
  const char* doc;  // one sentence
  void (*run)(Rewriter& r);
  bool keeps_results = true;  // but for rounding
};

// Null if there is no such pass.
const Pass* FindPass(std::string_view name);
// Sorted by name.
std::span<const Pass> AllPasses();

class PassRegistration {
 public:
  explicit PassRegistration(const Pass& pass);
};

// Runs passes in order; true if they changed the program. `outputs` keep their
// numbers and values; inputs and captured tensors stay. Throws Error for a name
// that no pass has.
bool RunPasses(const std::shared_ptr<Program>& program,
               std::span<const ValueId> outputs,
               std::span<const std::string_view> names);

// The passes that programs run with (Executor): same results, less work.
std::span<const std::string_view> DefaultPasses();
// Those of predictors: no gradient is asked for, and parameters stay as they
// are.
std::span<const std::string_view> InferencePasses();
// Those before others read a program: exporters, and engines that say which
// operations they compute. All would do so first.
std::span<const std::string_view> ExportPasses();

// For those who write passes; of the process.
struct PassDebugging {
  // The verifier runs after each pass, and an error names the pass.
  bool verify = false;
  // Before and after each pass the program runs on arguments that are made up,
  // and an error names the pass that changes a result (pass_check.h).
  bool compare = false;
  // Called with the text before and after each pass that changed something.
  std::function<void(const char* pass, const std::string& before,
                     const std::string& after)>
      dump;
};
// Not while passes run on other threads.
void SetPassDebugging(PassDebugging debugging);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_PASS_H_
