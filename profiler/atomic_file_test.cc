#include "profiler/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "profiler/system_error.h"

namespace proa::inline v0::profiler {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/atomic.XXXXXX";
    dir_ = mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(dir_); }

  std::string Path(const std::string& name) const { return dir_ + "/" + name; }
  static std::string Read(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static void Put(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  static absl::Status Save(const std::string& path, std::string_view text) {
    absl::StatusOr<AtomicFile> file = AtomicFile::Create(path);
    if (!file.ok()) return file.status();
    const absl::Status s = file->Append(text);
    return s.ok() ? file->Commit() : s;
  }
  static int ErrnoOf(const absl::Status& s) {
    const auto failure = SystemFailureOf(s);
    return failure ? failure->number : -1;
  }
  static mode_t ModeOf(const std::string& path) {
    struct stat s;
    return stat(path.c_str(), &s) == 0 ? s.st_mode & 07777 : 0;
  }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir_)) {
      names.insert(entry.path().filename());
    }
    return names;
  }
  // Leaves what a writer leaves that is killed in `body`.
  template <typename F>
  static void Killed(F&& body) {
    const pid_t child = fork();
    if (child == 0) {
      body();
      _exit(1);
    }
    int status;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
  }

  std::string dir_;
};

using Strings = std::set<std::string>;

TEST_F(AtomicFileTest, ChangesWhenCommitted) {
  Put(Path("a"), "old");
  {
    absl::StatusOr<AtomicFile> file = AtomicFile::Create(Path("a"));
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(file->Append("new and long").ok());
    EXPECT_TRUE(file->WriteAt(0, "NEW").ok());
    EXPECT_EQ(Read(Path("a")), "old");
    EXPECT_TRUE(file->Commit().ok());
  }
  EXPECT_EQ(Read(Path("a")), "NEW and long");
  { (void)AtomicFile::Create(Path("a"))->Append("dropped"); }
  EXPECT_EQ(Read(Path("a")), "NEW and long");
  EXPECT_EQ(Names(), Strings{"a"});
}

TEST_F(AtomicFileTest, KeepsTheMode) {
  const mode_t mask = umask(022);
  umask(mask);
  ASSERT_TRUE(Save(Path("new"), "x").ok());
  EXPECT_EQ(ModeOf(Path("new")), 0666 & ~mask);
  for (const mode_t mode : {0600, 0644, 0666, 0640, 0700}) {
    chmod(Path("new").c_str(), mode);
    ASSERT_TRUE(Save(Path("new"), "y").ok());
    EXPECT_EQ(ModeOf(Path("new")), mode);
  }
}

TEST_F(AtomicFileTest, KeepsTheOwner) {
  Put(Path("a"), "x");
  if (chown(Path("a").c_str(), 1234, 5678) != 0) {
    GTEST_SKIP() << "only root gives files away, and in no sandbox";
  }
  ASSERT_TRUE(Save(Path("a"), "y").ok());
  struct stat s;
  stat(Path("a").c_str(), &s);
  EXPECT_EQ(s.st_uid, 1234u);
  EXPECT_EQ(s.st_gid, 5678u);
}

TEST_F(AtomicFileTest, FollowsLinks) {
  fs::create_directory(Path("there"));
  Put(Path("there/target"), "old");
  fs::create_symlink("there/target", Path("link"));
  fs::create_symlink(Path("link"), Path("link of link"));
  ASSERT_TRUE(Save(Path("link of link"), "new").ok());
  EXPECT_EQ(Read(Path("there/target")), "new");
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_TRUE(fs::is_symlink(Path("link of link")));
  // One whose target is still to be made.
  fs::create_symlink("there/later", Path("dangling"));
  ASSERT_TRUE(Save(Path("dangling"), "made").ok());
  EXPECT_EQ(Read(Path("there/later")), "made");
  EXPECT_TRUE(fs::is_symlink(Path("dangling")));
  fs::create_symlink("nowhere/x", Path("lost"));
  EXPECT_EQ(ErrnoOf(Save(Path("lost"), "x")), ENOENT);
  fs::create_symlink("b", Path("a"));
  fs::create_symlink("a", Path("b"));
  EXPECT_EQ(ErrnoOf(Save(Path("a"), "x")), ELOOP);
}

TEST_F(AtomicFileTest, RefusesWhatIsNoRegularFile) {
  EXPECT_EQ(ErrnoOf(Save(dir_, "x")), EISDIR);
  EXPECT_EQ(ErrnoOf(Save(dir_ + "/", "x")), EISDIR);
  EXPECT_EQ(ErrnoOf(Save(Path("."), "x")), EISDIR);
  EXPECT_EQ(ErrnoOf(Save("", "x")), ENOENT);
  EXPECT_EQ(ErrnoOf(Save(Path("no/such"), "x")), ENOENT);
  Put(Path("file"), "x");
  EXPECT_EQ(ErrnoOf(Save(Path("file/below"), "x")), ENOTDIR);
  EXPECT_EQ(ErrnoOf(Save(Path(std::string(300, 'n')), "x")), ENAMETOOLONG);
  EXPECT_EQ(ErrnoOf(Save("/dev/null", "x")), EINVAL);
  EXPECT_EQ(ErrnoOf(Save("/dev/full", "x")), EINVAL);
  mkfifo(Path("pipe").c_str(), 0600);
  EXPECT_EQ(ErrnoOf(Save(Path("pipe"), "x")), EINVAL);
  fs::create_symlink("/dev/null", Path("link"));
  EXPECT_EQ(ErrnoOf(Save(Path("link"), "x")), EINVAL);
  // An open file: replacing what it names would not change what is open.
  const int fd = open(Path("file").c_str(), O_WRONLY);
  EXPECT_EQ(ErrnoOf(Save("/proc/self/fd/" + std::to_string(fd), "x")), EINVAL);
  EXPECT_EQ(ErrnoOf(Save("/dev/fd/" + std::to_string(fd), "x")), EINVAL);
  close(fd);
  EXPECT_FALSE(Save(std::string("a\0b", 3), "x").ok());
  EXPECT_EQ(Names(), (Strings{"file", "link", "pipe"}));
}

TEST_F(AtomicFileTest, RespectsWhatMayNotBeWritten) {
  Put(Path("a"), "old");
  fs::create_directory(Path("closed"));
  Put(Path("closed/b"), "old");
  chmod(Path("a").c_str(), 0444);
  chmod(Path("closed").c_str(), 0555);
  chmod(dir_.c_str(), 0777);
  const pid_t child = fork();
  if (child == 0) {
    if (getuid() == 0 && setuid(65534) != 0) _exit(3);
    const int a = ErrnoOf(Save(Path("a"), "x"));
    const int b = ErrnoOf(Save(Path("closed/b"), "x"));
    _exit(a == EACCES && b == EACCES ? 0 : 1);
  }
  int status;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == 3) GTEST_SKIP() << "root may write anything";
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Read(Path("a")), "old");
  EXPECT_EQ(Read(Path("closed/b")), "old");
}

TEST_F(AtomicFileTest, ErrorsNameThePathGiven) {
  const absl::Status s = Save(Path("no/file"), "x");
  EXPECT_EQ(s.code(), absl::StatusCode::kNotFound);
  const auto failure = SystemFailureOf(s);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->path, Path("no/file"));
  EXPECT_EQ(failure->what, "cannot be created: No such file or directory");
  EXPECT_FALSE(SystemFailureOf(absl::UnknownError("x")).has_value());
}

TEST_F(AtomicFileTest, LongAndStrangeNames) {
  for (const std::string& name :
       {std::string(255, 'n'), std::string(254, 'n') + "m",
        std::string("\n\xff'\" ."), std::string(".hidden"),
        std::string("\u043a\u043b\u044e\u0447"), std::string("a.tmp")}) {
    ASSERT_TRUE(Save(Path(name), name).ok()) << name;
    EXPECT_EQ(Read(Path(name)), name);
  }
  EXPECT_EQ(Names().size(), 6u);
}

TEST_F(AtomicFileTest, RemovesWhatKilledWritersLeft) {
  const std::string name(200, 'n');
  for (const std::string& n : {std::string("a"), name}) {
    Put(Path(n), "old");
    for (int i = 0; i < 3; ++i) {
      Killed([&] {
        absl::StatusOr<AtomicFile> file = AtomicFile::Create(Path(n));
        (void)file->Append("part");
        kill(getpid(), SIGKILL);
      });
    }
    EXPECT_EQ(Read(Path(n)), "old");
  }
  // Each writer removes what the one before left.
  EXPECT_EQ(Names().size(), 4u);
  // One of a living writer stays, and so do files of other names.
  absl::StatusOr<AtomicFile> living = AtomicFile::Create(Path("a"));
  Put(Path(".a.b.tmp"), "x");
  Put(Path(".a.abcdefgh.tm"), "x");
  Put(Path(".ab.abcdefgh.tmp"), "x");
  ASSERT_TRUE(living->Append("late").ok());
  ASSERT_TRUE(Save(Path("a"), "new").ok());
  EXPECT_EQ(Read(Path("a")), "new");
  ASSERT_TRUE(living->Commit().ok());
  EXPECT_EQ(Read(Path("a")), "late");
  ASSERT_TRUE(Save(Path(name), "new").ok());
  EXPECT_EQ(Names(), (Strings{"a", name, ".a.b.tmp", ".a.abcdefgh.tm",
                              ".ab.abcdefgh.tmp"}));
}

TEST_F(AtomicFileTest, ManyWritersOfOnePath) {
  std::vector<std::thread> threads;
  std::vector<int> failed(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const std::string text(10000 + t, static_cast<char>('a' + t));
      for (int i = 0; i < 50; ++i) failed[t] += !Save(Path("f"), text).ok();
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(failed, std::vector<int>(8));
  const std::string text = Read(Path("f"));
  EXPECT_EQ(text, std::string(10000 + text[0] - 'a', text[0]));
  EXPECT_EQ(Names(), Strings{"f"});
}

// Several files: "m" names the contents of "p" by their first letter.
class TogetherTest : public AtomicFileTest {
 protected:
  absl::Status SaveBoth(char key) {
    absl::StatusOr<AtomicFile> member = AtomicFile::Create(Path("p"));
    absl::StatusOr<AtomicFile> manifest = AtomicFile::Create(Path("m"));
    if (!member.ok()) return member.status();
    if (!manifest.ok()) return manifest.status();
    (void)member->Append(std::string(1000, key));
    (void)manifest->Append(std::string(1, key));
    return CommitTogether(*manifest, {{&*member, std::string(1, key)}});
  }
  // What a reader sees; a question mark for a mix.
  char ReadBoth() {
    for (int i = 0; i < 1000; ++i) {
      const std::string manifest = Read(Path("m"));
      if (manifest.empty()) return 0;
      for (const std::string& at :
           {Path("p"), StagedPath(Path("p"), manifest)}) {
        if (Read(at) == std::string(1000, manifest[0])) return manifest[0];
      }
    }
    return '?';
  }
};

TEST_F(TogetherTest, BothOrNone) {
  ASSERT_TRUE(SaveBoth('a').ok());
  EXPECT_EQ(ReadBoth(), 'a');
  ASSERT_TRUE(SaveBoth('b').ok());
  EXPECT_EQ(Read(Path("p"))[0], 'b');
  EXPECT_EQ(Names(), (Strings{"m", "p"}));
  // A manifest that cannot be replaced leaves the member too.
  absl::StatusOr<AtomicFile> member = AtomicFile::Create(Path("p"));
  absl::StatusOr<AtomicFile> manifest = AtomicFile::Create(Path("m"));
  fs::remove(Path("m"));
  fs::create_directory(Path("m"));
  EXPECT_EQ(ErrnoOf(CommitTogether(*manifest, {{&*member, "c"}})), EISDIR);
  EXPECT_EQ(Read(Path("p"))[0], 'b');
}

TEST_F(TogetherTest, AMemberThatWaitsForItsNameIsFoundAndThenRemoved) {
  ASSERT_TRUE(SaveBoth('a').ok());
  // As after a kill behind the manifest's renaming.
  Put(Path("m"), "b");
  Put(Path(".p.b.new"), std::string(1000, 'b'));
  EXPECT_EQ(StagedPath(Path("p"), "b"), Path(".p.b.new"));
  EXPECT_EQ(ReadBoth(), 'b');
  // The same once more uses it; so does one that fails before its end.
  ASSERT_TRUE(SaveBoth('b').ok());
  EXPECT_EQ(Names(), (Strings{"m", "p"}));
  EXPECT_EQ(ReadBoth(), 'b');
  Put(Path("m"), "d");
  Put(Path(".p.d.new"), std::string(1000, 'd'));
  ASSERT_TRUE(SaveBoth('e').ok());
  EXPECT_EQ(Names(), (Strings{"m", "p"}));
  // Somebody who writes the member alone means it.
  Put(Path(".p.f.new"), std::string(1000, 'f'));
  ASSERT_TRUE(Save(Path("p"), "alone").ok());
  EXPECT_EQ(Names(), (Strings{"m", "p"}));
}

TEST_F(TogetherTest, AKilledWritersLockIsTakenOver) {
  Killed([&] {
    const int fd = open(Path(".m.lock").c_str(), O_RDWR | O_CREAT, 0666);
    flock(fd, LOCK_EX);
    kill(getpid(), SIGKILL);
  });
  EXPECT_EQ(Names(), Strings{".m.lock"});
  ASSERT_TRUE(SaveBoth('a').ok());
  EXPECT_EQ(Names(), (Strings{"m", "p"}));
}

TEST_F(TogetherTest, ManyWritersAndReaders) {
  ASSERT_TRUE(SaveBoth('z').ok());
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    for (int i = 0; i < 60; ++i) {
      if (!SaveBoth(static_cast<char>('a' + (c * 60 + i) % 26)).ok()) _exit(1);
    }
    _exit(0);
  }
  for (int i = 0; i < 2000; ++i) {
    const char seen = ReadBoth();
    ASSERT_TRUE(seen >= 'a' && seen <= 'z') << seen;
  }
  for (const pid_t child : children) {
    int status;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Read(Path("p"))[0], Read(Path("m"))[0]);
  EXPECT_EQ(Names(), (Strings{"m", "p"}));
}

}  // namespace
}  // namespace proa::inline v0::profiler
