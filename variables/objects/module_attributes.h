// torch.nn.Module's own attribute protocol, which every model goes through on every access: done
// here directly, with the very effects of its Python code.
#pragma once

#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// True if `function` is torch.nn.Module.__getattr__ itself.
bool isModuleGetattr(PyObject* function);
// What Module.__getattr__ finds in _parameters, _buffers and _modules; null without an exception
// if there is no such attribute.
Value moduleGetAttribute(Translator& translator, const Value& module, PyObject* name);
// True if `type` is a subclass of torch.nn.Module.
bool isModuleType(PyTypeObject* type);
// Whether calling the module is calling its forward: the class has the stock __call__, and neither
// it nor the process has hooks. Guards the answer when it is yes.
bool callsForwardDirectly(Translator& translator, const Value& module);

}  // namespace armature
