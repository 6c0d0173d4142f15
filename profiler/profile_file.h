// Profile files: recordings that load back, with everything in them.
//
// A file is 8 bytes "PROAPROF", a format number, and chunks; a chunk is its
// kind, its length, a CRC-32 of its payload (4 bytes each, little-endian) and
// the payload, a message of profile.proto. Written and read chunk by chunk.
// Files are untrusted: lengths are checked against the file before memory is
// taken, and every index.
#ifndef PROA_PROFILER_PROFILE_FILE_H_
#define PROA_PROFILER_PROFILE_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler/output.h"
#include "profiler/recording.h"

namespace proa::inline v0::profiler {

inline constexpr uint32_t kProfileFormat = 1;

// Errors are those of the output (Output::Close reports them).
absl::Status WriteProfile(const Recording& recording, Output& output);
// Writes to `path`, which appears when it is complete.
absl::Status SaveProfile(const Recording& recording, const std::string& path);

// Errors: kNotFound, kDataLoss "p.pb: the checksum of chunk 3 does not match;
// the file was altered", "p.pb: ends too early", kInvalidArgument "p.pb is no
// profile".
absl::StatusOr<Recording> LoadProfile(const std::string& path);
// The same of bytes; `name` is for messages.
absl::StatusOr<Recording> ParseProfile(std::string_view bytes,
                                       const std::string& name);

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_PROFILE_FILE_H_
