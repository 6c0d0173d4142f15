// Whole files as bytes, checked, with the envelope that both program and
// parameter files carry:
//
//   8 bytes  magic          what kind of file it is
//   8 bytes  payload size   little endian
//   4 bytes  CRC-32C of the payload
//   4 bytes  zero
//   payload
#ifndef PROA_JIT_FILE_BYTES_H_
#define PROA_JIT_FILE_BYTES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace proa::inline v0::jit {

inline constexpr size_t kEnvelopeBytes = 24;

// Of bytes that may come in pieces: `crc` is that of the pieces before.
uint32_t Crc32c(std::string_view bytes, uint32_t crc = 0);
namespace internal {
// What CPUs without an instruction for it run.
uint32_t Crc32cOfTables(std::string_view bytes, uint32_t crc);
}  // namespace internal

// The envelope's first bytes, for a payload with that size and checksum; the
// inverse checks magic, size and checksum of a whole file and returns a view of
// the payload. `what` names the file in errors. `seen` is called with each
// piece that the checksum is done with.
std::string Envelope(std::string_view magic, uint64_t size, uint32_t crc);
absl::StatusOr<std::string_view> Unseal(
    std::string_view what, std::string_view magic, std::string_view bytes,
    void (*seen)(std::string_view piece) = nullptr);

// A file that is read as a whole. Its identity tells if, meanwhile, another
// took its name.
class WholeFile {
 public:
  // Errors: profiler::SystemErrors, and InvalidArgument for what is no regular
  // file; a pipe is not waited for.
  static absl::StatusOr<WholeFile> Read(const std::string& path);
  // The same without a copy: pages come from the file when they are touched,
  // processes share them, and what this one writes stays its own. For files
  // that are replaced by others, as ours are, not changed in place: one that is
  // cut short meanwhile ends the process.
  static absl::StatusOr<WholeFile> Map(const std::string& path);
  WholeFile(WholeFile&& other) noexcept;
  WholeFile& operator=(WholeFile&&) = delete;
  ~WholeFile();

  std::string_view bytes() const { return bytes_; }
  // Keeps the bytes, longer than this object.
  const std::shared_ptr<void>& memory() const { return memory_; }
  // False once another file has its name, or none.
  bool IsStillAt(const std::string& path) const;

 private:
  explicit WholeFile(int fd) : fd_(fd) {}
  static absl::StatusOr<WholeFile> Open(const std::string& path, size_t* size);

  int fd_;  // kept, so that its number in the file system is not given again
  std::shared_ptr<void> memory_;
  std::string_view bytes_;
};

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_FILE_BYTES_H_
