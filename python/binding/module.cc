// armature._C: what the engine shows to Python.

#include <Python.h>

namespace {

PyModuleDef moduleDefinition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "armature._C",
    .m_size = 0,
};

}  // namespace

PyMODINIT_FUNC PyInit__C() { return PyModuleDef_Init(&moduleDefinition); }
