// The protobuf form of a module (program.proto), to and from bytes. Internal to
// program files: //jit:program_file adds the parameters and the envelope.
#ifndef PROA_JIT_PROGRAM_PROTO_H_
#define PROA_JIT_PROGRAM_PROTO_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jit/program_file.h"

namespace proa::inline v0::jit {

// Where the elements of a captured value lie in the parameter file.
struct ParameterSlice {
  ValueId id = kNoValue;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct ParsedModule {
  Module module;  // captured values have no tensors yet
  std::vector<ParameterSlice> slices;
  uint64_t parameter_bytes = 0;
  uint32_t parameter_crc = 0;
  std::unique_ptr<ParsedModule> training;  // of the same parameter file
};

// The captured tensors of a module, and those that only its training has, in
// the order in which the parameter file holds them.
std::vector<Tensor> CapturedTensors(const Module& module);

// `alignment`: of each tensor in the parameter file.
absl::StatusOr<std::string> SerializeModule(const Module& module,
                                            uint64_t alignment,
                                            uint64_t parameter_bytes,
                                            uint32_t parameter_crc);

// Checks everything that can be checked without the parameters: format, ops and
// their versions, kinds, references, sizes.
absl::StatusOr<ParsedModule> ParseModule(
    std::string_view bytes, Training training = Training::kIgnored);

// Verify(program) and the entry points.
absl::Status VerifyModule(const Module& module);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_PROGRAM_PROTO_H_
