// An array of a library (or a scalar that is of its types), as a node of the graph.
#pragma once

#include "variables/library.h"
#include "variables/variable_tracker.h"

namespace armature {

class TensorVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Tensor)
  TensorVariable(PyTypeObject* type, Node* node, const Library* library,
                 const Source* source = nullptr, BorrowedRef<> existing = nullptr)
      : VariableTracker(VariableKind::Tensor, type, source, existing),
        node(node),
        library_(library) {}

  const Library& library() const { return *library_; }
  ArrayLibraryKind libraryKind() const { return library_->kind(); }

  // The node whose result is the present value of this object: an in-place operation makes its own
  // node the current one, so that every path to the object sees it. Trailed.
  Node* node;

  // The trace has seen that the array's own __dict__ is empty (ObservedNoAttributes). Trailed.
  bool attributesObserved = false;

  // What its HeldAttribute holds, as far as that was looked at or set. Trailed.
  Value held;
  // The trace has set it, which is an effect. Trailed.
  bool heldIsSet = false;

 private:
  const Library* library_;
};

class Translator;
struct CallArguments;

// The graph changes the tensor in place: an effect, if the tensor existed before the trace.
void recordTensorMutation(Translator& translator, TensorVariable* tensor);

// Breaks where another variable may stand for the very object, as one for the result of
// x.contiguous() may: it would not see that the object has changed what it is.
void requireOneVariable(Translator& translator, TensorVariable* tensor);
// Asked before an operation changes what the array object is, its shape, say: breaks as that, and
// where a call of the effects takes the object for what it was.
void prepareChangeOfLayout(Translator& translator, TensorVariable* tensor);

// Calls the method `name` (a str) of a tensor or array.
Value callTensorMethod(Translator& translator, const Value& self, PyObject* name,
                       CallArguments& arguments);

// The number that an instance of a subclass of int or float (an enumeration's member, say) is for a
// library that reads numbers as C does; any other value itself.
Value plainNumber(Translator& translator, const Library& library, const Value& value);

// Is it an operator of Python's numbers that answers NotImplemented, because the other operand is
// an array and no number?
bool leavesToArray(PyObject* callable, const CallArguments& arguments);

}  // namespace armature
