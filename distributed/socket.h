// Stream sockets as the room uses them: addresses, limits on each wait, and the
// greeting by which two processes of a job know each other.
#ifndef PROA_DISTRIBUTED_SOCKET_H_
#define PROA_DISTRIBUTED_SOCKET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "distributed/store.h"

namespace proa::inline v0::distributed {

// Owns a file descriptor, which a child that is forked does not get.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd);
  Socket(Socket&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Socket& operator=(Socket&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~Socket();

  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Listens on all addresses; port 0: any. Throws Error kAlreadyExists for a port
// in use.
Socket Listen(int port);
int PortOf(const Socket& listener);
// Tries again until the limit ends, since the other end may not listen yet.
Socket Connect(const std::string& host, int port, Limit limit);
// Whether both ends are one socket: where nobody listens yet on a port of those
// that systems give out, who connects may be given that very port. `Connect`
// tries again then.
bool ConnectedToItself(const Socket& s);
// The address of this end.
std::string LocalAddressOf(const Socket& s);

// All of it, or an Error: kDeadlineExceeded, or kUnavailable when the other end
// is gone; `who` begins its text.
void SendAll(const Socket& s, const void* data, size_t n, Limit limit,
             const char* who);
void ReceiveAll(const Socket& s, void* data, size_t n, Limit limit,
                const char* who);

// What PROA_JOB_SECRET says, of which at most 256 bytes count; "" if it is not
// set. Who has another is refused; it is sent as it is, so it keeps strangers
// out of a trusted network and nobody else.
const std::string& JobSecret();
// The greeting of who connects, and the check by who accepts; `subject` says
// what the connection is for. Accept returns false for a stranger.
void Greet(const Socket& s, const std::string& subject, Limit limit,
           const char* who);
bool AcceptGreeting(const Socket& s, std::string* subject, Limit limit);

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_SOCKET_H_
