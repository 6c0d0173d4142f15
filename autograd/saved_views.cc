#include "autograd/saved_views.h"

#include <mutex>
#include <unordered_map>

#include "tensor/copy.h"
#include "tensor/fork_locks.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::autograd {
namespace {

// The first of each storage that has any. Held for a few instructions, but for
// copies of what would otherwise be an error.
struct Lists {
  std::mutex mutex;
  // (Containers of Abseil do not survive an allocation that fails.)
  std::unordered_map<const Storage*, SavedView*> first;
};

Lists& AllLists() {
  static auto* lists = [] {
    auto* made = new Lists;
    HoldWhileForking(made->mutex);
    return made;
  }();
  return *lists;
}

// Made at load; tensor/fork_locks.h says why.
[[maybe_unused]] const auto& at_load = AllLists();

}  // namespace

void SavedView::Enter(const Tensor& view) {
  Lists& lists = AllLists();
  std::lock_guard lock(lists.mutex);
  SavedView*& first = lists.first[view.storage().get()];
  storage_ = view.storage();
  view_ = view.impl();
  version_ = view.version();
  next_ = first;
  if (next_ != nullptr) next_->previous_ = this;
  first = this;
}

SavedView::~SavedView() {
  if (!storage_) return;
  Lists& lists = AllLists();
  std::lock_guard lock(lists.mutex);
  if (next_ != nullptr) next_->previous_ = previous_;
  if (previous_ != nullptr) {
    previous_->next_ = next_;
  } else if (next_ != nullptr) {
    lists.first[storage_.get()] = next_;
  } else {
    lists.first.erase(storage_.get());
  }
}

void PreserveSavedViews(const Tensor& t) {
  const Storage* storage = t.storage().get();
  if (storage == nullptr) return;
  Lists& lists = AllLists();
  const InterpreterScope plain = InterpreterScope::Forbid(kAllInterpreters);
  std::lock_guard lock(lists.mutex);
  const auto found = lists.first.find(storage);
  if (found == lists.first.end()) return;
  for (SavedView* v = found->second; v != nullptr; v = v->next_) {
    if (v->preserved_ || v->version_ != storage->version()) continue;
    TensorImpl* const view = v->view_;
    const Tensor copy =
        CopyTo(Tensor(IntrusivePtr<TensorImpl>::Share(view)), view->place);
    view->data = copy.impl()->data;
    view->strides = copy.strides();
    view->contiguous = copy.is_contiguous();
    view->storage = copy.storage();  // `t` holds what it had
    v->preserved_ = true;
  }
}

}  // namespace proa::inline v0::autograd
