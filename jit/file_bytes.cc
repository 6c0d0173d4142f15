#include "jit/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "profiler/system_error.h"

namespace proa::inline v0::jit {
namespace {

// Castagnoli polynomial, reflected; a byte at a time over four tables.
constexpr std::array<std::array<uint32_t, 256>, 4> kCrcTables = [] {
  std::array<std::array<uint32_t, 256>, 4> t{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = c & 1 ? (c >> 1) ^ 0x82f63b78u : c >> 1;
    t[0][i] = c;
  }
  for (uint32_t i = 0; i < 256; ++i) {
    for (int k = 1; k < 4; ++k) {
      t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 0xff];
    }
  }
  return t;
}();

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

#if defined(__x86_64__)
// The instruction has this polynomial.
__attribute__((target("sse4.2"))) uint32_t CrcOfInstructions(
    const unsigned char* p, size_t n, uint32_t c) {
  uint64_t wide = c;
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t eight;
    std::memcpy(&eight, p, 8);
    wide = __builtin_ia32_crc32di(wide, eight);
  }
  c = static_cast<uint32_t>(wide);
  for (; n > 0; --n, ++p) c = __builtin_ia32_crc32qi(c, *p);
  return c;
}
#endif

uint32_t CrcOfTables(const unsigned char* p, size_t n, uint32_t c) {
  const auto& t = kCrcTables;
  for (; n >= 4; n -= 4, p += 4) {
    c ^= uint32_t{p[0]} | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 |
         uint32_t{p[3]} << 24;
    c = t[3][c & 0xff] ^ t[2][c >> 8 & 0xff] ^ t[1][c >> 16 & 0xff] ^
        t[0][c >> 24];
  }
  for (; n > 0; --n, ++p) c = (c >> 8) ^ t[0][(c ^ *p) & 0xff];
  return c;
}

}  // namespace

uint32_t internal::Crc32cOfTables(std::string_view bytes, uint32_t crc) {
  return ~CrcOfTables(reinterpret_cast<const unsigned char*>(bytes.data()),
                      bytes.size(), ~crc);
}

uint32_t Crc32c(std::string_view bytes, uint32_t crc) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) {
    return ~CrcOfInstructions(
        reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
        ~crc);
  }
#endif
  return internal::Crc32cOfTables(bytes, crc);
}

std::string Envelope(std::string_view magic, uint64_t size, uint32_t crc) {
  std::string out(kEnvelopeBytes, '\0');
  std::memcpy(out.data(), magic.data(), 8);
  std::memcpy(out.data() + 8, &size, 8);
  std::memcpy(out.data() + 16, &crc, 4);
  return out;
}

absl::StatusOr<std::string_view> Unseal(std::string_view what,
                                        std::string_view magic,
                                        std::string_view bytes,
                                        void (*seen)(std::string_view piece)) {
  if (bytes.size() < kEnvelopeBytes) {
    return absl::DataLossError(absl::StrCat(View(what), ": ", bytes.size(),
                                            " bytes; the file is truncated"));
  }
  if (bytes.substr(0, 8) != magic) {
    return absl::InvalidArgumentError(
        absl::StrCat(View(what), ": is no ", View(magic), " file"));
  }
  uint64_t size;
  uint32_t crc;
  std::memcpy(&size, bytes.data() + 8, 8);
  std::memcpy(&crc, bytes.data() + 16, 4);
  if (bytes.substr(20, 4) != std::string_view("\0\0\0\0", 4)) {
    return absl::DataLossError(absl::StrCat(
        View(what), ": the file was altered, or is of a later release"));
  }
  bytes.remove_prefix(kEnvelopeBytes);
  if (size != bytes.size()) {
    return absl::DataLossError(
        absl::StrCat(View(what), ": holds ", bytes.size(), " bytes of ", size,
                     "; the file is truncated or was altered"));
  }
  constexpr size_t kPiece = size_t{4} << 20;
  uint32_t found = 0;
  for (size_t at = 0; at < bytes.size(); at += kPiece) {
    const std::string_view piece = bytes.substr(at, kPiece);
    found = Crc32c(piece, found);
    if (seen != nullptr) seen(piece);
  }
  if (crc != found) {
    return absl::DataLossError(absl::StrCat(
        View(what), ": the checksum does not match; the file was altered"));
  }
  return bytes;
}

absl::StatusOr<WholeFile> WholeFile::Open(const std::string& path,
                                          size_t* size) {
  using profiler::SystemError;
  // Looked at before it is opened: opening a device may do something.
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) {
    return SystemError(errno, path, "cannot open");
  }
  if (!S_ISREG(st.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is no regular file"));
  }
  WholeFile file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.fd_ < 0 || ::fstat(file.fd_, &st) != 0) {
    return SystemError(errno, path, "cannot open");
  }
  if (!S_ISREG(st.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is no regular file"));
  }
  *size = static_cast<size_t>(st.st_size);
  return file;
}

absl::StatusOr<WholeFile> WholeFile::Read(const std::string& path) {
  size_t size = 0;
  absl::StatusOr<WholeFile> file = Open(path, &size);
  if (!file.ok()) return file.status();
  const auto bytes = std::make_shared<std::string>(size, '\0');
  size_t at = 0;
  while (at < size) {
    const ssize_t n = ::read(file->fd_, bytes->data() + at, size - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return profiler::SystemError(errno, path, "cannot read");
    if (n == 0) break;
    at += static_cast<size_t>(n);
  }
  file->bytes_ = std::string_view(*bytes).substr(0, at);
  file->memory_ = bytes;
  return file;
}

absl::StatusOr<WholeFile> WholeFile::Map(const std::string& path) {
  size_t size = 0;
  absl::StatusOr<WholeFile> file = Open(path, &size);
  if (!file.ok() || size == 0) return file;
  void* const at =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file->fd_, 0);
  if (at == MAP_FAILED) {
    return profiler::SystemError(errno, path, "cannot map");
  }
  // Huge pages would bring back what is forgotten of a weight beside the one
  // that is read (tensor/file_memory.h).
  (void)::madvise(at, size, MADV_NOHUGEPAGE);
  file->memory_ =
      std::shared_ptr<void>(at, [size](void* p) { ::munmap(p, size); });
  file->bytes_ = {static_cast<const char*>(at), size};
  return file;
}

WholeFile::WholeFile(WholeFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      memory_(std::move(other.memory_)),
      bytes_(other.bytes_) {}

WholeFile::~WholeFile() {
  if (fd_ >= 0) ::close(fd_);
}

bool WholeFile::IsStillAt(const std::string& path) const {
  struct stat own, now;
  return ::fstat(fd_, &own) == 0 && ::stat(path.c_str(), &now) == 0 &&
         own.st_dev == now.st_dev && own.st_ino == now.st_ino;
}

}  // namespace proa::inline v0::jit
