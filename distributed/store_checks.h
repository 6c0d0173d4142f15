// What every store keeps to, for the tests of each.
#ifndef PROA_DISTRIBUTED_STORE_CHECKS_H_
#define PROA_DISTRIBUTED_STORE_CHECKS_H_

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "distributed/store.h"
#include "tensor/error.h"

namespace proa::distributed {

// The code of the error that `f` throws, kOk if it throws none, and its text.
inline absl::StatusCode CodeOf(const std::function<void()>& f,
                               std::string* text) {
  try {
    f();
  } catch (const Error& e) {
    *text = e.what();
    return e.code();
  }
  return absl::StatusCode::kOk;
}

// Both are the same store.
inline void TestStore(Store& a, Store& b) {
  a.Set("x", std::string("1\0 2", 4));
  EXPECT_EQ(b.Get("x", Limit(1000)), std::string("1\0 2", 4));
  a.Set("empty", "");
  EXPECT_EQ(b.Get("empty", Limit(1000)), "");
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  a.Set("all", all);
  EXPECT_EQ(b.Get("all", Limit(1000)), all);
  EXPECT_EQ(a.Add("n", 2), 2);
  EXPECT_EQ(b.Add("n", -5), -3);
  EXPECT_EQ(a.Get("n", Limit(0)), "-3");
  EXPECT_TRUE(b.Delete("x"));
  EXPECT_FALSE(b.Delete("x"));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    b.Set("late", "here");
  });
  EXPECT_EQ(a.Get("late", Limit(5000)), "here");
  later.join();
  std::string text;
  EXPECT_EQ(CodeOf([&] { a.Get("never", Limit(20)); }, &text),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(text.find("nobody set 'never' within 0.02 s"), std::string::npos);
  a.Set("text", "no number");
  EXPECT_EQ(CodeOf([&] { a.Add("text", 1); }, &text),
            absl::StatusCode::kInvalidArgument);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 50; ++k) (i % 2 == 0 ? a : b).Add("sum", 1);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(a.Add("sum", 0), 200);
}

}  // namespace proa::distributed

#endif  // PROA_DISTRIBUTED_STORE_CHECKS_H_
