// A report when the process dies of a signal (segmentation fault, bus error,
// illegal instruction, division, abort), for who asks for it: nothing is
// installed until EnableCrashHandler is called.
//
//   *** SIGSEGV, address 0x0, on thread 4711
//   *** the code that faulted is in /usr/lib/libfoo.so (+0x1234), not in Proa
//   *** ops that run: conv2d on thread 4712
//   ***   #0 /usr/lib/libfoo.so +0x1234 ...
//
// It says whose code faulted by the file that the instruction is mapped from,
// and never takes another's fault for Proa's own or the other way round. Then
// the handler that was there before goes on: Python's faulthandler, or the
// default, so that the exit status and core dump are what they would have been.
// Safe in a signal handler: no locks, no allocation; /proc/self/maps is read
// with plain system calls.
#ifndef PROA_DIAGNOSTICS_CRASH_HANDLER_H_
#define PROA_DIAGNOSTICS_CRASH_HANDLER_H_

namespace proa::inline v0 {

// While it is enabled, op calls note their names (Observer::kCrashHandler),
// some ten nanoseconds each. Enabling it twice is enabling it once. Not
// thread-safe.
void EnableCrashHandler();
// Puts back what was there before, unless somebody has installed another
// handler over it meanwhile, which keeps it alive.
void DisableCrashHandler();
bool CrashHandlerEnabled();

}  // namespace proa::inline v0

#endif  // PROA_DIAGNOSTICS_CRASH_HANDLER_H_
