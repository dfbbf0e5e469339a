// Makes exceptions by the rules of the builtin classes, which are asked themselves.
#include <llvm/ADT/SmallVector.h>

#include "core/checked.h"
#include "cpython/type_lookup.h"
#include "variables/constants/constant.h"
#include "variables/containers/dict.h"
#include "variables/objects/exception.h"
#include "variables/objects/exception_group.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/real_data.h"
#include "variables/trailed.h"

namespace armature {

namespace {

PyTypeObject* typeObject(PyObject* type) { return reinterpret_cast<PyTypeObject*>(type); }

bool isA(PyTypeObject* type, PyObject* base) { return PyType_IsSubtype(type, typeObject(base)); }

// Real objects in place of values: constants as they are, and for each other one an object of its
// own, which the constructors store and hand back without looking at it.
class StandIns {
 public:
  explicit StandIns(Translator& translator) : translator_(translator) {}

  PyObject* of(const Value& value) {
    if (value.isConstant()) return value.object();
    return add(checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))),
               value);
  }
  // With its data, for what looks at that.
  PyObject* dataOf(const Value& value) {
    if (value.isConstant()) return value.object();
    Ref<> data = toRealData(translator_, value);
    if (!data) throw GraphBreak(GraphBreakKind::ArgumentOfException, describe(value));
    return add(std::move(data), value);
  }
  PyObject* add(Ref<> object, const Value& value) {
    objects_.push_back({std::move(object), value});
    return objects_.back().first.get();
  }
  // What stands behind an object that a constructor has stored.
  Value valueOf(PyObject* object) const {
    for (const auto& [standIn, value] : objects_) {
      if (standIn.get() == object) return value;
    }
    if (!isConstantObject(object)) {
      throw GraphBreak(GraphBreakKind::UnsupportedCResult, Py_TYPE(object)->tp_name);
    }
    return Value::constant(object);
  }

 private:
  Translator& translator_;
  llvm::SmallVector<std::pair<Ref<>, Value>, 4> objects_;
};

// A call's arguments with what the class looks at as it is.
class RealArguments {
 public:
  RealArguments(StandIns& standIns, PyTypeObject* type, const CallArguments& arguments) {
    size_t count = arguments.positionalCount();
    positional_ = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
    for (size_t i = 0; i < count; ++i) {
      const Value& value = arguments.values[i];
      PyObject* object = isLookedAt(type, i, count) ? standIns.dataOf(value) : standIns.of(value);
      Py_INCREF(object);
      PyTuple_SET_ITEM(positional_.get(), static_cast<Py_ssize_t>(i), object);
    }
    if (!arguments.keywordCount()) return;
    keywords_ = checked(PyDict_New());
    for (size_t i = 0; i < arguments.keywordCount(); ++i) {
      checked(PyDict_SetItem(keywords_.get(), arguments.keywordName(i),
                             standIns.of(arguments.keywordValue(i))));
    }
  }
  PyObject* positional() const { return positional_.get(); }
  PyObject* keywords() const { return keywords_.get(); }

 private:
  // Does the class do anything with the argument but keep it?
  static bool isLookedAt(PyTypeObject* type, size_t index, size_t count) {
    if (isA(type, PyExc_UnicodeError)) return true;
    if (isA(type, PyExc_SyntaxError)) return count == 2 && index == 1;
    if (!isA(type, PyExc_OSError) || count < 2 || count > 5) return false;
    return index == 0 || (index == 2 && isA(type, PyExc_BlockingIOError));
  }

  Ref<> positional_;
  Ref<> keywords_;
};

PyObject* descriptorOf(const ExceptionFields& fields, size_t index) {
  PyObject* descriptor = cpython::ownAttribute(fields.owner, fields.names[index]);
  if (!descriptor) throw GraphBreak(GraphBreakKind::AttributeOfCObject, fields.names[index]);
  return descriptor;
}

Ref<> readField(const ExceptionFields& fields, size_t index, PyObject* real) {
  PyObject* descriptor = descriptorOf(fields, index);
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(real));
  return checked(Py_TYPE(descriptor)->tp_descr_get(descriptor, real, type));
}

Ref<> argumentsIn(PyObject* real) { return checked(PyObject_GetAttrString(real, "args")); }

// args and the fields, as a real exception has them.
void readState(Translator& translator, const StandIns& standIns, PyObject* real,
               ExceptionVariable& exception) {
  Ref<> arguments = argumentsIn(real);
  ValueVector values;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments.get()); ++i) {
    values.push_back(standIns.valueOf(PyTuple_GET_ITEM(arguments.get(), i)));
  }
  std::vector<Value> members;
  ExceptionFields fields = fieldsOf(exception.type());
  for (size_t i = 0; i < fields.names.size(); ++i) {
    Ref<> value = readField(fields, i, real);
    members.push_back(value.get() == Py_None ? Value() : standIns.valueOf(value.get()));
  }
  recordUndo(translator.trail,
             [&exception, arguments = exception.arguments, members = exception.members] {
               exception.arguments = arguments;
               exception.members = members;
             });
  exception.arguments = std::move(values);
  assignTrailed(translator.trail, exception.argumentsTuple, Value());
  exception.members = std::move(members);
}

// Gives a real exception args and the fields as the trace has them so far. Returns args.
Ref<> writeState(Translator& translator, StandIns& standIns, ExceptionVariable& exception,
                 PyObject* real) {
  const ValueVector& values = argumentsOf(translator, exception);
  Ref<> arguments = checked(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (size_t i = 0; i < values.size(); ++i) {
    PyTuple_SET_ITEM(arguments.get(), i, Py_NewRef(standIns.of(values[i])));
  }
  checked(PyObject_SetAttrString(real, "args", arguments.get()));
  ExceptionFields fields = fieldsOf(exception.type());
  for (size_t i = 0; i < fields.names.size(); ++i) {
    const Value& member = exception.members[i];
    if (!member) continue;
    // Whose fields are of types of their own.
    PyObject* object =
        isA(exception.type(), PyExc_UnicodeError) ? standIns.dataOf(member) : standIns.of(member);
    PyObject* descriptor = descriptorOf(fields, i);
    checked(Py_TYPE(descriptor)->tp_descr_set(descriptor, real, object));
  }
  return arguments;
}

// The instance's attributes, as far as they are data: those of classes that are written in Python.
void readAttributes(Translator& translator, const StandIns& standIns, PyObject* real,
                    ExceptionVariable& exception) {
  PyTypeObject* type = exception.type();
  PyTypeObject* base = cpython::staticBase(type);
  bool isReferable = type->tp_weaklistoffset && !base->tp_weaklistoffset;
  size_t size = base->tp_basicsize + (isReferable ? sizeof(PyObject*) : 0);
  if (static_cast<size_t>(type->tp_basicsize) != size) {  // __slots__
    throw GraphBreak(GraphBreakKind::UnsupportedCResult, type->tp_name);
  }
  PyObject* attributes = reinterpret_cast<PyBaseExceptionObject*>(real)->dict;
  if (!attributes || PyDict_GET_SIZE(attributes) == 0) return;
  DictVariable* dict = exceptionDict(translator, Value(&exception));
  PyObject *name, *value;
  for (Py_ssize_t i = 0; PyDict_Next(attributes, &i, &name, &value);) {
    dict->set(translator, Value::constant(name), standIns.valueOf(value));
  }
}

// BaseException_new and BaseException_init keep the tuple of arguments that they are given.
void keepTuple(Translator& translator, ExceptionVariable& exception,
               const CallArguments& arguments) {
  llvm::ArrayRef<Value> given = arguments.positional();
  ValueVector items;
  bool isGiven = arguments.tuple && iterateInto(translator, arguments.tuple, items) &&
                 std::equal(given.begin(), given.end(), items.begin(), items.end(),
                            [&](const Value& a, const Value& b) {
                              return translator.realized(a).sameAs(translator.realized(b));
                            });
  if (isGiven) assignTrailed(translator.trail, exception.argumentsTuple, Value(arguments.tuple));
}

bool isPlain(PyTypeObject* owner) {
  PyTypeObject* base = typeObject(PyExc_BaseException);
  return owner->tp_new == base->tp_new && owner->tp_init == base->tp_init;
}

// Does its __init__ do nothing but keep the arguments?
bool onlyKeepsArguments(PyTypeObject* owner) {
  return isPlain(owner) || owner->tp_init == typeObject(PyExc_BaseExceptionGroup)->tp_init;
}

}  // namespace

ExceptionFields fieldsOf(PyTypeObject* type) {
  static constexpr const char* kValue[] = {"value"};
  static constexpr const char* kCode[] = {"code"};
  static constexpr const char* kOsError[] = {"errno", "strerror", "filename", "filename2"};
  static constexpr const char* kImportError[] = {"msg", "name", "path"};
  static constexpr const char* kNameError[] = {"name"};
  static constexpr const char* kAttributeError[] = {"name", "obj"};
  static constexpr const char* kSyntaxError[] = {
      "msg",  "filename",   "lineno",     "offset",
      "text", "end_lineno", "end_offset", "print_file_and_line"};
  static constexpr const char* kGroup[] = {"message", "exceptions"};
  static constexpr const char* kUnicodeError[] = {"encoding", "object", "start", "end", "reason"};
  struct Row {
    PyObject* const* owner;
    llvm::ArrayRef<const char*> names;
  };
  static const Row kRows[] = {
      {&PyExc_StopIteration, kValue},
      {&PyExc_SystemExit, kCode},
      {&PyExc_OSError, kOsError},
      {&PyExc_ImportError, kImportError},
      {&PyExc_NameError, kNameError},
      {&PyExc_AttributeError, kAttributeError},
      {&PyExc_SyntaxError, kSyntaxError},
      {&PyExc_BaseExceptionGroup, kGroup},
      {&PyExc_UnicodeEncodeError, kUnicodeError},
      {&PyExc_UnicodeDecodeError, kUnicodeError},
      {&PyExc_UnicodeTranslateError, kUnicodeError},
  };
  for (const Row& row : kRows) {
    if (isA(type, *row.owner)) return {typeObject(*row.owner), row.names};
  }
  return {};
}

ExceptionVariable::ExceptionVariable(const Source* source, BorrowedRef<> existing,
                                     Value classVariable)
    : VariableTracker(VariableKind::Exception, Py_TYPE(existing.get()), source, existing),
      classVariable(std::move(classVariable)),
      knowsArguments(false),
      members(fieldsOf(type()).names.size()),
      knowsSuppressContext(false) {}

ExceptionVariable::ExceptionVariable(PyTypeObject* type, Value classVariable, ValueVector arguments)
    : VariableTracker(VariableKind::Exception, type),
      classVariable(std::move(classVariable)),
      arguments(std::move(arguments)),
      members(fieldsOf(type).names.size()) {
  // Of what iteration raises itself.
  bool isStop = isA(type, PyExc_StopIteration);
  if (isStop && !this->arguments.empty()) members[0] = this->arguments[0];
}

Value constructException(Translator& translator, const Value& classVariable, PyTypeObject* type,
                         PyTypeObject* newOwner, PyTypeObject* initOwner,
                         const CallArguments& arguments) {
  if (newOwner->tp_new == typeObject(PyExc_BaseExceptionGroup)->tp_new) {
    Value group = constructGroup(translator, classVariable, type, initOwner, arguments);
    if (group) keepTuple(translator, *requireKind<ExceptionVariable>(group), arguments);
    return group;
  }
  bool plainNew = newOwner->tp_new == typeObject(PyExc_BaseException)->tp_new;
  bool plainInit = !initOwner || isPlain(initOwner);
  if (plainNew && plainInit && (!initOwner || !arguments.keywordCount())) {
    // BaseException_new keeps the arguments and looks at no keywords.
    llvm::ArrayRef<Value> positional = arguments.positional();
    auto* made = translator.make<ExceptionVariable>(
        type, classVariable, ValueVector(positional.begin(), positional.end()));
    // That is __init__'s doing.
    if (!made->members.empty()) made->members[0] = Value();
    keepTuple(translator, *made, arguments);
    return made;
  }
  if (cpython::staticBase(type)->tp_new != newOwner->tp_new) {
    throw GraphBreak(GraphBreakKind::ClassWithNew, cpython::nameOf(type));
  }
  nameOf(translator, type);  // which the words of an error may contain
  StandIns standIns(translator);
  RealArguments real(standIns, type, arguments);
  Ref<> made = Ref<>::steal(newOwner->tp_new(type, real.positional(), real.keywords()));
  if (!made) return translator.raiseFromPython();
  if (initOwner && initOwner->tp_init(made.get(), real.positional(), real.keywords()) < 0) {
    return translator.raiseFromPython();
  }
  // Which has no field for the trace.
  if (isA(Py_TYPE(made.get()), PyExc_BlockingIOError) &&
      reinterpret_cast<PyOSErrorObject*>(made.get())->written != -1) {
    throw GraphBreak(GraphBreakKind::ArgumentOfException, "characters_written");
  }
  // OSError chooses a subclass.
  bool isOther = Py_TYPE(made.get()) != type;
  Value madeClass =
      isOther ? Value::constant(reinterpret_cast<PyObject*>(Py_TYPE(made.get()))) : classVariable;
  auto* exception =
      translator.make<ExceptionVariable>(Py_TYPE(made.get()), std::move(madeClass), ValueVector());
  readState(translator, standIns, made.get(), *exception);
  if (argumentsIn(made.get()).get() == real.positional()) {
    keepTuple(translator, *exception, arguments);
  }
  return exception;
}

bool initializeException(Translator& translator, ExceptionVariable& exception,
                         PyTypeObject* initOwner, const CallArguments& arguments) {
  PyTypeObject* type = exception.type();
  if (exception.existing()) {
    throw GraphBreak(GraphBreakKind::ExistingException, describe(Value(&exception)));
  }
  if (onlyKeepsArguments(initOwner) && !arguments.keywordCount()) {
    recordUndo(translator.trail,
               [&exception, before = exception.arguments] { exception.arguments = before; });
    exception.arguments.assign(arguments.values.begin(), arguments.values.end());
    assignTrailed(translator.trail, exception.argumentsTuple, Value());
    keepTuple(translator, exception, arguments);
    return true;
  }
  // OSError's __new__ has done it all, unless the class has an __init__ of its own.
  PyTypeObject* osError = typeObject(PyExc_OSError);
  if (initOwner->tp_init == osError->tp_init &&
      (type->tp_init == osError->tp_init || type->tp_new != osError->tp_new)) {
    return true;
  }
  if (onlyKeepsArguments(initOwner)) {
    translator.raise(PyExc_TypeError, "%.200s() takes no keyword arguments",
                     nameOf(translator, type));
    return false;
  }
  nameOf(translator, type);
  StandIns standIns(translator);
  RealArguments real(standIns, type, arguments);
  Ref<> nothing = checked(PyTuple_New(0));
  PyTypeObject* base = cpython::staticBase(type);
  Ref<> twin = checked(base->tp_new(type, nothing.get(), nullptr));
  Ref<> before = writeState(translator, standIns, exception, twin.get());
  Value tupleBefore = exception.argumentsTuple;
  bool succeeds = initOwner->tp_init(twin.get(), real.positional(), real.keywords()) >= 0;
  // Where it fails, it may have done half of it. (Not a SetException: a break on the way forgets
  // the error.)
  PyObject *errorType, *error, *traceback;
  PyErr_Fetch(&errorType, &error, &traceback);
  Ref<> held[] = {Ref<>::steal(errorType), Ref<>::steal(error), Ref<>::steal(traceback)};
  readState(translator, standIns, twin.get(), exception);
  Ref<> after = argumentsIn(twin.get());
  if (after.get() == before.get()) {
    assignTrailed(translator.trail, exception.argumentsTuple, std::move(tupleBefore));
  } else if (after.get() == real.positional()) {
    keepTuple(translator, exception, arguments);
  }
  if (succeeds) return true;
  PyErr_Restore(held[0].release(), held[1].release(), held[2].release());
  translator.raiseFromPython();
  return false;
}

Ref<> realException(Translator& translator, ExceptionVariable& exception) {
  if (isGroupType(exception.type())) return nullptr;
  Ref<> list = checked(PyList_New(0));
  for (const Value& argument : argumentsOf(translator, exception)) {
    Ref<> data = toRealData(translator, argument);
    if (!data) return nullptr;
    checked(PyList_Append(list.get(), data.get()));
  }
  Ref<> arguments = checked(PyList_AsTuple(list.get()));
  Ref<> nothing = checked(PyTuple_New(0));
  PyTypeObject* base = cpython::staticBase(exception.type());
  Ref<> real = checked(base->tp_new(base, nothing.get(), nullptr));
  checked(PyObject_SetAttrString(real.get(), "args", arguments.get()));
  ExceptionFields fields = fieldsOf(base);
  for (size_t i = 0; i < fields.names.size(); ++i) {
    Value member = translator.realized(fieldValue(translator, exception, i));
    // What existed before shows None where nothing is set.
    if (!member || (exception.existing() && !exception.members[i] && member.is(Py_None))) continue;
    Ref<> data = toRealData(translator, member);
    if (!data) return nullptr;
    PyObject* descriptor = descriptorOf(fields, i);
    checked(Py_TYPE(descriptor)->tp_descr_set(descriptor, real.get(), data.get()));
  }
  return real;
}

ExceptionVariable* tracedException(Translator& translator, PyObject* real) {
  PyTypeObject* type = Py_TYPE(real);
  if (isGroupType(type)) throw GraphBreak(GraphBreakKind::UnsupportedCResult, type->tp_name);
  Ref<> cause = Ref<>::steal(PyException_GetCause(real));
  Ref<> context = Ref<>::steal(PyException_GetContext(real));
  // The interpreter chains what this very process handles; the trace does so itself.
  Ref<> handled = Ref<>::steal(PyErr_GetHandledException());
  bool isChained = handled && context.get() == handled.get();
  if (cause || (context && !isChained)) {
    throw GraphBreak(GraphBreakKind::UnsupportedCResult, type->tp_name);
  }
  auto* exception = translator.make<ExceptionVariable>(
      type, Value::constant(reinterpret_cast<PyObject*>(type)), ValueVector());
  StandIns standIns(translator);
  readState(translator, standIns, real, *exception);
  readAttributes(translator, standIns, real, *exception);
  return exception;
}

}  // namespace armature
