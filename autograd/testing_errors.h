// ErrorOf: the message with which a call fails, for tests of messages.
#ifndef PROA_AUTOGRAD_TESTING_ERRORS_H_
#define PROA_AUTOGRAD_TESTING_ERRORS_H_

#include <string>

#include "tensor/error.h"

namespace proa::inline v0::autograd::testing {

// "no error" if `f` does not throw a proa::Error.
template <typename F>
std::string ErrorOf(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace proa::inline v0::autograd::testing

#endif  // PROA_AUTOGRAD_TESTING_ERRORS_H_
