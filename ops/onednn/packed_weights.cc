#include "ops/onednn/packed_weights.h"

#include <algorithm>
#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "ops/onednn/block_pack.h"
#include "ops/onednn/flip_pack.h"
#include "ops/onednn/pack_at_once.h"
#include "ops/onednn/reorder.h"
#include "ops/onednn/reorders.h"
#include "tensor/dtype.h"
#include "tensor/file_memory.h"
#include "tensor/fork_locks.h"
#include "tensor/parallel.h"
#include "tensor/shared_memory.h"
#include "tensor/system_memory.h"

namespace proa::inline v0::onednn {
namespace {

using Wanted = std::variant<PackFormat, PackOrder>;

// One format of one weight. `packed` is null while the version was met only
// once.
struct Entry {
  const void* data;
  uint32_t version;
  Wanted format;
  IntrusivePtr<Storage> packed;
};

// All formats of the weights in one storage. The storage is held, so that its
// address names it; Sweep drops those that nobody else holds.
struct Weight {
  IntrusivePtr<Storage> storage;
  std::vector<Entry> entries;
  bool predicts = false;  // as PackAtOnce said
};

constexpr size_t kFormatsKept = 4;
constexpr int kSweepEvery = 64;

struct Table {
  std::mutex mutex;
  std::unordered_map<const Storage*, Weight> weights;
  int until_sweep = kSweepEvery;

  void Sweep() {
    std::erase_if(weights, [](const auto& item) {
      return item.second.storage->use_count() == 1;
    });
    until_sweep = kSweepEvery;
  }
};

Table& Kept() {
  static auto* table = [] {
    auto* made = new Table;
    HoldWhileForking(made->mutex);
    return made;
  }();
  return *table;
}

// Made at load; tensor/fork_locks.h says why.
[[maybe_unused]] const auto& at_load = Kept();

bool Same(const PackFormat& a, const PackFormat& b) {
  const bool same_scale =
      a.scale.defined() == b.scale.defined() &&
      (!a.scale.defined() || (a.scale.raw_data() == b.scale.raw_data() &&
                              a.scale_version == b.scale_version));
  return a.flip == b.flip && same_scale && a.from == b.from && a.to == b.to;
}
bool Same(const PackOrder& a, const PackOrder& b) {
  return a.pack == b.pack && a.parameters == b.parameters;
}
bool Same(const Wanted& a, const Wanted& b) {
  return a.index() == b.index() &&
         std::visit(
             [&](const auto& of_a) {
               return Same(of_a, std::get<std::decay_t<decltype(of_a)>>(b));
             },
             a);
}

template <typename T>
void FlipRuns(const void* from, void* to, int64_t n, int64_t run) {
  const T* a = static_cast<const T*>(from);
  T* b = static_cast<T*>(to);
  parallel_for(0, n / run, std::max<int64_t>(1, 16384 / run),
               [&](int64_t begin, int64_t end) {
                 for (int64_t k = begin * run; k < end * run; k += run)
                   for (int64_t i = 0; i < run; ++i)
                     b[k + i] = a[k + run - 1 - i];
               });
}

// The elements of `weight`, each row multiplied by what `scale` has for it.
IntrusivePtr<Storage> Scaled(const Tensor& weight, const Tensor& scale) {
  IntrusivePtr<Storage> out = Storage::Allocate(weight.bytes(), Place());
  const float* const from = weight.data<float>();
  float* const to = static_cast<float*>(out->data());
  const double* const by = scale.data<double>();
  const int64_t rows = weight.size(0), row = weight.numel() / rows;
  parallel_for(0, rows, std::max<int64_t>(1, 16384 / row),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r)
                   for (int64_t i = r * row; i < (r + 1) * row; ++i)
                     to[i] = static_cast<float>(from[i] * by[r]);
               });
  return out;
}

// Memory of what is packed; it is to last if it is kept.
IntrusivePtr<Storage> Room(int64_t bytes, bool keep) {
  if (!keep) return Storage::Allocate(bytes, Place());
  const LastingBlocks lasting;
  return Storage::Allocate(bytes, Place());
}

IntrusivePtr<Storage> Pack(const Tensor& weight, const PackFormat& format,
                           bool keep) {
  void* from = weight.raw_data();
  IntrusivePtr<Storage> turned;
  IntrusivePtr<Storage> scaled;
  if (format.scale.defined()) {
    scaled = Scaled(weight, format.scale);
    from = scaled->data();
  }
  if (format.flip <= 1 && format.from == format.to) return scaled;
  IntrusivePtr<Storage> out =
      Room(static_cast<int64_t>(format.to.get_size()), keep);
  if (PackInBlocks(format.from, from, format.flip, format.to, out->data()))
    return out;
  if (format.flip > 1) {
    if (FlipAndPack(format.from, from, format.flip, format.to, out->data()))
      return out;
    turned = Storage::Allocate(weight.bytes(), Place());
    const auto flip =
        ItemSize(weight.dtype()) == 4 ? FlipRuns<uint32_t> : FlipRuns<uint16_t>;
    flip(from, turned->data(), weight.numel(), format.flip);
    from = turned->data();
  }
  if (format.from == format.to) return turned;
  Reorder(format.from, from, format.to, out->data());
  return out;
}

IntrusivePtr<Storage> Pack(const Tensor& weight, const PackOrder& order,
                           bool keep) {
  IntrusivePtr<Storage> out = Room(order.bytes, keep);
  order.pack(weight, order, out->data());
  return out;
}

// What is kept for the weight, or null; says in *keep whether what is made now
// is to be kept.
IntrusivePtr<Storage> Find(const Tensor& weight, const Wanted& format,
                           bool* keep) {
  Table& table = Kept();
  std::lock_guard lock(table.mutex);
  if (--table.until_sweep <= 0) table.Sweep();
  Weight& w = table.weights[weight.storage().get()];
  if (!w.storage) w.storage = weight.storage();
  const auto entry =
      std::find_if(w.entries.begin(), w.entries.end(), [&](const Entry& e) {
        return e.data == weight.raw_data() && Same(e.format, format);
      });
  if (entry == w.entries.end()) {
    if (w.entries.size() == kFormatsKept) w.entries.erase(w.entries.begin());
    w.entries.push_back({weight.raw_data(), weight.version(), format, {}});
    *keep = w.predicts || IsFileMemory(*weight.storage());
    return {};
  }
  if (entry->version != weight.version()) {
    entry->version = weight.version();
    entry->packed = {};
    return {};
  }
  *keep = !entry->packed;
  return entry->packed;
}

void Keep(const Tensor& weight, uint32_t version, const Wanted& format,
          const IntrusivePtr<Storage>& packed) {
  Table& table = Kept();
  std::lock_guard lock(table.mutex);
  const auto w = table.weights.find(weight.storage().get());
  if (w == table.weights.end()) return;
  for (Entry& e : w->second.entries) {
    if (e.data == weight.raw_data() && e.version == version &&
        Same(e.format, format))
      e.packed = packed;
  }
}

// What is kept, or made now.
template <typename Format>
IntrusivePtr<Storage> FindOrPack(const Tensor& weight, const Format& format) {
  bool keep = false;
  const bool ours = !IsSharedMemory(*weight.storage());
  const uint32_t version = weight.version();
  IntrusivePtr<Storage> packed;
  if (ours) packed = Find(weight, format, &keep);
  if (packed) return packed;
  CountReorder(/*of_weights=*/true);
  EnsureHostMemory(8 << 10);  // oneDNN does not look whether it got any
  packed = Pack(weight, format, keep);
  if (keep) Keep(weight, version, format, packed);
  ForgetFilePages(*weight.storage());
  return packed;
}

}  // namespace

PackedWeights::PackedWeights(const Tensor& weight, const PackFormat& format)
    : storage_(weight.storage()), data_(weight.raw_data()) {
  if (format.flip <= 1 && !format.scale.defined() && format.from == format.to) {
    return;
  }
  storage_ = FindOrPack(weight, format);
  data_ = storage_->data();
}

PackedWeights::PackedWeights(const Tensor& weight, const PackOrder& order)
    : storage_(FindOrPack(weight, order)), data_(storage_->data()) {}

bool Predicts(const Tensor& weight) {
  if (IsSharedMemory(*weight.storage())) return false;
  if (IsFileMemory(*weight.storage())) return true;
  Table& table = Kept();
  std::lock_guard lock(table.mutex);
  const auto w = table.weights.find(weight.storage().get());
  return w != table.weights.end() && w->second.predicts;
}

void PackAtOnce(const Tensor& weight) {
  // The table would hold it, and its file, for longer than need be.
  if (IsFileMemory(*weight.storage())) return;
  Table& table = Kept();
  std::lock_guard lock(table.mutex);
  if (--table.until_sweep <= 0) table.Sweep();
  Weight& w = table.weights[weight.storage().get()];
  if (!w.storage) w.storage = weight.storage();
  w.predicts = true;
}

void DropUnusedWeights() {
  Table& table = Kept();
  std::lock_guard lock(table.mutex);
  table.Sweep();
}

int64_t CountKeptWeights() {
  Table& table = Kept();
  std::lock_guard lock(table.mutex);
  table.Sweep();
  int64_t n = 0;
  for (const auto& [storage, weight] : table.weights)
    for (const Entry& e : weight.entries) n += static_cast<bool>(e.packed);
  return n;
}

}  // namespace proa::inline v0::onednn
