// A store that one process serves and all reach over TCP.
#ifndef PROA_DISTRIBUTED_TCP_STORE_H_
#define PROA_DISTRIBUTED_TCP_STORE_H_

#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "distributed/socket.h"
#include "distributed/store.h"

namespace proa::inline v0::distributed {

// Keys and values are at most this long together; the server takes no memory
// for longer ones.
inline constexpr size_t kMaxStoreMessage = size_t{1} << 26;

class TcpStoreServer {
 public:
  // Port 0: any. Throws Error kAlreadyExists for a port in use.
  explicit TcpStoreServer(int port);
  ~TcpStoreServer();  // connections close
  TcpStoreServer(const TcpStoreServer&) = delete;
  TcpStoreServer& operator=(const TcpStoreServer&) = delete;

  int port() const { return port_; }

 private:
  class Loop;
  int port_;
  std::unique_ptr<Loop> loop_;
  std::thread thread_;
};

class TcpStore final : public Store {
 public:
  // Waits until the server listens. Throws Error kUnavailable when it does not
  // within the limit, kPermissionDenied when it refuses.
  // `rank`: under which number the server reports the end of this connection
  // without a goodbye (kLostRanks); -1: not at all.
  TcpStore(const std::string& host, int port, Limit limit, int rank = -1);
  ~TcpStore() override;

  void Set(const std::string& key, const std::string& value) override;
  std::string Get(const std::string& key, Limit limit) override;
  int64_t Add(const std::string& key, int64_t amount) override;
  bool Delete(const std::string& key) override;
  std::string LocalAddress() const override { return LocalAddressOf(socket_); }

 private:
  bool Ask(char what, const std::string& key, const std::string& value,
           std::string* answer);

  std::mutex mu_;  // one question at a time
  const std::string name_;
  Socket socket_;
};

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_TCP_STORE_H_
