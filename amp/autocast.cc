#include "amp/autocast.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "amp/cast_cache.h"
#include "ops/alias.h"
#include "ops/boxed_call.h"
#include "ops/definition.h"
#include "ops/interpreter.h"
#include "ops/value.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"
#include "tensor/tensor.h"

namespace proa::inline v0::amp {
namespace {

// Programs have a handful; more are a program that makes up new ones.
constexpr uint32_t kMaxSettings = 1024;

struct Registered {
  Autocast settings;
  absl::flat_hash_map<const OpDefinition*, AmpClass> lists;
};

// Written once each, under the mutex; read by calls without it. Number n is at
// n - 1.
struct Table {
  std::mutex mutex;
  uint32_t size = 0;
  std::array<std::atomic<const Registered*>, kMaxSettings> entries{};
};

Table& TheTable() {
  static auto* table = new Table;
  return *table;
}

// Made at load; tensor/fork_locks.h says why.
[[maybe_unused]] const auto& at_load = TheTable();

const Registered& Get(uint32_t number) {
  return *TheTable().entries[number - 1].load(std::memory_order_acquire);
}

void AddList(const std::vector<std::string>& names, AmpClass amp,
             Registered* r) {
  for (const std::string& name : names) {
    const OpDefinition* op = ops::FindOpByAnyName(name);
    PROA_REQUIRE(op != nullptr, "auto_cast: there is no op called '", name,
                 "'");
    PROA_REQUIRE(r->lists.try_emplace(op, amp).first->second == amp,
                 "auto_cast: ", name,
                 " is in the list for the 16-bit type and in the one for "
                 "float32");
  }
}

bool IsLow(DType t) { return t == DType::kFloat16 || t == DType::kBFloat16; }
bool IsCast(DType t) { return t == DType::kFloat32 || IsLow(t); }

template <typename F>
void ForEachTensor(std::span<Value> args, F f) {
  for (Value& v : args) {
    if (auto* t = std::get_if<Tensor>(&v)) {
      if (t->defined()) f(*t);
    } else if (auto* list = std::get_if<std::vector<Tensor>>(&v)) {
      for (Tensor& item : *list) {
        if (item.defined()) f(item);
      }
    }
  }
}

// Casts are calls of their own for who watches, beside the op that they are
// for.
void CastTo(DType dtype, Tensor& t) {
  if (!IsCast(t.dtype()) || t.dtype() == dtype) return;
  const InterpreterScope observed = InterpreterScope::Allow(kProfile);
  t = CastOnce(t, dtype);
}

// To float32 if the arguments are not all of one 16-bit type. Elementwise ops
// of two do so themselves, while they read them: no copy is made, and backward
// keeps the 16-bit one. (Formulas of three may compute of the 16-bit ones
// alone.)
void Promote(const OpDefinition& op, std::span<Value> args) {
  bool mixed = false;
  int count = 0;
  DType first = DType::kBool;
  ForEachTensor(args, [&](const Tensor& t) {
    if (!IsCast(t.dtype())) return;
    if (count++ == 0) first = t.dtype();
    mixed = mixed || t.dtype() != first;
  });
  if (!mixed || (count == 2 && op.fuse == FuseClass::kPointwise)) return;
  ForEachTensor(args, [](Tensor& t) { CastTo(DType::kFloat32, t); });
}

bool Computes(const OpDefinition& op, DType dtype) {
  return (op.dtypes >> static_cast<int>(dtype) & 1) != 0;
}

// Whether level O2 may compute an op without a class in 16 bits: it computes
// (moves no memory about, gives no dtype that the caller asked for).
bool FollowsO2(const OpDefinition& op) {
  if (op.fuse == FuseClass::kView || op.fuse == FuseClass::kBroadcast)
    return false;
  for (const ParamInfo& p : op.params) {
    if (p.type == ParamType::kDType) return false;
  }
  return true;
}

void CastFirst(DType dtype, std::span<Value> args) {
  bool found = false;
  ForEachTensor(args, [&](Tensor& t) {
    if (found || !IsCast(t.dtype())) return;
    found = true;
    CastTo(dtype, t);
  });
}

void CastArguments(const OpDefinition& op, const Registered& r,
                   std::span<Value> args) {
  const auto listed = r.lists.find(&op);
  const AmpClass amp = listed != r.lists.end() ? listed->second : op.amp;
  const DType low = r.settings.dtype;
  switch (amp) {
    case AmpClass::kLower:
      if (!Computes(op, low)) return;
      return ForEachTensor(args, [&](Tensor& t) { CastTo(low, t); });
    case AmpClass::kRaise:
      return ForEachTensor(args, [](Tensor& t) { CastTo(DType::kFloat32, t); });
    case AmpClass::kPromote:
      if (r.settings.level == AutocastLevel::kO2 && Computes(op, low))
        return ForEachTensor(args, [&](Tensor& t) { CastTo(low, t); });
      return Promote(op, args);
    case AmpClass::kKeep:
      if (r.settings.level == AutocastLevel::kO2 && Computes(op, low) &&
          FollowsO2(op))
        CastFirst(low, args);
      return;
  }
}

// A tensor changed in place keeps its dtype: what goes into it is cast to that,
// where all would be cast to one.
void CastToFirst(const OpDefinition& op, const Registered& r,
                 std::span<Value> args) {
  const auto listed = r.lists.find(&op);
  if ((listed != r.lists.end() ? listed->second : op.amp) !=
      AmpClass::kPromote) {
    return;
  }
  const auto* changed = std::get_if<Tensor>(&args[0]);
  if (changed == nullptr || !changed->defined() || !IsCast(changed->dtype()))
    return;
  const DType dtype = changed->dtype();
  ForEachTensor(args.subspan(1), [&](Tensor& t) { CastTo(dtype, t); });
}

// Entered with autocast forbidden: the casts are not cast.
void Interpreter(const OpDefinition& op, std::span<const Value> args,
                 std::span<Value> results) {
  const uint32_t number = thread_interpreters.autocast;
  if (number == 0) return op.call(args, results);
  // Tensors that stand for numbers are no operands: they keep their dtypes.
  std::vector<Value> cast(args.begin(), args.end());
  for (size_t i = 0; i < cast.size(); ++i) {
    if (IsTensorAttribute(op.params[i], cast[i])) cast[i] = Value();
  }
  const bool inplace = (op.traits & kTraitInplace) != 0;
  (inplace ? CastToFirst : CastArguments)(op, Get(number), cast);
  for (size_t i = 0; i < cast.size(); ++i) {
    if (IsTensorAttribute(op.params[i], args[i])) cast[i] = args[i];
  }
  CallBoxed(op, cast, results);
}

const bool installed = [] {
  InstallInterpreter(kAutocast, &Interpreter);
  return true;
}();

}  // namespace

uint32_t RegisterAutocast(const Autocast& settings) {
  PROA_REQUIRE(IsLow(settings.dtype),
               "auto_cast: dtype must be float16 or bfloat16, not ",
               Name(settings.dtype));
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  for (uint32_t i = 0; i < table.size; ++i) {
    if (table.entries[i].load()->settings == settings) return i + 1;
  }
  auto made = std::make_unique<Registered>(Registered{settings, {}});
  AddList(settings.lower, AmpClass::kLower, made.get());
  AddList(settings.raise, AmpClass::kRaise, made.get());
  if (table.size == kMaxSettings) {
    Fail(absl::StatusCode::kResourceExhausted, "auto_cast: more than ",
         kMaxSettings, " different settings");
  }
  table.entries[table.size].store(made.release(), std::memory_order_release);
  return ++table.size;
}

uint32_t ExchangeAutocast(uint32_t settings) {
  ThreadInterpreters& t = thread_interpreters;
  const uint32_t before = (t.forced & kAutocast) != 0 ? t.autocast : 0;
  t.autocast = settings;
  t.forced = settings != 0 ? t.forced | kAutocast : t.forced & ~kAutocast;
  return before;
}

AutocastScope::AutocastScope(const Autocast& settings)
    : saved_(ExchangeAutocast(RegisterAutocast(settings))),
      outermost_(BeginCastCache()) {}

AutocastScope::~AutocastScope() {
  if (outermost_) EndCastCache();
  ExchangeAutocast(saved_);
}

const Autocast* CurrentAutocast() {
  const ThreadInterpreters& t = thread_interpreters;
  const bool on = (t.forced & t.allowed & kAutocast) != 0 && t.autocast != 0;
  return on ? &Get(t.autocast).settings : nullptr;
}

}  // namespace proa::inline v0::amp
