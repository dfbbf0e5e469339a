#include <llvm/ADT/DenseMap.h>

#include <algorithm>

#include "bytecode/assembler.h"
#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "graph/attribute_read.h"
#include "graph/eager_code.h"
#include "graph/graph.h"

namespace armature {

namespace {

// The instruction that does what a function of the operator module does.
struct OperatorInstruction {
  Opcode opcode;
  int32_t argument;
  size_t operands;
};

using OperatorTable = llvm::DenseMap<PyObject*, OperatorInstruction>;

// A function of the operator module; kept for good, as the module is.
PyObject* findOperator(const char* name) {
  Ref<> module = Ref<>::steal(cpython::importModule("_operator"));
  PyObject* function = module ? PyObject_GetAttrString(module.get(), name) : nullptr;
  clearException();
  return function;
}

OperatorTable makeOperatorTable() {
  OperatorTable table;
  // In the order of CPython's NB_* and Py_LT … numbers.
  int32_t number = 0;
  for (const char* name : {"add",  "and_",      "floordiv", "lshift",   "matmul",  "mul",  "mod",
                           "or_",  "pow",       "rshift",   "sub",      "truediv", "xor",  "iadd",
                           "iand", "ifloordiv", "ilshift",  "imatmul",  "imul",    "imod", "ior",
                           "ipow", "irshift",   "isub",     "itruediv", "ixor"}) {
    table[findOperator(name)] = {Opcode::BINARY_OP, number++, 2};
  }
  number = 0;
  for (const char* name : {"lt", "le", "eq", "ne", "gt", "ge"}) {
    table[findOperator(name)] = {Opcode::COMPARE_OP, number++, 2};
  }
  table[findOperator("is_")] = {Opcode::IS_OP, 0, 2};
  table[findOperator("is_not")] = {Opcode::IS_OP, 1, 2};
  table[findOperator("getitem")] = {Opcode::BINARY_SUBSCR, 0, 2};
  table[findOperator("neg")] = {Opcode::UNARY_NEGATIVE, 0, 1};
  table[findOperator("pos")] = {Opcode::UNARY_POSITIVE, 0, 1};
  table[findOperator("invert")] = {Opcode::UNARY_INVERT, 0, 1};
  table[findOperator("not_")] = {Opcode::UNARY_NOT, 0, 1};
  return table;
}

const OperatorInstruction* operatorInstruction(const Node& node) {
  static const OperatorTable* table = new OperatorTable(makeOperatorTable());
  auto found = table->find(node.target.get());
  if (found == table->end() || !node.keywordArguments.empty()) return nullptr;
  return found->second.operands == node.arguments.size() ? &found->second : nullptr;
}

bool isSetItem(const Node& node) {
  static PyObject* setitem = findOperator("setitem");
  return node.target.get() == setitem && node.arguments.size() == 3 &&
         node.keywordArguments.empty();
}

// The name of a local of other code that holds the values of nodes, one after the other: a str,
// borrowed.
BorrowedRef<> inlinedName(size_t number) {
  static auto* names = new std::vector<PyObject*>;
  while (names->size() <= number) {
    std::string name = "___value" + std::to_string(names->size());
    names->push_back(checked(PyUnicode_InternFromString(name.c_str())).release());
  }
  return (*names)[number];
}

llvm::DenseMap<PyObject*, PyObject*>& eagerTargets() {
  static auto& instance = *new llvm::DenseMap<PyObject*, PyObject*>;
  return instance;
}

BorrowedRef<> eagerTargetOf(const Node& node) {
  if (node.eagerTarget) return node.eagerTarget;
  PyObject* found = eagerTargets().lookup(node.target.get());
  return found ? BorrowedRef<>(found) : BorrowedRef<>(node.target);
}

llvm::DenseMap<PyObject*, ModeState>& modeTargets() {
  static auto& instance = *new llvm::DenseMap<PyObject*, ModeState>;
  return instance;
}

// The widest of the states that the calls of a body set, its own bodies aside; none where they set
// none.
ModeState modeStateOf(const Graph& body) {
  ModeState widest;
  for (const auto& node : body.nodes()) {
    if (node->operation != NodeOperation::CallFunction) continue;
    ModeState state = modeTargets().lookup(node->target.get());
    if (state.get && (!widest.get || state.extent > widest.extent)) widest = state;
  }
  return widest;
}

Ref<> makeFunction(const Graph& graph, int32_t keepFrom, const ModeState& mode);

class FunctionWriter {
 public:
  FunctionWriter(const Graph& graph, int32_t keepFrom, int32_t firstLine, Assembler& assembler)
      : graph_(graph),
        keepFrom_(keepFrom),
        assembler_(assembler),
        line_(firstLine),
        locals_(graph.size(), -1),
        uses_(graph.size()) {}

  // A function, which puts back that mode if it raises. False for a graph without output.
  bool write(const ModeState& mode) {
    const auto& nodes = graph_.nodes();
    for (const auto& node : nodes) {
      uses_[node->index] = node->users + graph_.keepsValue(*node) + node->isHeld();
      if (node->isHeld() && node->heldUntil < Node::kToTheEnd) held_.push_back(node.get());
      if (node->operation != NodeOperation::Placeholder) continue;
      addLocal(*node);
      if (graph_.keepsValue(*node)) kept_.push_back(node.get());
    }
    // The first to go comes last.
    llvm::stable_sort(held_, [](const Node* one, const Node* other) {
      return one->heldUntil > other->heldUntil;
    });
    assembler_.emit(Opcode::RESUME, 0);
    if (mode.get) readMode(mode);
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = *nodes[i];
      if (node.operation == NodeOperation::Placeholder) continue;
      if (node.location.line >= 0) line_ = node.location.line;
      assembler_.setPosition({line_, line_, node.ordinal, node.ordinal});
      if (node.operation == NodeOperation::Output) {
        push(node.arguments[0]);
        if (mode.get) assembler_.endRegion();
        assembler_.emit(Opcode::RETURN_VALUE);
        if (mode.get) writeModeHandler(mode);
        return true;
      }
      keeps_ = node.index >= keepFrom_;
      writeNode(node, *nodes[i + 1]);
    }
    return false;
  }

  // Amid other code, which has the placeholders in locals and wants the outputs there.
  void writeInto(const InlinedLocals& locals, BorrowedRef<> filename) {
    isInlined_ = true;
    const auto& nodes = graph_.nodes();
    for (const auto& node : nodes) uses_[node->index] = node->users;
    for (const auto& [node, local] : locals) locals_[node->index] = local;
    for (size_t i = 0; i + 1 < nodes.size(); ++i) {
      const Node& node = *nodes[i];
      if (node.operation == NodeOperation::Placeholder) continue;
      const ProgramLocation& location = node.location;
      bool isSameFile =
          location.code && PyUnicode_Compare(location.code->co_filename, filename.get()) == 0;
      if (isSameFile && location.line >= 0) {
        assembler_.setPosition({location.line, location.line});
      }
      writeNode(node, *nodes[i + 1]);
    }
  }

 private:
  void callWith(PyObject* function, int32_t argument) {
    assembler_.emit(Opcode::PUSH_NULL);
    assembler_.emitLoadConst(function);
    if (argument >= 0) assembler_.emit(Opcode::LOAD_FAST, argument);
    assembler_.emitCall(argument >= 0 ? 1 : 0);
  }

  void readMode(const ModeState& mode) {
    callWith(mode.get, -1);
    modeLocal_ = assembler_.addFreshLocal("mode");
    assembler_.emit(Opcode::STORE_FAST, modeLocal_);
    modeHandler_ = assembler_.newLabel();
    assembler_.beginRegion(modeHandler_, 0, false);
  }

  // As CPython compiles `finally` where it raises.
  void writeModeHandler(const ModeState& mode) {
    Assembler::Label end = assembler_.newLabel();
    assembler_.bind(modeHandler_);
    assembler_.emit(Opcode::PUSH_EXC_INFO);
    assembler_.beginRegion(end, 1, true);
    callWith(mode.set, modeLocal_);
    assembler_.emit(Opcode::POP_TOP);
    assembler_.emit(Opcode::RERAISE, 0);
    assembler_.endRegion();
    assembler_.bind(end);
    assembler_.emit(Opcode::COPY, 3);
    assembler_.emit(Opcode::POP_EXCEPT);
    assembler_.emit(Opcode::RERAISE, 1);
  }

  void writeNode(const Node& node, const Node& next) {
    writeCall(node);
    dropOperands();
    bool isKept = !isInlined_ && graph_.keepsValue(node);
    if (!isKept) dropKept();
    if (uses_[node.index] == 0) {
      assembler_.emit(Opcode::POP_TOP);
    } else if (locals_[node.index] < 0 && node.users == 1 && node.index + 1 < keepFrom_ &&
               !isKept && !node.isHeld() && firstOperand(next) == &node) {
      onStack_ = &node;
    } else {
      if (locals_[node.index] < 0) addLocal(node);
      assembler_.emit(Opcode::STORE_FAST, locals_[node.index]);
    }
    if (isKept) kept_.push_back(&node);
    for (; !held_.empty() && held_.back()->heldUntil <= node.ordinal; held_.pop_back()) {
      drop(held_.back());
    }
  }

  void addLocal(const Node& node) {
    if (isInlined_) {
      if (freeLocals_.empty()) {
        freeLocals_.push_back(assembler_.addLocal(inlinedName(inlinedLocals_++)));
      }
      locals_[node.index] = freeLocals_.back();
      return freeLocals_.pop_back();
    }
    Ref<> name = Ref<>::create(valueName(node.index));
    bool isParameter = node.operation == NodeOperation::Placeholder;
    locals_[node.index] = isParameter ? assembler_.addParameter(name) : assembler_.addLocal(name);
  }

  // The node whose value a node's code wants on the stack before it pushes anything itself.
  static const Node* firstOperand(const Node& node) {
    if (node.arguments.empty()) return nullptr;
    const Argument* first = isSetItem(node) ? &node.arguments[2] : &node.arguments[0];
    while (node.operation == NodeOperation::Output && first->kind() == Argument::Kind::Tuple &&
           !first->elements().empty()) {
      first = &first->elements()[0];
    }
    return first->kind() == Argument::Kind::Node ? first->node() : nullptr;
  }

  void push(const Node* node) {
    if (node == onStack_) {
      onStack_ = nullptr;
      return;
    }
    int32_t local = locals_[node->index];
    assembler_.emit(Opcode::LOAD_FAST, local);
    if (--uses_[node->index] > 0) return;
    if (isInlined_) {
      // What the other code has put there, it lets go of itself.
      if (node->operation == NodeOperation::Placeholder) return;
      freeLocals_.push_back(local);
    }
    // From the last use on, only the stack holds the value, which then dies as early as it can; or
    // as soon as the call is done.
    if (keeps_) {
      lastUsed_.push_back(local);
    } else {
      assembler_.emit(Opcode::DELETE_FAST, local);
    }
  }

  void dropOperands() {
    for (int32_t local : lastUsed_) assembler_.emit(Opcode::DELETE_FAST, local);
    lastUsed_.clear();
  }

  // Those that only a failure would have needed.
  void dropKept() {
    for (const Node* node : kept_) drop(node);
    kept_.clear();
  }

  // One use less.
  void drop(const Node* node) {
    if (--uses_[node->index] == 0) assembler_.emit(Opcode::DELETE_FAST, locals_[node->index]);
  }

  void push(const Argument& argument) {
    if (argument.kind() == Argument::Kind::Node) return push(argument.node());
    if (argument.kind() == Argument::Kind::Constant) {
      return assembler_.emitLoadConst(argument.object());
    }
    for (const Argument& element : argument.elements()) push(element);
    auto count = static_cast<int32_t>(argument.elements().size());
    switch (argument.kind()) {
      case Argument::Kind::Tuple:
        return assembler_.emit(Opcode::BUILD_TUPLE, count);
      case Argument::Kind::List:
        return assembler_.emit(Opcode::BUILD_LIST, count);
      case Argument::Kind::Slice:
        return assembler_.emit(Opcode::BUILD_SLICE, count);
      default:
        assembler_.emitLoadConst(argument.object());
        return assembler_.emit(Opcode::BUILD_CONST_KEY_MAP, count);
    }
  }

  void writeCall(const Node& node) {
    if (node.operation == NodeOperation::GetAttribute) {
      Ref<> body = makeFunction(*node.body, kKeepNone, modeStateOf(*node.body));
      if (!body) throw PendingPythonException();
      return assembler_.emitLoadConst(body);
    }
    BorrowedRef<> target = eagerTargetOf(node);
    if (node.operation == NodeOperation::CallMethod) {
      push(node.arguments[0]);
      assembler_.emitName(Opcode::LOAD_METHOD, node.target);
      return writeArguments(node, 1, 0);
    }
    if (const OperatorInstruction* instruction = operatorInstruction(node)) {
      for (const Argument& argument : node.arguments) push(argument);
      return assembler_.emit(instruction->opcode, instruction->argument);
    }
    if (isSetItem(node)) {
      push(node.arguments[2]);
      push(node.arguments[0]);
      push(node.arguments[1]);
      assembler_.emit(Opcode::STORE_SUBSCR);
      return assembler_.emitLoadConst(Py_None);
    }
    if (BorrowedRef<> name = attributeReadBy(node)) {
      push(node.arguments[0]);
      return assembler_.emitName(Opcode::LOAD_ATTR, name);
    }
    if (onStack_) {
      // The first argument is there already: the callable goes below it, as a method's does.
      push(node.arguments[0]);
      assembler_.emitLoadConst(target);
      assembler_.emit(Opcode::SWAP, 2);
      return writeArguments(node, 1, 0);
    }
    assembler_.emit(Opcode::PUSH_NULL);
    assembler_.emitLoadConst(target);
    writeArguments(node, 0, 0);
  }

  // The arguments from `first` on, and the call.
  void writeArguments(const Node& node, size_t first, int32_t count) {
    for (size_t i = first; i < node.arguments.size(); ++i, ++count) push(node.arguments[i]);
    Ref<> names;
    if (!node.keywordArguments.empty()) {
      names = checked(PyTuple_New(node.keywordArguments.size()));
      for (size_t i = 0; i < node.keywordArguments.size(); ++i, ++count) {
        const auto& [name, argument] = node.keywordArguments[i];
        PyTuple_SET_ITEM(names.get(), i, Ref<>(name).release());
        push(argument);
      }
    }
    assembler_.emitCall(count, names);
  }

  const Graph& graph_;
  const int32_t keepFrom_;
  Assembler& assembler_;
  int32_t line_;
  bool keeps_ = false;             // are the running node's operands to outlive its call?
  std::vector<int32_t> lastUsed_;  // the locals of those that it is the last to use
  std::vector<const Node*> kept_;  // so far, for a failure (Graph::keepsValue)
  // Those that are kept for one until some node is done (Node::heldUntil), those to go first last.
  std::vector<const Node*> held_;
  std::vector<int32_t> locals_;  // the slot of each node, -1 where it has none
  std::vector<int32_t> uses_;    // how often each node is yet to be loaded
  // The node just computed whose value stays on the stack, for the next node alone.
  const Node* onStack_ = nullptr;
  bool isInlined_ = false;
  // Locals of other code whose values have been dropped, for the next ones.
  std::vector<int32_t> freeLocals_;
  size_t inlinedLocals_ = 0;
  Assembler::Label modeHandler_;
  int32_t modeLocal_ = -1;  // what the mode was
};

// The file of the program from which all nodes come, which their warnings tell; null if from
// several or none.
Ref<> fileOf(const Graph& graph) {
  PyObject* file = nullptr;
  for (const auto& node : graph.nodes()) {
    if (!node->location.code) continue;
    PyObject* own = node->location.code->co_filename;
    if (file && file != own && PyUnicode_Compare(file, own) != 0) return nullptr;
    file = own;
  }
  return file ? Ref<>::create(file) : nullptr;
}

// By which they are known. Borrowed, null with an exception set.
PyObject* moduleOfEagerFunctions() {
  static PyObject* const name = PyUnicode_InternFromString("armature.graph");
  return name;
}

Ref<> makeFunction(const Graph& graph, int32_t keepFrom, const ModeState& mode) {
  Ref<> name = Ref<>::steal(PyUnicode_InternFromString("graph"));
  Ref<> filename = fileOf(graph);
  if (!filename) filename = Ref<>::steal(PyUnicode_InternFromString("<armature graph>"));
  if (!name || !filename) return nullptr;
  int32_t firstLine = 1;
  for (const auto& node : graph.nodes()) {
    if (node->location.line < 0) continue;
    firstLine = node->location.line;
    break;
  }
  Assembler assembler(name, filename, firstLine);
  assembler.setPosition({firstLine, firstLine, -1, -1});
  if (!FunctionWriter(graph, keepFrom, firstLine, assembler).write(mode)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "the graph is not finished");
    return nullptr;
  }
  CodePtr canonical = assembler.finish();
  Ref<PyCodeObject> code = lower(*canonical);
  if (!code) return nullptr;
  Ref<> globals = Ref<>::steal(PyDict_New());
  if (!globals || PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins()) < 0) {
    return nullptr;
  }
  Ref<> function =
      Ref<>::steal(PyFunction_New(reinterpret_cast<PyObject*>(code.get()), globals.get()));
  if (!function ||
      PyObject_SetAttrString(function.get(), "__module__", moduleOfEagerFunctions()) < 0) {
    return nullptr;
  }
  return function;
}

}  // namespace

BorrowedRef<> valueName(int32_t index) {
  // Few names for many graphs: CPython interns those of locals, one by one.
  static auto* names = new std::vector<PyObject*>;
  while (names->size() <= static_cast<size_t>(index)) {
    std::string name = "v" + std::to_string(names->size());
    PyObject* text = checked(PyUnicode_FromString(name.c_str())).release();
    PyUnicode_InternInPlace(&text);
    names->push_back(text);
  }
  return (*names)[static_cast<size_t>(index)];
}

bool isEagerFunction(BorrowedRef<> function) {
  return PyFunction_Check(function.get()) &&
         PyFunction_GetModule(function.get()) == moduleOfEagerFunctions();
}

Ref<> toFunction(const Graph& graph, int32_t keepFrom) { return makeFunction(graph, keepFrom, {}); }

void registerEagerTarget(Ref<> target, Ref<> eager) {
  auto [place, isNew] = eagerTargets().try_emplace(target.get(), eager.get());
  if (!isNew) return;
  target.release();
  eager.release();
}

void registerModeTarget(Ref<> target, const ModeState& state) {
  if (modeTargets().try_emplace(target.get(), state).second) target.release();
}

void inlineGraph(const Graph& graph, Assembler& assembler, const InlinedLocals& locals,
                 BorrowedRef<> filename) {
  FunctionWriter(graph, kKeepNone, -1, assembler).writeInto(locals, filename);
}

}  // namespace armature
