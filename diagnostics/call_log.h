// The log of op calls (FLAGS_trace_ops): a line on stderr for each, when it has
// ended.
//
//   [op 7] multiply(x=[2, 3] float32, y=[3] float32) -> [2, 3] float32 |
//   differentiate | avx512 | 3.1 us | in layer Mlp.hidden (Linear), train.py:12
//
// (on one line): the arguments, the results, the interpreters that took part,
// the code that ran - instruction set, or what oneDNN chose - the time with all
// of that, and where it was called. A call that failed says `failed` for its
// results, one that was recorded `recorded` for the code.
#ifndef PROA_DIAGNOSTICS_CALL_LOG_H_
#define PROA_DIAGNOSTICS_CALL_LOG_H_

namespace proa::inline v0 {

// For the whole process.
void SetCallLog(bool on);

}  // namespace proa::inline v0

#endif  // PROA_DIAGNOSTICS_CALL_LOG_H_
