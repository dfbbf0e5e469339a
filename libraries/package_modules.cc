#include "libraries/package_modules.h"

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/function_layout.h"
#include "cpython/type_lookup.h"

namespace armature {

namespace {

PyObject* item(PyObject* dict, PyObject* key) {
  PyObject* value = key ? PyDict_GetItemWithError(dict, key) : nullptr;
  if (!value) clearException();
  return value;
}

PyObject* item(PyObject* dict, std::string_view key) {
  Ref<> name = checked(PyUnicode_FromStringAndSize(key.data(), key.size()));
  PyObject* value = item(dict, name.get());
  clearException();
  return value;
}

// The key of a value; empty if the dict does not have it.
std::string_view nameOf(PyObject* dict, PyObject* object) {
  PyObject *name, *value;
  for (Py_ssize_t i = 0; PyDict_Next(dict, &i, &name, &value);) {
    if (value == object) return stringView(name);
  }
  return {};
}

// Is one of the values a module whose dict this is?
bool holdsModule(PyObject* values, BorrowedRef<> dict) {
  PyObject *name, *value;
  for (Py_ssize_t i = 0; PyDict_Next(values, &i, &name, &value);) {
    if (PyModule_CheckExact(value) && PyModule_GetDict(value) == dict.get()) return true;
  }
  return false;
}

// Does the code stand in the module's file? What a program makes with the module's globals does
// not.
bool isOfFile(PyObject* dict, PyCodeObject* code) {
  static PyObject* const name = staticName("__file__");
  PyObject* file = item(dict, name);
  return !file || !PyUnicode_Check(file) || file == code->co_filename ||
         PyUnicode_Compare(file, code->co_filename) == 0;
}

}  // namespace

std::string_view stringView(BorrowedRef<> object) {
  if (!object || !PyUnicode_Check(object.get())) return {};
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object.get(), &size);
  if (!text) clearException();
  return text ? std::string_view(text, size) : std::string_view();
}

bool PackageModules::isPackageName(std::string_view name) const {
  return name.starts_with(package_) &&
         (name.size() == package_.size() || name[package_.size()] == '.');
}

PyObject* PackageModules::dictOf(std::string_view module) {
  if (!isPackageName(module)) return nullptr;
  auto [entry, isNew] = dictOfName_.try_emplace(llvm::StringRef(module.data(), module.size()));
  if (!isNew) return entry->second;
  PyObject* object = item(PyImport_GetModuleDict(), module);
  if (!object || !PyModule_Check(object)) {
    dictOfName_.erase(entry);
    return nullptr;
  }
  PyObject* dict = PyModule_GetDict(object);
  entry->second = dict;
  nameOfDict_.try_emplace(dict, std::string_view(entry->first()));
  kept_.push_back(Ref<>::create(dict));
  return dict;
}

std::string_view PackageModules::moduleOf(BorrowedRef<> dict) {
  if (auto found = nameOfDict_.find(dict.get()); found != nameOfDict_.end()) return found->second;
  if (!dict || !PyDict_Check(dict.get())) return {};
  static PyObject* const nameKey = staticName("__name__");
  std::string_view claimed = stringView(item(dict, nameKey));
  PyObject* registered = dictOf(claimed);
  if (!registered) return {};
  // An object with properties may stand before a module, which it then holds.
  if (registered != dict.get() && !holdsModule(registered, dict)) return {};
  auto [entry, isNew] = nameOfDict_.try_emplace(
      dict.get(), dictOfName_.find(llvm::StringRef(claimed.data(), claimed.size()))->first());
  if (isNew) kept_.push_back(Ref<>::create(dict));
  return entry->second;
}

PackageModules::Home PackageModules::homeOf(BorrowedRef<> function) {
  using cpython::FunctionField;
  PyObject* dict = cpython::read(function, FunctionField::Globals);
  Home home{.module = definedIn(function), .name = {}};
  if (home.module.empty()) return home;
  PyObject* object = function.get();
  PyObject* codeName = cpython::codeOf(function)->co_name;
  for (PyObject* claimed : {codeName, cpython::read(function, FunctionField::Name)}) {
    if (item(dict, claimed) == object) {
      home.name = stringView(claimed);
      return home;
    }
  }
  home.name = nameOf(dict, object);
  return home;
}

std::string_view PackageModules::definedIn(BorrowedRef<> function) {
  PyObject* dict = cpython::read(function, cpython::FunctionField::Globals);
  return isForeign(function) ? std::string_view() : moduleOf(dict);
}

bool PackageModules::isForeign(BorrowedRef<> function) {
  PyObject* dict = cpython::read(function, cpython::FunctionField::Globals);
  return !moduleOf(dict).empty() && !isOfFile(dict, cpython::codeOf(function));
}

bool PackageModules::holdsClass(BorrowedRef<PyTypeObject> type) {
  std::string_view name = cpython::nameOf(type.get());
  if (!cpython::isHeapType(type.get())) return isPackageName(name);
  PyObject* dict = dictOf(stringView(cpython::ownAttribute(type.get(), "__module__")));
  return dict && item(dict, name) == reinterpret_cast<PyObject*>(type.get());
}

}  // namespace armature
