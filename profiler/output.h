// Output: where an export is written: a file, a gzip file, or a string.
// Buffered, so that an export of any size takes little memory; the first error
// sticks and is reported by Close.
//
// A file appears under its name only when Close has succeeded (atomic_file.h).
// What exists and is no regular file (a device, a pipe that is being read) is
// written to directly.
#ifndef PROA_PROFILER_OUTPUT_H_
#define PROA_PROFILER_OUTPUT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace proa::inline v0::profiler {

class Output {
 public:
  // Errors: the file cannot be created.
  static absl::StatusOr<std::unique_ptr<Output>> ToFile(const std::string& path,
                                                        bool gzip = false);
  // `text` must outlive the output; complete after Close.
  static std::unique_ptr<Output> ToString(std::string* text);

  // An output that was not closed leaves no file.
  virtual ~Output() = default;

  // Does nothing after an error.
  virtual void Append(std::string_view bytes) = 0;
  // False once something could not be written: an export may as well stop.
  virtual bool ok() const = 0;
  // "trace.json: cannot be written: No space left on device"
  // (kResourceExhausted).
  virtual absl::Status Close() = 0;

  // Bytes appended so far, before compression.
  int64_t size() const { return size_; }

 protected:
  int64_t size_ = 0;
};

// Opens, writes with `write(output)`, closes.
template <typename F>
absl::Status WriteFile(const std::string& path, bool gzip, F&& write) {
  auto output = Output::ToFile(path, gzip);
  if (!output.ok()) return output.status();
  const absl::Status written = write(**output);
  const absl::Status closed = (*output)->Close();
  return written.ok() ? closed : written;
}

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_OUTPUT_H_
