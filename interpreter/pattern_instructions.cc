// The instructions of `match` statements: match_class and match_keys of ceval.c.
#include "interpreter/instruction_translator.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/containers/set.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// The sub-patterns of one class pattern.
class ClassPattern {
 public:
  ClassPattern(Translator& translator, const Value& subject, const Value& classValue)
      : translator_(translator),
        subject_(subject),
        classValue_(classValue),
        type_(asClass(classValue)),
        seen_(translator.make<SetVariable>(&PySet_Type)) {}

  bool takePositional(int64_t count);
  // Looks the attribute up for a sub-pattern of its own. False if it is not there, or with the
  // exception pending.
  bool take(const Value& name);
  // What was looked up.
  ValueVector takeValues() { return std::move(values_); }

 private:
  Value matchArguments();
  bool raiseTooMany(int64_t allowed, int64_t count);

  Translator& translator_;
  const Value& subject_;
  const Value& classValue_;
  PyTypeObject* const type_;
  SetVariable* const seen_;
  ValueVector values_;
};

// The class's __match_args__; null without a pending exception where it has none.
Value ClassPattern::matchArguments() {
  static PyObject* const attribute = staticName("__match_args__");
  Value names = translator_.realized(getOptionalAttribute(translator_, classValue_, attribute));
  if (!names || typeOf(names) == &PyTuple_Type) return names;
  return translator_.raise(PyExc_TypeError, "%s.__match_args__ must be a tuple (got %s)",
                           nameOf(translator_, type_), nameOf(translator_, typeOf(names)));
}

bool ClassPattern::raiseTooMany(int64_t allowed, int64_t count) {
  translator_.raise(PyExc_TypeError, "%s() accepts %zd positional sub-pattern%s (%zd given)",
                    nameOf(translator_, type_), static_cast<Py_ssize_t>(allowed),
                    allowed == 1 ? "" : "s", static_cast<Py_ssize_t>(count));
  return false;
}

bool ClassPattern::takePositional(int64_t count) {
  if (count == 0) return true;
  Value names = matchArguments();
  if (!names) {
    if (translator_.exceptionPending()) return false;
    bool isWhole = translator_.heap.isMatchedWhole(type_);
    if (count > isWhole) return raiseTooMany(isWhole, count);
    values_.push_back(subject_);
    return true;
  }
  ValueVector elements;
  if (!iterateInto(translator_, names, elements)) return false;
  auto allowed = static_cast<int64_t>(elements.size());
  if (allowed < count) return raiseTooMany(allowed, count);
  for (int64_t i = 0; i < count; ++i) {
    Value name = translator_.realized(elements[i]);
    if (typeOf(name) != &PyUnicode_Type) {
      translator_.raise(PyExc_TypeError, "__match_args__ elements must be strings (got %s)",
                        nameOf(translator_, typeOf(name)));
      return false;
    }
    if (!take(name)) return false;
  }
  return true;
}

bool ClassPattern::take(const Value& name) {
  if (seen_->contains(translator_, name)) {
    translator_.raise(PyExc_TypeError, "%s() got multiple sub-patterns for attribute %R",
                      nameOf(translator_, type_), name.object());
    return false;
  }
  if (!seen_->add(translator_, name)) return false;
  Value interned = readAttributeName(translator_, name);
  if (!interned) return false;
  Value value = getOptionalAttribute(translator_, subject_, interned.object());
  if (!value) return false;
  values_.push_back(std::move(value));
  return true;
}

// A tuple of what the sub-patterns match, None where the subject does not; null with an exception.
Value matchClass(Translator& translator, const Value& subject, const Value& classValue,
                 int64_t positionalCount, llvm::ArrayRef<Value> keywordNames) {
  if (!asClass(classValue)) {
    return translator.raise(PyExc_TypeError, "called match pattern must be a type");
  }
  int isOfClass = isInstance(translator, subject, classValue);
  if (isOfClass <= 0) return isOfClass == 0 ? Value::none() : Value();
  ClassPattern pattern(translator, subject, classValue);
  bool matches = pattern.takePositional(positionalCount);
  for (size_t i = 0; matches && i < keywordNames.size(); ++i) {
    matches = pattern.take(translator.realized(keywordNames[i]));
  }
  if (matches) return makeTuple(translator, pattern.takeValues());
  return translator.exceptionPending() ? Value() : Value::none();
}

// A tuple of the values that the subject's `get` gives, None where it lacks one; null with an
// exception.
Value matchKeys(Translator& translator, const Value& subject, llvm::ArrayRef<Value> keys) {
  static PyObject* const getName = staticName("get");
  if (keys.empty()) return makeTuple(translator, {});
  Value get = getAttribute(translator, subject, getName);
  if (!get) return get;
  auto* seen = translator.make<SetVariable>(&PySet_Type);
  Value absent = translator.make<OpaqueVariable>(&PyBaseObject_Type);
  ValueVector values;
  for (const Value& each : keys) {
    Value key = translator.realized(each);
    bool isSecond = seen->contains(translator, key);
    if (translator.exceptionPending()) return Value();
    if (isSecond) {
      Value text = toRepr(translator, key);
      if (!text) return text;
      return translator.raise(PyExc_ValueError, "mapping pattern checks duplicate key (%U)",
                              text.object());
    }
    if (!seen->add(translator, key)) return Value();
    Value value = call(translator, get, {key, absent});
    if (!value) return value;
    if (value.sameAs(absent)) return Value::none();
    values.push_back(std::move(value));
  }
  return makeTuple(translator, std::move(values));
}

}  // namespace

bool InstructionTranslator::matchInstruction(Frame& frame, const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::MATCH_SEQUENCE:
    case Opcode::MATCH_MAPPING: {
      Value subject = frame.peek(1);
      realizeType(*this, subject);
      bool isSequence = instruction.opcode == Opcode::MATCH_SEQUENCE;
      PyTypeObject* type = typeOf(subject);
      frame.push(Value::boolean(isSequence ? heap.isMatchedAsSequence(type)
                                           : heap.isMatchedAsMapping(type)));
      return true;
    }
    case Opcode::MATCH_KEYS: {
      realizeOperand(frame, 1);
      realizeOperand(frame, 2);
      ValueVector keys;
      if (!iterateInto(*this, frame.peek(1), keys)) return false;
      Value values = matchKeys(*this, frame.peek(2), keys);
      if (!values) return false;
      frame.push(std::move(values));
      return true;
    }
    default: {  // MATCH_CLASS
      realizeOperand(frame, 1);
      realizeOperand(frame, 2);
      Value subject = frame.peek(3);
      realizeType(*this, subject);
      // Behind a break, the names are what the frame had on its stack.
      ValueVector names;
      if (!iterateInto(*this, frame.peek(1), names)) return false;
      Value values = matchClass(*this, subject, frame.peek(2), instruction.argument, names);
      if (!values) return false;
      frame.drop(2);
      frame.peek(1) = std::move(values);
      return true;
    }
  }
}

}  // namespace armature
