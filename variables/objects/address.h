// id() of what has no address yet, or another one in each call.
#pragma once

#include "variables/variable_tracker.h"

namespace armature {

// The address of an object that the trace makes, of data, or of an existing tuple, whose identity
// is guarded. It can be handed about, compared with others, and be a key of dicts: which of them
// are one and the same is known without the number.
class AddressVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Address)
  explicit AddressVariable(Value object)
      : VariableTracker(VariableKind::Address, &PyLong_Type), object(std::move(object)) {}
  const Value object;  // realized

  // Two addresses of equal data may be one in another call. So these are no keys; only what has
  // never held one is known to hold none.
  bool isOfData() const { return object.isConstant(); }
  // The same for one object, which a tuple can be on two paths; not of data.
  const void* identity() const {
    VariableTracker* tracker = object.tracker();
    return tracker->existing() ? static_cast<const void*>(tracker->existing()) : tracker;
  }
};

}  // namespace armature
