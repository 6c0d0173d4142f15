#include "distributed/links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "distributed/fabric.h"
#include "distributed/thread_ranks.h"

namespace proa::distributed {
namespace {

char ByteAt(int from, size_t i) { return static_cast<char>(i * 7 + from); }

// Waits until `n` bytes have come.
void Await(Links& links, int peer, size_t n) {
  while (true) {
    const uint32_t ticket = links.Ticket();
    if (links.Available(peer) >= n) return;
    links.Wait(ticket);
  }
}

void AwaitDrained(Links& links) {
  while (true) {
    const uint32_t ticket = links.Ticket();
    if (links.IsDrained()) return;
    links.Wait(ticket);
  }
}

std::string Read(Links& links, int peer, size_t n) {
  Piece pieces[2];
  links.Look(peer, n, pieces);
  EXPECT_EQ(pieces[0].size + pieces[1].size, n);
  std::string text(pieces[0].data, pieces[0].size);
  text.append(pieces[1].data, pieces[1].size);
  links.Drop(peer, n);
  return text;
}

class LinksTest : public testing::TestWithParam<bool> {};

TEST_P(LinksTest, OddSizesKeepPositionsAligned) {
  ExpectNone(RunLinked(2, GetParam(), [](Fabric&, Links& links) {
    const int other = 1 - links.me();
    EXPECT_EQ(links.capacity() % kAlign, 0u);
    EXPECT_EQ(links.Space(other), links.capacity());
    for (const size_t n : {0, 1, 15, 16, 17, 1000}) {
      const std::string text(n, static_cast<char>('a' + links.me()));
      links.Write(other, text.data(), n);
      Await(links, other, Padded(n));
      EXPECT_EQ(Read(links, other, n),
                std::string(n, static_cast<char>('a' + other)));
    }
    EXPECT_EQ(links.Available(other), 0u);
    AwaitDrained(links);
  }));
}

// More than a ring, in pieces that do not divide it: data cross its end.
TEST_P(LinksTest, StreamsAreLongerThanRings) {
  ExpectNone(RunLinked(3, GetParam(), [](Fabric&, Links& links) {
    const size_t all = 3 * links.capacity() + 12345;
    const size_t step = 40000 - 40000 % kAlign;
    std::vector<size_t> sent(3), got(3);
    size_t wrong = 0;
    bool done = false;
    while (!done) {
      const uint32_t ticket = links.Ticket();
      bool moved = false;
      done = true;
      for (int i = 0; i < 3; ++i) {
        if (i == links.me()) continue;
        const size_t out = std::min(step, all - sent[i]);
        if (out > 0 && links.Space(i) >= Padded(out)) {
          std::string text(out, 0);
          for (size_t k = 0; k < out; ++k) {
            text[k] = ByteAt(links.me(), sent[i] + k);
          }
          links.Write(i, text.data(), out);
          sent[i] += out;
          moved = true;
        }
        const size_t in = std::min(step, all - got[i]);
        if (in > 0 && links.Available(i) >= Padded(in)) {
          const std::string text = Read(links, i, in);
          for (size_t k = 0; k < in; ++k) {
            wrong += text[k] != ByteAt(i, got[i] + k);
          }
          got[i] += in;
          moved = true;
        }
        done &= sent[i] == all && got[i] == all;
      }
      if (!moved && !done) links.Wait(ticket);
    }
    EXPECT_EQ(wrong, 0u);
    AwaitDrained(links);
  }));
}

TEST_P(LinksTest, WaitEndsWithoutNews) {
  ExpectNone(RunLinked(2, GetParam(), [](Fabric&, Links& links) {
    const auto began = Clock::now();
    links.Wait(links.Ticket());
    EXPECT_LT(Clock::now() - began, std::chrono::seconds(5));
  }));
}

INSTANTIATE_TEST_SUITE_P(Kinds, LinksTest, testing::Bool(),
                         [](const auto& info) {
                           return std::string(info.param ? "Memory"
                                                         : "Sockets");
                         });

TEST(SocketLinksTest, AStreamEndsAfterWhatWasWritten) {
  ExpectNone(RunLinked(2, false, [](Fabric&, Links& links) {
    EXPECT_STREQ(links.kind(), "sockets");
    if (links.me() == 0) {
      links.Write(1, "sixteen letters!", 16);
      AwaitDrained(links);
      return;  // its sockets close
    }
    Await(links, 0, 16);
    // It has not ended while there is something to read.
    for (int i = 0; i < 5; ++i) links.Wait(links.Ticket());
    EXPECT_FALSE(links.HasEnded(0));
    EXPECT_EQ(Read(links, 0, 16), "sixteen letters!");
    while (!links.HasEnded(0)) links.Wait(links.Ticket());
    EXPECT_EQ(links.Available(0), 0u);
  }));
}

TEST(SharedLinksTest, AFullRingHasNoSpace) {
  ExpectNone(RunLinked(2, true, [](Fabric&, Links& links) {
    const int other = 1 - links.me();
    const std::string text(links.capacity(), 'x');
    links.Write(other, text.data(), text.size());
    // Rank 1 reads when rank 0 has seen its ring full.
    Await(links, other, text.size());
    if (links.me() == 0) {
      EXPECT_EQ(links.Space(1), 0u);
      links.Drop(1, text.size());
      Await(links, 1, 16);
      EXPECT_EQ(links.Space(1), links.capacity());
      return;
    }
    while (links.Space(0) == 0) links.Wait(links.Ticket());
    EXPECT_EQ(Read(links, other, text.size()), text);
    links.Write(0, "sixteen letters!", 16);
  }));
}

TEST(SharedLinksTest, ManyRanksHaveSmallerRings) {
  size_t two = 0, many = 0;
  ExpectNone(RunLinked(2, true, [&](Fabric& fabric, Links& links) {
    EXPECT_STREQ(links.kind(), "shared memory");
    if (fabric.rank() == 0) two = links.capacity();
  }));
  ExpectNone(RunLinked(12, true, [&](Fabric& fabric, Links& links) {
    if (fabric.rank() == 0) many = links.capacity();
  }));
  EXPECT_LT(many, two);
  EXPECT_EQ(many % kAlign, 0u);
}

}  // namespace
}  // namespace proa::distributed
