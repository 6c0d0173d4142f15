// Overlaps: how much boxes share, as a part of what both cover, and Suppress,
// the greedy choice of boxes that do not overlap. All kinds of suppression are
// made of these two.
//
// Compiled once per instruction set. Memory is linear in the number of boxes:
// overlaps are computed a row at a time.
#ifndef PROA_OPS_VISION_OVERLAPS_H_
#define PROA_OPS_VISION_OVERLAPS_H_

#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace proa::inline v0::ops::PROA_ISA {

// n boxes x1, y1, x2, y2, `at(i)` where box i lies. With `more` of 1 corners
// are pixels, and belong to the box; with 0 they are points. A box turned
// inside out has no area; what is not a number overlaps nothing.
template <typename T>
class Overlaps {
 public:
  template <typename At>
  Overlaps(int64_t n, T more, At at) : n_(n), more_(more), sides_(5 * n) {
    for (int64_t i = 0; i < n; ++i) {
      const T* box = at(i);
      for (int k = 0; k < 4; ++k) sides_[k * n + i] = box[k];
      const T w = box[2] - box[0], h = box[3] - box[1];
      sides_[4 * n + i] = w < 0 || h < 0 ? T(0) : (w + more) * (h + more);
    }
  }

  int64_t size() const { return n_; }

  // out[j] = what boxes i and j share, for begin <= j < end.
  void Row(int64_t i, int64_t begin, int64_t end, T* out) const {
    const Box box = Get(i);
    for (int64_t j = begin; j < end; ++j) out[j] = Shared(box, j);
  }

  // most[j] = the larger of itself and what boxes i and j share, for i < j.
  void Raise(int64_t i, T* most) const {
    const Box box = Get(i);
    for (int64_t j = i + 1; j < n_; ++j) {
      const T shared = Shared(box, j);
      most[j] = shared > most[j] ? shared : most[j];
    }
  }

  // Keeps the boxes of rising numbers `kept` only.
  void Choose(const std::vector<int64_t>& kept) {
    const int64_t n = static_cast<int64_t>(kept.size());
    for (int k = 0; k < 5; ++k) {  // never beyond what is still to be read
      for (int64_t j = 0; j < n; ++j) {
        sides_[k * n + j] = sides_[k * n_ + kept[j]];
      }
    }
    n_ = n;
  }

 private:
  struct Box {
    T x1, y1, x2, y2, area;
  };

  Box Get(int64_t i) const {
    return {sides_[i], sides_[n_ + i], sides_[2 * n_ + i], sides_[3 * n_ + i],
            sides_[4 * n_ + i]};
  }

  T Shared(const Box& a, int64_t j) const {
    const T* s = sides_.data() + j;
    const T x1 = a.x1 > s[0] ? a.x1 : s[0],
            x2 = a.x2 < s[2 * n_] ? a.x2 : s[2 * n_];
    const T y1 = a.y1 > s[n_] ? a.y1 : s[n_],
            y2 = a.y2 < s[3 * n_] ? a.y2 : s[3 * n_];
    const T w = x2 - x1, h = y2 - y1;
    const T common = (w < 0 ? T(0) : w + more_) * (h < 0 ? T(0) : h + more_);
    const T both = a.area + s[4 * n_] - common;
    return (both > 0 ? common : T(0)) / (both > 0 ? both : T(1));
  }

  int64_t n_;
  T more_;
  std::vector<T> sides_;  // all x1, all y1, ..., all areas
};

struct Greedy {
  double threshold = 0.3;  // of what two boxes that stay may share
  double eta = 1;          // below 1: a threshold above 0.5 shrinks by it
  int64_t limit = std::numeric_limits<int64_t>::max();  // how many may stay
};

namespace overlaps_internal {

// Boxes that may still stay: their numbers at first, and the most that each
// shares with one that stays.
template <typename T>
struct Candidates {
  Overlaps<T> boxes;
  std::vector<int64_t> number;
  std::vector<T> most;

  explicit Candidates(Overlaps<T> of)
      : boxes(std::move(of)),
        number(boxes.size()),
        most(boxes.size(), -std::numeric_limits<T>::infinity()) {
    std::iota(number.begin(), number.end(), int64_t{0});
  }

  // Leaves those from `begin` on that share no more than that.
  void Drop(int64_t begin, T threshold) {
    std::vector<int64_t> rest;
    for (int64_t j = begin; j < boxes.size(); ++j) {
      if (!(most[j] > threshold)) rest.push_back(j);
    }
    boxes.Choose(rest);
    for (size_t j = 0; j < rest.size(); ++j) {
      most[j] = most[rest[j]];
      number[j] = number[rest[j]];
    }
  }
};

}  // namespace overlaps_internal

// The numbers of the boxes that stay, where each takes out the later ones that
// overlap it too much.
template <typename T>
std::vector<int64_t> Suppress(Overlaps<T> boxes, const Greedy& by) {
  // So seldom that it costs little beside the rows, so often that what is gone
  // is not looked at for long. A threshold that shrinks lets no box come back.
  constexpr int64_t kRows = 32;
  overlaps_internal::Candidates<T> left(std::move(boxes));
  std::vector<int64_t> kept;
  T threshold = static_cast<T>(by.threshold);
  const auto full = [&] {
    return static_cast<int64_t>(kept.size()) >= by.limit;
  };
  for (int64_t i = 0; i < left.boxes.size() && !full(); ++i) {
    if (left.most[i] > threshold) continue;
    kept.push_back(left.number[i]);
    if (by.eta < 1 && threshold > T(0.5)) threshold *= static_cast<T>(by.eta);
    left.boxes.Raise(i, left.most.data());
    if (kept.size() % kRows == 0) {
      left.Drop(i + 1, threshold);
      i = -1;
    }
  }
  return kept;
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_VISION_OVERLAPS_H_
