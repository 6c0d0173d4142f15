// Whole files as bytes: atomic writing and checked reading, with the envelope
// that both program and parameter files carry:
//
//   8 bytes  magic          what kind of file it is
//   8 bytes  payload size   little endian
//   4 bytes  CRC-32C of the payload
//   4 bytes  zero
//   payload
#ifndef PROA_JIT_FILE_BYTES_H_
#define PROA_JIT_FILE_BYTES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace proa::inline v0::jit {

inline constexpr size_t kEnvelopeBytes = 24;

uint32_t Crc32c(std::string_view bytes);

// Envelope and payload as one string; the inverse checks magic, size and
// checksum and returns a view of the payload. `what` names the file in errors.
std::string Seal(std::string_view magic, std::string_view payload);
absl::StatusOr<std::string_view> Unseal(std::string_view what,
                                        std::string_view magic,
                                        std::string_view bytes);

// Writes a temporary file beside `path`, syncs it, renames it over `path` and
// syncs the folder: readers see the old contents or the new, never a part.
absl::Status WriteFileAtomically(const std::string& path,
                                 std::string_view bytes);
absl::StatusOr<std::string> ReadFile(const std::string& path);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_FILE_BYTES_H_
