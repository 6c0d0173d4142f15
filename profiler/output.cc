#include "profiler/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "google/protobuf/io/gzip_stream.h"
#include "google/protobuf/io/zero_copy_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "profiler/atomic_file.h"
#include "profiler/system_error.h"

namespace proa::inline v0::profiler {
namespace {

namespace io = google::protobuf::io;

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
  // A file of its own, or the descriptor of what is written directly.
  FileOutput(AtomicFile file, bool gzip)
      : path_(file.path()), atomic_(std::move(file)), fd_(atomic_->fd()) {
    Start(gzip);
  }
  FileOutput(int fd, std::string path, bool gzip)
      : path_(std::move(path)), fd_(fd) {
    Start(gzip);
  }

  ~FileOutput() override {
    if (closed_) return;
    writer_->Finish();
    file_->Flush();  // so that the stream does not complain
    if (!atomic_) close(fd_);
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
    if (!file_->Flush()) failed_ = true;
    int error =
        failed_ ? (file_->GetErrno() != 0 ? file_->GetErrno() : EIO) : 0;
    if (!atomic_ && close(fd_) != 0 && error == 0) error = errno;
    if (error != 0) {
      atomic_.reset();  // removes what was written
      return SystemError(error, path_, "cannot be written");
    }
    if (!atomic_) return absl::OkStatus();
    const absl::Status committed = atomic_->Commit();
    atomic_.reset();
    return committed;
  }

 private:
  void Start(bool gzip) {
    file_.emplace(fd_, 1 << 18);
    if (gzip) gzip_.emplace(&*file_);
    writer_.emplace(gzip ? static_cast<io::ZeroCopyOutputStream*>(&*gzip_)
                         : &*file_);
  }

  const std::string path_;
  std::optional<AtomicFile> atomic_;
  const int fd_;
  std::optional<io::FileOutputStream> file_;
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
  const bool direct = stat(path.c_str(), &there) == 0 &&
                      !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode);
  if (direct) {
    // Not blocking: a pipe that nobody reads is an error instead of a wait.
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return SystemError(errno, path, "cannot be opened");
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return std::make_unique<FileOutput>(fd, path, gzip);
  }
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(path);
  if (!file.ok()) return file.status();
  return std::make_unique<FileOutput>(*std::move(file), gzip);
}

std::unique_ptr<Output> Output::ToString(std::string* text) {
  return std::make_unique<StringOutput>(text);
}

}  // namespace proa::inline v0::profiler
