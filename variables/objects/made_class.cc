#include "variables/objects/made_class.h"

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "cpython/made_classes.h"
#include "cpython/type_lookup.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/objects/property.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

UserClassVariable::UserClassVariable(MadeClass* made)
    : VariableTracker(VariableKind::UserClass, Py_TYPE(made->prototype.get())),
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
  if (trackerOf<MadeDescriptorVariable>(value)) {
    // Those of the prototype work on its instances.
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
    // (Not the doc of a property.)
    size_t count = std::min<size_t>(property->partCount(), 3);
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
                   type->tp_name, value.is(Py_None) ? "None" : nameOf(translator, value));
  return false;
}

// The bases' metaclasses and MROs decide what class it will be.
ValueVector readBases(Translator& translator, PyTypeObject* metaclass, const Value& bases,
                      Ref<>& tuple) {
  ValueVector classes;
  if (typeOf(bases) != &PyTuple_Type || !iterateInto(translator, bases, classes)) {
    refuse("bases " + describe(bases));
  }
  tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(classes.size())));
  for (size_t i = 0; i < classes.size(); ++i) {
    translator.realize(classes[i]);
    PyTypeObject* type = asClass(classes[i]);
    if (!type || !translator.heap.isSubtype(metaclass, translator.heap.metaclassOf(type))) {
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

// A descriptor of such a name would be taken for a method.
bool isSpecialMethod(PyObject* text) {
  if (isNamed(text, "__dict__") || isNamed(text, "__weakref__")) return false;
  static PyObject* const underscores = name("__");
  return isSpecialName(text) && PyUnicode_Tailmatch(text, underscores, 0, PY_SSIZE_T_MAX, 1) == 1;
}

// The names in __slots__; CPython sees to the rest.
Ref<> readSlots(Translator& translator, const Value& slots) {
  if (PyObject* text = slots.objectOrNull(); text && PyUnicode_CheckExact(text)) {
    return Ref<>::create(text);
  }
  ValueVector names;
  bool isKnown = typeOf(slots) == &PyTuple_Type || typeOf(slots) == &PyList_Type;
  if (!isKnown || !iterateInto(translator, slots, names)) refuse("__slots__");
  Ref<> tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(names.size())));
  for (size_t i = 0; i < names.size(); ++i) {
    translator.realize(names[i]);
    PyObject* name = names[i].objectOrNull();
    if (!name || !PyUnicode_CheckExact(name) || isSpecialMethod(name)) refuse("__slots__");
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(name));
  }
  return tuple;
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
      result.items.emplace_back(key, attribute);
      Ref<> slots = readSlots(translator, attribute);
      checked(PyDict_SetItem(result.placeholders.get(), text, slots.get()));
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
    // In globals without a name, classes have no __module__; the ones that are made here do.
    if (!module || !module.isConstant()) refuse("__module__");
    add(moduleName, module);
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
      translator.dropException();
      refuse("__set_name__ of " + describe(value));
    }
    value = Value::none();
  }
  return true;
}

// Does super(cls, cls).__init_subclass__() do anything? That of object does not.
bool tellBases(Translator& translator, const ValueVector& bases) {
  static PyObject* const special = name("__init_subclass__");
  return llvm::any_of(bases, [&](const Value& base) {
    Found found = translator.heap.lookup(asClass(base), special);
    return found.object != cpython::lookup(&PyBaseObject_Type, special);
  });
}

// type_new_init_subclass. False with an exception pending.
bool initSubclass(Translator& translator, MadeClass& made, const CallArguments& arguments) {
  static PyObject* const special = name("__init_subclass__");
  if (!made.tellsBases && !arguments.keywordCount()) return true;
  UserClassVariable* cls = made.variable;
  Value super = translator.make<SuperVariable>(cls, cls, cls->value());
  Value method = getAttribute(translator, super, special);
  if (!method) return false;
  CallArguments given;
  for (size_t i = 0; i < arguments.keywordCount(); ++i) {
    given.values.push_back(arguments.keywordValue(i));
  }
  given.keywordNames = arguments.keywordNames;
  return static_cast<bool>(call(translator, method, given));
}

// Is the metaclass one whose classes are as type makes them?
void requireMetaclass(Translator& translator, PyTypeObject* metaclass) {
  static PyObject* const names[] = {name("mro"), name("__getattribute__"), name("__setattr__"),
                                    name("__delattr__")};
  static PyObject* const finalizer = name("__del__");
  if (metaclass == &PyType_Type) return;
  bool isPlain = translator.heap.isSubtype(metaclass, &PyType_Type) &&
                 cpython::staticBase(metaclass) == &PyType_Type &&
                 !translator.heap.lookup(metaclass, finalizer);
  for (PyObject* method : names) {
    isPlain = isPlain && translator.heap.inherits(metaclass, &PyType_Type, method);
  }
  if (!isPlain) refuse(metaclass->tp_name);
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
    Value name = Value::constant(key);
    if (!value && object == Py_None) value = Value::none();
    if (!value) {
      value = translator.make<MadeDescriptorVariable>(made.variable, name, Py_TYPE(object));
    }
    made.madeNames.push_back(std::move(name));
    made.attributes->set(translator, made.madeNames.back(), value);
  }
}

}  // namespace

Value makeClass(Translator& translator, const Value& metaclassValue,
                const CallArguments& arguments) {
  Value text = translator.realized(arguments.values[0]);
  Value baseTuple = translator.realized(arguments.values[1]);
  Value names = translator.realized(arguments.values[2]);
  bool isGivenRightly = checkArgument(translator, 1, text, &PyUnicode_Type) &&
                        checkArgument(translator, 2, baseTuple, &PyTuple_Type) &&
                        checkArgument(translator, 3, names, &PyDict_Type);
  if (!isGivenRightly) return Value();
  PyObject* className = text.objectOrNull();
  if (!className || !PyUnicode_CheckExact(className)) refuse("name " + describe(text));
  PyTypeObject* metaclass = asClass(metaclassValue);
  requireMetaclass(translator, metaclass);
  Ref<> bases;
  ValueVector classes = readBases(translator, metaclass, baseTuple, bases);
  ClassNamespace read = readNamespace(translator, names);
  bool tellsBases = tellBases(translator, classes);
  static PyObject* const slots = name("__slots__");
  if (metaclass != &PyType_Type && PyDict_Contains(read.placeholders.get(), slots)) {
    refuse("__slots__");
  }
  if (tellsBases &&
      (!cpython::canBeAdopted(bases) || PyDict_Contains(read.placeholders.get(), slots))) {
    refuse("__init_subclass__");
  }
  Ref<> prototype = cpython::makeClass(metaclass, className, bases, read.placeholders, tellsBases);
  if (!prototype && tellsBases && PyErr_ExceptionMatches(PyExc_TypeError)) {
    clearException();
    refuse("__init_subclass__");  // Bases that come later are asked for more.
  }
  if (!prototype) return translator.raiseFromPython();
  MadeClass* made = translator.madeClasses().add(std::move(prototype));
  made->name = text;
  made->metaclass = metaclassValue;
  made->bases = std::move(classes);
  made->tellsBases = tellsBases;
  made->given = std::move(read.items);
  fillAttributes(translator, *made);
  if (read.classCell) read.classCell->store(translator, made->variable);
  if (!tellNames(translator, *made)) return Value();
  if (!initSubclass(translator, *made, arguments)) return Value();
  return made->variable;
}

namespace {

// type.__new__(metaclass, name, bases, namespace, …)
Value typeNew(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.positionalCount() != 4) refuse("type.__new__");
  Value metaclass = translator.realized(arguments.values[0]);
  PyTypeObject* type = asClass(metaclass);
  if (!type || !translator.heap.isSubtype(type, &PyType_Type)) refuse("type.__new__");
  CallArguments rest = arguments;
  rest.tail = false;
  rest.values.erase(rest.values.begin());
  return makeClass(translator, metaclass, rest);
}

// type_init, which has nothing to do.
Value typeInit(Translator& translator, const Value& self, CallArguments& arguments) {
  auto* cls = trackerOf<UserClassVariable>(translator.realized(self));
  if (!cls || !cls->made() || arguments.positionalCount() != 3) refuse("type.__init__");
  return Value::none();
}

// object.__init_subclass__
Value initSubclassOfObject(Translator& translator, const Value&, CallArguments& arguments) {
  PyTypeObject* cls = arguments.positionalCount() == 1
                          ? asClass(translator.realized(arguments.values[0]))
                          : nullptr;
  if (!cls) refuse("object.__init_subclass__");
  if (!arguments.keywordCount()) return Value::none();
  Found name = translator.heap.qualifiedNameOf(cls);
  if (name.source) translator.addGuard(name.source, GuardType::EQUALS_MATCH, name.object);
  return translator.raise(PyExc_TypeError, "%U.__init_subclass__() takes no keyword arguments",
                          name.object);
}

void registerClassMaking() {
  registerMethodHandler(&PyBaseObject_Type, "__init_subclass__", initSubclassOfObject);
  registerMethodHandler(&PyType_Type, "__new__", typeNew);
  registerMethodHandler(&PyType_Type, "__init__", typeInit);
}
ARMATURE_REGISTER_HANDLERS(registerClassMaking);

}  // namespace

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

namespace {

// Are these the bases that it has?
bool hasBases(Translator& translator, const MadeClass& made, const Value& value) {
  ValueVector bases;
  Value tuple = translator.realized(value);
  if (typeOf(tuple) != &PyTuple_Type || !iterateInto(translator, tuple, bases)) return false;
  if (bases.size() != made.bases.size()) return false;
  for (size_t i = 0; i < bases.size(); ++i) {
    if (asClass(translator.realized(bases[i])) != asClass(made.bases[i])) return false;
  }
  return true;
}

// type_set_qualname: as if the class had been made with it.
bool setQualifiedName(Translator& translator, MadeClass& made, const Value& value) {
  static PyObject* const attribute = name("__qualname__");
  Value text = translator.realized(value);
  if (!text.isConstant() || !PyUnicode_CheckExact(text.object())) refuse("__qualname__");
  PyObject* prototype = made.prototype.get();
  Ref<> before = Ref<>::create(cpython::qualifiedName(made.variable->value()));
  recordUndo(translator.trail, [&made, prototype, before, given = made.given] {
    cpython::setClassAttribute(prototype, attribute, before.get());
    made.given = given;
  });
  if (!cpython::setClassAttribute(prototype, attribute, text.object())) {
    throw PendingPythonException();
  }
  for (auto& [key, item] : made.given) {
    if (isNamed(key.object(), "__qualname__")) return item = text, true;
  }
  made.given.emplace_back(Value::constant(attribute), text);
  return true;
}

}  // namespace

bool setMadeClassAttribute(Translator& translator, MadeClass& made, PyObject* attribute,
                           const Value& value) {
  PyTypeObject* type = made.variable->value();
  bool isItem = isNamed(attribute, "__module__") || isNamed(attribute, "__doc__") ||
                isNamed(attribute, "__annotations__");
  if (isNamed(attribute, "__bases__") && value && hasBases(translator, made, value)) return true;
  if (isNamed(attribute, "__qualname__") && value) return setQualifiedName(translator, made, value);
  Found ofType = translator.heap.lookup(Py_TYPE(type), attribute);
  bool isComputed = ofType && translator.heap.isDataDescriptor(ofType.object);
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
      clearException();
    });
    bool ok = cpython::setClassAttribute(reinterpret_cast<PyObject*>(type), attribute,
                                         now ? placeholder(now) : nullptr);
    if (!ok) throw PendingPythonException();
  }
  if (!value) return static_cast<bool>(made.attributes->remove(translator, key));
  return made.attributes->set(translator, key, now);
}

}  // namespace armature
