#include "distributed/movement.h"

#include <algorithm>
#include <cstring>

namespace proa::inline v0::distributed {
namespace {

// Calls step() until it says that all is done. It returns what it moved.
struct Step {
  bool moved = false;
  bool done = true;
};
template <typename F>
void Loop(Links& links, const Watch& watch, const F& step) {
  while (true) {
    const uint32_t ticket = links.Ticket();
    const Step s = step();
    if (s.done) return;
    if (s.moved) continue;
    watch();
    links.Wait(ticket);
  }
}

// One Reduce. Each pair's stream is a fixed sequence of chunks: those of x for
// the reader (S), and those that the writer has combined (R), one S ahead:
// S0 S1 R0 S2 R1 ... So nobody says what comes next, and nobody waits for a
// chunk that waits for him.
class Reducer {
 public:
  Reducer(Links& links, const Reduction& r, const char* x, char* own,
          char* result)
      : links_(links),
        r_(r),
        x_(x),
        own_(own),
        result_(result),
        item_(ItemSize(r.dtype)),
        chunk_(links.capacity() / 4 / item_),
        peers_(links.size()),
        fold_(r.reduce, r.dtype, links.size(), chunk_) {
    for (const auto& s : r.segments) {
      chunks_ = std::max(chunks_, (s.size + chunk_ - 1) / chunk_);
    }
    for (int i = 0; i < links.size(); ++i) {
      Peer& p = peers_[i];
      p.gives = r.to == Reduction::To::kAll ||
                (r.to == Reduction::To::kRoot && links.me() == r.root);
      p.gets = r.to == Reduction::To::kAll ||
               (r.to == Reduction::To::kRoot && i == r.root);
    }
  }

  Step Run() {
    Step s;
    for (int i = 0; i < links_.size(); ++i) {
      if (i == links_.me()) continue;
      while (WriteTo(i)) s.moved = true;
    }
    while (FoldNext()) s.moved = true;
    for (int i = 0; i < links_.size(); ++i) {
      if (i == links_.me()) continue;
      while (ReadFrom(i)) s.moved = true;
      const Peer& p = peers_[i];
      s.done &= p.s_sent == chunks_ && (!p.gets || p.r_sent == chunks_) &&
                (!p.gives || p.r_got == chunks_);
    }
    s.done &= folded_ == chunks_;
    return s;
  }

 private:
  struct Peer {
    bool gets = false;   // combined chunks of this rank
    bool gives = false;  // its combined chunks to this rank
    size_t s_sent = 0, r_sent = 0;
    size_t s_got = 0, r_got = 0;
  };

  size_t Begin(int rank, size_t k) const {
    return r_.segments[rank].begin + k * chunk_;
  }
  size_t Size(int rank, size_t k) const {
    const size_t size = r_.segments[rank].size;
    return k * chunk_ >= size ? 0 : std::min(chunk_, size - k * chunk_);
  }
  char* OwnAt(size_t k) const { return own_ + k * chunk_ * item_; }
  bool NextIsS(size_t s, size_t r, bool with_r) const {
    return s < chunks_ && (!with_r || s <= r + 1);
  }

  bool WriteTo(int i) {
    Peer& p = peers_[i];
    const int me = links_.me();
    if (NextIsS(p.s_sent, p.r_sent, p.gets)) {
      const size_t n = Size(i, p.s_sent) * item_;
      if (links_.Space(i) < Padded(n)) return false;
      if (n > 0) links_.Write(i, x_ + Begin(i, p.s_sent) * item_, n);
      ++p.s_sent;
      return true;
    }
    if (!p.gets || p.r_sent == chunks_ || p.r_sent >= folded_) return false;
    const size_t n = Size(me, p.r_sent) * item_;
    if (links_.Space(i) < Padded(n)) return false;
    if (n > 0) links_.Write(i, OwnAt(p.r_sent), n);
    ++p.r_sent;
    return true;
  }

  // Is chunk `folded_` of rank i's x here? It is next in its stream then.
  bool Has(int i) const {
    if (i == links_.me()) return true;
    const Peer& p = peers_[i];
    return p.s_got == folded_ && NextIsS(p.s_got, p.r_got, p.gives) &&
           links_.Available(i) >= Padded(Size(links_.me(), folded_) * item_);
  }

  void Pieces(int i, size_t n, Piece pieces[2]) const {
    if (i == links_.me()) {
      pieces[0] = {i > 1 ? mine_.data() : x_ + Begin(i, folded_) * item_, n};
      pieces[1] = {};
    } else {
      links_.Look(i, n, pieces);
    }
  }

  void Done(int i, size_t n) {
    if (i == links_.me()) return;
    if (n > 0) links_.Drop(i, n);
    ++peers_[i].s_got;
  }

  bool FoldNext() {
    if (folded_ == chunks_) return false;
    const size_t n = Size(links_.me(), folded_) * item_;
    char* out = OwnAt(folded_);
    if (next_ == 0) {
      if (!Has(0) || !Has(1)) return false;
      // `out` may be where x lies.
      if (links_.me() > 1) {
        mine_.assign(x_ + Begin(links_.me(), folded_) * item_,
                     x_ + Begin(links_.me(), folded_) * item_ + n);
      }
      Piece a[2], b[2];
      Pieces(0, n, a);
      Pieces(1, n, b);
      // Along the pieces of both.
      for (size_t at = 0; at < n;) {
        const Piece pa = At(a, at), pb = At(b, at);
        const size_t k = std::min({pa.size, pb.size, n - at});
        fold_.Start(out, pa.data, pb.data, at / item_, k / item_);
        at += k;
      }
      Done(0, n);
      Done(1, n);
      next_ = 2;
    } else {
      if (!Has(next_)) return false;
      Piece a[2];
      Pieces(next_, n, a);
      fold_.Add(out, a[0].data, 0, a[0].size / item_);
      if (a[1].size > 0) {
        fold_.Add(out, a[1].data, a[0].size / item_, a[1].size / item_);
      }
      Done(next_, n);
      ++next_;
    }
    if (next_ == links_.size()) {
      fold_.Finish(out, n / item_);
      next_ = 0;
      ++folded_;
    }
    return true;
  }

  // The rest of two pieces from byte `at` on.
  static Piece At(const Piece p[2], size_t at) {
    if (at < p[0].size) return {p[0].data + at, p[0].size - at};
    at -= p[0].size;
    return {p[1].data + at, p[1].size - at};
  }

  bool ReadFrom(int i) {
    Peer& p = peers_[i];
    if (!p.gives || p.r_got == chunks_ || NextIsS(p.s_got, p.r_got, true)) {
      return false;
    }
    const size_t n = Size(i, p.r_got) * item_;
    if (links_.Available(i) < Padded(n)) return false;
    if (n > 0) CopyOut(links_, i, result_ + Begin(i, p.r_got) * item_, n);
    ++p.r_got;
    return true;
  }

  Links& links_;
  const Reduction& r_;
  const char* const x_;
  char* const own_;
  char* const result_;
  const size_t item_;
  const size_t chunk_;  // elements
  std::vector<Peer> peers_;
  Fold fold_;
  std::vector<char> mine_;  // this rank's chunk, if others come before it
  size_t chunks_ = 0;       // of the longest segment
  size_t folded_ = 0;
  int next_ = 0;  // the rank whose chunk is combined next
};

}  // namespace

void ExchangeHeaders(Links& links, const CallHeader& own,
                     std::span<const int64_t> bytes,
                     std::vector<CallHeader>* headers, std::vector<bool>* came,
                     const Watch& watch) {
  const int n = links.size();
  std::vector<bool> sent(n);
  Loop(links, watch, [&] {
    Step s;
    for (int i = 0; i < n; ++i) {
      if (i == links.me()) {
        (*headers)[i] = own;
        (*came)[i] = true;
        continue;
      }
      if (!sent[i] && links.Space(i) >= sizeof(CallHeader)) {
        CallHeader h = own;
        h.bytes = bytes[i];
        links.Write(i, &h, sizeof h);
        sent[i] = s.moved = true;
      }
      if (!(*came)[i] && links.Available(i) >= sizeof(CallHeader)) {
        CopyOut(links, i, &(*headers)[i], sizeof(CallHeader));
        (*came)[i] = s.moved = true;
      }
      s.done &= sent[i] && (*came)[i];
    }
    return s;
  });
}

void ExchangeBytes(Links& links, std::span<const Bytes> to,
                   std::span<const MutableBytes> from, const Watch& watch) {
  const int n = links.size();
  const int me = links.me();
  if (to[me].data != from[me].data && from[me].size > 0) {
    std::memmove(from[me].data, to[me].data, from[me].size);
  }
  const size_t piece = PieceOf(links);
  std::vector<size_t> sent(n), got(n);
  Loop(links, watch, [&] {
    Step s;
    for (int i = 0; i < n; ++i) {
      if (i == me) continue;
      while (sent[i] < to[i].size) {
        const size_t k =
            Fitting(std::min(piece, to[i].size - sent[i]), links.Space(i));
        if (k == 0) break;
        links.Write(i, to[i].data + sent[i], k);
        sent[i] += k;
        s.moved = true;
      }
      while (got[i] < from[i].size) {
        const size_t k =
            Fitting(std::min(piece, from[i].size - got[i]), links.Available(i));
        if (k == 0) break;
        CopyOut(links, i, from[i].data + got[i], k);
        got[i] += k;
        s.moved = true;
      }
      s.done &= sent[i] == to[i].size && got[i] == from[i].size;
    }
    return s;
  });
}

void Reduce(Links& links, const Reduction& r, const char* x, char* own,
            char* result, const Watch& watch) {
  Reducer reducer(links, r, x, own, result);
  Loop(links, watch, [&] { return reducer.Run(); });
}

void Drain(Links& links, const Watch& watch) {
  Loop(links, watch, [&] { return Step{false, links.IsDrained()}; });
}

}  // namespace proa::inline v0::distributed
