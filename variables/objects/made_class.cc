#include "variables/objects/made_class.h"

#include "core/checked.h"
#include "core/text.h"
#include "cpython/made_classes.h"
#include "cpython/type_lookup.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/functions/functions.h"
#include "variables/objects/property.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

UserClassVariable::UserClassVariable(MadeClass* made)
    : VariableTracker(VariableKind::UserClass, &PyType_Type),
      value_(reinterpret_cast<PyTypeObject*>(made->prototype.get())),
      made_(made) {}

MadeClasses::~MadeClasses() {
  // Instances before their classes.
  objects_.clear();
  while (!classes_.empty()) {
    Ref<> prototype = std::move(classes_.back()->prototype);
    classes_.pop_back();
    cpython::endHiddenClass(std::move(prototype));
  }
}

MadeClass* MadeClasses::find(const PyTypeObject* type) const {
  for (const auto& made : classes_) {
    if (made->prototype.get() == reinterpret_cast<const PyObject*>(type)) return made.get();
  }
  return nullptr;
}

MadeClass* MadeClasses::add(Ref<> prototype) {
  auto* type = reinterpret_cast<PyTypeObject*>(prototype.get());
  cpython::hideClass(type);
  translator_.heap.include(type);
  MadeClass* made = classes_.emplace_back(std::make_unique<MadeClass>()).get();
  made->prototype = std::move(prototype);
  made->variable = translator_.make<UserClassVariable>(made);
  made->attributes = translator_.make<DictVariable>();
  recordUndo(translator_.trail, [made] { made->isUndone = true; });
  standIns_[made->variable] = made->prototype.get();
  meanings_[made->prototype.get()] = made->variable;
  return made;
}

std::vector<UserClassVariable*> MadeClasses::standing() const {
  std::vector<UserClassVariable*> result;
  for (const auto& made : classes_) {
    if (!made->isUndone) result.push_back(made->variable);
  }
  return result;
}

// --- What the heap is told.

Found MadeClasses::ownAttribute(PyTypeObject* type, PyObject* name) {
  MadeClass* made = find(type);
  Value value = made->attributes->get(translator_, name);
  return value ? found(type, name, std::move(value)) : Found();
}

void MadeClasses::write(PyTypeObject* type, DictVariable* dict) {
  written_[type] = dict;
  translator_.heap.includeWritten(type);
}

std::optional<Found> MadeClasses::writtenAttribute(PyTypeObject* type, PyObject* name) {
  const OrderedValueMap& entries = written_.lookup(type)->entries();
  int32_t index = entries.find(Value::constant(name), PyObject_Hash(name));
  if (index == OrderedValueMap::kAbsent) return std::nullopt;
  const OrderedValueMap::Entry& entry = entries[index];
  if (!entry.live()) return Found();
  if (entry.effect < 0) return std::nullopt;
  return found(type, name, entry.value);
}

Found MadeClasses::found(PyTypeObject* type, PyObject* name, Value value) {
  realizeType(translator_, value);
  if (PyObject* object = value.objectOrNull()) {
    // A tuple that each call makes anew is known again by its address.
    if (translator_.isMadeHere(object)) meanings_.try_emplace(object, value);
    return {object, nullptr};
  }
  VariableTracker* tracker = value.tracker();
  if (tracker->existing()) return {tracker->existing(), tracker->source()};
  if (trackerOf<OpaqueVariable>(value)) {
    // __dict__ and __weakref__: those of the prototype work on its instances.
    PyObject* own = cpython::ownAttribute(type, name);
    meanings_.try_emplace(own, value);
    return {own, nullptr};
  }
  return {standIn(value), nullptr};
}

PyObject* MadeClasses::standIn(const Value& value) {
  PyObject*& known = standIns_[value.tracker()];
  if (known) return known;
  Ref<> made = makeStandIn(value);
  PyObject* object = made.get();
  objects_.push_back(std::move(made));
  meanings_[object] = value;
  // makeStandIn may have added others.
  return standIns_[value.tracker()] = object;
}

Ref<> MadeClasses::makeStandIn(const Value& value) {
  if (auto* function = trackerOf<UserFunctionVariable>(value)) {
    Ref<> globals = checked(PyDict_New());
    return checked(
        PyFunction_New(reinterpret_cast<PyObject*>(function->code->original.get()), globals.get()));
  }
  PyTypeObject* type = typeOf(value);
  if (auto* property = trackerOf<PropertyVariable>(value)) {
    size_t count = property->type() == &PyProperty_Type ? 3 : 1;
    Ref<> parts = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
    for (size_t i = 0; i < count; ++i) {
      const Value& part = property->parts[i];
      PyObject* object = part.isTracker() ? standIn(part) : part.object();
      PyTuple_SET_ITEM(parts.get(), static_cast<Py_ssize_t>(i), Py_NewRef(object));
    }
    return checked(PyObject_CallObject(reinterpret_cast<PyObject*>(type), parts.get()));
  }
  // An attribute that is no descriptor behaves as any other.
  static PyObject* const names[] = {staticName("__get__"), staticName("__set__"),
                                    staticName("__delete__")};
  bool binds = false;
  for (PyObject* name : names) {
    binds = binds || static_cast<bool>(translator_.heap.lookup(type, name));
  }
  if (!binds) return checked(PyBaseObject_Type.tp_alloc(&PyBaseObject_Type, 0));
  if (!trackerOf<UserObjectVariable>(value)) {
    throw GraphBreak(GraphBreakKind::ClassMadeWhileTracing, describe(value));
  }
  Ref<> none = checked(PyTuple_New(0));
  return checked(cpython::staticBase(type)->tp_new(type, none.get(), nullptr));
}

// --- type_new.

namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw GraphBreak(GraphBreakKind::ClassMadeWhileTracing, what);
}

PyObject* name(const char* text) { return staticName(text); }

bool isNamed(PyObject* key, const char* text) {
  return PyUnicode_CompareWithASCIIString(key, text) == 0;
}

// What PyArg_ParseTuple asks of the arguments. False with an exception pending.
bool checkArgument(Translator& translator, int position, const Value& value, PyTypeObject* type) {
  if (PyType_IsSubtype(typeOf(value), type)) return true;
  translator.raise(PyExc_TypeError, "type.__new__() argument %d must be %s, not %s", position,
                   type->tp_name, value.is(Py_None) ? "None" : nameOf(translator, typeOf(value)));
  return false;
}

// The bases' metaclasses and MROs decide what class it will be.
ValueVector readBases(Translator& translator, const Value& bases, Ref<>& tuple) {
  ValueVector classes;
  if (typeOf(bases) != &PyTuple_Type || !iterateInto(translator, bases, classes)) {
    refuse("bases " + describe(bases));
  }
  tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(classes.size())));
  for (size_t i = 0; i < classes.size(); ++i) {
    translator.realize(classes[i]);
    PyTypeObject* type = asClass(classes[i]);
    if (!type || translator.heap.metaclassOf(type) != &PyType_Type) {
      refuse("base " + describe(classes[i]));
    }
    translator.heap.mro(type);
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                     Py_NewRef(reinterpret_cast<PyObject*>(type)));
  }
  return classes;
}

// What the class has of the namespace: functions of some names become methods of other kinds.
Value asAttribute(Translator& translator, PyObject* key, const Value& value) {
  if (!trackerOf<UserFunctionVariable>(value)) return value;
  if (isNamed(key, "__new__")) return makeStaticMethod(translator, value);
  if (isNamed(key, "__init_subclass__") || isNamed(key, "__class_getitem__")) {
    return makeClassMethod(translator, value);
  }
  return value;
}

// What the prototype has in the place of an attribute, by which its C slots are filled as those of
// the class will be.
PyObject* placeholder(const Value& value) {
  PyObject* object = value.objectOrNull();
  bool isText = object && (object == Py_None || PyUnicode_CheckExact(object));
  return isText ? object : Py_Ellipsis;
}

bool isSpecialName(PyObject* name) {
  Py_ssize_t size = PyUnicode_GET_LENGTH(name);
  return size > 4 && PyUnicode_READ_CHAR(name, 0) == '_' && PyUnicode_READ_CHAR(name, 1) == '_';
}

struct ClassNamespace {
  std::vector<std::pair<Value, Value>> items;
  Ref<> placeholders;  // dict
  NewCellVariable* classCell = nullptr;
};

ClassNamespace readNamespace(Translator& translator, const Value& value) {
  auto* dict = trackerOf<DictVariable>(value);
  if (!dict || dict->type() != &PyDict_Type) refuse("namespace " + describe(value));
  ClassNamespace result;
  result.placeholders = checked(PyDict_New());
  bool knowsModule = false;
  auto add = [&](PyObject* key, const Value& attribute) {
    result.items.emplace_back(Value::constant(key), attribute);
    checked(PyDict_SetItem(result.placeholders.get(), key, placeholder(attribute)));
  };
  std::vector<std::pair<Value, Value>> entries;
  dict->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
    entries.emplace_back(entry.key, entry.value);
  });
  for (auto& [key, attribute] : entries) {
    PyObject* text = key.objectOrNull();
    if (!text || !PyUnicode_CheckExact(text)) refuse("name " + describe(key));
    translator.realize(attribute);
    if (isNamed(text, "__classcell__")) {
      result.classCell = trackerOf<NewCellVariable>(attribute);
      if (!result.classCell) refuse("__classcell__");
      continue;
    }
    knowsModule = knowsModule || isNamed(text, "__module__");
    bool isText =
        isNamed(text, "__qualname__") || isNamed(text, "__doc__") || isNamed(text, "__module__");
    if (isText && !attribute.isConstant()) refuse(printable(text));
    if (isNamed(text, "__slots__")) {
      PyObject* slots = attribute.objectOrNull();
      if (!slots || !PyTuple_CheckExact(slots) || PyTuple_GET_SIZE(slots)) refuse("__slots__");
      result.items.emplace_back(key, attribute);
      checked(PyDict_SetItem(result.placeholders.get(), text, slots));
      continue;
    }
    add(text, asAttribute(translator, text, attribute));
  }
  if (!knowsModule) {
    // type_new_set_module: of the function that calls.
    static PyObject* const nameOfModule = name("__name__");
    static PyObject* const moduleName = name("__module__");
    Value module = translator.runningGlobals()->get(translator, nameOfModule);
    if (module) translator.realize(module);
    if (module && !module.isConstant()) refuse("__module__");
    if (module) add(moduleName, module);
  }
  return result;
}

// type_new_set_names. What is called there must not be called again where the class is made: it is
// put in afterwards.
bool tellNames(Translator& translator, MadeClass& made) {
  static PyObject* const special = name("__set_name__");
  for (auto& [key, value] : made.given) {
    if (auto* property = trackerOf<PropertyVariable>(value)) {
      // Its own function, which keeps the name for its errors.
      Found found = made.attributes->get(translator, key.object())
                        ? translator.ownAttributeOfMade(made.variable->value(), key.object())
                        : Found();
      if (found && property->type() == &PyProperty_Type) {
        checked(PyObject_CallMethod(found.object, "__set_name__", "OO", Py_None, key.object()));
      }
      continue;
    }
    if (value.isConstant()) continue;
    Value method = lookupSpecial(translator, value, special);
    if (!method && !translator.exceptionPending()) continue;
    Value done = method ? call(translator, method, {made.variable, key}) : Value();
    if (!done) {
      // Python makes another error of it.
      translator.takeException();
      refuse("__set_name__ of " + describe(value));
    }
    value = Value::none();
  }
  return true;
}

// super(cls, cls).__init_subclass__(), which is called where the class is made: that of object does
// nothing.
void requirePlainInitSubclass(Translator& translator, const ValueVector& bases) {
  static PyObject* const special = name("__init_subclass__");
  for (const Value& base : bases) {
    Found found = translator.heap.lookup(asClass(base), special);
    if (found.object != cpython::lookup(&PyBaseObject_Type, special)) refuse("__init_subclass__");
  }
}

// The dict of the class, in the order in which type.__new__ leaves it.
void fillAttributes(Translator& translator, MadeClass& made) {
  PyObject *key, *object;
  Py_ssize_t position = 0;
  while (PyDict_Next(cpython::dict(made.variable->value()), &position, &key, &object)) {
    Value value;
    for (const auto& [given, attribute] : made.given) {
      if (PyUnicode_Compare(given.object(), key) == 0) value = attribute;
    }
    if (!value && object == Py_None) value = Value::none();
    // __dict__ and __weakref__ are the class's own.
    if (!value) value = translator.make<OpaqueVariable>(Py_TYPE(object));
    made.madeNames.push_back(Value::constant(key));
    made.attributes->set(translator, made.madeNames.back(), value);
  }
}

}  // namespace

Value makeClass(Translator& translator, const Value& nameValue, const Value& basesValue,
                const Value& classNamespace) {
  Value text = translator.realized(nameValue);
  Value baseTuple = translator.realized(basesValue);
  Value names = translator.realized(classNamespace);
  bool isGivenRightly = checkArgument(translator, 1, text, &PyUnicode_Type) &&
                        checkArgument(translator, 2, baseTuple, &PyTuple_Type) &&
                        checkArgument(translator, 3, names, &PyDict_Type);
  if (!isGivenRightly) return Value();
  PyObject* className = text.objectOrNull();
  if (!className || !PyUnicode_CheckExact(className)) refuse("name " + describe(text));
  Ref<> bases;
  ValueVector classes = readBases(translator, baseTuple, bases);
  requirePlainInitSubclass(translator, classes);
  ClassNamespace read = readNamespace(translator, names);
  Ref<> prototype = cpython::makeClass(className, bases, read.placeholders);
  if (!prototype) return translator.raiseFromPython();
  MadeClass* made = translator.madeClasses().add(std::move(prototype));
  made->name = text;
  made->bases = std::move(classes);
  made->given = std::move(read.items);
  fillAttributes(translator, *made);
  if (read.classCell) read.classCell->store(translator, made->variable);
  if (!tellNames(translator, *made)) return Value();
  return made->variable;
}

// --- Attributes of the class itself.

Value madeClassItem(Translator& translator, MadeClass& made, PyObject* attribute) {
  bool isItem = isNamed(attribute, "__module__") || isNamed(attribute, "__doc__") ||
                isNamed(attribute, "__annotations__");
  if (!isItem) return Value();
  Value value = made.attributes->get(translator, attribute);
  if (value || !isNamed(attribute, "__annotations__")) return value;
  // type_get_annotations
  Value annotations = translator.make<DictVariable>();
  return setMadeClassAttribute(translator, made, attribute, annotations) ? annotations : Value();
}

bool setExistingClassAttribute(Translator& translator, const Value& self, PyObject* attribute,
                               const Value& value) {
  PyTypeObject* type = requireKind<UserClassVariable>(self)->value();
  Heap& heap = translator.heap;
  Found meta = heap.lookup(Py_TYPE(type), attribute);
  // What fills the C slots of a type, or is computed by type itself, is for Python to set.
  bool isPlain = !cpython::isImmutable(type) && !isSpecialName(attribute) &&
                 !(meta && heap.isDataDescriptor(meta.object));
  if (!isPlain) return unimplemented::setAttribute(translator, self, attribute, value);
  Found found = heap.dictOf(type);
  Value dictValue = translator.realized(translator.wrap(found.source, found.object));
  auto* dict = requireKind<DictVariable>(dictValue);
  Value key = Value::constant(attribute);
  if (!value && !dict->has(translator, key)) {
    return unimplemented::setAttribute(translator, self, attribute, value);
  }
  translator.madeClasses().write(type, dict);
  if (!value) return static_cast<bool>(dict->remove(translator, key));
  Value now = value;
  realizeType(translator, now);
  return dict->set(translator, key, std::move(now));
}

bool setMadeClassAttribute(Translator& translator, MadeClass& made, PyObject* attribute,
                           const Value& value) {
  PyTypeObject* type = made.variable->value();
  bool isItem = isNamed(attribute, "__module__") || isNamed(attribute, "__doc__") ||
                isNamed(attribute, "__annotations__");
  PyObject* ofType = cpython::lookup(&PyType_Type, attribute);
  bool isComputed = ofType && Py_TYPE(ofType)->tp_descr_set;
  if ((isComputed && !isItem) || isNamed(attribute, "__classcell__")) {
    throw GraphBreak(GraphBreakKind::ComputedClassAttribute,
                     std::string(cpython::nameOf(type)) + "." + printable(attribute));
  }
  Value key = Value::constant(attribute);
  Value now = value ? translator.realized(value) : Value();
  if (!value && !made.attributes->has(translator, key)) refuse("del " + printable(attribute));
  if (isSpecialName(attribute)) {
    // The C slots follow the prototype's own dict.
    Ref<> before = Ref<>::create(cpython::ownAttribute(type, attribute));
    recordUndo(translator.trail, [type, name = Ref<>::create(attribute), before] {
      cpython::setClassAttribute(reinterpret_cast<PyObject*>(type), name, before.get());
      PyErr_Clear();
    });
    bool ok = cpython::setClassAttribute(reinterpret_cast<PyObject*>(type), attribute,
                                         now ? placeholder(now) : nullptr);
    if (!ok) throw PendingPythonException();
  }
  if (!value) return static_cast<bool>(made.attributes->remove(translator, key));
  return made.attributes->set(translator, key, now);
}

}  // namespace armature
