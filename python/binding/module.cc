// armature._C: what the engine shows to Python.

#include <Python.h>

#include <initializer_list>

#include "python/binding/bytecode_binding.h"
#include "python/binding/graph_binding.h"
#include "python/binding/guards_binding.h"
#include "python/binding/runtime_binding.h"

namespace {

int addFunctions(PyObject* module) {
  for (auto add : {armature::addBytecodeFunctions, armature::addGuardsFunctions,
                   armature::addGraphFunctions, armature::addRuntimeFunctions}) {
    if (add(module) < 0) return -1;
  }
  return 0;
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(addFunctions)},
    {},
};

PyModuleDef moduleDefinition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "armature._C",
    .m_size = 0,
    .m_slots = slots,
};

}  // namespace

PyMODINIT_FUNC PyInit__C() { return PyModuleDef_Init(&moduleDefinition); }
