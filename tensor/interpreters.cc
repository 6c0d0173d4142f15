#include "tensor/interpreters.h"

namespace proa::inline v0 {

thread_local constinit ThreadInterpreters thread_interpreters
    __attribute__((tls_model("initial-exec")));

}  // namespace proa::inline v0
