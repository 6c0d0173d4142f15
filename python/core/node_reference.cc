#include "python/core/node_reference.h"

#include <utility>

#include "python/core/error.h"
#include "python/core/gil.h"

namespace proa::inline v0::python {

NodeReference* NodeReference::all_ = nullptr;

NodeReference::NodeReference(const autograd::Node& node, PyObject* object)
    : node_(node), object_(Py_NewRef(object)), next_(all_) {
  if (!Py_IsInitialized()) return;
  if (next_ != nullptr) next_->previous_ = this;
  all_ = this;
}

NodeReference::~NodeReference() {
  if (!Py_IsInitialized()) return;  // the interpreter has taken it along
  const GilAcquire gil;
  (previous_ != nullptr ? previous_->next_ : all_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  Reset();
}

void NodeReference::Reset() {
  PyObject* object = std::exchange(object_, nullptr);
  if (object == nullptr) return;
  for (int32_t n = std::exchange(references_, 0); n > 0; --n) Py_DECREF(object);
}

void NodeReference::CountOwners() {
  // What went while the interpreter ends stands in the list still.
  if (!Py_IsInitialized()) return;
  for (NodeReference* r = all_; r != nullptr; r = r->next_) {
    if (r->object_ == nullptr) continue;
    const int32_t owners = r->node_.use_count();
    for (; r->references_ < owners; ++r->references_) Py_INCREF(r->object_);
    // One is left, so that nothing goes here.
    for (; r->references_ > owners && r->references_ > 1; --r->references_) {
      Py_DECREF(r->object_);
    }
  }
}

namespace {

PyObject* OnCollection(PyObject*, PyObject*) {
  NodeReference::CountOwners();
  Py_RETURN_NONE;
}

PyMethodDef on_collection = {"_count_owners_of_nodes", &OnCollection,
                             METH_VARARGS,
                             "Lets the collector see what graph nodes own."};

}  // namespace

void BindNodeReferences() {
  const Ref gc = Ref::New(PyImport_ImportModule("gc"));
  const Ref callbacks = Ref::New(PyObject_GetAttrString(gc.get(), "callbacks"));
  const Ref callback = Ref::New(PyCFunction_New(&on_collection, nullptr));
  CheckStatus(PyList_Append(callbacks.get(), callback.get()));
}

}  // namespace proa::inline v0::python
