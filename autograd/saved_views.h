// The views that backward formulas keep of a storage, so that an assignment to
// elements of it (`x[:, 0] = f(x[:, 0])`) can give them memory of their own
// first. A reader of the reference's programs takes slices for copies; here
// they are views, which this keeps from being noticed. Methods that change in
// place (`add_`) do not ask for it: they are refused in backward, as in other
// frameworks.
#ifndef PROA_AUTOGRAD_SAVED_VIEWS_H_
#define PROA_AUTOGRAD_SAVED_VIEWS_H_

#include <cstdint>

#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

// A place in the list of a storage. Not movable: the list refers to it. About
// 50 ns to enter and leave.
class SavedView {
 public:
  SavedView() = default;
  SavedView(const SavedView&) = delete;
  SavedView& operator=(const SavedView&) = delete;
  ~SavedView();

  // Enters `view`, a strided tensor with a storage whose description nobody
  // else changes, and that lives as long as this.
  void Enter(const Tensor& view);
  // Whether it was given memory of its own, which is at version 0.
  bool preserved() const { return preserved_; }

 private:
  friend void PreserveSavedViews(const Tensor& t);

  IntrusivePtr<Storage> storage_;  // whose list this is in; null if in none
  TensorImpl* view_ = nullptr;
  uint32_t version_ = 0;  // of the elements that are kept
  bool preserved_ = false;
  SavedView* next_ = nullptr;
  SavedView* previous_ = nullptr;
};

// Gives each view of t's storage that a formula keeps, and that is still what
// it was, a copy of its elements. Before elements of `t` are assigned to.
// Nothing for a symbolic tensor. Throws Error if there is no memory.
void PreserveSavedViews(const Tensor& t);

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_SAVED_VIEWS_H_
