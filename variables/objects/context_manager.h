// Context managers whose effect on a library's state the trace models.
#pragma once

#include <utility>
#include <vector>

#include "variables/containers/sequence.h"
#include "variables/variable_tracker.h"

namespace armature {

struct CallArguments;
class ContextManagerVariable;
class Node;
class Translator;

// What a library knows of one class of context managers. Lives as long as the process.
class ContextManagerModel {
 public:
  virtual ~ContextManagerModel() = default;
  // __enter__ and __exit__, each with what it returns, or null with an exception pending. What
  // __exit__ returns is not true.
  virtual Value enter(Translator& translator, ContextManagerVariable& manager) const = 0;
  virtual Value exit(Translator& translator, ContextManagerVariable& manager) const = 0;
  // The attributes of the instance, by which it can be built without running its constructor.
  virtual std::vector<std::pair<const char*, Value>> attributes(
      const ContextManagerVariable& manager) const = 0;
  // Are those what the program would see of the instance?
  virtual bool showsAttributes() const { return false; }
  // Is it built by a call of its class with what it was made with (arguments)? While it is entered,
  // it is what its call in the graph gives (Library::leaveContexts).
  virtual bool isMadeByCall() const { return false; }
  // Is it left out, so that its end does nothing? An instance that the program would still see is
  // never made: the call runs as plain Python then.
  virtual bool isLeftOut() const { return false; }
};

class ContextManagerVariable : public VariableTracker {
 public:
  ARMATURE_KIND(ContextManager)
  ContextManagerVariable(PyTypeObject* type, Value classValue, const ContextManagerModel& model,
                         uint32_t target, ValueVector arguments = {})
      : VariableTracker(VariableKind::ContextManager, type),
        classValue(std::move(classValue)),
        model(model),
        target(target),
        arguments(std::move(arguments)) {}

  const Value classValue;  // for building it again
  const ContextManagerModel& model;
  const uint32_t target;        // the library's mode inside
  const ValueVector arguments;  // what it was made with, as far as its model needs it
  uint32_t previous = 0;        // the mode before. Trailed.
  Node* node = nullptr;         // the call of the graph that has entered it, if any. Trailed.
  // The object that it stands for, if that existed before the trace (adoptManager).
  Value instance;
};

// What stands for an existing instance, which a with statement is about to enter, of a class with a
// model. Null where the class has none, or the model does not know such an instance: then its
// methods are called.
Value adoptManager(Translator& translator, const Value& instance);
using ContextManagerAdopter = Value (*)(Translator& translator, const Value& instance);
void registerManagerAdopter(PyTypeObject* type, ContextManagerAdopter adopter);

// __enter__ and __exit__ of a manager's class, called by the program itself: with the manager as
// the first argument. False if it is another call.
bool callManagerMethod(Translator& translator, const Value& function, CallArguments& arguments,
                       Value& result);

// The manager's bound __exit__, which a with statement keeps on the stack.
class ContextExitVariable : public VariableTracker {
 public:
  ARMATURE_KIND(ContextExit)
  explicit ContextExitVariable(ContextManagerVariable* manager)
      : VariableTracker(VariableKind::ContextExit, &PyMethod_Type), manager(manager) {}

  ContextManagerVariable* const manager;
};

}  // namespace armature
