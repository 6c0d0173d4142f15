#include "profiler/atomic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <utility>

#include "profiler/file_names.h"
#include "profiler/system_error.h"

namespace proa::inline v0::profiler {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel
constexpr mode_t kModeBits = 0777;

std::string RandomLetters() {
  static constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyz234567";
  unsigned char bytes[kRandomLetters];
  if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) != sizeof bytes) {
    // Before the system has randomness; O_EXCL finds the names that are taken.
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t seed = static_cast<uint64_t>(now.tv_nsec) * 0x9E3779B97F4A7C15u ^
                    static_cast<uint64_t>(getpid()) << 20;
    for (unsigned char& b : bytes) b = (seed = seed * 69069 + 1) >> 24 & 0xff;
  }
  std::string text;
  for (const unsigned char b : bytes) text.push_back(kLetters[b % 32]);
  return text;
}

// A lock that another process holds is no error of the system.
bool LockNow(int fd) { return flock(fd, LOCK_EX | LOCK_NB) == 0; }

// False where the file system has no locks: then nobody removes the file.
bool Lock(int fd) {
  int result;
  while ((result = flock(fd, LOCK_EX)) != 0 && errno == EINTR) {
  }
  return result == 0;
}

bool IsRemoved(int fd) {
  struct stat now;
  return fstat(fd, &now) == 0 && now.st_nlink == 0;
}

// The names in a folder for which `wanted` holds; none if it cannot be read.
template <typename F>
std::vector<std::string> NamesIn(int folder, F&& wanted) {
  std::vector<std::string> found;
  // A descriptor of its own: closedir closes it, and its position is its own.
  const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const dir = copy < 0 ? nullptr : fdopendir(copy);
  if (dir == nullptr) {
    if (copy >= 0) close(copy);
    return found;
  }
  while (const dirent* entry = readdir(dir)) {
    if (wanted(entry->d_name)) found.push_back(entry->d_name);
  }
  closedir(dir);
  return found;
}

// File systems of several hosts, which may not see each other's locks.
bool IsShared(int fd) {
  // Of linux/magic.h, and those that it does not have: cifs, smb2, fuse, ceph,
  // lustre, gpfs.
  constexpr uint32_t kShared[] = {NFS_SUPER_MAGIC, SMB_SUPER_MAGIC,  V9FS_MAGIC,
                                  AFS_SUPER_MAGIC, CODA_SUPER_MAGIC, 0xff534d42,
                                  0xfe534d42,      0x65735546,       0x00c36400,
                                  0x0bd00bd0,      0x47504653};
  struct statfs fs;
  return fstatfs(fd, &fs) != 0 ||
         std::find(std::begin(kShared), std::end(kShared),
                   static_cast<uint32_t>(fs.f_type)) != std::end(kShared);
}

// Removes a temporary file, unless a living writer keeps it locked, or may do
// so on another host.
void RemoveLeftover(int folder, const std::string& name) {
  constexpr time_t kDay = 24 * 60 * 60;
  const int fd = openat(folder, name.c_str(),
                        O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  struct stat s;
  if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && LockNow(fd) &&
      (!IsShared(fd) || time(nullptr) - s.st_mtime > kDay)) {
    unlinkat(folder, name.c_str(), 0);
  }
  close(fd);
}

absl::Status Refused(int number, const std::string& path, const char* is) {
  return SystemErrorSaying(
      number, path,
      std::string("is ") + is + "; only a regular file can be replaced");
}

absl::Status CheckKind(const std::string& path, mode_t mode) {
  if (S_ISREG(mode)) return absl::OkStatus();
  if (S_ISDIR(mode)) return Refused(EISDIR, path, "a folder");
  if (S_ISFIFO(mode)) return Refused(EINVAL, path, "a pipe");
  if (S_ISSOCK(mode)) return Refused(EINVAL, path, "a socket");
  return Refused(EINVAL, path, "a device");
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool IsOnProc(const std::string& folder) {
  struct statfs fs;
  return statfs(folder.c_str(), &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

// Where writing to `path` leads: the last link's target, which need not exist.
absl::StatusOr<std::string> Follow(const std::string& path) {
  std::string at = path;
  for (int links = 0; links <= kMaxLinks; ++links) {
    // Asks the kernel, who may forbid to follow (protected_symlinks).
    struct stat target, own;
    if (stat(at.c_str(), &target) != 0 && errno != ENOENT) {
      return SystemError(errno, path, "cannot be looked at");
    }
    if (lstat(at.c_str(), &own) != 0) {
      if (errno == ENOENT) return at;
      return SystemError(errno, path, "cannot be looked at");
    }
    if (!S_ISLNK(own.st_mode)) return at;
    const std::string folder = FolderOf(at);
    if (IsOnProc(folder)) {
      return Refused(EINVAL, path, "a file that a process has open");
    }
    std::string text(4096, '\0');
    const ssize_t n = readlink(at.c_str(), text.data(), text.size());
    if (n <= 0) {
      return SystemError(n < 0 ? errno : ENOENT, path, "cannot be looked at");
    }
    text.resize(static_cast<size_t>(n));
    at = text[0] == '/' ? text : folder + "/" + text;
  }
  return SystemError(ELOOP, path, "cannot be looked at");
}

}  // namespace

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("a path holds a null character");
  }
  const absl::StatusOr<std::string> target = Follow(path);
  if (!target.ok()) return target.status();
  AtomicFile file;
  file.path_ = path;
  file.name_ = NameOf(*target);
  const std::string folder = FolderOf(*target);
  if (file.name_.empty() || file.name_ == "." || file.name_ == "..") {
    return path.empty() ? SystemError(ENOENT, path, "cannot be created")
                        : Refused(EISDIR, path, "a folder");
  }
  file.folder_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file.folder_ < 0 && errno == EACCES) {  // may be written all the same
    file.folder_ = open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  }
  if (file.folder_ < 0) return SystemError(errno, path, "cannot be created");
  struct stat old;
  if (fstatat(file.folder_, file.name_.c_str(), &old, AT_SYMLINK_NOFOLLOW) ==
      0) {
    const absl::Status kind = CheckKind(path, old.st_mode);
    if (!kind.ok()) return kind;
    if (faccessat(file.folder_, file.name_.c_str(), W_OK, AT_EACCESS) != 0) {
      return SystemError(errno, path, "cannot be written");
    }
    file.exists_ = true;
    file.mode_ = old.st_mode & kModeBits;
    file.owner_ = old.st_uid;
    file.group_ = old.st_gid;
  } else if (errno != ENOENT) {
    return SystemError(errno, path, "cannot be created");
  }
  for (std::string& name : NamesIn(file.folder_, [&](const char* found) {
         return IsTemporaryOf(file.name_, found) ||
                IsStagedOf(file.name_, found);
       })) {
    if (IsStagedOf(file.name_, name)) {
      file.staged_.push_back(std::move(name));
    } else {
      RemoveLeftover(file.folder_, name);
    }
  }
  const absl::Status opened = file.OpenTemporary();
  if (!opened.ok()) return opened;
  return file;
}

absl::Status AtomicFile::OpenTemporary() {
  for (;;) {
    const std::string name = TemporaryName(name_, RandomLetters());
    // A file that replaces another may hold what only its owner may read.
    fd_ = openat(folder_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                 exists_ ? 0600 : 0666);
    if (fd_ < 0 && errno == EEXIST) continue;
    if (fd_ < 0) return SystemError(errno, path_, "cannot be created");
    temporary_ = name;
    // One who cleans up may have come between; then the file has no name.
    if (!Lock(fd_) || !IsRemoved(fd_)) return absl::OkStatus();
    close(std::exchange(fd_, -1));
    temporary_.clear();
  }
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      name_(std::move(other.name_)),
      temporary_(std::exchange(other.temporary_, {})),
      staged_(std::move(other.staged_)),
      folder_(std::exchange(other.folder_, -1)),
      fd_(std::exchange(other.fd_, -1)),
      synced_(other.synced_),
      exists_(other.exists_),
      mode_(other.mode_),
      owner_(other.owner_),
      group_(other.group_) {}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) unlinkat(folder_, temporary_.c_str(), 0);
  if (fd_ >= 0) close(fd_);
  if (folder_ >= 0) close(folder_);
}

absl::Status AtomicFile::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return SystemError(n < 0 ? errno : EIO, path_, "cannot be written");
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::WriteAt(int64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return SystemError(n < 0 ? errno : EIO, path_, "cannot be written");
    }
    bytes.remove_prefix(static_cast<size_t>(n));
    offset += n;
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Sync() {
  if (synced_) return absl::OkStatus();
  if (exists_) {
    struct stat now;
    if (fstat(fd_, &now) != 0) {
      return SystemError(errno, path_, "cannot be written");
    }
    mode_t mode = mode_;
    if (now.st_gid != group_ && fchown(fd_, -1, group_) != 0) {
      // Another group must not get what the old one was given.
      mode &= ~mode_t{070} | (mode & 07) << 3;
    }
    // Only root can; otherwise the file is its writer's, as a new one is.
    if (now.st_uid != owner_) (void)!fchown(fd_, owner_, -1);
    if (fchmod(fd_, mode) != 0 && errno != EPERM && errno != ENOTSUP) {
      return SystemError(errno, path_, "cannot be written");
    }
  }
  while (fsync(fd_) != 0) {
    if (errno == EINTR) continue;
    if (errno == EINVAL || errno == ENOSYS) break;  // no such thing there
    return SystemError(errno, path_, "cannot be written");
  }
  synced_ = true;
  return absl::OkStatus();
}

absl::Status AtomicFile::Rename(const std::string& to, const char* what) {
  if (renameat(folder_, temporary_.c_str(), folder_, to.c_str()) != 0) {
    return SystemError(errno, path_, what);
  }
  // Some file systems cannot sync a folder; the contents are safe by now.
  (void)fsync(folder_);
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  absl::Status s = Sync();
  if (s.ok()) s = Rename(name_, "cannot be replaced");
  if (!s.ok()) return s;
  temporary_.clear();
  RemoveStaged();
  return absl::OkStatus();
}

void AtomicFile::RemoveStaged() {
  for (const std::string& name : staged_) unlinkat(folder_, name.c_str(), 0);
}

// Several files -------------------------------------------------------------

// One at a time for each manifest. The lock file goes with the lock; one that a
// killed process left is taken over.
class ManifestLock {
 public:
  ManifestLock(int folder, const std::string& name)
      : folder_(folder), name_(LockName(name)) {}
  ManifestLock(const ManifestLock&) = delete;
  ManifestLock& operator=(const ManifestLock&) = delete;
  ~ManifestLock() {
    if (fd_ < 0) return;
    unlinkat(folder_, name_.c_str(), 0);
    close(fd_);
  }

  absl::Status Take(const std::string& path) {
    constexpr int kTries = 12000;  // a minute
    constexpr timespec kPause = {0, 5'000'000};
    for (int i = 0; i < kTries; ++i) {
      fd_ = openat(folder_, name_.c_str(),
                   O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
      if (fd_ < 0) return SystemError(errno, path, "cannot be locked");
      if (LockNow(fd_)) {
        if (!IsRemoved(fd_)) return absl::OkStatus();
      } else if (errno != EWOULDBLOCK && errno != EINTR) {
        return absl::OkStatus();  // a file system without locks
      } else {
        nanosleep(&kPause, nullptr);
      }
      close(std::exchange(fd_, -1));
    }
    return SystemError(ETIMEDOUT, path,
                       "cannot be locked against others that write it");
  }

 private:
  const int folder_;
  const std::string name_;
  int fd_ = -1;
};

class TogetherCommit {
 public:
  TogetherCommit(AtomicFile& manifest,
                 const std::vector<TogetherMember>& members)
      : manifest_(manifest), members_(members) {}

  absl::Status Run() {
    absl::Status s = manifest_.Sync();
    for (const TogetherMember& m : members_) {
      if (s.ok()) s = m.file->Sync();
    }
    ManifestLock lock(manifest_.folder_, manifest_.name_);
    if (s.ok()) s = lock.Take(manifest_.path_);
    for (const TogetherMember& m : members_) {
      if (s.ok()) s = Stage(m);
    }
    if (s.ok()) s = manifest_.Commit();
    if (!s.ok()) return s;
    for (const TogetherMember& m : members_) {
      const absl::Status published = Publish(m);
      if (s.ok()) s = published;
    }
    return s;
  }

 private:
  static absl::Status Stage(const TogetherMember& m) {
    AtomicFile& f = *m.file;
    const std::string staged = StagedName(f.name_, m.key);
    // What a killed writer left and the present manifest may name: the same.
    if (faccessat(f.folder_, staged.c_str(), F_OK, 0) == 0) {
      return absl::OkStatus();
    }
    const absl::Status s = f.Rename(staged, "cannot be replaced");
    if (s.ok()) f.temporary_ = staged;
    return s;
  }

  // From here on the manifest names what is staged: it must not be removed.
  static absl::Status Publish(const TogetherMember& m) {
    AtomicFile& f = *m.file;
    const std::string staged = StagedName(f.name_, m.key);
    if (f.temporary_ != staged) {
      unlinkat(f.folder_, f.temporary_.c_str(), 0);
      f.temporary_ = staged;
    }
    const absl::Status s = f.Rename(f.name_, "cannot be replaced");
    f.temporary_.clear();
    if (s.ok()) f.RemoveStaged();
    return s;
  }

  AtomicFile& manifest_;
  const std::vector<TogetherMember>& members_;
};

absl::Status CommitTogether(AtomicFile& manifest,
                            const std::vector<TogetherMember>& members) {
  return TogetherCommit(manifest, members).Run();
}

std::string StagedPath(const std::string& path, const std::string& key) {
  const absl::StatusOr<std::string> target = Follow(path);
  const std::string& at = target.ok() ? *target : path;
  return FolderOf(at) + "/" + StagedName(NameOf(at), key);
}

}  // namespace proa::inline v0::profiler
