#include "distributed/tcp_store.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <map>
#include <thread>
#include <vector>

#include "tensor/error.h"

// A question is {what, size of key, size of value} with key and value; an
// answer {found, size of value} with the value. The server never waits for one
// client: who waits for a key asks again.
namespace proa::inline v0::distributed {
namespace {

struct Question {
  uint32_t what;
  uint32_t key_size;
  uint32_t value_size;
};
struct Answer {
  uint32_t state;  // 0 no, 1 yes, 2 wrong
  uint32_t value_size;
};

constexpr Limit kAnswerLimit{30000};

}  // namespace

class TcpStoreServer::Loop {
 public:
  explicit Loop(Socket listener)
      : listener_(std::move(listener)), stop_(eventfd(0, EFD_CLOEXEC)) {}

  void Stop() {
    const uint64_t one = 1;
    if (write(stop_.fd(), &one, sizeof one) < 0) return;
  }

  void Run() {
    NeverLookForInterrupt();
    while (true) {
      std::vector<pollfd> polls = {{stop_.fd(), POLLIN, 0},
                                   {listener_.fd(), POLLIN, 0}};
      for (const Client& c : clients_) {
        const short out = c.output.empty() ? 0 : POLLOUT;
        polls.push_back({c.socket.fd(), static_cast<short>(POLLIN | out), 0});
      }
      if (poll(polls.data(), polls.size(), -1) < 0 && errno != EINTR) return;
      if (polls[0].revents != 0) return;
      size_t i = 2;
      for (auto c = clients_.begin(); c != clients_.end() && i < polls.size();
           ++i) {
        const bool keep = polls[i].revents == 0 || Serve(*c);
        if (!keep && !c->leaves && c->rank != "-1") {
          values_.emplace(kLostRanks, c->rank);
        }
        c = keep ? std::next(c) : clients_.erase(c);
      }
      if (polls[1].revents != 0) Accept();
    }
  }

 private:
  struct Client {
    Socket socket;
    std::string rank;
    bool leaves = false;
    std::string input;
    std::string output;
  };

  void Accept() {
    const int fd =
        accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    Socket s(fd);
    std::string subject;
    // Strangers that say nothing hold the loop no longer than this.
    if (!AcceptGreeting(s, &subject, Limit(500)) ||
        !subject.starts_with("store ")) {
      return;
    }
    clients_.push_back({std::move(s), subject.substr(6)});
  }

  // False when the client is gone or talks nonsense.
  bool Serve(Client& c) {
    char buffer[65536];
    while (true) {
      const ssize_t n =
          recv(c.socket.fd(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (n > 0) {
        c.input.append(buffer, n);
        if (c.input.size() > kMaxStoreMessage + sizeof(Question)) return false;
        continue;
      }
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
      return false;
    }
    while (c.input.size() >= sizeof(Question)) {
      Question q;
      std::memcpy(&q, c.input.data(), sizeof q);
      const size_t size = size_t{q.key_size} + q.value_size;
      if (size > kMaxStoreMessage) return false;
      if (c.input.size() < sizeof q + size) break;
      Reply(c, q);
      c.input.erase(0, sizeof q + size);
    }
    while (!c.output.empty()) {
      const ssize_t n = send(c.socket.fd(), c.output.data(), c.output.size(),
                             MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
      if (n <= 0) return false;
      c.output.erase(0, n);
    }
    return true;
  }

  void Reply(Client& c, const Question& q) {
    const std::string key = c.input.substr(sizeof q, q.key_size);
    const std::string value =
        c.input.substr(sizeof q + q.key_size, q.value_size);
    uint32_t state = 1;
    std::string found;
    const auto at = values_.find(key);
    if (q.what == 's') {
      values_[key] = value;
    } else if (q.what == 'g') {
      state = at != values_.end();
      if (state == 1) found = at->second;
    } else if (q.what == 'b') {
      c.leaves = true;
    } else if (q.what == 'd') {
      state = values_.erase(key) != 0;
    } else if (q.what == 'a') {
      try {
        const int64_t before =
            at == values_.end() ? 0 : store_internal::Number(key, at->second);
        found = std::to_string(before + store_internal::Number(key, value));
        values_[key] = found;
      } catch (const Error&) {
        state = 2;
      }
    } else {
      state = 2;
    }
    const Answer answer{state, static_cast<uint32_t>(found.size())};
    c.output.append(reinterpret_cast<const char*>(&answer), sizeof answer);
    c.output += found;
  }

  Socket listener_;
  Socket stop_;
  std::list<Client> clients_;
  std::map<std::string, std::string> values_;
};

TcpStoreServer::TcpStoreServer(int port) {
  Socket listener = Listen(port);
  port_ = PortOf(listener);
  loop_ = std::make_unique<Loop>(std::move(listener));
  thread_ = std::thread([this] { loop_->Run(); });
}

TcpStoreServer::~TcpStoreServer() {
  loop_->Stop();
  thread_.join();
}

TcpStore::TcpStore(const std::string& host, int port, Limit limit, int rank)
    : name_(absl::StrCat("store ", host, ":", port)) {
  socket_ = Connect(host, port, limit);
  Greet(socket_, absl::StrCat("store ", rank), limit, name_.c_str());
}

TcpStore::~TcpStore() {
  try {
    std::string answer;
    Ask('b', "", "", &answer);
  } catch (const Error&) {  // The server is gone.
  }
}

bool TcpStore::Ask(char what, const std::string& key, const std::string& value,
                   std::string* answer) {
  if (key.size() + value.size() > kMaxStoreMessage) {
    Fail(absl::StatusCode::kOutOfRange, name_, ": '", key.substr(0, 64),
         "' and its value have ", key.size() + value.size(), " bytes; at most ",
         kMaxStoreMessage, " are taken");
  }
  const Question q{static_cast<uint32_t>(what),
                   static_cast<uint32_t>(key.size()),
                   static_cast<uint32_t>(value.size())};
  std::string text(reinterpret_cast<const char*>(&q), sizeof q);
  text += key;
  text += value;
  const std::lock_guard lock(mu_);
  Answer a{};
  try {
    SendAll(socket_, text.data(), text.size(), kAnswerLimit, name_.c_str());
    ReceiveAll(socket_, &a, sizeof a, kAnswerLimit, name_.c_str());
    if (a.value_size > kMaxStoreMessage) {
      Fail(absl::StatusCode::kDataLoss, name_, ": an answer of ", a.value_size,
           " bytes is none of the store's");
    }
    answer->resize(a.value_size);
    ReceiveAll(socket_, answer->data(), answer->size(), kAnswerLimit,
               name_.c_str());
  } catch (const Error& e) {
    if (e.code() == absl::StatusCode::kUnavailable) {
      Fail(e.code(), name_,
           " has vanished: the process that serves it (rank 0 or the launcher) "
           "has ended");
    }
    throw;
  }
  PROA_REQUIRE(a.state != 2, name_, ": '", key, "' holds no number to add to");
  return a.state == 1;
}

void TcpStore::Set(const std::string& key, const std::string& value) {
  std::string answer;
  Ask('s', key, value, &answer);
}

std::string TcpStore::Get(const std::string& key, Limit limit) {
  const auto end = Clock::now() + limit;
  std::string answer;
  auto pause = std::chrono::microseconds(200);
  while (!Ask('g', key, "", &answer)) {
    if (Clock::now() >= end) store_internal::FailTimeout(key, limit);
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(10000));
    LookForInterrupt();
  }
  return answer;
}

int64_t TcpStore::Add(const std::string& key, int64_t amount) {
  std::string answer;
  Ask('a', key, std::to_string(amount), &answer);
  return store_internal::Number(key, answer);
}

bool TcpStore::Delete(const std::string& key) {
  std::string answer;
  return Ask('d', key, "", &answer);
}

}  // namespace proa::inline v0::distributed
