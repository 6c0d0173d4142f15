// What the writer and the reader of program files share. Internal to them.
#ifndef PROA_JIT_PROGRAM_FORMAT_H_
#define PROA_JIT_PROGRAM_FORMAT_H_

#include <cstdint>

#include "jit/program.pb.h"
#include "jit/version.h"
#include "ops/definition.h"

namespace proa::inline v0::jit {

// Of program.proto. Format 1 (before 0.1.0 was released) is not read any more.
inline constexpr uint32_t kFormat = 2;
inline constexpr const char* kProducer = "proa " PROA_JIT_VERSION_STRING;

// The default of a parameter that has one, as a file would hold it.
::proa_program_file::Argument DefaultOf(const ParamInfo& p);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_PROGRAM_FORMAT_H_
