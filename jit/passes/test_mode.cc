#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/pass.h"
#include "jit/recorder.h"
#include "ops/boxed_call.h"
#include "ops/value.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

std::vector<Value> ArgumentsOf(const std::shared_ptr<Program>& program,
                               const Operation& o) {
  const auto tensor = [&](ValueRef r) {
    return r.id == kNoValue ? Tensor() : MakeSymbolic(program, r.id);
  };
  std::vector<Value> args;
  for (const Argument& a : o.args) {
    if (const auto* ref = std::get_if<ValueRef>(&a)) {
      args.push_back(tensor(*ref));
    } else if (const auto* refs = std::get_if<std::vector<ValueRef>>(&a)) {
      std::vector<Tensor> list;
      for (ValueRef r : *refs) list.push_back(tensor(r));
      args.push_back(std::move(list));
    } else {
      args.push_back(std::get<Value>(a));
    }
  }
  return args;
}

// Takes out what depends on a value of training: gradients. `what` names it.
void EraseUsers(Rewriter& r, ValueId id, const std::string& what) {
  const auto refuse = [&] {
    FailArgument(what,
                 " is a value of training, and is needed for an output; a "
                 "program for tests has none");
  };
  if (r.uses().is_output(id)) refuse();
  while (!r.uses().of(id).empty()) {
    const Use use = r.uses().of(id)[0];
    if (use.operation == nullptr) refuse();
    ForEachResult(*use.operation,
                  [&](ValueId made) { EraseUsers(r, made, what); });
    r.Erase(*use.operation);
  }
}

// The schema's formula may need the number, to choose what is recorded.
void RefuseLate(const Operation& o) {
  for (size_t i = 0; i < o.args.size(); ++i) {
    const auto* ref = std::get_if<ValueRef>(&o.args[i]);
    PROA_REQUIRE(
        ref == nullptr || ref->id == kNoValue || !MayBeLate(o.op->params[i]),
        o.op->name, ": ", o.op->params[i].name,
        " is a value of the program; of such a call there is no form for "
        "tests");
  }
}

// What the schema says that the call is in a test (`inference`) takes its
// place.
void Replace(Rewriter& r, Operation& o) {
  const ValueId first_new = static_cast<ValueId>(r.program().values().size());
  std::vector<Value> results(o.results.size());
  r.RecordBefore(
      o, [&] { o.op->inference(ArgumentsOf(r.shared_program(), o), results); });
  for (size_t i = 0; i < results.size(); ++i) {
    const ValueId old = o.results[i][0];
    const auto* made = std::get_if<Tensor>(&results[i]);
    if (made == nullptr) {
      EraseUsers(r, old, absl::StrCat(o.op->name, ": ", o.op->outputs[i].name));
      continue;
    }
    const ValueId id = SymbolOf(*made).id();
    if (id >= first_new && r.uses().maker(id) != nullptr) {
      r.MakeAs(old, id);
    } else if (!r.uses().is_output(old)) {
      r.ReplaceUses(old, id);
    }
  }
  r.Erase(o);
}

// An update of parameters or statistics goes; what it gives is the tensor.
void EraseChange(Rewriter& r, Operation& o) {
  bool is_output = false;
  ForEachResult(o, [&](ValueId id) { is_output |= r.uses().is_output(id); });
  if (is_output) return;
  ForEachResult(o, [&](ValueId id) {
    r.ReplaceUses(id, std::get<ValueRef>(o.args[0]).id);
  });
  r.Erase(o);
}

void Run(Rewriter& r) {
  r.ForEachOperation([&](Operation& o) {
    if ((o.op->traits & kTraitInplace) != 0) {
      EraseChange(r, o);
    } else if (o.op->inference != nullptr) {
      RefuseLate(o);
      Replace(r, o);
    }
  });
}

const PassRegistration registration(
    {.name = "test_mode",
     .doc = "The program as it runs in a test: each op as its schema says "
            "(`inference`), without changes of captured tensors.",
     .run = &Run,
     .keeps_results = false});

}  // namespace
}  // namespace proa::inline v0::jit
