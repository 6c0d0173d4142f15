#include "profiler/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "google/protobuf/io/gzip_stream.h"
#include "google/protobuf/io/zero_copy_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace proa::inline v0::profiler {
namespace {

namespace io = google::protobuf::io;

absl::Status Failure(const std::string& path, const char* what, int error) {
  const std::string message = path + ": " + what + ": " + std::strerror(error);
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::ResourceExhaustedError(message);
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    default:
      return absl::UnknownError(message);
  }
}

// Copies into whatever chunks a stream offers.
class ChunkWriter {
 public:
  explicit ChunkWriter(io::ZeroCopyOutputStream* stream) : stream_(stream) {}
  bool Append(std::string_view bytes) {
    while (!bytes.empty()) {
      if (room_ == 0) {
        void* data;
        int size;
        if (!stream_->Next(&data, &size)) return false;
        next_ = static_cast<char*>(data);
        room_ = static_cast<size_t>(size);
        continue;
      }
      const size_t n = std::min(room_, bytes.size());
      std::memcpy(next_, bytes.data(), n);
      next_ += n;
      room_ -= n;
      bytes.remove_prefix(n);
    }
    return true;
  }
  void Finish() {
    if (room_ > 0) stream_->BackUp(static_cast<int>(room_));
    room_ = 0;
  }

 private:
  io::ZeroCopyOutputStream* stream_;
  char* next_ = nullptr;
  size_t room_ = 0;
};

class FileOutput final : public Output {
 public:
  // `target` empty: `path` is written directly.
  FileOutput(int fd, std::string path, std::string target, bool gzip)
      : fd_(fd),
        path_(std::move(path)),
        target_(std::move(target)),
        file_(fd, 1 << 18) {
    if (gzip) gzip_.emplace(&file_);
    writer_.emplace(gzip ? static_cast<io::ZeroCopyOutputStream*>(&*gzip_)
                         : &file_);
  }

  ~FileOutput() override {
    if (closed_) return;
    writer_->Finish();
    file_.Flush();  // so that the stream does not complain
    close(fd_);
    if (!target_.empty()) unlink(path_.c_str());
  }

  void Append(std::string_view bytes) override {
    if (failed_) return;
    size_ += static_cast<int64_t>(bytes.size());
    failed_ = !writer_->Append(bytes);
  }

  bool ok() const override { return !failed_; }

  absl::Status Close() override {
    if (closed_) return absl::OkStatus();
    closed_ = true;
    writer_->Finish();
    if (gzip_ && !gzip_->Close()) failed_ = true;
    if (!file_.Flush()) failed_ = true;
    int error = failed_ ? (file_.GetErrno() != 0 ? file_.GetErrno() : EIO) : 0;
    if (error == 0 && !target_.empty() && fsync(fd_) != 0) error = errno;
    if (close(fd_) != 0 && error == 0) error = errno;
    if (target_.empty()) {
      return error == 0 ? absl::OkStatus()
                        : Failure(path_, "cannot be written", error);
    }
    if (error == 0 && std::rename(path_.c_str(), target_.c_str()) != 0) {
      error = errno;
    }
    if (error == 0) return absl::OkStatus();
    unlink(path_.c_str());
    return Failure(target_, "cannot be written", error);
  }

 private:
  const int fd_;
  const std::string path_;
  const std::string target_;
  io::FileOutputStream file_;
  std::optional<io::GzipOutputStream> gzip_;
  std::optional<ChunkWriter> writer_;
  bool failed_ = false;
  bool closed_ = false;
};

class StringOutput final : public Output {
 public:
  explicit StringOutput(std::string* text) : text_(text) {}
  void Append(std::string_view bytes) override {
    size_ += static_cast<int64_t>(bytes.size());
    text_->append(bytes);
  }
  bool ok() const override { return true; }
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  std::string* text_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Output>> Output::ToFile(const std::string& path,
                                                       bool gzip) {
  struct stat there;
  const bool direct =
      stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode);
  if (direct) {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return Failure(path, "cannot be opened", errno);
    return std::make_unique<FileOutput>(fd, path, "", gzip);
  }
  std::string temporary = path + ".XXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return Failure(path, "cannot be created", errno);
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(fd, 0666 & ~mask);
  return std::make_unique<FileOutput>(fd, temporary, path, gzip);
}

std::unique_ptr<Output> Output::ToString(std::string* text) {
  return std::make_unique<StringOutput>(text);
}

}  // namespace proa::inline v0::profiler
