// Instructions on names: globals, cells, attributes, subscripts, imports.
#include "core/checked.h"
#include "core/text.h"
#include "cpython/function_layout.h"
#include "interpreter/instruction_translator.h"
#include "variables/containers/dict.h"
#include "variables/containers/dict_methods.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/exception.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// What sys.modules has by the name, guarded; null where it has nothing, or no module. Once the
// program has come to that dict, it is what the trace has made of it.
PyObject* importedModule(Translator& translator, PyObject* name) {
  PyObject* modules = PyImport_GetModuleDict();
  if (translator.known(modules)) {
    Value module = translator.moduleDict(modules)->get(translator, name);
    PyObject* object = module ? translator.realized(module).objectOrNull() : nullptr;
    return object && PyModule_CheckExact(object) ? object : nullptr;
  }
  const Source* dict = translator.sources->modulesDict();
  PyObject* module = translator.heap.item(dict, modules, name).object;
  if (!module || !PyModule_CheckExact(module)) return nullptr;
  const Source* source = translator.sources->item(SourceKind::DictItem, dict, name);
  translator.addGuard(source, GuardType::MODULE_MATCH, module);
  return module;
}

}  // namespace

void raiseNameError(Translator& translator, const char* format, PyObject* name) {
  translator.raise(PyExc_NameError, format, name);
  requireKind<ExceptionVariable>(translator.exception())->members[0] = Value::constant(name);
}

// _PyEval_BuiltinsFromGlobals of ceval.c
PyObject* InstructionTranslator::builtinsNamedBy(DictVariable* globals) {
  static PyObject* const name = staticName("__builtins__");
  Found found = heap.item(globals->source(), globals->existing(), name);
  if (!found) return PyEval_GetBuiltins();
  addGuard(found.source, GuardType::ID_MATCH, found.object);
  bool isModule = PyModule_Check(found.object);
  PyObject* builtins = isModule ? PyModule_GetDict(found.object) : found.object;
  if (PyDict_Check(builtins)) return builtins;
  throw GraphBreak(GraphBreakKind::UnsupportedGlobals, describe(Value::constant(builtins)));
}

Value InstructionTranslator::builtin(Frame& frame, PyObject* name) {
  if (!frame.globals->existing()) {
    DictVariable* chosen = frame.function ? frame.function->builtins : nullptr;
    if (!chosen) throw GraphBreak(GraphBreakKind::UnsupportedGlobals, printable(name));
    return chosen->get(*this, name);
  }
  PyObject* chosen = chosenBuiltins(frame);
  PyObject* builtins = chosen ? chosen : builtinsNamedBy(frame.globals);
  if (!builtins || !PyDict_CheckExact(builtins)) {
    throw GraphBreak(GraphBreakKind::UnsupportedGlobals, printable(name));
  }
  return moduleDict(builtins)->get(*this, name);
}

bool InstructionTranslator::loadBuildClass(Frame& frame) {
  static PyObject* const name = staticName("__build_class__");
  Value function = builtin(frame, name);
  if (!function) {
    raise(PyExc_NameError, "__build_class__ not found");
    return false;
  }
  frame.push(std::move(function));
  return true;
}

bool InstructionTranslator::loadGlobal(Frame& frame, PyObject* name, bool push) {
  // Python asks a subclass of dict by its __getitem__.
  if (frame.globals->type() != &PyDict_Type) {
    throw GraphBreak(GraphBreakKind::UnsupportedGlobals, describe(Value(frame.globals)));
  }
  Value value = frame.globals->get(*this, name);
  if (!value) value = builtin(frame, name);
  if (!value) {
    raiseNameError(*this, "name '%U' is not defined", name);
    return false;
  }
  if (push) frame.push(std::move(value));
  return true;
}

bool InstructionTranslator::storeGlobal(Frame& frame, const Instruction& instruction) {
  PyObject* name = frame.code->names[instruction.argument].get();
  Value key = Value::constant(name);
  bool isStore = instruction.opcode == Opcode::STORE_GLOBAL;
  requireHeardOf(*this, frame.globals, key, isStore ? frame.peek(1) : Value());
  if (isStore) {
    if (!frame.globals->set(*this, key, frame.peek(1))) return false;
    frame.drop(1);
    return true;
  }
  if (frame.globals->remove(*this, key)) return true;
  raiseNameError(*this, "name '%U' is not defined", name);
  return false;
}

bool InstructionTranslator::cellOperation(Frame& frame, const Instruction& instruction) {
  Value& local = frame.locals()[instruction.argument];
  if (instruction.opcode == Opcode::MAKE_CELL) {
    local = make<NewCellVariable>(std::move(local));
    return true;
  }
  if (instruction.opcode == Opcode::LOAD_CLOSURE) {
    frame.push(Value(local));
    return true;
  }
  auto* cell = requireKind<NewCellVariable>(local);
  switch (instruction.opcode) {
    case Opcode::STORE_DEREF:
      cell->store(*this, frame.peek(1));
      frame.drop(1);
      return true;
    case Opcode::LOAD_DEREF:
    case Opcode::LOAD_CLASSDEREF:
      if (!cell->read(*this)) break;
      frame.push(Value(cell->contents()));
      return true;
    case Opcode::DELETE_DEREF:
      if (!cell->read(*this)) break;
      cell->store(*this, Value());
      return true;
    default:
      throw GraphBreak(GraphBreakKind::UnsupportedInstruction,
                       std::string(opcodeName(instruction.opcode)));
  }
  const LocalVariable& variable = frame.code->locals[instruction.argument];
  if (variable.kind == LocalKind::Free) {
    raiseNameError(
        *this,
        "cannot access free variable '%U' where it is not associated with a value in enclosing "
        "scope",
        variable.name.get());
  } else {
    raise(PyExc_UnboundLocalError,
          "cannot access local variable '%U' where it is not associated with a value",
          variable.name.get());
  }
  return false;
}

// import_name of ceval.c calls what the builtins have as __import__, which a program may replace.
void InstructionTranslator::requireBuiltinImport(Frame& frame, PyObject* name) {
  static PyObject* const importName = staticName("__import__");
  PyObject* chosen = chosenBuiltins(frame);
  PyObject* builtins = chosen ? chosen : builtinsNamedBy(frame.globals);
  Value function;
  if (builtins && PyDict_CheckExact(builtins)) {
    function = moduleDict(builtins)->get(*this, importName);
  }
  if (function) realize(function);
  PyObject* object = function ? function.objectOrNull() : nullptr;
  if (!object || !isBuiltinFunction(object, "builtins", "__import__")) {
    throw GraphBreak(GraphBreakKind::ImportInsideTracedCode, printable(name));
  }
}

bool InstructionTranslator::importInstruction(Frame& frame, const Instruction& instruction) {
  PyObject* name = frame.code->names[instruction.argument].get();
  if (instruction.opcode == Opcode::IMPORT_FROM) {
    Value value = getOptionalAttribute(*this, frame.peek(1), name);
    if (!value) {
      if (exceptionPending()) return false;
      throw GraphBreak(GraphBreakKind::ImportOfSubmodule, printable(name));
    }
    frame.push(std::move(value));
    return true;
  }
  requireBuiltinImport(frame, name);
  // Only what is imported already: importing runs module code.
  PyObject* level = realized(frame.peek(2)).objectOrNull();
  Value fromList = realized(frame.peek(1));
  PyObject* module = importedModule(*this, name);
  bool absolute = level && PyLong_CheckExact(level) && Py_SIZE(level) == 0;
  if (!absolute || !module) {
    throw GraphBreak(GraphBreakKind::ImportInsideTracedCode, printable(name));
  }
  // import_ensure_initialized of import.c
  static PyObject* const specName = staticName("__spec__");
  getOptionalAttribute(*this, Value::constant(module), specName);
  if (exceptionPending()) return false;
  if (fromList.is(Py_None)) {
    // `import a.b` binds `a`.
    Py_ssize_t dot = PyUnicode_FindChar(name, '.', 0, PyUnicode_GET_LENGTH(name), 1);
    if (dot >= 0) {
      Ref<> top = checked(PyUnicode_Substring(name, 0, dot));
      module = importedModule(*this, top.get());
      if (!module) {
        throw GraphBreak(GraphBreakKind::ImportInsideTracedCode, printable(name));
      }
    }
  }
  requireNames(Value::constant(module), fromList);
  frame.drop(2);
  frame.push(Value::constant(module));
  return true;
}

// What a package does not have may be a module in it, which is imported with it
// (_bootstrap._handle_fromlist).
void InstructionTranslator::requireNames(const Value& module, const Value& fromList) {
  PyObject* names = fromList.objectOrNull();
  if (!names || !PyTuple_CheckExact(names)) return;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    if (PyUnicode_Check(name) && getOptionalAttribute(*this, module, name)) continue;
    throw GraphBreak(GraphBreakKind::ImportOfSubmodule, describe(Value::constant(name)));
  }
}

}  // namespace armature
