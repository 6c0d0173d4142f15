// NodeReference: a Python object that a graph node owns (the context of a
// PyLayer, a hook), and how the garbage collector sees it.
//
// The collector finds garbage by counting references between Python objects,
// but a tensor leads to what its node owns through C++: tensor -> node -> hook
// -> tensor. So a NodeReference takes as many references to its object as there
// are to the node (when a collection starts), and each Python object that owns
// a reference to the node shows one of them. If all owners are garbage, so is
// the object; if C++ owns the node too, in a graph, then some of the references
// are nobody's and the object lives. All functions need the global lock, but
// for the destructor.
#ifndef PROA_PYTHON_CORE_NODE_REFERENCE_H_
#define PROA_PYTHON_CORE_NODE_REFERENCE_H_

#include <Python.h>

#include <cstdint>

#include "autograd/node.h"

namespace proa::inline v0::python {

class NodeReference {
 public:
  // `node` must live until the object is dropped.
  NodeReference(const autograd::Node& node, PyObject* object);
  NodeReference(const NodeReference&) = delete;
  NodeReference& operator=(const NodeReference&) = delete;
  ~NodeReference();  // on any thread

  PyObject* get() const { return object_; }
  // Drops the object before its time.
  void Reset();
  // What an owner of the node shows the collector: the object, or null while
  // the node has owners that have not been counted.
  PyObject* shown() const {
    return references_ >= node_.use_count() ? object_ : nullptr;
  }

  // Counts the owners of all nodes. The collector calls it, by gc.callbacks.
  static void CountOwners();

 private:
  const autograd::Node& node_;
  PyObject* object_;
  int32_t references_ = 1;  // to the object
  // All of the process.
  static NodeReference* all_;
  NodeReference* next_;
  NodeReference* previous_ = nullptr;
};

// Registers with the collector.
void BindNodeReferences();

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_NODE_REFERENCE_H_
