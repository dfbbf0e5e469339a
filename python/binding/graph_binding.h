// Graphs and what is known of torch's operations, shown to Python for tests.
#pragma once

#include <Python.h>

namespace armature {

// Adds graph_text, graph_json, graph_to_torch, graph_to_function, torch_rule, torch_rule_name(s),
// torch_classify and torch_classify_method to the module. Returns 0, or -1 with an exception set.
int addGraphFunctions(PyObject* module);

}  // namespace armature
