// With etcd-server where it is installed; without it, against a gateway that
// keeps its keys here and answers as etcd does.
#include "distributed/etcd_store.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "distributed/socket.h"
#include "distributed/store.h"
#include "distributed/store_checks.h"
#include "tensor/error.h"

namespace proa::distributed {
namespace {

const char* Program() {
  for (const char* path : {"/usr/bin/etcd", "/usr/local/bin/etcd"}) {
    if (access(path, X_OK) == 0) return path;
  }
  return nullptr;
}

int FreePort() { return PortOf(Listen(0)); }

// An etcd of this test, in a folder of its own.
class Server {
 public:
  Server() : port_(FreePort()) {
    const std::string folder =
        absl::StrCat(std::getenv("TEST_TMPDIR"), "/etcd", port_);
    std::filesystem::create_directories(folder);
    const std::string client = absl::StrCat("http://127.0.0.1:", port_);
    const std::string peer = absl::StrCat("http://127.0.0.1:", FreePort());
    const std::vector<std::string> args = {
        Program(),
        "--data-dir=" + folder,
        "--listen-client-urls=" + client,
        "--advertise-client-urls=" + client,
        "--listen-peer-urls=" + peer,
        "--initial-advertise-peer-urls=" + peer,
        "--initial-cluster=default=" + peer,
        "--unsafe-no-fsync",
        "--logger=zap",
        "--log-level=panic"};
    pid_ = fork();
    if (pid_ != 0) return;
    std::vector<char*> argv;
    for (const std::string& a : args)
      argv.push_back(const_cast<char*>(a.data()));
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ~Server() { Stop(); }
  void Stop() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  int port() const { return port_; }

 private:
  const int port_;
  pid_t pid_ = 0;
};

// Answers each request with what `answer` makes of its path and body.
class Gateway {
 public:
  using Answer = std::function<std::string(const std::string& path,
                                           const std::string& body)>;
  explicit Gateway(Answer answer)
      : answer_(std::move(answer)), listener_(Listen(0)) {
    thread_ = std::thread([this] { Loop(); });
  }
  ~Gateway() {
    stop_ = true;
    thread_.join();
  }
  int port() const { return PortOf(listener_); }

 private:
  bool Wait(int fd) const {
    pollfd p{fd, POLLIN, 0};
    while (!stop_) {
      if (poll(&p, 1, 20) > 0) return true;
    }
    return false;
  }
  void Loop() {
    while (Wait(listener_.fd())) {
      const Socket s(accept(listener_.fd(), nullptr, nullptr));
      if (s) Serve(s);
    }
  }
  void Serve(const Socket& s) const {
    std::string text;
    char piece[4096];
    while (Wait(s.fd())) {
      const ssize_t n = recv(s.fd(), piece, sizeof piece, 0);
      if (n <= 0) return;
      text.append(piece, n);
      const size_t head = text.find("\r\n\r\n");
      if (head == std::string::npos) continue;
      const size_t at = text.find("Content-Length: ");
      const size_t length = std::stoul(text.substr(at + 16));
      if (text.size() < head + 4 + length) continue;
      const std::string path = text.substr(5, text.find(' ', 5) - 5);
      const std::string whole = answer_(path, text.substr(head + 4));
      text.clear();
      if (whole.empty()) return;  // closes the connection
      send(s.fd(), whole.data(), whole.size(), MSG_NOSIGNAL);
    }
  }

  const Answer answer_;
  const Socket listener_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

std::string Ok(const std::string& body) {
  return absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(),
                      "\r\n\r\n", body);
}

std::string Between(const std::string& text, const std::string& begin,
                    size_t from = 0) {
  const size_t at = text.find(begin, from);
  if (at == std::string::npos) return "";
  return text.substr(at + begin.size(),
                     text.find('"', at + begin.size()) - at - begin.size());
}

// As much of etcd as the store asks for.
class Keys {
 public:
  std::string operator()(const std::string& path, const std::string& body) {
    const std::string key = Between(body, "\"key\":\"");
    if (path == "/v3/kv/range") return Ok(Range(key));
    if (path == "/v3/kv/put") {
      Put(key, Between(body, "\"value\":\""));
      return Ok("{}");
    }
    if (path == "/v3/kv/deleterange") {
      return Ok(keys_.erase(key) == 1 ? "{\"deleted\":\"1\"}" : "{}");
    }
    const bool create = body.find("\"CREATE\"") != std::string::npos;
    const auto at = keys_.find(key);
    const bool so =
        create ? at == keys_.end()
               : at != keys_.end() && std::to_string(at->second.second) ==
                                          Between(body, "\"mod_revision\":\"");
    if (so) Put(key, Between(body, "\"value\":\""));
    return Ok(so ? "{\"succeeded\":true}" : "{}");
  }

 private:
  void Put(const std::string& key, const std::string& value) {
    keys_[key] = {value, ++revision_};
  }
  std::string Range(const std::string& key) const {
    const auto at = keys_.find(key);
    if (at == keys_.end()) return "{\"header\":{\"revision\":\"7\"}}";
    return absl::StrCat("{\"header\":{},\"kvs\":[{\"key\":\"", key,
                        "\",\"mod_revision\":\"", at->second.second,
                        "\",\"value\":\"", at->second.first,
                        "\"}],\"count\":\"1\"}");
  }
  std::map<std::string, std::pair<std::string, int>> keys_;
  int revision_ = 0;
};

TEST(EtcdStoreTest, AsOthers) {
  if (Program() == nullptr) GTEST_SKIP() << "Debian's etcd-server is not here";
  const Server server;
  EtcdStore a("127.0.0.1", server.port(), "/job", Limit(20000));
  EtcdStore b("localhost", server.port(), "/job", Limit(20000));
  TestStore(a, b);
  std::string text;
  EXPECT_EQ(CodeOf([&] { a.Set("large", std::string(2 << 20, 'x')); }, &text),
            absl::StatusCode::kOutOfRange);
  const std::string large(900000, 'x');
  a.Set("large", large);
  EXPECT_EQ(b.Get("large", Limit(5000)), large);
  // Of another job.
  EtcdStore other("127.0.0.1", server.port(), "/job2", Limit(5000));
  other.Set("n", "other");
  EXPECT_EQ(a.Get("n", Limit(0)), "-3");
  EXPECT_GT(a.Clear(), 4);
  EXPECT_EQ(CodeOf([&] { a.Get("n", Limit(0)); }, &text),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(other.Get("n", Limit(0)), "other");
}

TEST(EtcdStoreTest, LeasesEnd) {
  if (Program() == nullptr) GTEST_SKIP() << "Debian's etcd-server is not here";
  const Server server;
  EtcdStore a("127.0.0.1", server.port(), "", Limit(20000));
  const int64_t lease = a.NewLease(2);
  EXPECT_TRUE(a.Claim("leader", "me", lease));
  EXPECT_FALSE(a.Claim("leader", "you"));
  EXPECT_TRUE(a.KeepLease(lease));
  EXPECT_EQ(a.Get("leader", Limit(0)), "me");
  // Nobody keeps it: the key goes.
  const auto end = Clock::now() + Limit(15000);
  while (!a.Claim("leader", "you") && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(a.Get("leader", Limit(0)), "you");
  EXPECT_FALSE(a.KeepLease(lease));
  const int64_t second = a.NewLease(60);
  EXPECT_TRUE(a.Claim("short", "x", second));
  a.EndLease(second);
  EXPECT_TRUE(a.Claim("short", "y"));
}

TEST(EtcdStoreTest, ServerVanishes) {
  if (Program() == nullptr) GTEST_SKIP() << "Debian's etcd-server is not here";
  Server server;
  EtcdStore a("127.0.0.1", server.port(), "/job", Limit(20000));
  a.Set("x", "1");
  std::thread stops([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    server.Stop();
  });
  std::string text;
  const auto code = CodeOf([&] { a.Get("never", Limit(60000)); }, &text);
  stops.join();
  EXPECT_NE(code, absl::StatusCode::kOk);
  EXPECT_NE(text.find(absl::StrCat("127.0.0.1:", server.port())),
            std::string::npos)
      << text;
}

TEST(EtcdStoreTest, Gateway) {
  Keys keys;
  std::atomic<int> asked{0};
  const Gateway gateway([&](const std::string& path, const std::string& body) {
    ++asked;
    return keys(path, body);
  });
  EtcdStore a("127.0.0.1", gateway.port(), "/job", Limit(5000));
  TestStore(a, a);
  EXPECT_GT(asked, 20);
}

TEST(EtcdStoreTest, StrangeAnswers) {
  std::string next = Ok("{}");
  const Gateway gateway(
      [&](const std::string&, const std::string&) { return next; });
  EtcdStore a("127.0.0.1", gateway.port(), "", Limit(5000));
  const auto what = [&](const std::string& answer, absl::StatusCode code) {
    next = answer;
    std::string text;
    EXPECT_EQ(CodeOf([&] { a.Get("x", Limit(0)); }, &text), code) << text;
    return text;
  };
  EXPECT_NE(what("SSH-2.0 hello, who is there\r\n\r\n",
                 absl::StatusCode::kFailedPrecondition)
                .find("no etcd server"),
            std::string::npos);
  EXPECT_NE(what("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone",
                 absl::StatusCode::kFailedPrecondition)
                .find("version 3.4 or later"),
            std::string::npos);
  EXPECT_NE(what("HTTP/1.1 503 X\r\nContent-Length: 43\r\n\r\n"
                 "{\"error\":\"no leader\",\"message\":\"no leader\"}",
                 absl::StatusCode::kUnavailable)
                .find("no leader"),
            std::string::npos);
  what("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
       absl::StatusCode::kDataLoss);
  what("HTTP/1.1 200 OK\r\n\r\n", absl::StatusCode::kDataLoss);
  what("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
       absl::StatusCode::kDataLoss);
  what(Ok("{\"kvs\":[{\"value\":\"***\"}]}"),
       absl::StatusCode::kInvalidArgument);
  what("", absl::StatusCode::kUnavailable);
  // In pieces, and after all that.
  next =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      "10\r\n{\"kvs\":[{\"value\"\r\n7\r\n:\"aGk=\"\r\n3\r\n}]}\r\n0\r\n\r\n";
  EXPECT_EQ(a.Get("x", Limit(0)), "hi");
}

TEST(EtcdStoreTest, NobodyThere) {
  std::string text;
  const int port = FreePort();
  EXPECT_EQ(
      CodeOf([&] { EtcdStore("127.0.0.1", port, "", Limit(200)); }, &text),
      absl::StatusCode::kUnavailable)
      << text;
}

}  // namespace
}  // namespace proa::distributed
