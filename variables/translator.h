// What the variables see of the interpreter: the state of the trace and the few things that only
// the interpreter can do. This is the only door from variables/ to interpreter/.
#pragma once

#include <array>
#include <set>
#include <string>
#include <vector>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallVector.h>

#include "core/graph_break.h"
#include "core/native_stack.h"
#include "core/out_of_memory.h"
#include "core/trail.h"
#include "graph/graph.h"
#include "guards/array_library.h"
#include "guards/guard.h"
#include "heap/heap.h"
#include "shapes/profile.h"
#include "shapes/sym_node.h"
#include "sources/source.h"
#include "variables/call_depth.h"
#include "variables/continuation.h"
#include "variables/ends_of_objects.h"
#include "variables/functions/cached_results.h"
#include "variables/library.h"
#include "variables/own_references.h"
#include "variables/side_effects.h"
#include "variables/value.h"
#include "variables/variable_tracker.h"

namespace armature {

class DictVariable;
class GeneratorVariable;
class MadeClasses;
class NewCellVariable;
class UserFunctionVariable;

// The arguments of a call, as a vectorcall has them: positional ones, then the values of the
// keywords named by `keywordNames` (a tuple of str, or null).
struct CallArguments {
  llvm::SmallVector<Value, 6> values;
  PyObject* keywordNames = nullptr;  // borrowed
  // The call is the last thing its instruction does, but for continuations: a Python function may
  // push its frame and return Value::framePushed(), which is to be returned at once, after what is
  // left to do was handed to Translator::onReturn. Kinds that only forward a call, or do so, keep
  // it; all others clear it.
  bool tail = false;
  // The program's own tuple of the positional arguments, where a call was given one, or null: as
  // tp_call has it, which may keep it. Who changes `values` leaves it be; who keeps it compares.
  Value tuple;

  size_t keywordCount() const { return keywordNames ? PyTuple_GET_SIZE(keywordNames) : 0; }
  size_t positionalCount() const { return values.size() - keywordCount(); }
  llvm::ArrayRef<Value> positional() const {
    return llvm::ArrayRef<Value>(values).take_front(positionalCount());
  }
  PyObject* keywordName(size_t i) const { return PyTuple_GET_ITEM(keywordNames, i); }
  const Value& keywordValue(size_t i) const { return values[positionalCount() + i]; }
  void dropKeywords() {
    values.truncate(positionalCount());
    keywordNames = nullptr;
  }
  // The value of a keyword, or null.
  const Value* keyword(const char* name) const;
  const Value* keyword(PyObject* name) const;
};

class LoggingFunctions;

// An operation whose first argument is a graph, and the others what that graph takes.
struct HigherOrderOperation {
  Ref<> target;
  Ref<> eagerTarget;                              // what the eager backend calls; see Node
  Ref<> bodyName;                                 // str: what the names of bodies begin with
  std::vector<std::pair<Ref<>, Ref<>>> keywords;  // str, constant
};

class Translator : public Observer, public Heap::Dependencies {
 public:
  CallDepth callDepth;
  // Null where no function has a treatment of its own.
  const LoggingFunctions* loggingFunctions = nullptr;

  ~Translator() override;

  // --- State of the trace. All changes go through the trail.
  Trail trail;
  // What was done to objects that existed before the trace; replayed after the graph call.
  SideEffects effects{trail};
  LooseValues looseValues{trail};
  // All that is let go of, as the guards say: at least what the trace has not undone.
  Ends ends;
  CachedResults cachedResults{trail};
  // Of a frame that may let go of them before its end, as the guards find them; of others, none.
  llvm::ArrayRef<PyObject*> inputs;
  VariableArena arena;
  std::shared_ptr<SourceTable> sources;
  OwnReferences ownReferences{*this};
  std::shared_ptr<Graph> graph;
  // What may be known of objects that existed before the trace.
  Heap heap;
  LibraryOfCallables libraryOfCallables;
  MadeClasses& madeClasses() const { return *madeClasses_; }
  Found ownAttributeOfMade(PyTypeObject* type, PyObject* name) override;
  std::optional<Found> writtenAttribute(PyTypeObject* type, PyObject* name) override;

  template <class Kind, class... Arguments>
  Kind* make(Arguments&&... arguments) {
    return arena.make<Kind>(std::forward<Arguments>(arguments)...);
  }

  // --- Exceptions: a slot that fails calls one of these and returns null.
  bool exceptionPending() const { return !exception_.isNull(); }
  const Value& exception() const { return exception_; }
  // For who keeps it, or hands it on.
  Value takeException() { return std::move(exception_); }
  // PyErr_Clear: what C code swallows has the __traceback__ of when it was raised, since CPython
  // stores the frames that it went through where a handler is entered.
  void dropException();
  // Raises an instance, which gets what is handled for its context (_PyErr_SetObject). Returns
  // null, so that `return translator.raise(...)` reads as in CPython.
  Value raiseValue(Value exception);
  Value raise(PyObject* type, const char* format, ...);  // PyErr_Format's language
  Value raiseWithArguments(PyObject* type, std::vector<Value> arguments);
  // Turns the exception that a CPython call set into a pending traced exception.
  Value raiseFromPython();
  // The result of a CPython call on constants: a constant, or null with the exception pending.
  Value fromPython(PyObject* result) {
    if (result && PyFloat_CheckExact(result) && Py_REFCNT(result) == 1) rememberNan(result);
    return result ? Value::steal(result) : raiseFromPython();
  }

  // --- Inputs.
  // The variable of an existing object found at `source`: lazy, unless it is a constant that
  // nothing can tell from others of its kind (None, bool: guarded when looked at, too).
  Value wrap(const Source* source, BorrowedRef<> object);
  // The same, for a path that is taken again and again (a method of a class): one value for all.
  Value wrapOnce(const Source* source, BorrowedRef<> object);
  // Looks at a value. A lazy one: installs its guards, replaces `value` by what it is. A symbolic
  // number, or the address of an existing object: makes it the constant that it is in this call.
  void realize(Value& value) {
    if (!value.isTracker()) return;
    if (value.tracker()->kind() == VariableKind::Lazy) {
      realizeLazy(value);
      if (!value.isTracker()) return;
    }
    VariableKind kind = value.tracker()->kind();
    if (kind == VariableKind::SymNode || kind == VariableKind::Address) specializeNumber(value);
  }
  Value realized(Value value) {
    realize(value);
    return value;
  }
  // A class that the trace knows by its identity, by whatever way: as the program has reached it
  // already, else by the path to the class itself.
  Value knownClass(PyTypeObject* type);
  PyObject* rootGlobals() const { return rootGlobals_; }
  // The __dict__ of a module or the globals of a function, by its identity: one variable each.
  DictVariable* moduleDict(BorrowedRef<> dict);
  // What the program sees of a dict that the trace works on: the object that it is, which may be an
  // instance of a subclass.
  Value dictValue(DictVariable* dict);
  // Guards that two paths lead to one object, and the other way round.
  void guardSame(const Source* source, const Source* other, bool same);
  // The variable of an existing object that the program has looked at; null if it has not.
  Value known(PyObject* object) const {
    auto found = identities_.find(object);
    return found == identities_.end() ? Value() : found->second;
  }
  void remember(PyObject* object, Value variable);
  // All of them that are trackers, in the order in which the program looked at them.
  std::vector<Value> knownInputs() const;
  // A container that an iterator walks over, of which no variable was made.
  void rememberWalked(const Source* source, BorrowedRef<> container);
  llvm::ArrayRef<std::pair<PyObject*, const Source*>> walkedContainers() const { return walked_; }
  // A key that goes by its identity, of a dict or set, or looked for in one: where it is not found,
  // it must be another object than they are in the next call, too.
  void rememberKey(const Source* source, BorrowedRef<> object);
  const llvm::MapVector<PyObject*, const Source*>& keysByIdentity() const {
    return keysByIdentity_;
  }
  void addGuard(Guard guard) override;
  void addGuard(const Source* source, GuardType type, BorrowedRef<> operand = nullptr,
                int64_t number = 0);
  const std::vector<Guard>& guards() const { return guards_; }
  // One instruction that looks at more of what existed before costs less in Python, which needs no
  // guards for it.
  static constexpr size_t kMostGuards = size_t{1} << 16;
  // Before all items of a container that existed before become variables.
  static void checkItemCount(const Source* container, Py_ssize_t count);
  // Gives the guards away, at the end of the trace.
  std::vector<Guard> takeGuards() {
    trail.cut();
    return std::move(guards_);
  }
  void observe(Node* placeholder, uint32_t observed) override;
  // The trace has read the libraries' global state: what all operations may depend on, and what
  // `states` names (CallRule::states).
  void observeState(uint64_t states = 0) {
    usedLibraries_ = true;
    observedStates_ |= states;
  }
  uint64_t observedStates() const { return observedStates_; }

  // --- Numbers that differ from call to call.
  SymNodeTable symNodes;
  // `profile` must outlive the trace.
  void useProfile(const Profile& profile) { profile_ = &profile; }
  bool hasVaried(const Source* source) const { return profile_ && profile_->hasVaried(source); }
  bool hasVariation() const { return profile_ && !profile_->empty(); }
  // What looks at a value that varied breaks the graph, instead of making the value a constant.
  void leaveVaryingToPython() { leavesVarying_ = true; }
  bool leavesVaryingToPython() const { return leavesVarying_ && !errorOnGraphBreak(); }
  // False once the number has been compared too often for a guard of each comparison.
  bool countComparison(const Source* source);
  // Where an input that is the constant `object` was found; empty for constants that are no inputs.
  // What `is` says of two equal numbers depends on where they came from.
  llvm::ArrayRef<const Source*> constantSources(PyObject* object) const {
    auto found = constantSources_.find(object);
    return found == constantSources_.end() ? llvm::ArrayRef<const Source*>() : found->second;
  }
  void rememberConstant(PyObject* object, const Source* source);
  // In the order in which the trace came to them.
  using ConstantSources = llvm::MapVector<PyObject*, llvm::SmallVector<const Source*, 1>>;
  const ConstantSources& constantInputs() const { return constantSources_; }
  // The constant is there before the call: a part of code, of an input, of what C code keeps. So
  // are its parts, and to the program it stays the object that it is.
  void rememberExisting(PyObject* constant);
  // A tuple or frozenset of constants, a slice, a range, a nan, or an instance of a type with a
  // maker (core/constant.h) that the trace has made: each call makes a new one, which the program
  // can tell from that of the call before.
  bool isMadeHere(PyObject* constant) const;

  // --- Is a graph break an error here? What the traced call begins with, and what the program
  // makes of it (error_on_graph_break). Trailed. `setter` is a C function that takes a bool.
  void startErrorOnGraphBreak(bool isError, BorrowedRef<> setter) {
    errorOnGraphBreak_ = errorOnGraphBreakBefore_ = isError;
    errorOnGraphBreakSetter_ = setter;
  }
  bool errorOnGraphBreak() const { return errorOnGraphBreak_; }
  void setErrorOnGraphBreak(bool isError);
  // The trace holds only where calls begin with the same.
  void observeErrorOnGraphBreak() { observedErrorOnGraphBreak_ = true; }
  bool observedErrorOnGraphBreak() const { return observedErrorOnGraphBreak_; }
  // What generated code has to call with errorOnGraphBreak(); null: nothing.
  PyObject* errorOnGraphBreakSetter() const {
    return errorOnGraphBreak_ != errorOnGraphBreakBefore_ ? errorOnGraphBreakSetter_ : nullptr;
  }

  // What the user is to be told when the trace is done.
  std::set<std::string> warnings;

  // While a library's code runs that TorchDynamo does not trace, its variables name no nodes.
  bool variablesNameNodes = true;

  // --- Graph.
  Node* addInput(const Source* source, BorrowedRef<> object);
  // Adds a call and returns its result as variables (one tensor, or a structure of them).
  Value callGraphOperation(const Library& library, NodeOperation operation, BorrowedRef<> target,
                           const CallRule& rule, llvm::ArrayRef<Value> arguments,
                           PyObject* keywordNames);
  // Makes a call whose operations become the body of one operation of the graph, and gives what it
  // returned. Breaks where the body cannot be run again and again as the program would run it.
  Value callInSubgraph(const Library& library, const HigherOrderOperation& operation,
                       const Value& callable, CallArguments& arguments);
  // Guards the numbers that vary, in the calls from this one on, to be what they are.
  void holdNumbers(size_t firstNode);
  // Moves the operations from `firstNode` on into a graph of their own: see Graph::outline.
  Graph::Subgraph outline(size_t firstNode, Argument output,
                          const Graph::Parameters& parameters = {});
  // Adds the node by which the graph refers to such a graph.
  Node* addBody(const Library& library, const Graph::Subgraph& body, BorrowedRef<> name);
  // Adds a call that a library builds by itself.
  Node* addOperation(const Library& library, BorrowedRef<> target, std::vector<Argument> arguments,
                     std::vector<std::pair<Ref<>, Argument>> keywords);
  // The mode in which the program runs the library's operations, by the library's own number: what
  // the graph has set so far, not what is set while tracing. See Node::mode.
  uint32_t mode(const Library& library) const {
    return modes_[static_cast<size_t>(library.kind())];
  }
  // Must the state of the libraries' random numbers be put back where the graph raises? Trailed.
  // What is_compiling() says here: true, but where the program would raise because of it.
  Value isCompiling() {
    asksWhetherCompiling_ = true;
    return Value::boolean(!answersAsPython_);
  }
  bool asksWhetherCompiling() const { return asksWhetherCompiling_; }
  void answerAsPython() { answersAsPython_ = true; }
  // While one stands, what is traced runs on other arrays than are known, of which the shapes and
  // types will be the same, but neither how they lie in memory nor whether they require gradients.
  class UnknownLayouts {
   public:
    explicit UnknownLayouts(Translator& translator)
        : translator_(translator), before_(std::exchange(translator.layoutsAreUnknown_, true)) {}
    ~UnknownLayouts() { translator_.layoutsAreUnknown_ = before_; }
    UnknownLayouts(const UnknownLayouts&) = delete;
    UnknownLayouts& operator=(const UnknownLayouts&) = delete;

   private:
    Translator& translator_;
    bool before_;
  };
  bool layoutsAreUnknown() const { return layoutsAreUnknown_; }
  // The graph will be run by a backend that does not say which of its operations has failed.
  void useForeignBackend() { isForeign_ = true; }
  bool usesForeignBackend() const { return isForeign_; }
  // An operation of the graph may fail on data where a handler of the program would see it.
  bool failureIsHandled() const { return failureIsHandled_; }
  bool restoresRandomNumbers() const { return restoresRandomNumbers_; }
  bool areApart(llvm::ArrayRef<Node*> placeholders) override;
  // The inputs of which areApart() was true.
  const std::vector<const Source*>& apart() const { return apart_; }
  // True once any array was looked at or computed: then the trace depends on the libraries' state,
  // even if no operation stays in the graph.
  bool usedLibraries() const { return usedLibraries_; }
  // The mode in which the traced call was made.
  void startInMode(const Library& library, uint32_t mode) {
    modes_[static_cast<size_t>(library.kind())] = mode;
  }
  // What the program has entered, before this trace or in it, that takes over a library's
  // operations, as operation_modes.h has it; null if there is nothing. Trailed.
  const Value& operationModes() const { return operationModes_; }
  void startInOperationModes(Value modes) { operationModes_ = std::move(modes); }
  void setOperationModes(Value modes);
  // Adds a call that changes the library's mode to `mode`. Trailed.
  Node* changeMode(const Library& library, BorrowedRef<> target, std::vector<Argument> arguments,
                   uint32_t mode);

  // --- What only the interpreter can do.
  // Visits what an object refers to that the trace has made.
  virtual void forEachPart(VariableTracker* tracker,
                           llvm::function_ref<void(const Value&)> visit) = 0;
  // Calls a Python function: pushes its frame (tail), or runs it to its end.
  virtual Value callUserFunction(UserFunctionVariable* function, CallArguments& arguments) = 0;
  // Runs the body of a class statement, or other code that keeps its names in a namespace, a dict
  // or what has its methods; gives what it returns.
  virtual Value runBody(UserFunctionVariable* function, const Value& names) = 0;
  // What is to be done when the frame that has just been pushed returns, after all else that is.
  virtual void onReturn(Continuation continuation) = 0;
  // What is known of a generator that existed before the trace; null for one that is not looked
  // into. How it stands is guarded.
  virtual Value existingGenerator(const Source* source, BorrowedRef<> object) = 0;
  // Resumes a suspended generator with a value sent (null Value: next()). As tp_iternext; but where
  // its frame is pushed (`tail`), StopIteration is pending at its end.
  virtual Value resumeGenerator(GeneratorVariable* generator, const Value& sent, bool tail) = 0;
  // Resumes it by raising what generator.throw(type, value, traceback) says. As resumeGenerator.
  virtual Value throwInto(GeneratorVariable* generator, llvm::ArrayRef<Value> thrown,
                          bool tail) = 0;
  // generator.close(). False with the exception pending.
  virtual bool closeGenerator(GeneratorVariable* generator) = 0;
  // The exception that the trace is handling (_PyErr_GetTopmostException); null if none is.
  virtual Value handledInTrace() const = 0;
  // What the caller of the traced function handles, which is guarded: None if nothing.
  virtual Value handledByCaller() = 0;
  // What sys.exception() says here.
  Value handledException() {
    Value handled = handledInTrace();
    return handled ? handled : handledByCaller();
  }
  // The local named `name` of the running frame's cell or first argument, for zero-argument super.
  virtual Value runningFirstArgument() = 0;
  virtual NewCellVariable* runningClassCell() = 0;
  virtual ProgramLocation location() const = 0;
  // The next call is the one that has failed in a body (Graph::makeAgain): the frames that its
  // exception leaves are those that run here.
  virtual void noteFramesInBody() = 0;
  virtual DictVariable* runningGlobals() = 0;
  // Is all that existed before the trace alive still: has the program had no way to let go of it?
  virtual bool keepsExisting() const { return effects.written().empty(); }
  // Does a frame of the program have the object, in a local variable, a cell of its own or on its
  // stack? Then it is alive, whatever the program has let go of. True is guarded.
  virtual bool isHeldByFrames(const Value& object) = 0;
  // The graph, which has changed something, may fail at its next call: what effects, and exceptions
  // that are handled, have of it by now, it keeps for that (Node::heldUntil).
  virtual void holdValuesForFailure() = 0;
  // True while a handler of the traced program (except, finally) would see an operation's error:
  // then errors have to be known at once, and so has every operation's metadata.
  virtual bool errorsAreObserved() const { return false; }
  // False where a graph that fails after it has changed something cannot be gone on with behind its
  // operations (codegen/graph_failure.h), as the running code cannot be resumed by itself.
  virtual bool failureCanGoOn() const { return true; }

 protected:
  Translator();
  // To be called at the start of each instruction.
  void allowGuards() {
    if (isMemoryShort()) [[unlikely]]
      throw std::bad_alloc();
    mostGuards_ = guards_.size() + kMostGuards;
  }
  void setException(Value exception) { exception_ = std::move(exception); }

  // The identity of real objects: object -> variable (law 6).
  llvm::MapVector<PyObject*, Value> identities_;
  const char* reasonAgainstOperations(const Library& library);
  llvm::SmallDenseMap<const Library*, const char*, 2> reasonsAgainstOperations_;
  llvm::DenseMap<const Source*, Value> wrapped_;
  llvm::DenseMap<const Source*, int> comparisons_;  // counts those of rewound regions, too
  std::vector<Guard> guards_;
  bool layoutChanged_ = false;  // did an operation change what an array is?
  size_t withoutChange_ = 0;    // so many nodes change nothing but what they have made themselves
  bool failureIsHandled_ = false;  // a node that may fail on data is inside of a handler
  uint64_t guardsRecordedIn_ = 0, graphRecordedIn_ = 0, apartRecordedIn_ = 0;  // recordGrowth
  size_t mostGuards_ = kMostGuards;  // with those of the present instruction
  // The globals of the function being compiled.
  PyObject* rootGlobals_ = nullptr;

 private:
  // Before nodes are added.
  void recordGraphGrowth();
  // What becomes of the arguments that the call changes. The value of the call.
  Value recordMutations(const Library& library, const Node& node, llvm::ArrayRef<Value> arguments,
                        const Value& result);
  void realizeLazy(Value& value);
  void specializeNumber(Value& value);
  // The call that was added when there were `size` nodes has raised, and is not one of the graph's.
  // Another trace of the program counts it, too.
  void dropFailedCall(size_t size);
  // The graph has lost nodes since this was its next ordinal: no other call gets theirs.
  void keepOrdinalsBelow(int32_t next);
  // The call of an operation on arrays of several libraries, which the node stands for: a function
  // of the library that is called, tried out by another. `leaves`: what is in the arguments.
  Value callMixture(const Library& mixer, const Library& called, Node* node,
                    llvm::ArrayRef<Value> arguments, llvm::ArrayRef<Value> leaves);
  // The first node that changes more than what the graph has made itself, and cannot be put back;
  // null if none does.
  const Node* firstChange();
  // Has any node of the graph an effect, drawing random numbers included?
  bool hasChanged();
  // Would a failure of the graph lose the effects before it? (failureGoesOn() asks more, at a
  // cost.)
  bool failureIsLost() const { return !failureCanGoOn() || (layoutChanged_ && !isForeign_); }
  // Where a failure of the new node has to be left to Python as a whole: breaks if it may fail on
  // data after a change.
  void checkFailure(const Library& library, Node* node);
  // Can the call go on behind the operations of the graph so far, if the next one fails?
  bool failureGoesOn();
  // A change behind an operation in a handler, in a graph that cannot say which of its operations
  // has failed, breaks.
  void checkChange(const Library& library, Node* node);

  const std::unique_ptr<MadeClasses> madeClasses_;
  Value exception_;
  std::vector<std::pair<PyObject*, const Source*>> walked_;
  llvm::MapVector<PyObject*, const Source*> keysByIdentity_;
  // Arrays that are to have no memory in common, and where theirs is.
  std::vector<const Source*> apart_;
  std::vector<MemoryRange> apartRanges_;
  const Profile* profile_ = nullptr;
  // The objects are kept alive by the lazy variables that they were.
  ConstantSources constantSources_;
  llvm::DenseSet<PyObject*> existingConstants_;
  // Kept alive, so that no other object has the address of one.
  llvm::DenseMap<PyObject*, Ref<>> madeNans_;
  void rememberNan(PyObject* number);
  std::array<uint32_t, 2> modes_ = {};  // by ArrayLibraryKind
  Value operationModes_;
  bool usedLibraries_ = false;
  bool restoresRandomNumbers_ = false;
  bool isForeign_ = false;
  bool leavesVarying_ = false;
  bool layoutsAreUnknown_ = false;
  bool asksWhetherCompiling_ = false;
  bool answersAsPython_ = false;
  bool errorOnGraphBreak_ = false;
  bool errorOnGraphBreakBefore_ = false;
  bool observedErrorOnGraphBreak_ = false;
  PyObject* errorOnGraphBreakSetter_ = nullptr;  // lives as long as the process
  uint64_t observedStates_ = 0;
  // How deep slots have called slots, and the stack on which they do (recursion_guard.h).
  friend class RecursionGuard;
  int recursionDepth_ = 0;
  NativeStack nativeStack_;
};

}  // namespace armature
