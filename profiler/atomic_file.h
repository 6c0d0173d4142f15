// AtomicFile: a file that changes as a whole, and CommitTogether: several that
// change as one. Who reads sees the old contents or the new, whatever happens
// to the writer: an error, a full disk, kill -9, a power failure. Of several
// writers of one path, each writes a file of its own; the last to be complete
// stays.
//
//   auto file = AtomicFile::Create("model.bin");
//   if (!file.ok()) return file.status();
//   absl::Status s = file->Append(bytes);
//   return s.ok() ? file->Commit() : s;     // not committed: nothing changed
//
// - A symbolic link is followed: what it names changes, the link stays.
// - What exists and is no regular file (a folder, device, pipe, an open file
//   under /proc) is refused, and so is a file that the user may not write.
// - The file keeps its mode and, where the process may give them, its owner and
//   group; a new one has what open() would give. Other hard links to it keep
//   the old contents.
// - Until Commit, the bytes lie in ".<name>.<random>.tmp" beside the file,
// which
//   its writer keeps locked (flock). A killed writer's lock is gone, and the
//   next one to write that path removes what it left.
//
// Errors are SystemErrors (system_error.h) that name the path given. It stands
// in this room because it is the lowest of those that write files.
#ifndef PROA_PROFILER_ATOMIC_FILE_H_
#define PROA_PROFILER_ATOMIC_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace proa::inline v0::profiler {

class AtomicFile {
 public:
  static absl::StatusOr<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  // Removes what was written, unless it was committed.
  ~AtomicFile();

  const std::string& path() const { return path_; }
  // For writers of their own; the position is the end of what was appended.
  int fd() const { return fd_; }
  absl::Status Append(std::string_view bytes);
  // Over bytes that were appended, such as a header with a checksum.
  absl::Status WriteAt(int64_t offset, std::string_view bytes);
  // Makes the contents safe on the disk, then gives them the file's name.
  absl::Status Commit();

 private:
  friend class TogetherCommit;

  AtomicFile() = default;
  absl::Status OpenTemporary();
  absl::Status Sync();
  absl::Status Rename(const std::string& to, const char* what);
  void RemoveStaged();

  std::string path_;       // as given, for messages
  std::string name_;       // of the file within its folder, links followed
  std::string temporary_;  // where the bytes are; empty once they have the name
  // Contents that a killed CommitTogether left; the new ones supersede them.
  std::vector<std::string> staged_;
  int folder_ = -1;
  int fd_ = -1;
  bool synced_ = false;
  bool exists_ = false;  // a file to be replaced, with this
  mode_t mode_ = 0;
  uid_t owner_ = 0;
  gid_t group_ = 0;
};

// A file that belongs to another, the manifest, whose contents name it by `key`
// (a checksum, up to 40 letters and digits): its committed contents are those
// with that key.
struct TogetherMember {
  AtomicFile* file;
  std::string key;
};

// Commits all or nothing; the moment is the renaming of the manifest. A writer
// killed after it leaves members under StagedPath(path, key) until the next
// commit, where a reader who finds that a member is not what the manifest names
// looks for it. Concurrent commits of one manifest wait for each other.
absl::Status CommitTogether(AtomicFile& manifest,
                            const std::vector<TogetherMember>& members);

// Where a member waits for its name, links followed.
std::string StagedPath(const std::string& path, const std::string& key);

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_ATOMIC_FILE_H_
