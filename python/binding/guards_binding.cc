#include "python/binding/guards_binding.h"

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/checked.h"
#include "cpython/c_functions.h"
#include "guards/array_library.h"
#include "guards/check_function_manager.h"
#include "libraries/numpy/array_reader.h"
#include "libraries/torch/global_state.h"
#include "libraries/torch/queries.h"
#include "libraries/torch/tensor_reader.h"
#include "libraries/verification.h"

namespace armature {
namespace {

// --- From Python descriptions to sources and guards. Errors are std::invalid_argument, or those of
// CPython.

void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

std::string_view text(PyObject* object) {
  require(PyUnicode_CheckExact(object), "expected a str");
  const char* data = PyUnicode_AsUTF8(object);
  if (!data) throw PendingPythonException();
  return data;
}

int64_t integer(PyObject* object) {
  require(PyLong_CheckExact(object) || PyBool_Check(object), "expected an int");
  int64_t value = PyLong_AsLongLong(object);
  if (value == -1 && PyErr_Occurred()) throw PendingPythonException();
  return value;
}

// The position of a local or an item.
int64_t position(PyObject* object) {
  int64_t value = integer(object);
  require(value >= 0, "a position is negative");
  return value;
}

constexpr std::pair<std::string_view, SourceKind> pathKinds[] = {
    {"Type", SourceKind::Type},
    {"InstanceDict", SourceKind::InstanceDict},
    {"DictItem", SourceKind::DictItem},
    {"DictKey", SourceKind::DictKey},
    {"ListItem", SourceKind::ListItem},
    {"DequeItem", SourceKind::DequeItem},
    {"TupleItem", SourceKind::TupleItem},
    {"Slot", SourceKind::Slot},
    {"TypeAttribute", SourceKind::TypeAttribute},
    {"CellContents", SourceKind::CellContents},
    {"FunctionCode", SourceKind::FunctionCode},
    {"FunctionDefaults", SourceKind::FunctionDefaults},
    {"FunctionKwDefaults", SourceKind::FunctionKwDefaults},
    {"FunctionClosure", SourceKind::FunctionClosure},
    {"MethodFunction", SourceKind::MethodFunction},
    {"MethodSelf", SourceKind::MethodSelf},
    {"TypeMro", SourceKind::TypeMro},
    {"TypeDict", SourceKind::TypeDict},
    {"ProxiedMapping", SourceKind::ProxiedMapping},
    {"WeakReferent", SourceKind::WeakReferent},
    {"IteratorItem", SourceKind::IteratorItem},
    {"IteratorValue", SourceKind::IteratorValue},
    {"IteratorField", SourceKind::IteratorField},
    {"GeneratorSlot", SourceKind::GeneratorSlot},
    {"Descriptor", SourceKind::Descriptor},
};

SourceKind pathKind(std::string_view name) {
  for (auto [known, kind] : pathKinds)
    if (known == name) return kind;
  throw std::invalid_argument("no kind of source: " + std::string(name));
}

// Where descriptions are read.
struct World {
  std::shared_ptr<SourceTable> table;
  size_t localCount;
};

// ("Local", 0, "x"), ("GlobalsDict", {...}), ("DictItem", base, "key"), ("Type", base), …
const Source* parseSource(const World& world, PyObject* description, int depth = 0) {
  constexpr int kDeepest = 1000;
  require(depth < kDeepest, "a source is nested too deep");
  require(PyTuple_Check(description) && PyTuple_GET_SIZE(description) > 0, "a source is a tuple");
  SourceTable& table = *world.table;
  auto local = [&](PyObject* object) {
    int64_t index = position(object);
    require(static_cast<size_t>(index) < world.localCount, "there is no such local");
    return index;
  };
  auto name_ = [](PyObject* object) {
    text(object);
    return object;
  };
  Py_ssize_t size = PyTuple_GET_SIZE(description);
  auto field = [&](Py_ssize_t i) {
    if (i >= size) throw std::invalid_argument("a source lacks an operand");
    return PyTuple_GET_ITEM(description, i);
  };
  std::string_view name = text(field(0));
  if (name == "Local") return table.local(local(field(1)), name_(field(2)));
  if (name == "LocalCell") return table.localCell(local(field(1)), name_(field(2)));
  if (name == "GlobalsDict") {
    require(PyDict_Check(field(1)), "globals are a dict");
    return table.globalsDict(field(1), size < 3);
  }
  if (name == "BuiltinsDict") return table.builtinsDict();
  if (name == "ModulesDict") return table.modulesDict();
  if (name == "HandledException") return table.handledException();
  SourceKind kind = pathKind(name);
  const Source* base = parseSource(world, field(1), depth + 1);
  switch (kind) {
    case SourceKind::DictKey:
    case SourceKind::ListItem:
    case SourceKind::DequeItem:
    case SourceKind::TupleItem:
    case SourceKind::IteratorItem:
    case SourceKind::IteratorValue:
    case SourceKind::IteratorField:
    case SourceKind::GeneratorSlot:
      return table.item(kind, base, position(field(2)));
    case SourceKind::DictItem:
      return table.item(kind, base, BorrowedRef<>(field(2)));
    case SourceKind::Slot:
      require(Py_TYPE(field(2)) == &PyMemberDescr_Type, "a slot is a member descriptor");
      return table.item(kind, base, BorrowedRef<>(field(2)));
    case SourceKind::TypeAttribute:
      return table.item(kind, base, BorrowedRef<>(name_(field(2))));
    case SourceKind::Descriptor:
      require(Py_TYPE(field(2)) == &PyMemberDescr_Type || Py_TYPE(field(2)) == &PyGetSetDescr_Type,
              "a descriptor is one of C");
      return table.item(kind, base, BorrowedRef<>(field(2)));
    default:
      return table.path(kind, base);
  }
}

void registerArrayLibraries() {
  registerTorch();
  if (PyErr_Occurred()) throw PendingPythonException();
  registerNumPy();
  if (PyErr_Occurred()) throw PendingPythonException();
}

std::shared_ptr<const TensorMetadata> readMetadata(PyObject* array) {
  registerArrayLibraries();
  std::string why = "neither torch nor NumPy knows it";
  for (ArrayLibraryKind kind : {ArrayLibraryKind::Torch, ArrayLibraryKind::NumPy}) {
    const ArrayLibrary* library = arrayLibrary(kind);
    auto metadata = std::make_shared<TensorMetadata>();
    if (library && library->read(array, *metadata, &why)) return metadata;
  }
  throw std::invalid_argument(why);
}

std::vector<Ref<>> elements(PyObject* iterable) {
  Ref<> list = checked(PySequence_List(iterable));
  std::vector<Ref<>> result;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i)
    result.push_back(Ref<>::create(PyList_GET_ITEM(list.get(), i)));
  return result;
}

std::vector<const Source*> parseSources(const World& world, PyObject* descriptions) {
  std::vector<const Source*> sources;
  for (const Ref<>& each : elements(descriptions))
    sources.push_back(parseSource(world, each.get()));
  return sources;
}

GuardType guardType(std::string_view name) {
#define GUARD_TYPE(type) \
  if (name == #type) return GuardType::type;
#include "guards/guard_types.def"
  throw std::invalid_argument("no type of guard: " + std::string(name));
}

// (source or None, "TYPE_MATCH", operand, number, other source); the last three may be missing. The
// operand of a TENSOR_MATCH is the example. Or (None, "DUPLICATE_INPUT", written, read): two
// sequences of sources.
Guard parseGuard(const World& world, PyObject* description) {
  require(PyTuple_Check(description) && PyTuple_GET_SIZE(description) >= 2,
          "a guard is a tuple of source, type, operand, number, other");
  auto field = [&](Py_ssize_t i) {
    return i < PyTuple_GET_SIZE(description) ? PyTuple_GET_ITEM(description, i) : nullptr;
  };
  Guard guard;
  guard.type = guardType(text(field(1)));
  if (field(0) != Py_None) {
    guard.source = parseSource(world, field(0));
  } else if (guard.type == GuardType::DUPLICATE_INPUT) {
    if (!field(3)) throw std::invalid_argument("expected what is written, and what is read");
    guard.detail = std::make_shared<const DistinctObjects>(DistinctObjects{
        .written = parseSources(world, field(2)), .read = parseSources(world, field(3))});
    return guard;
  }
  if (PyObject* operand = field(2)) {
    if (guard.type == GuardType::TENSOR_MATCH)
      guard.detail = readMetadata(operand);
    else
      guard.operand = Ref<>::create(operand);
  }
  if (PyObject* number = field(3)) guard.number = integer(number);
  if (PyObject* other = field(4)) guard.detail = parseSource(world, other);
  bool isCode = guard.type == GuardType::CLOSURE_MATCH;
  require(!isCode || (guard.operand && PyCode_Check(guard.operand.get())),
          "expected a code object");
  return guard;
}

// --- GuardManager

struct GuardManager {
  PyObject_HEAD CheckFunctionManager* manager;
  size_t localCount;
  bool* isCell;
};

GuardManager* self(PyObject* object) { return reinterpret_cast<GuardManager*>(object); }

// Runs `body`, and turns C++ errors into ValueError.
template <class Body>
auto guarded(Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const PendingPythonException&) {
    return decltype(body()){};
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
    return decltype(body()){};
  }
}

PyObject* newManager(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"guards", "captures", "example", "cells", nullptr};
  PyObject *guards, *captures, *example, *cells = nullptr;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO|O", const_cast<char**>(names), &guards,
                                   &captures, &example, &cells))
    return nullptr;
  return guarded([&]() -> PyObject* {
    registerArrayLibraries();
    std::vector<PyObject*> slots;
    std::vector<Ref<>> owned = elements(example);
    for (const Ref<>& each : owned) slots.push_back(each.get());
    World world{std::make_shared<SourceTable>(), slots.size()};
    std::vector<Guard> requests;
    for (const Ref<>& each : elements(guards)) requests.push_back(parseGuard(world, each.get()));
    std::vector<const Source*> sources = parseSources(world, captures);
    std::unique_ptr<bool[]> isCell(new bool[slots.size() + 1]());
    for (const Ref<>& each : cells ? elements(cells) : std::vector<Ref<>>()) {
      auto cell = static_cast<size_t>(position(each.get()));
      require(cell < slots.size() && PyCell_Check(slots[cell]), "there is no such cell");
      isCell[cell] = true;
    }
    auto manager = std::make_unique<CheckFunctionManager>(
        world.table, std::move(requests), std::move(sources),
        FrameLocalsMapping{slots.data(), isCell.get(), slots.size()});
    PyObject* object = type->tp_alloc(type, 0);
    if (!object) return nullptr;
    self(object)->manager = manager.release();
    self(object)->localCount = slots.size();
    self(object)->isCell = isCell.release();
    return object;
  });
}

void deleteManager(PyObject* object) {
  delete self(object)->manager;
  delete[] self(object)->isCell;
  Py_TYPE(object)->tp_free(object);
}

bool hasLocals(PyObject* object, PyObject* const* arguments, Py_ssize_t count) {
  if (static_cast<size_t>(count) != self(object)->localCount) {
    PyErr_Format(PyExc_TypeError, "expected %zu locals", self(object)->localCount);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!self(object)->isCell[i] || PyCell_Check(arguments[i])) continue;
    PyErr_Format(PyExc_TypeError, "local %zd is a cell", i);
    return false;
  }
  return true;
}

FrameLocalsMapping mapping(PyObject* object, PyObject* const* arguments, Py_ssize_t count) {
  return {arguments, self(object)->isCell, static_cast<size_t>(count)};
}

PyObject* check(PyObject* object, PyObject* const* arguments, Py_ssize_t count) {
  if (!hasLocals(object, arguments, count)) return nullptr;
  CheckFunctionManager& manager = *self(object)->manager;
  std::vector<PyObject*> captures(manager.captureCount());
  if (!manager.check(mapping(object, arguments, count), captures.data())) Py_RETURN_NONE;
  PyObject* result = PyTuple_New(static_cast<Py_ssize_t>(captures.size()));
  for (size_t i = 0; result && i < captures.size(); ++i)
    PyTuple_SET_ITEM(result, static_cast<Py_ssize_t>(i), Py_NewRef(captures[i]));
  manager.releaseCaptures();
  return result;
}

PyObject* checkVerbose(PyObject* object, PyObject* const* arguments, Py_ssize_t count) {
  if (!hasLocals(object, arguments, count)) return nullptr;
  GuardFailure failure;
  bool passed = self(object)->manager->checkVerbose(mapping(object, arguments, count), failure);
  return Py_BuildValue("(Oss)", passed ? Py_True : Py_False, failure.text.c_str(),
                       failure.actual.c_str());
}

// Nanoseconds of one check, the least of several rounds of `repetitions` each.
PyObject* measure(PyObject* object, PyObject* const* arguments, Py_ssize_t count) {
  if (count == 0) {
    PyErr_SetString(PyExc_TypeError, "measure() needs a number of repetitions");
    return nullptr;
  }
  if (!hasLocals(object, arguments + 1, count - 1)) return nullptr;
  return guarded([&]() -> PyObject* {
    constexpr int64_t kMost = 10'000'000;
    int64_t repetitions = integer(arguments[0]);
    require(repetitions > 0 && repetitions <= kMost, "repetitions are 1 to 10,000,000");
    CheckFunctionManager& manager = *self(object)->manager;
    FrameLocalsMapping locals = mapping(object, arguments + 1, count - 1);
    std::vector<PyObject*> captures(manager.captureCount());
    using Clock = std::chrono::steady_clock;
    std::optional<double> best;
    for (int round = 0; round < 7; ++round) {
      auto start = Clock::now();
      for (int64_t i = 0; i < repetitions; ++i)
        if (!manager.check(locals, captures.data()))
          throw std::invalid_argument("the guards do not hold");
      std::chrono::duration<double, std::nano> spent = Clock::now() - start;
      double each = spent.count() / static_cast<double>(repetitions);
      if (!best || each < *best) best = each;
    }
    manager.releaseCaptures();
    return PyFloat_FromDouble(*best);
  });
}

PyObject* toText(PyObject* object) {
  return PyUnicode_FromString(self(object)->manager->toString().c_str());
}

PyObject* program(PyObject* object, void*) {
  return PyUnicode_FromString(self(object)->manager->programText().c_str());
}

PyObject* valid(PyObject* object, void*) { return PyBool_FromLong(self(object)->manager->valid()); }

PyMethodDef managerMethods[] = {
    {"check", cpython::asMethod(check), METH_FASTCALL, "The captures as a tuple, or None."},
    {"check_verbose", cpython::asMethod(checkVerbose), METH_FASTCALL,
     "(passed, failed guard, found)."},
    {"measure", cpython::asMethod(measure), METH_FASTCALL,
     "measure(repetitions, *locals): ns a check."},
    {},
};

PyGetSetDef managerProperties[] = {
    {"program", program, nullptr, "The instructions, one a line.", nullptr},
    {"valid", valid, nullptr, "False once an object known by identity has died.", nullptr},
    {},
};

PyTypeObject managerType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "armature._C.GuardManager",
    .tp_basicsize = sizeof(GuardManager),
    .tp_dealloc = deleteManager,
    .tp_str = toText,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "GuardManager(guards, captures, example, cells=()): compiled guards.",
    .tp_methods = managerMethods,
    .tp_getset = managerProperties,
    .tp_new = newManager,
};

// --- Metadata

PyObject* integers(const Dimensions& values) {
  PyObject* result = PyTuple_New(static_cast<Py_ssize_t>(values.size()));
  for (size_t i = 0; result && i < values.size(); ++i)
    PyTuple_SET_ITEM(result, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(values[i].value()));
  return result;
}

PyObject* tensorMetadata(PyObject*, PyObject* array) {
  return guarded([&]() -> PyObject* {
    std::shared_ptr<const TensorMetadata> metadata = readMetadata(array);
    auto truth = [](bool value) { return value ? Py_True : Py_False; };
    return Py_BuildValue(
        "{s:i,s:(ii),s:O,s:O,s:O,s:O,s:O,s:O,s:K,s:N,s:N,s:L,s:O,s:s}", "dtype", metadata->dtype,
        "device", metadata->device.type, metadata->device.index, "requires_grad",
        truth(metadata->requiresGrad), "is_leaf", truth(metadata->isLeaf), "is_inference",
        truth(metadata->isInference), "is_strided", truth(metadata->isStrided), "is_conj",
        truth(metadata->isConjugate), "is_neg", truth(metadata->isNegative), "dispatch_keys",
        static_cast<unsigned long long>(metadata->dispatchKeys), "sizes", integers(metadata->sizes),
        "strides", integers(metadata->strides), "storage_offset",
        static_cast<long long>(metadata->storageOffset.value()), "is_contiguous",
        truth(metadata->isContiguous()), "text", toString(*metadata).c_str());
  });
}

PyObject* tensorMatches(PyObject*, PyObject* arguments) {
  PyObject *array, *example;
  unsigned int observed;
  if (!PyArg_ParseTuple(arguments, "OOI", &array, &example, &observed)) return nullptr;
  return guarded([&]() -> PyObject* {
    std::shared_ptr<const TensorMetadata> metadata = readMetadata(example);
    return PyBool_FromLong(arrayLibrary(metadata->library)->matches(array, *metadata, observed));
  });
}

// Chooses how tensors are read, so that each way can be tested: "layout", "functions",
// "attributes". Returns the fastest that was verified.
PyObject* setTensorAccess(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    registerArrayLibraries();
    return PyUnicode_FromString(forceTensorAccess(std::string(text(name))));
  });
}

PyObject* globalState(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    registerArrayLibraries();
    const ArrayLibrary* torch = arrayLibrary(ArrayLibraryKind::Torch);
    if (!torch) throw std::invalid_argument("torch is not imported");
    std::string state = torch->captureGlobalState(~uint64_t{0});
    return PyBytes_FromStringAndSize(state.data(), static_cast<Py_ssize_t>(state.size()));
  });
}

PyObject* globalStateDifference(PyObject*, PyObject* state) {
  return guarded([&]() -> PyObject* {
    if (!PyBytes_Check(state)) throw std::invalid_argument("expected what global_state() returned");
    std::string known(PyBytes_AS_STRING(state), static_cast<size_t>(PyBytes_GET_SIZE(state)));
    registerArrayLibraries();
    const ArrayLibrary* torch = arrayLibrary(ArrayLibraryKind::Torch);
    require(torch != nullptr, "torch is not imported");
    return Py_BuildValue("(Os)", torch->globalStateMatches(known) ? Py_True : Py_False,
                         torch->explainGlobalState(known).c_str());
  });
}

// For tests: a way to look at a library fails its verification (libraries/verification.h).
PyObject* distrustWay(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    distrust(text(name));
    Py_RETURN_NONE;
  });
}

// [(name, [settings that it reads])] of torch's folded queries.
PyObject* torchQueries(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    Ref<> result = Ref<>::steal(PyList_New(0));
    for (const Query& query : queries()) {
      Ref<> settings = Ref<>::steal(PyList_New(0));
      for (const char* name : torchSettingNames(query.settings)) {
        Ref<> setting = Ref<>::steal(PyUnicode_FromString(name));
        if (!setting || PyList_Append(settings.get(), setting.get()) < 0) return nullptr;
      }
      std::string name(query.name);
      Ref<> row = Ref<>::steal(Py_BuildValue("(sO)", name.c_str(), settings.get()));
      if (!row || PyList_Append(result.get(), row.get()) < 0) return nullptr;
    }
    return result.release();
  });
}

PyMethodDef functions[] = {
    {"tensor_metadata", tensorMetadata, METH_O, "What is known of an array, as a dict."},
    {"tensor_matches", tensorMatches, METH_VARARGS, "tensor_matches(array, example, observed)."},
    {"set_tensor_access", setTensorAccess, METH_O, "'layout', 'functions' or 'attributes'."},
    {"distrust", distrustWay, METH_O, "Has a way to look at a library fail its verification."},
    {"torch_queries", torchQueries, METH_NOARGS, "Folded queries and the settings they read."},
    {"global_state", globalState, METH_NOARGS, "torch's global state, as bytes."},
    {"global_state_difference", globalStateDifference, METH_O, "(matches, explanation)."},
    {},
};

}  // namespace

int addGuardsFunctions(PyObject* module) {
  return PyModule_AddType(module, &managerType) < 0 ? -1 : PyModule_AddFunctions(module, functions);
}

}  // namespace armature
