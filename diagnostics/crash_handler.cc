#include "diagnostics/crash_handler.h"

#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <iterator>

#include "ops/definition.h"
#include "ops/observers.h"

namespace proa::inline v0 {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr int kNumSignals = static_cast<int>(std::size(kSignals));

struct sigaction previous[kNumSignals];
constinit std::atomic<bool> enabled{false};
// The thread that reports. Others that fault meanwhile wait for its report; a
// fault of its own goes to the previous handler at once.
constinit std::atomic<int> reporting{0};

int ThreadId() { return static_cast<int>(syscall(SYS_gettid)); }

// Ops that run
// -----------------------------------------------------------------

// A thread that calls ops; slots are taken and never given back, but used again
// by the next thread when one ends.
struct Running {
  std::atomic<int> thread{0};  // 0: free
  std::atomic<const char*> op{nullptr};
};
constexpr int kMaxThreads = 256;
constinit Running running[kMaxThreads];
constinit Running nowhere;  // of threads beyond that

class Slot {
 public:
  Slot() {
    const int me = ThreadId();
    for (Running& r : running) {
      int free = 0;
      if (r.thread.compare_exchange_strong(free, me)) {
        slot_ = &r;
        return;
      }
    }
  }
  ~Slot() {
    slot_->op = nullptr;
    if (slot_ != &nowhere) slot_->thread = 0;
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  Running& operator*() const { return *slot_; }

 private:
  Running* slot_ = &nowhere;
};

void NoteOp(ObservedCall& call) {
  thread_local const Slot slot;
  class Note {
   public:
    explicit Note(Running& r, const char* op)
        : r_(r), before_(r.op.exchange(op, std::memory_order_relaxed)) {}
    ~Note() { r_.op.store(before_, std::memory_order_relaxed); }
    Note(const Note&) = delete;
    Note& operator=(const Note&) = delete;

   private:
    Running& r_;
    const char* const before_;
  } const note(*slot, call.op.name);
  call.Proceed();
}

// Text without allocation
// ------------------------------------------------------

class Line {
 public:
  Line& operator<<(const char* s) {
    while (*s != 0 && size_ < kMax) text_[size_++] = *s++;
    return *this;
  }
  Line& operator<<(int64_t v) {
    char digits[24];
    int n = 0;
    uint64_t rest =
        v < 0 ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
    do digits[n++] = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (v < 0) digits[n++] = '-';
    while (n > 0 && size_ < kMax) text_[size_++] = digits[--n];
    return *this;
  }
  Line& Hex(uintptr_t v) {
    *this << "0x";
    int shift = 60;
    while (shift > 0 && (v >> shift & 15) == 0) shift -= 4;
    for (; shift >= 0 && size_ < kMax; shift -= 4) {
      text_[size_++] = "0123456789abcdef"[v >> shift & 15];
    }
    return *this;
  }
  ~Line() {
    text_[size_++] = '\n';
    [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, text_, size_);
  }
  Line() = default;
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

 private:
  static constexpr size_t kMax = 1000;
  char text_[kMax + 1];
  size_t size_ = 0;
};

const char* SignalName(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV (segmentation fault)";
    case SIGBUS:
      return "SIGBUS (bus error)";
    case SIGILL:
      return "SIGILL (illegal instruction)";
    case SIGFPE:
      return "SIGFPE (arithmetic error)";
    default:
      return "SIGABRT (aborted)";
  }
}

// What is mapped where
// ---------------------------------------------------------

// The file that an address is mapped from; "" if it is not mapped or from none.
struct Mapping {
  char file[512] = "";
  uintptr_t offset = 0;  // in the file
  bool mapped = false;
};

// Reads /proc/self/maps character by character:
//   7f01-7f02 r-xp 00001000 08:01 1234    /usr/lib/libfoo.so
class Maps {
 public:
  Maps() : fd_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~Maps() {
    if (fd_ >= 0) close(fd_);
  }
  Maps(const Maps&) = delete;
  Maps& operator=(const Maps&) = delete;

  bool Find(uintptr_t address, Mapping* found) {
    while (!end_) {
      const uintptr_t begin = Number();
      const uintptr_t end = Number();
      Skip();  // permissions
      const uintptr_t offset = Number();
      Skip();  // device
      Skip();  // inode
      Rest(found->file, sizeof found->file);
      if (begin <= address && address < end) {
        found->mapped = true;
        found->offset = address - begin + offset;
        return true;
      }
    }
    found->file[0] = 0;
    return false;
  }

 private:
  int Next() {
    if (at_ == size_) {
      size_ = fd_ >= 0 ? read(fd_, buffer_, sizeof buffer_) : 0;
      at_ = 0;
      if (size_ <= 0) {
        size_ = 0;
        end_ = true;
        return '\n';
      }
    }
    return buffer_[at_++];
  }
  uintptr_t Number() {  // hexadecimal, with the character behind it
    uintptr_t v = 0;
    for (;;) {
      const int c = Next();
      if (c >= '0' && c <= '9') {
        v = v * 16 + static_cast<uintptr_t>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        v = v * 16 + static_cast<uintptr_t>(c - 'a' + 10);
      } else {
        last_ = c;
        return v;
      }
    }
  }
  void Skip() {  // a word and the space behind it
    int c = Next();
    while (c != ' ' && c != '\n') c = Next();
    last_ = c;
  }
  void Rest(char* to, size_t room) {
    size_t n = 0;
    for (int c = last_ == '\n' ? '\n' : Next(); c != '\n'; c = Next()) {
      if ((n > 0 || c != ' ') && n + 1 < room) to[n++] = static_cast<char>(c);
    }
    to[n] = 0;
  }

  const int fd_;
  char buffer_[2048];
  ssize_t at_ = 0;
  ssize_t size_ = 0;
  int last_ = 0;
  bool end_ = false;
};

Mapping MappingOf(uintptr_t address) {
  Mapping m;
  Maps maps;
  maps.Find(address, &m);
  return m;
}

// The report
// -------------------------------------------------------------------

uintptr_t InstructionOf(const void* context) {
  const auto* c = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  return static_cast<uintptr_t>(c->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return c->uc_mcontext.pc;
#else
  return 0;
#endif
}

// The C library reports the faults of those that call it: abort(), memcpy().
bool IsLibc(const char* file) {
  const char* name = strrchr(file, '/');
  name = name != nullptr ? name + 1 : file;
  return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-", 5) == 0 ||
         strncmp(name, "libpthread", 10) == 0;
}

void Place(const Mapping& m, uintptr_t address) {
  Line line;
  if (!m.mapped) {
    line << "*** the instruction at ";
    line.Hex(address) << " is not mapped: a call through a bad pointer";
  } else if (m.file[0] == 0 || m.file[0] == '[') {
    line << "*** the code that faulted at ";
    line.Hex(address) << " is in no file (generated code)";
  } else {
    const Mapping own =
        MappingOf(reinterpret_cast<uintptr_t>(&EnableCrashHandler));
    line << "*** the code that faulted is in " << m.file << " (+";
    line.Hex(m.offset) << ")"
                       << (strcmp(own.file, m.file) == 0 ? ", which is Proa"
                                                         : ", not in Proa");
  }
}

void Frames(uintptr_t fault) {
  constexpr int kMax = 48;
  void* addresses[kMax];
  const int n = backtrace(addresses, kMax);
  // The handler's own come first.
  int first = 0;
  for (int i = 0; i < n; ++i) {
    if (reinterpret_cast<uintptr_t>(addresses[i]) == fault) first = i;
  }
  bool named = false;
  for (int i = first; i < n; ++i) {
    const auto address = reinterpret_cast<uintptr_t>(addresses[i]);
    const Mapping m = MappingOf(address);
    Line line;
    line << "***   #" << int64_t{i - first} << " "
         << (m.file[0] != 0 ? m.file : "?") << " +";
    line.Hex(m.offset);
    if (i > first && !named && m.mapped && !IsLibc(m.file)) {
      named = true;
      if (IsLibc(MappingOf(fault).file)) line << "   <- which called libc";
    }
  }
}

void Report(int signal, const siginfo_t* info, const void* context) {
  const int me = ThreadId();
  {
    Line line;
    line << "*** " << SignalName(signal);
    if (signal != SIGABRT) {
      line << ", address ";
      line.Hex(reinterpret_cast<uintptr_t>(info->si_addr));
    }
    line << ", on thread " << int64_t{me};
    if (info->si_code <= 0 && info->si_pid != 0) {
      line << ", sent by process " << int64_t{info->si_pid};
    }
  }
  const uintptr_t instruction = InstructionOf(context);
  Place(MappingOf(instruction), instruction);
  bool any = false;
  for (const Running& r : running) {
    const char* op = r.op.load(std::memory_order_relaxed);
    if (op == nullptr) continue;
    any = true;
    Line() << "*** an op runs: " << op << ", on thread "
           << int64_t{r.thread.load(std::memory_order_relaxed)}
           << (r.thread == me ? " (this one)" : "");
  }
  if (!any) Line() << "*** no op runs";
  Frames(instruction);
}

void PassOn(int signal, siginfo_t* info, void* context) {
  int i = 0;
  while (i + 1 < kNumSignals && kSignals[i] != signal) ++i;
  const struct sigaction& before = previous[i];
  if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr) {
    before.sa_sigaction(signal, info, context);
    return;
  }
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
    return;
  }
  // The default: on return the instruction faults again, or abort goes on; a
  // signal that was sent has to be sent again.
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigemptyset(&standard.sa_mask);
  sigaction(signal, &standard, nullptr);
  if (info->si_code <= 0 || signal == SIGABRT) {
    syscall(SYS_tgkill, getpid(), ThreadId(), signal);
  }
}

void WaitForTheOther() {
  constexpr timespec kWhile = {0, 10'000'000};
  for (int i = 0; i < 500 && reporting != 0; ++i) nanosleep(&kWhile, nullptr);
}

void Handle(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const int me = ThreadId();
  int nobody = 0;
  if (enabled && reporting.compare_exchange_strong(nobody, me)) {
    Report(signal, info, context);
    // A handler that returns from a repaired fault may see another one.
    reporting = 0;
  } else if (enabled && nobody != me) {
    WaitForTheOther();
  }
  errno = saved_errno;
  PassOn(signal, info, context);
}

// A stack to report an overflow of the stack on. The main thread's handlers
// have none unless somebody gave one; it lives as long as the process.
void GiveThisThreadASignalStack() {
  stack_t now = {};
  if (sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) {
    return;
  }
  constexpr size_t kSize = size_t{64} << 10;
  static char* const memory = new char[kSize];
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = kSize;
  sigaltstack(&stack, nullptr);
}

const bool installed = [] {
  InstallObserver(Observer::kCrashHandler, &NoteOp);
  return true;
}();

}  // namespace

void EnableCrashHandler() {
  if (enabled.exchange(true)) return;
  // The first call loads the unwinder, which the handler must not do.
  void* address;
  backtrace(&address, 1);
  GiveThisThreadASignalStack();
  for (int i = 0; i < kNumSignals; ++i) {
    struct sigaction action = {};
    action.sa_sigaction = &Handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(kSignals[i], &action, &previous[i]);
  }
  SetObserver(Observer::kCrashHandler, true);
}

void DisableCrashHandler() {
  if (!enabled.exchange(false)) return;
  SetObserver(Observer::kCrashHandler, false);
  for (int i = 0; i < kNumSignals; ++i) {
    struct sigaction now = {};
    sigaction(kSignals[i], nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &Handle) {
      sigaction(kSignals[i], &previous[i], nullptr);
    }
  }
}

bool CrashHandlerEnabled() { return enabled; }

}  // namespace proa::inline v0
