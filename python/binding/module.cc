// armature._C: what the engine shows to Python.

#include <Python.h>

#include <cstdlib>
#include <initializer_list>

#include "core/out_of_memory.h"
#include "core/ref.h"
#include "cpython/self_test.h"
#include "python/binding/bytecode_binding.h"
#include "python/binding/graph_binding.h"
#include "python/binding/guards_binding.h"
#include "python/binding/runtime_binding.h"

namespace {

using armature::Ref;

PyObject* assumptions(PyObject*, PyObject*) {
  Ref<> names = Ref<>::steal(PyList_New(0));
  for (const armature::cpython::Assumption& assumption : armature::cpython::assumptions()) {
    Ref<> name = Ref<>::steal(PyUnicode_FromString(assumption.name));
    if (!names || !name || PyList_Append(names.get(), name.get()) < 0) return nullptr;
  }
  return names.release();
}

PyMethodDef functions[] = {
    {"assumptions", assumptions, METH_NOARGS,
     "assumptions()\n--\n\n"
     "The names of what an import tests of the interpreter. With one of them in the environment "
     "as ARMATURE_FAIL_ASSUMPTION, that test fails."},
    {},
};

int initialize(PyObject* module) {
  armature::prepareForOutOfMemory();
  if (armature::cpython::verifyInterpreter(std::getenv("ARMATURE_FAIL_ASSUMPTION")) < 0) return -1;
  if (PyModule_AddFunctions(module, functions) < 0) return -1;
  for (auto add : {armature::addBytecodeFunctions, armature::addGuardsFunctions,
                   armature::addGraphFunctions, armature::addRuntimeFunctions}) {
    if (add(module) < 0) return -1;
  }
  return 0;
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(initialize)},
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
