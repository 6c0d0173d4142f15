#include "ops/onednn/primitive.h"

#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "ops/kernel.h"
#include "ops/onednn/build_scope.h"
#include "ops/onednn/engine.h"
#include "ops/onednn/guards.h"
#include "ops/onednn/reorders.h"
#include "profiler/events.h"
#include "tensor/denormals.h"
#include "tensor/error.h"
#include "tensor/storage.h"
#include "tensor/system_memory.h"

namespace proa::inline v0::onednn {
namespace {

constexpr int kMaxArguments = 12;
// Scratch memory up to this many bytes stays with its primitive: asking the
// allocator would cost a tenth of a small product.
constexpr int64_t kKeptScratch = 16 << 10;
// What oneDNN's objects for a run take, and more; it does not check whether it
// was given memory for them.
constexpr int64_t kSmallObjects = 8 << 10;

void Require(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) [[likely]]
    return;
  if (status == dnnl_out_of_memory)
    Fail(absl::StatusCode::kResourceExhausted, "oneDNN: out of memory in ",
         what);
  Fail(absl::StatusCode::kInternal, "oneDNN: ", what, " failed with status ",
       static_cast<int>(status));
}

// False if the memory of others lies between the elements: a part of a matrix.
bool IsDense(const dnnl::memory::desc& desc) {
  const dnnl_memory_desc_t& d = desc.data;
  if (d.format_kind != dnnl_blocked || d.format_desc.blocking.inner_nblks > 0)
    return true;
  size_t bytes = dnnl::memory::data_type_size(
      static_cast<dnnl::memory::data_type>(d.data_type));
  for (int i = 0; i < d.ndims; ++i) bytes *= static_cast<size_t>(d.dims[i]);
  return bytes == desc.get_size();
}

}  // namespace

// The C interface, because the C++ one wants a hash map for each call.
class Primitive::Frame {
 public:
  Frame(std::span<const Slot> slots, const dnnl::memory::desc* scratchpad) {
    CHECK_LT(slots.size(), static_cast<size_t>(kMaxArguments));
    EnsureHostMemory(kSmallObjects);
    for (const Slot& s : slots) Add(s.id, s.desc);
    if (scratchpad == nullptr) return;
    Add(DNNL_ARG_SCRATCHPAD, *scratchpad);
    const auto bytes = static_cast<int64_t>(scratchpad->get_size());
    if (bytes > kKeptScratch) return;
    scratch_ = Storage::Allocate(bytes, Place());
    Set(size_ - 1, scratch_->data());
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame() {
    for (int i = 0; i < size_; ++i) dnnl_memory_destroy(args_[i].memory);
  }
  void Set(int i, void* data) {
    Require(dnnl_memory_set_data_handle(args_[i].memory, data),
            "dnnl_memory_set_data_handle");
  }
  const dnnl_exec_arg_t* args() const { return args_; }
  int size() const { return size_; }

 private:
  void Add(int id, const dnnl::memory::desc& desc) {
    Require(dnnl_memory_create(&args_[size_].memory, &desc.data, Engine().get(),
                               DNNL_MEMORY_NONE),
            "dnnl_memory_create");
    args_[size_++].arg = id;
  }
  dnnl_exec_arg_t args_[kMaxArguments];
  int size_ = 0;
  IntrusivePtr<Storage> scratch_;  // if it is small enough to stay
};

Primitive::FrameSlot::~FrameSlot() { delete frame.load(); }

Primitive::Primitive(dnnl::primitive primitive,
                     const dnnl::primitive_desc_base& pd,
                     std::initializer_list<Parameter> parameters)
    : primitive_(std::move(primitive)),
      implementation_(profiler::Intern(pd.impl_info_str())) {
  for (const Parameter& p : parameters) {
    Slot slot{p.id, p.output, pd.query_md(dnnl::query::exec_arg_md, p.id),
              {},   {},       0,
              true};
    slot.layout = p.layout.value_or(slot.desc);
    slot.bytes = static_cast<int64_t>(slot.desc.get_size());
    slot.dense = IsDense(slot.desc);
    if (slot.layout != slot.desc) {
      const auto& from = p.output ? slot.desc : slot.layout;
      const auto& to = p.output ? slot.layout : slot.desc;
      slot.reorder = dnnl::reorder(
          dnnl::reorder::primitive_desc(Engine(), from, Engine(), to));
      reorders_ = true;
    }
    slots_.push_back(std::move(slot));
  }
  scratchpad_ = pd.scratchpad_desc();
  scratchpad_bytes_ = static_cast<int64_t>(scratchpad_.get_size());
}

namespace {

// Copies argument `id` between layouts.
void RunReorder(int id, const dnnl::primitive& reorder,
                const dnnl::memory::desc& from, void* source,
                const dnnl::memory::desc& to, void* target) {
  CountReorder(id == DNNL_ARG_WEIGHTS || id == DNNL_ARG_DIFF_WEIGHTS);
  EnsureHostMemory(kSmallObjects);
  const dnnl::memory a(from, Engine(), source), b(to, Engine(), target);
  const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, a.get()},
                                  {DNNL_ARG_TO, b.get()}};
  Require(dnnl_primitive_execute(reorder.get(), Stream().get(), 2, args),
          "reorder");
}

// Products: of no denormal numbers.
void Run(const_dnnl_primitive_t primitive, int count,
         const dnnl_exec_arg_t* args) {
  const NoDenormalsScope none;
  Require(dnnl_primitive_execute(primitive, Stream().get(), count, args),
          "dnnl_primitive_execute");
}

}  // namespace

const dnnl::memory::desc& Primitive::desc(int id) const {
  for (const Slot& s : slots_)
    if (s.id == id) return s.desc;
  LOG(FATAL) << "oneDNN: argument " << id << " was not declared";
}

void Primitive::Execute(std::initializer_list<Argument> args) const {
  CHECK_EQ(args.size(), slots_.size());
  if (GuardsAreOn()) [[unlikely]]
    return ExecuteGuarded(args);
  std::unique_ptr<Frame> frame(
      spare_.frame.exchange(nullptr, std::memory_order_acquire));
  // Without one it may be the first run, which may compile.
  std::optional<BuildScope> building;
  if (frame == nullptr) {
    building.emplace();
    frame = std::make_unique<Frame>(
        slots_, scratchpad_bytes_ > 0 ? &scratchpad_ : nullptr);
  }
  // Blocked copies, and the scratch memory last.
  absl::InlinedVector<IntrusivePtr<Storage>, 4> buffers;
  std::initializer_list<Argument>::iterator arg = args.begin();
  void* data[kMaxArguments];
  for (size_t i = 0; i < slots_.size(); ++i, ++arg) {
    const Slot& s = slots_[i];
    CHECK_EQ(arg->id, s.id);
    data[i] = arg->data;
    if (s.reorder) {
      buffers.push_back(Storage::Allocate(s.bytes, Place()));
      data[i] = buffers.back()->data();
      if (!s.output)
        RunReorder(s.id, s.reorder, s.layout, arg->data, s.desc, data[i]);
    }
    frame->Set(static_cast<int>(i), data[i]);
  }
  if (scratchpad_bytes_ > kKeptScratch) {
    buffers.push_back(Storage::Allocate(scratchpad_bytes_, Place()));
    frame->Set(static_cast<int>(slots_.size()), buffers.back()->data());
  }
  Run(primitive_.get(), frame->size(), frame->args());
  chosen_implementation = implementation_;
  if (reorders_) {
    arg = args.begin();
    for (size_t i = 0; i < slots_.size(); ++i, ++arg) {
      const Slot& s = slots_[i];
      if (s.output && s.reorder)
        RunReorder(s.id, s.reorder, s.desc, data[i], s.layout, arg->data);
    }
  }
  // Back into the slot; one that another thread put there meanwhile goes.
  frame.reset(
      spare_.frame.exchange(frame.release(), std::memory_order_acq_rel));
}

void Primitive::ExecuteGuarded(std::initializer_list<Argument> args) const {
  const auto frame = std::make_unique<Frame>(slots_, nullptr);
  std::vector<GuardedBuffer> buffers;
  std::vector<dnnl_exec_arg_t> list(frame->args(),
                                    frame->args() + frame->size());
  std::initializer_list<Argument>::iterator arg = args.begin();
  for (size_t i = 0; i < slots_.size(); ++i, ++arg) {
    const Slot& s = slots_[i];
    CHECK_EQ(arg->id, s.id);
    const GuardedBuffer& b = buffers.emplace_back(s.bytes);
    if (!s.output && s.reorder) {
      RunReorder(s.id, s.reorder, s.layout, arg->data, s.desc, b.data());
    } else if (!s.output) {
      std::memcpy(b.data(), arg->data, static_cast<size_t>(s.bytes));
    }
    // Copied back whole, such an output would overwrite what is not its own.
    const bool in_place = s.output && !s.dense;
    frame->Set(static_cast<int>(i), in_place ? arg->data : b.data());
  }
  dnnl::memory scratchpad;
  if (scratchpad_bytes_ > 0) {
    const GuardedBuffer& b = buffers.emplace_back(scratchpad_bytes_);
    scratchpad = dnnl::memory(scratchpad_, Engine(), b.data());
    list.push_back({DNNL_ARG_SCRATCHPAD, scratchpad.get()});
  }
  Run(primitive_.get(), static_cast<int>(list.size()), list.data());
  for (size_t i = 0; i < buffers.size(); ++i) {
    const std::string what = i == slots_.size()
                                 ? std::string("the scratchpad")
                                 : absl::StrCat("argument ", slots_[i].id);
    buffers[i].Check(implementation_, what.c_str());
  }
  arg = args.begin();
  for (size_t i = 0; i < slots_.size(); ++i, ++arg) {
    const Slot& s = slots_[i];
    if (!s.output || !s.dense) continue;
    if (s.reorder) {
      RunReorder(s.id, s.reorder, s.desc, buffers[i].data(), s.layout,
                 arg->data);
    } else {
      std::memcpy(arg->data, buffers[i].data(), static_cast<size_t>(s.bytes));
    }
  }
}

dnnl::primitive_attr UserScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

}  // namespace proa::inline v0::onednn
