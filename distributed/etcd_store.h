// A store in etcd (v3), which outlives any rank: through the JSON gateway that
// every etcd server has at its client address.
//
// Keys are kept below a prefix of the job's own, so that jobs share a server.
// The connection is plain HTTP, without user and password: for networks that
// are trusted.
#ifndef PROA_DISTRIBUTED_ETCD_STORE_H_
#define PROA_DISTRIBUTED_ETCD_STORE_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "distributed/socket.h"
#include "distributed/store.h"

namespace proa::inline v0::distributed {

class EtcdStore final : public Store {
 public:
  // Waits until a server answers. `prefix` may be "". Throws Error kUnavailable
  // when none does within the limit.
  EtcdStore(const std::string& host, int port, const std::string& prefix,
            Limit limit);

  void Set(const std::string& key, const std::string& value) override;
  std::string Get(const std::string& key, Limit limit) override;
  int64_t Add(const std::string& key, int64_t amount) override;
  bool Delete(const std::string& key) override;
  std::string LocalAddress() const override;

  // Sets the key if nobody has: whether this was the one. With a lease it goes
  // when the lease ends; 0: it stays.
  bool Claim(const std::string& key, const std::string& value,
             int64_t lease = 0);
  // A lease ends `seconds` after the last sign of life.
  int64_t NewLease(int64_t seconds);
  // False if the lease has ended.
  bool KeepLease(int64_t lease);
  // With all keys that are set under it.
  void EndLease(int64_t lease);
  // All keys of the prefix; how many there were.
  int64_t Clear();

 private:
  // One question of the gateway; the body of the answer. Connects again once
  // if the server has closed the connection, when `again` says that asking
  // twice does no harm.
  std::string Ask(const std::string& path, const std::string& body,
                  bool again = true);
  std::string AskOnce(const std::string& path, const std::string& body);
  // False if there is none; `revision` is that of its last change.
  bool Read(const std::string& key, std::string* value, std::string* revision);
  // `"key":"..."` of a request.
  std::string KeyOf(const std::string& key) const;

  const std::string host_;
  const int port_;
  const std::string prefix_;
  const std::string name_;
  mutable std::mutex mu_;  // one question at a time
  Socket socket_;          // guarded by mu_
};

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_ETCD_STORE_H_
