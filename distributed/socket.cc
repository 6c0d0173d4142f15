#include "distributed/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <unordered_set>

#include "tensor/error.h"

namespace proa::inline v0::distributed {
namespace {

constexpr uint32_t kMagic = 0x50524f41;
constexpr size_t kMaxSecret = 256;
constexpr size_t kMaxSubject = 1024;

struct Greeting {
  uint32_t magic;
  uint32_t secret_size;
  uint32_t subject_size;
};

// False when the limit ends. Looks for Ctrl-C.
bool WaitFor(int fd, short events, Clock::time_point end) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                          end - Clock::now())
                          .count();
    if (left <= 0) return false;
    pollfd p{fd, events, 0};
    const int n = poll(&p, 1, static_cast<int>(std::min<int64_t>(left, 50)));
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return true;
    LookForInterrupt();
  }
}

template <typename Step>
void Move(const Socket& s, size_t n, short events, Limit limit, const char* who,
          const Step& step) {
  const auto end = Clock::now() + limit;
  size_t done = 0;
  while (done < n) {
    const ssize_t k = step(done);
    if (k > 0) {
      done += k;
      continue;
    }
    if (k < 0 && errno == EINTR) continue;
    if (k < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!WaitFor(s.fd(), events, end)) {
        Fail(absl::StatusCode::kDeadlineExceeded, who, ": no answer within ",
             limit.count() / 1000.0, " s");
      }
      continue;
    }
    Fail(absl::StatusCode::kUnavailable, who, ": the connection is gone",
         k < 0 ? absl::StrCat(" (", std::strerror(errno), ")") : "");
  }
}

bool SameSecret(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned char different = 0;
  for (size_t i = 0; i < a.size(); ++i) different |= a[i] ^ b[i];
  return different == 0;
}

// What sockets of this process own. A child that is forked gets copies, and a
// connection of which somebody has a copy outlives the rank that it belongs to:
// others would wait for a dead one. So a child has nothing in their places.
class Owned {
 public:
  static Owned& Get() {
    static auto* owned = new Owned;
    return *owned;
  }

  void Add(int fd) {
    const std::lock_guard lock(mu_);
    fds_.insert(fd);
  }

  void Close(int fd) {
    const std::lock_guard lock(mu_);
    fds_.erase(fd);
    close(fd);
  }

 private:
  Owned() {
    pthread_atfork([] { Get().mu_.lock(); }, [] { Get().mu_.unlock(); },
                   [] {
                     Get().Drop();
                     Get().mu_.unlock();
                   });
  }

  // The numbers stay taken, since the child has the sockets' objects too. Only
  // calls that may stand behind a fork.
  void Drop() {
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd : fds_) {
      if (nothing >= 0) dup3(nothing, fd, O_CLOEXEC);
    }
    if (nothing >= 0) close(nothing);
  }

  std::mutex mu_;
  std::unordered_set<int> fds_;
};

}  // namespace

Socket::Socket(int fd) : fd_(fd) {
  if (fd_ >= 0) Owned::Get().Add(fd_);
}

Socket::~Socket() {
  if (fd_ >= 0) Owned::Get().Close(fd_);
}

Socket Listen(int port) {
  Socket s(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  setsockopt(s.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = INADDR_ANY;
  if (bind(s.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address) !=
          0 ||
      listen(s.fd(), 1024) != 0) {
    const int number = errno;
    Fail(number == EADDRINUSE ? absl::StatusCode::kAlreadyExists
                              : absl::StatusCode::kUnavailable,
         "distributed: cannot listen on port ", port, ": ",
         std::strerror(number),
         number == EADDRINUSE
             ? "; another program has it: give the job another master port"
             : "");
  }
  return s;
}

int PortOf(const Socket& listener) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

std::string LocalAddressOf(const Socket& s) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(s.fd(), reinterpret_cast<sockaddr*>(&address), &size);
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  return text;
}

bool ConnectedToItself(const Socket& s) {
  sockaddr_in own{}, other{};
  socklen_t size = sizeof own, other_size = sizeof other;
  return getsockname(s.fd(), reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
         getpeername(s.fd(), reinterpret_cast<sockaddr*>(&other),
                     &other_size) == 0 &&
         own.sin_port == other.sin_port &&
         own.sin_addr.s_addr == other.sin_addr.s_addr;
}

Socket Connect(const std::string& host, int port, Limit limit) {
  const auto end = Clock::now() + limit;
  const std::string service = std::to_string(port);
  int error = 0;
  std::string why = "it does not answer";
  auto pause = std::chrono::milliseconds(5);
  do {
    addrinfo hints{};
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    error = getaddrinfo(host.c_str(), service.c_str(), &hints, &found);
    if (error != 0) {
      why = gai_strerror(error);
    } else {
      Socket s(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      int state = connect(s.fd(), found->ai_addr, found->ai_addrlen);
      freeaddrinfo(found);
      if (state != 0 && errno == EINPROGRESS && WaitFor(s.fd(), POLLOUT, end)) {
        socklen_t size = sizeof error;
        getsockopt(s.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
        state = error;
        errno = error;
      }
      if (state == 0 && ConnectedToItself(s)) {
        // At once, so that who is to listen there finds the port free.
        const linger none{1, 0};
        setsockopt(s.fd(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
        why = "nobody listens there yet";
      } else if (state == 0) {
        const int on = 1;
        setsockopt(s.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return s;
      } else {
        why = std::strerror(errno);
      }
    }
    LookForInterrupt();
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(200));
  } while (Clock::now() < end);
  Fail(absl::StatusCode::kUnavailable, "distributed: cannot connect to ", host,
       ":", port, " within ", limit.count() / 1000.0, " s: ", why);
}

void SendAll(const Socket& s, const void* data, size_t n, Limit limit,
             const char* who) {
  Move(s, n, POLLOUT, limit, who, [&](size_t done) {
    return send(s.fd(), static_cast<const char*>(data) + done, n - done,
                MSG_NOSIGNAL | MSG_DONTWAIT);
  });
}

void ReceiveAll(const Socket& s, void* data, size_t n, Limit limit,
                const char* who) {
  Move(s, n, POLLIN, limit, who, [&](size_t done) {
    return recv(s.fd(), static_cast<char*>(data) + done, n - done,
                MSG_DONTWAIT);
  });
}

const std::string& JobSecret() {
  static const auto* secret = [] {
    const char* text = std::getenv("PROA_JOB_SECRET");
    auto* s = new std::string(text == nullptr ? "" : text);
    if (s->size() > kMaxSecret) s->resize(kMaxSecret);
    return s;
  }();
  return *secret;
}

void Greet(const Socket& s, const std::string& subject, Limit limit,
           const char* who) {
  const std::string& secret = JobSecret();
  const Greeting g{kMagic, static_cast<uint32_t>(secret.size()),
                   static_cast<uint32_t>(subject.size())};
  std::string text(reinterpret_cast<const char*>(&g), sizeof g);
  text += secret;
  text += subject;
  SendAll(s, text.data(), text.size(), limit, who);
  char answer = 0;
  try {
    ReceiveAll(s, &answer, 1, limit, who);
  } catch (const Error& e) {
    if (e.code() != absl::StatusCode::kUnavailable) throw;
  }
  if (answer == 0) {
    Fail(absl::StatusCode::kUnavailable, who,
         " has vanished: it closed the connection instead of greeting");
  }
  if (answer != 'y') {
    Fail(absl::StatusCode::kPermissionDenied, who,
         ": the other end refused this process; it is of another job, or "
         "PROA_JOB_SECRET differs");
  }
}

bool AcceptGreeting(const Socket& s, std::string* subject, Limit limit) {
  try {
    Greeting g{};
    ReceiveAll(s, &g, sizeof g, limit, "greeting");
    // Sizes are bounded before memory is taken.
    if (g.magic != kMagic || g.secret_size > kMaxSecret ||
        g.subject_size > kMaxSubject) {
      return false;
    }
    std::string secret(g.secret_size, '\0');
    ReceiveAll(s, secret.data(), secret.size(), limit, "greeting");
    subject->resize(g.subject_size);
    ReceiveAll(s, subject->data(), subject->size(), limit, "greeting");
    if (!SameSecret(secret, JobSecret())) {
      SendAll(s, "n", 1, limit, "greeting");
      return false;
    }
    SendAll(s, "y", 1, limit, "greeting");
    const int on = 1;
    setsockopt(s.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace proa::inline v0::distributed
