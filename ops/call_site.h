// Where in the user's program this thread is, for messages, logs and programs.
// The C++ rooms know no language; who has call stacks (the Python package)
// installs functions that look at them.
#ifndef PROA_OPS_CALL_SITE_H_
#define PROA_OPS_CALL_SITE_H_

#include <string>

namespace proa::inline v0 {

struct CallSiteHooks {
  // "train.py:12", the innermost line that is the user's; null if there is
  // none. Lives for ever.
  const char* (*source_line)() = nullptr;
  // "y = net(x)", what stands in that line; "" if nobody knows.
  std::string (*code)() = nullptr;
  // "Sequential.0 (Linear)", the layer that runs; "" if none does.
  std::string (*layer)() = nullptr;
};
// Call at start-up. Not synchronized.
void InstallCallSiteHooks(const CallSiteHooks& hooks);

// Null, "" while nothing is installed. A walk over the call stack: for what is
// rare or slow anyway.
const char* SourceLine();
std::string LayerPath();
// Both, as messages have them: "in layer Sequential.0 (Linear), train.py:12".
std::string CallSite();
// With what stands in the line, for messages that come much later:
// "train.py:12: y = net(x)".
std::string CallSiteWithCode();

}  // namespace proa::inline v0

#endif  // PROA_OPS_CALL_SITE_H_
