#include "distributed/store.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "distributed/socket.h"
#include "distributed/store_checks.h"
#include "distributed/tcp_store.h"
#include "tensor/error.h"

namespace proa::distributed {
namespace {

TEST(StoreTest, Hash) {
  HashStore s;
  TestStore(s, s);
}

TEST(StoreTest, File) {
  const std::string dir = std::string(std::getenv("TEST_TMPDIR")) + "/store";
  FileStore a(dir), b(dir);
  TestStore(a, b);
}

TEST(StoreTest, Tcp) {
  TcpStoreServer server(0);
  TcpStore a("127.0.0.1", server.port(), Limit(5000));
  TcpStore b("127.0.0.1", server.port(), Limit(5000));
  TestStore(a, b);
  const std::string large(3 << 20, 'x');
  a.Set("large", large);
  EXPECT_EQ(b.Get("large", Limit(5000)), large);
}

TEST(StoreTest, TcpServerComesLater) {
  const int port = [] {
    const Socket s = Listen(0);
    return PortOf(s);
  }();
  std::unique_ptr<TcpStoreServer> server;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    server = std::make_unique<TcpStoreServer>(port);
  });
  TcpStore a("127.0.0.1", port, Limit(10000));
  a.Set("x", "y");
  later.join();
}

TEST(SocketTest, ConnectedToItself) {
  const Socket s(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* address = reinterpret_cast<sockaddr*>(&at);
  ASSERT_EQ(bind(s.fd(), address, size), 0);
  ASSERT_EQ(getsockname(s.fd(), address, &size), 0);
  ASSERT_EQ(connect(s.fd(), address, size), 0);  // Nobody listens.
  EXPECT_TRUE(ConnectedToItself(s));

  const Socket listener = Listen(0);
  EXPECT_FALSE(
      ConnectedToItself(Connect("127.0.0.1", PortOf(listener), Limit(5000))));
}

// A child that lives on must not keep the connections of a rank that died.
TEST(SocketTest, ForkedChildHasNone) {
  const Socket listener = Listen(0);
  Socket a = Connect("127.0.0.1", PortOf(listener), Limit(5000));
  const Socket b(accept(listener.fd(), nullptr, nullptr));
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  ASSERT_GT(child, 0);
  { const Socket ends = std::move(a); }
  pollfd p{b.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&p, 1, 5000), 1);
  char c = 0;
  EXPECT_EQ(read(b.fd(), &c, 1), 0);
  // Its own sockets work all the same.
  Socket again = Connect("127.0.0.1", PortOf(listener), Limit(5000));
  EXPECT_TRUE(again);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(StoreTest, PortInUse) {
  TcpStoreServer server(0);
  std::string text;
  EXPECT_EQ(CodeOf([&] { TcpStoreServer other(server.port()); }, &text),
            absl::StatusCode::kAlreadyExists);
  EXPECT_NE(text.find("another program has it"), std::string::npos);
}

TEST(StoreTest, NobodyServes) {
  const int port = [] {
    const Socket s = Listen(0);
    return PortOf(s);
  }();
  std::string text;
  EXPECT_EQ(CodeOf([&] { TcpStore("127.0.0.1", port, Limit(50)); }, &text),
            absl::StatusCode::kUnavailable);
  EXPECT_NE(text.find("cannot connect to 127.0.0.1"), std::string::npos);
}

TEST(StoreTest, ServerVanishes) {
  auto server = std::make_unique<TcpStoreServer>(0);
  TcpStore a("127.0.0.1", server->port(), Limit(5000));
  server.reset();
  std::string text;
  EXPECT_EQ(CodeOf([&] { a.Get("x", Limit(5000)); }, &text),
            absl::StatusCode::kUnavailable);
  EXPECT_NE(text.find("has vanished"), std::string::npos);
}

TEST(StoreTest, StrangersAreRefused) {
  TcpStoreServer server(0);
  const Socket s = Connect("127.0.0.1", server.port(), Limit(5000));
  SendAll(s, "GET / HTTP/1.1\r\n\r\n", 18, Limit(1000), "test");
  char c;
  std::string text;
  EXPECT_EQ(CodeOf([&] { ReceiveAll(s, &c, 1, Limit(5000), "test"); }, &text),
            absl::StatusCode::kUnavailable);
  // A greeting whose secret would take 4 GiB.
  const Socket t = Connect("127.0.0.1", server.port(), Limit(5000));
  const uint32_t greeting[] = {0x50524f41, 0xffffffff, 0};
  SendAll(t, greeting, sizeof greeting, Limit(1000), "test");
  EXPECT_EQ(CodeOf([&] { ReceiveAll(t, &c, 1, Limit(5000), "test"); }, &text),
            absl::StatusCode::kUnavailable);
  // One with another secret.
  const Socket u = Connect("127.0.0.1", server.port(), Limit(5000));
  const std::string wrong("\x41\x4f\x52\x50\x01\0\0\0\x07\0\0\0?store 0", 20);
  SendAll(u, wrong.data(), wrong.size(), Limit(1000), "test");
  ReceiveAll(u, &c, 1, Limit(5000), "test");
  EXPECT_EQ(c, 'n');
  // A question too long to be taken.
  const Socket v = Connect("127.0.0.1", server.port(), Limit(5000));
  Greet(v, "store -1", Limit(1000), "test");
  const uint32_t question[] = {'s', 0xfffffff0, 0xfffffff0};
  SendAll(v, question, sizeof question, Limit(1000), "test");
  EXPECT_EQ(CodeOf([&] { ReceiveAll(v, &c, 1, Limit(5000), "test"); }, &text),
            absl::StatusCode::kUnavailable);
  TcpStore honest("127.0.0.1", server.port(), Limit(5000));
  EXPECT_EQ(CodeOf([&] { honest.Set("x", std::string(size_t{65} << 20, 'x')); },
                   &text),
            absl::StatusCode::kOutOfRange);
  honest.Set("x", "y");
}

}  // namespace
}  // namespace proa::distributed
