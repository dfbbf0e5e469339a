// Classes that the trace makes: by class statements and by type(name, bases, namespace).
//
// While tracing, a *prototype* stands for such a class: a real class of the same name, bases and
// layout, which nobody else sees (cpython/made_classes.h) and whose dict holds none of the
// program's objects. So whatever asks for an MRO, a layout or a subclass finds a type. What the
// class holds is a dict of the trace; the heap asks for it
// (Heap::Dependencies::ownAttributeOfMade), and gets, as of any class, a real object: the attribute
// itself where it exists, or else a *stand-in*, a private object of the type that decides how the
// attribute behaves, which Translator::wrap knows again.
//
// Generated code makes a new class in each call.
//
// What the trace writes to an existing class is found in the same way, over what is there.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include <memory>
#include <vector>

#include "core/ref.h"
#include "heap/heap.h"
#include "variables/containers/sequence.h"
#include "variables/objects/user_defined.h"
#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

class DictVariable;

struct MadeClass {
  Ref<> prototype;
  UserClassVariable* variable = nullptr;
  Value name;
  Value metaclass;
  ValueVector bases;  // classes
  // One of them has an __init_subclass__, which has been traced.
  bool tellsBases = false;
  // What type.__new__ is given: names and values; None in the place of a value that is set later,
  // since its __set_name__ has been traced.
  std::vector<std::pair<Value, Value>> given;
  // The names in the dict that type.__new__ makes, in its order.
  std::vector<Value> madeNames;
  // Its __dict__.
  DictVariable* attributes = nullptr;
  // The instruction that made it was taken back.
  bool isUndone = false;
};

// What type.__new__ puts into the dict of a class by itself: the descriptors of its slots, of
// __dict__ and of __weakref__.
class MadeDescriptorVariable : public OpaqueVariable {
 public:
  static bool classof(const VariableTracker* tracker) {
    return OpaqueVariable::classof(tracker) && !tracker->existing() &&
           (tracker->type() == &PyMemberDescr_Type || tracker->type() == &PyGetSetDescr_Type);
  }
  MadeDescriptorVariable(UserClassVariable* owner, Value name, PyTypeObject* type)
      : OpaqueVariable(type), owner(owner), name(std::move(name)) {}
  UserClassVariable* const owner;
  const Value name;
};

class MadeClasses {
 public:
  explicit MadeClasses(Translator& translator) : translator_(translator) {}
  MadeClasses(const MadeClasses&) = delete;
  MadeClasses& operator=(const MadeClasses&) = delete;
  ~MadeClasses();

  // Null for a type that existed before the trace.
  MadeClass* find(const PyTypeObject* type) const;
  // What a stand-in stands for; null for any other object.
  Value standsFor(PyObject* object) const { return meanings_.lookup(object); }
  Found ownAttribute(PyTypeObject* type, PyObject* name);
  MadeClass* add(Ref<> prototype);

  // Existing classes: the trace has written to the __dict__ of `type`, which `dict` is.
  void write(PyTypeObject* type, DictVariable* dict);
  std::optional<Found> writtenAttribute(PyTypeObject* type, PyObject* name);
  // Those whose making stands, in its order. A class is there until the garbage collector comes,
  // for its bases' __subclasses__() if for nobody else.
  std::vector<UserClassVariable*> standing() const;

 private:
  Found found(PyTypeObject* type, PyObject* name, Value value);
  PyObject* standIn(const Value& value);
  Ref<> makeStandIn(const Value& value);

  Translator& translator_;
  std::vector<std::unique_ptr<MadeClass>> classes_;
  llvm::DenseMap<const VariableTracker*, PyObject*> standIns_;
  llvm::DenseMap<PyObject*, Value> meanings_;
  std::vector<Ref<>> objects_;
  llvm::DenseMap<PyTypeObject*, DictVariable*> written_;
};

// type.__new__(metaclass, name, bases, namespace, …), with the methods of others that it calls.
// `arguments`: name, bases and namespace, and the keywords that __init_subclass__ is given. Breaks
// where the class would have another metaclass.
Value makeClass(Translator& translator, const Value& metaclass, const CallArguments& arguments);

// What type's own descriptors answer for a made class, out of its dict; null for what it has not.
Value madeClassItem(Translator& translator, MadeClass& made, PyObject* name);
// type.__setattr__ of an existing class, likewise.
bool setExistingClassAttribute(Translator& translator, const Value& self, PyObject* name,
                               const Value& value);
// type.__setattr__; a null `value` deletes.
bool setMadeClassAttribute(Translator& translator, MadeClass& made, PyObject* name,
                           const Value& value);

}  // namespace armature
