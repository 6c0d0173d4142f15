#include "jit/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

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

absl::Status FileError(const std::string& path, const char* doing) {
  const int error = errno;
  const std::string text =
      absl::StrCat(path, ": cannot ", doing, ": ", std::strerror(error));
  if (error == ENOENT) return absl::NotFoundError(text);
  if (error == ENOSPC) return absl::ResourceExhaustedError(text);
  return absl::UnavailableError(text);
}

// A file descriptor that closes itself.
class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }
  bool Close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

void SyncFolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const File f(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder; the data itself is safe by now.
  if (f.fd() >= 0) (void)::fsync(f.fd());
}

}  // namespace

uint32_t Crc32c(std::string_view bytes) {
  const auto& t = kCrcTables;
  uint32_t c = ~0u;
  const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
  size_t n = bytes.size();
  for (; n >= 4; n -= 4, p += 4) {
    c ^= uint32_t{p[0]} | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 |
         uint32_t{p[3]} << 24;
    c = t[3][c & 0xff] ^ t[2][c >> 8 & 0xff] ^ t[1][c >> 16 & 0xff] ^
        t[0][c >> 24];
  }
  for (; n > 0; --n, ++p) c = (c >> 8) ^ t[0][(c ^ *p) & 0xff];
  return ~c;
}

std::string Seal(std::string_view magic, std::string_view payload) {
  std::string out(kEnvelopeBytes, '\0');
  const uint64_t size = payload.size();
  const uint32_t crc = Crc32c(payload);
  std::memcpy(out.data(), magic.data(), 8);
  std::memcpy(out.data() + 8, &size, 8);
  std::memcpy(out.data() + 16, &crc, 4);
  out.append(payload);
  return out;
}

absl::StatusOr<std::string_view> Unseal(std::string_view what,
                                        std::string_view magic,
                                        std::string_view bytes) {
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
  bytes.remove_prefix(kEnvelopeBytes);
  if (size != bytes.size()) {
    return absl::DataLossError(
        absl::StrCat(View(what), ": holds ", bytes.size(), " bytes of ", size,
                     "; the file is truncated or was altered"));
  }
  if (crc != Crc32c(bytes)) {
    return absl::DataLossError(absl::StrCat(
        View(what), ": the checksum does not match; the file was altered"));
  }
  return bytes;
}

absl::Status WriteFileAtomically(const std::string& path,
                                 std::string_view bytes) {
  const std::string temporary =
      absl::StrCat(path, ".tmp.", static_cast<int64_t>(::getpid()));
  File f(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                0644));
  if (f.fd() < 0) return FileError(temporary, "create");
  if (!WriteAll(f.fd(), bytes) || ::fsync(f.fd()) != 0 || !f.Close()) {
    const absl::Status s = FileError(path, "write");
    ::unlink(temporary.c_str());
    return s;
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const absl::Status s = FileError(path, "rename into");
    ::unlink(temporary.c_str());
    return s;
  }
  SyncFolderOf(path);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const File f(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat st;
  if (f.fd() < 0 || ::fstat(f.fd(), &st) != 0) return FileError(path, "open");
  if (!S_ISREG(st.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is no file"));
  }
  std::string bytes(static_cast<size_t>(st.st_size), '\0');
  size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t n = ::read(f.fd(), bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError(path, "read");
    if (n == 0) break;
    at += static_cast<size_t>(n);
  }
  bytes.resize(at);
  return bytes;
}

}  // namespace proa::inline v0::jit
