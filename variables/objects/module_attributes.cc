#include "variables/objects/module_attributes.h"

#include <cstring>

#include "variables/containers/dict.h"
#include "variables/lazy.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// torch.nn.Module and the functions of its that this file stands for; null while torch is not
// imported.
struct ModuleClass {
  PyTypeObject* type = nullptr;
  PyObject* getattr = nullptr;
  PyObject* call = nullptr;
  PyObject* globalHooks[4] = {};  // the dicts of process-wide hooks
};

const ModuleClass* moduleClass() {
  static ModuleClass found;
  if (found.type) return &found;
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* module = PyDict_GetItemString(modules, "torch.nn.modules.module");
  if (!module) return nullptr;
  PyObject* dict = PyModule_GetDict(module);
  PyObject* type = PyDict_GetItemString(dict, "Module");
  if (!type || !PyType_Check(type)) return nullptr;
  static constexpr const char* kHooks[] = {"_global_forward_hooks", "_global_forward_pre_hooks",
                                           "_global_backward_hooks", "_global_backward_pre_hooks"};
  for (int i = 0; i < 4; ++i) found.globalHooks[i] = PyDict_GetItemString(dict, kHooks[i]);
  PyObject* typeDict = reinterpret_cast<PyTypeObject*>(type)->tp_dict;
  found.getattr = PyDict_GetItemString(typeDict, "__getattr__");
  found.call = PyDict_GetItemString(typeDict, "__call__");
  found.type = reinterpret_cast<PyTypeObject*>(type);
  return &found;
}

PyObject* interned(const char* name) { return PyUnicode_InternFromString(name); }

}  // namespace

bool isModuleGetattr(PyObject* function) {
  const ModuleClass* stock = moduleClass();
  return stock && function == stock->getattr;
}

bool isModuleType(PyTypeObject* type) {
  const ModuleClass* stock = moduleClass();
  return stock && PyType_IsSubtype(type, stock->type);
}

Value moduleGetAttribute(Translator& translator, const Value& module, PyObject* name) {
  static PyObject* const kTables[] = {interned("_parameters"), interned("_buffers"),
                                      interned("_modules")};
  DictVariable* dict = slotsOf(module).instanceDict(translator, module);
  if (!dict) return Value();
  for (PyObject* table : kTables) {
    Value entries = translator.realized(dict->get(translator, table));
    auto* values = trackerOf<DictVariable>(entries);
    if (!values) continue;
    if (Value value = values->get(translator, name)) return value;
    if (translator.exceptionPending()) return Value();
  }
  return Value();
}

bool callsForwardDirectly(Translator& translator, const Value& module) {
  auto* object = trackerOf<UserObjectVariable>(module);
  const ModuleClass* stock = moduleClass();
  if (!object || !stock || !translator.heap.isSubtype(object->type(), stock->type)) {
    return false;
  }
  static PyObject* const call = interned("__call__");
  static PyObject* const compiled = interned("_compiled_call_impl");
  static PyObject* const kHooks[] = {interned("_forward_hooks"), interned("_forward_pre_hooks"),
                                     interned("_backward_hooks"), interned("_backward_pre_hooks")};
  if (translator.heap.lookup(object->type(), call).object != stock->call) return false;
  for (PyObject* hooks : stock->globalHooks) {
    if (!hooks || PyDict_GET_SIZE(hooks) != 0) return false;
    translator.addGuard(translator.sources->globalsDict(hooks, false),
                        GuardType::EMPTY_NN_MODULE_HOOKS_DICT);
  }
  DictVariable* dict = slotsOf(module).instanceDict(translator, module);
  if (!dict) return false;
  // Module.compile() makes __call__ go elsewhere; the class attribute is None.
  if (dict->has(translator, Value::constant(compiled))) return false;
  for (PyObject* name : kHooks) {
    Value hooks = dict->get(translator, name);
    // Looked at without becoming a variable: an empty dict that the trace has not touched.
    auto* lazy = trackerOf<LazyVariable>(hooks);
    bool isEmpty = lazy && !lazy->realized && PyDict_Check(lazy->existing()) &&
                   PyDict_GET_SIZE(lazy->existing()) == 0;
    if (!isEmpty) {
      auto* table = trackerOf<DictVariable>(translator.realized(hooks));
      if (!table || table->size(translator) != 0) return false;
      continue;
    }
    translator.addGuard(lazy->source(), GuardType::EMPTY_NN_MODULE_HOOKS_DICT);
  }
  return true;
}

}  // namespace armature
