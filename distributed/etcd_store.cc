#include "distributed/etcd_store.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tensor/error.h"

namespace proa::inline v0::distributed {
namespace {

constexpr Limit kAnswerLimit(20000);
// A server that was started anew is there again within this.
constexpr Limit kAgainLimit(5000);
// etcd takes requests of 1.5 MiB; base64 makes a third more of a value.
constexpr size_t kMaxValue = size_t{1} << 20;
constexpr size_t kMaxAnswer = size_t{4} << 20;
constexpr size_t kMaxHead = size_t{64} << 10;

// The value of a field of the gateway's answer, as text; "" if it is not there,
// as the gateway leaves out what is zero or empty. Names of fields cannot occur
// within values, which are base64 or numbers.
std::string_view Field(std::string_view json, std::string_view name) {
  const std::string quoted = "\"" + std::string(name) + "\":";
  const size_t at = json.find(quoted);
  if (at == std::string_view::npos) return "";
  json.remove_prefix(at + quoted.size());
  while (!json.empty() && json[0] == ' ') json.remove_prefix(1);
  if (!json.empty() && json[0] == '"') {
    json.remove_prefix(1);
    return json.substr(0, json.find('"'));
  }
  return json.substr(0, json.find_first_of(",}] \n"));
}

// From where the first pair of key and value begins.
std::string_view Pairs(std::string_view json) {
  const size_t at = json.find("\"kvs\":");
  return at == std::string_view::npos ? "" : json.substr(at);
}

std::string Encoded(const std::string& bytes) {
  return absl::Base64Escape(bytes);
}

// The key behind all that begin with `prefix`.
std::string EndOf(std::string prefix) {
  while (!prefix.empty()) {
    if (static_cast<unsigned char>(prefix.back()) < 255) {
      ++prefix.back();
      return prefix;
    }
    prefix.pop_back();
  }
  return std::string(1, '\0');  // to the end of all keys
}

}  // namespace

EtcdStore::EtcdStore(const std::string& host, int port,
                     const std::string& prefix, Limit limit)
    : host_(host),
      port_(port),
      prefix_(prefix),
      name_(absl::StrCat("store etcd://", host, ":", port)) {
  const auto end = Clock::now() + limit;
  while (true) {
    try {
      const auto left = std::chrono::duration_cast<Limit>(end - Clock::now());
      {
        const std::lock_guard lock(mu_);
        socket_ = Connect(host_, port_, std::max(left, Limit(1)));
      }
      std::string value, revision;
      Read("", &value, &revision);
      return;
    } catch (const Error& e) {
      // A server that has just been started closes connections, or has no
      // leader yet.
      if (e.code() != absl::StatusCode::kUnavailable || Clock::now() >= end) {
        throw;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    LookForInterrupt();
  }
}

std::string EtcdStore::LocalAddress() const {
  const std::lock_guard lock(mu_);
  return socket_ ? LocalAddressOf(socket_) : "";
}

std::string EtcdStore::AskOnce(const std::string& path,
                               const std::string& body) {
  const std::string request = absl::StrCat(
      "POST /v3/", path, " HTTP/1.1\r\nHost: ", host_, ":", port_,
      "\r\nContent-Type: application/json\r\nContent-Length: ", body.size(),
      "\r\n\r\n", body);
  SendAll(socket_, request.data(), request.size(), kAnswerLimit, name_.c_str());
  // The head byte by byte, which is short: what follows belongs to the body.
  std::string head;
  while (!head.ends_with("\r\n\r\n")) {
    char c = 0;
    ReceiveAll(socket_, &c, 1, kAnswerLimit, name_.c_str());
    head.push_back(c);
    if (head.size() > kMaxHead || (head.size() == 5 && head != "HTTP/")) {
      Fail(absl::StatusCode::kFailedPrecondition, name_,
           ": what answers there is no etcd server");
    }
  }
  const std::string lower = absl::AsciiStrToLower(head);
  const auto number_after = [&](const char* name) -> int64_t {
    const size_t at = lower.find(name);
    if (at == std::string::npos) return -1;
    int64_t n = -1;
    const char* p = lower.data() + at + std::string_view(name).size();
    while (*p == ' ') ++p;
    std::from_chars(p, lower.data() + lower.size(), n);
    return n;
  };
  const auto read = [&](int64_t n) {
    if (n < 0 || static_cast<size_t>(n) > kMaxAnswer) {
      Fail(absl::StatusCode::kDataLoss, name_, ": an answer of ", n,
           " bytes is none of etcd's");
    }
    std::string text(static_cast<size_t>(n), '\0');
    ReceiveAll(socket_, text.data(), text.size(), kAnswerLimit, name_.c_str());
    return text;
  };
  std::string answer;
  if (lower.find("transfer-encoding: chunked") != std::string::npos) {
    while (true) {
      std::string line;
      while (!line.ends_with("\r\n")) {
        char c = 0;
        ReceiveAll(socket_, &c, 1, kAnswerLimit, name_.c_str());
        line.push_back(c);
        if (line.size() > 64) read(-1);
      }
      int64_t n = -1;
      std::from_chars(line.data(), line.data() + line.size(), n, 16);
      answer += read(n);
      read(2);
      if (n == 0) break;
      if (answer.size() > kMaxAnswer) read(-1);
    }
  } else {
    answer = read(number_after("\ncontent-length:"));
  }
  const int64_t status = number_after("http/1.1");
  if (status == 200) return answer;
  // The gateway's words; 503 and 504 of a server without a leader.
  const bool passing = status >= 500;
  std::string_view why = Field(answer, "message");
  if (why.empty()) why = Field(answer, "error");
  Fail(passing ? absl::StatusCode::kUnavailable
               : absl::StatusCode::kFailedPrecondition,
       name_, ": ", path, ": ",
       why.empty() ? absl::StrCat("HTTP status ", status) : std::string(why),
       status == 404 ? "; an etcd server of version 3.4 or later is needed"
                     : "");
}

std::string EtcdStore::Ask(const std::string& path, const std::string& body,
                           bool again) {
  const std::lock_guard lock(mu_);
  for (int attempt = 0;; ++attempt) {
    try {
      if (!socket_) socket_ = Connect(host_, port_, kAgainLimit);
      return AskOnce(path, body);
    } catch (const Error& e) {
      socket_ = Socket();  // half an answer may be in it
      if (e.code() != absl::StatusCode::kUnavailable || !again || attempt > 0) {
        throw;
      }
    } catch (...) {
      socket_ = Socket();
      throw;
    }
  }
}

std::string EtcdStore::KeyOf(const std::string& key) const {
  return absl::StrCat("\"key\":\"", Encoded(prefix_ + "/" + key), "\"");
}

bool EtcdStore::Read(const std::string& key, std::string* value,
                     std::string* revision) {
  const std::string answer =
      Ask("kv/range", absl::StrCat("{", KeyOf(key), "}"));
  const std::string_view pairs = Pairs(answer);
  if (pairs.empty()) return false;
  PROA_REQUIRE(absl::Base64Unescape(std::string(Field(pairs, "value")), value),
               name_, ": '", key, "' holds no base64");
  *revision = std::string(Field(pairs, "mod_revision"));
  return true;
}

void EtcdStore::Set(const std::string& key, const std::string& value) {
  if (key.size() + value.size() > kMaxValue) {
    Fail(absl::StatusCode::kOutOfRange, name_, ": '", key.substr(0, 64),
         "' and its value have ", key.size() + value.size(), " bytes; at most ",
         kMaxValue, " are taken");
  }
  Ask("kv/put",
      absl::StrCat("{", KeyOf(key), ",\"value\":\"", Encoded(value), "\"}"));
}

std::string EtcdStore::Get(const std::string& key, Limit limit) {
  const auto end = Clock::now() + limit;
  std::string value, revision;
  auto pause = std::chrono::milliseconds(2);
  while (!Read(key, &value, &revision)) {
    if (Clock::now() >= end) store_internal::FailTimeout(key, limit);
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(50));
    LookForInterrupt();
  }
  return value;
}

bool EtcdStore::Claim(const std::string& key, const std::string& value,
                      int64_t lease) {
  const std::string answer =
      Ask("kv/txn",
          absl::StrCat("{\"compare\":[{", KeyOf(key),
                       ",\"target\":\"CREATE\",\"create_revision\":\"0\"}],"
                       "\"success\":[{\"requestPut\":{",
                       KeyOf(key), ",\"value\":\"", Encoded(value),
                       "\",\"lease\":\"", lease, "\"}}]}"),
          /*again=*/false);
  return Field(answer, "succeeded") == "true";
}

int64_t EtcdStore::Add(const std::string& key, int64_t amount) {
  // A number that nobody has changed since it was read is replaced.
  while (true) {
    std::string value, revision;
    if (!Read(key, &value, &revision)) {
      if (Claim(key, std::to_string(amount))) return amount;
      continue;
    }
    const int64_t sum = store_internal::Number(key, value) + amount;
    if (amount == 0) return sum;
    const std::string answer = Ask(
        "kv/txn",
        absl::StrCat("{\"compare\":[{", KeyOf(key),
                     ",\"target\":\"MOD\",\"mod_revision\":\"", revision,
                     "\"}],\"success\":[{\"requestPut\":{", KeyOf(key),
                     ",\"value\":\"", Encoded(std::to_string(sum)), "\"}}]}"),
        /*again=*/false);
    if (Field(answer, "succeeded") == "true") return sum;
    LookForInterrupt();
  }
}

bool EtcdStore::Delete(const std::string& key) {
  const std::string answer =
      Ask("kv/deleterange", absl::StrCat("{", KeyOf(key), "}"));
  return Field(answer, "deleted") == "1";
}

int64_t EtcdStore::NewLease(int64_t seconds) {
  const std::string answer =
      Ask("lease/grant", absl::StrCat("{\"TTL\":\"", seconds, "\"}"));
  int64_t lease = 0;
  PROA_REQUIRE(absl::SimpleAtoi(std::string(Field(answer, "ID")), &lease),
               name_, ": no lease is given");
  return lease;
}

bool EtcdStore::KeepLease(int64_t lease) {
  const std::string answer =
      Ask("lease/keepalive", absl::StrCat("{\"ID\":\"", lease, "\"}"));
  int64_t left = 0;
  return absl::SimpleAtoi(std::string(Field(answer, "TTL")), &left) && left > 0;
}

void EtcdStore::EndLease(int64_t lease) {
  Ask("lease/revoke", absl::StrCat("{\"ID\":\"", lease, "\"}"));
}

int64_t EtcdStore::Clear() {
  const std::string answer =
      Ask("kv/deleterange", absl::StrCat("{\"key\":\"", Encoded(prefix_ + "/"),
                                         "\",\"range_end\":\"",
                                         Encoded(EndOf(prefix_ + "/")), "\"}"));
  int64_t n = 0;
  return absl::SimpleAtoi(std::string(Field(answer, "deleted")), &n) ? n : 0;
}

}  // namespace proa::inline v0::distributed
