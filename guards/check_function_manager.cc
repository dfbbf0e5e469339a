#include "guards/check_function_manager.h"

#include <iterator>
#include <stdexcept>
#include <utility>

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>

#include "core/checked.h"
#include "core/constant.h"
#include "core/describe.h"
#include "core/fault_injection.h"
#include "guards/guard_compiler.h"
#include "guards/guard_program.h"
#include "guards/guard_text.h"
#include "guards/key.h"
#include "guards/object_access.h"
#include "sources/computation.h"

namespace armature {
namespace {

std::unique_ptr<GuardProgram> compile(std::vector<Guard>& guards,
                                      const std::vector<const Source*>& captures) {
  GuardTree tree(std::move(guards), captures);
  std::unique_ptr<GuardProgram> program = compileGuards(tree, captures);
  guards = std::move(tree.guards());
  return program;
}

// How the array at hand differs from the one that was traced.
std::string explainTensor(const Instruction& instruction, BorrowedRef<> object) {
  const TensorExpectation& expected = *instruction.tensor;
  if (Py_TYPE(object.get()) != expected.type) return describe(object);
  TensorMetadata found;
  std::string why;
  if (!expected.library->read(object, found, &why))
    return "an array that guards cannot describe: " + why;
  std::string text = toString(found);
  auto list = [](const Dimensions& values) {
    std::string text = "[";
    for (size_t i = 0; i < values.size(); ++i)
      text += (i ? ", " : "") + std::to_string(values[i].value());
    return text + "]";
  };
  const TensorMetadata& metadata = expected.metadata;
  int64_t observed = instruction.number;
  if (observed & ObservedDevice && found.device != metadata.device)
    text += ", device type " + std::to_string(found.device.type) + " index " +
            std::to_string(found.device.index);
  if (observed & ObservedStrides && found.strides != metadata.strides)
    text += ", strides " + list(found.strides) + " not " + list(metadata.strides);
  if (observed & ObservedRequiresGrad && found.requiresGrad != metadata.requiresGrad)
    text += found.requiresGrad ? ", requires grad" : ", does not require grad";
  if (observed & ObservedIsLeaf && found.isLeaf != metadata.isLeaf)
    text += found.isLeaf ? ", a leaf" : ", not a leaf";
  if (observed & ObservedStorageOffset && found.storageOffset != metadata.storageOffset)
    text += ", storage offset " + std::to_string(found.storageOffset.value()) + " not " +
            std::to_string(metadata.storageOffset.value());
  if (observed & ObservedDispatchKeys && found.dispatchKeys != metadata.dispatchKeys)
    text += ", dispatch keys " + std::to_string(found.dispatchKeys) + " not " +
            std::to_string(metadata.dispatchKeys);
  if (observed & ObservedNoAttributes && hasInstanceAttributes(object)) text += ", attributes";
  return text;
}

// Which of the registers that an instruction looks at made it fail; its guards are numbered alike.
uint32_t failedPart(const Instruction& instruction, const GuardProgramState& state) {
  uint32_t part = 0;
  if (instruction.operation == Operation::CheckEmpty ||
      instruction.operation == Operation::CheckNoEntries)
    while (lengthOf(state.registers[instruction.input + part].object) == 0) ++part;
  return part;
}

Ref<> tupleOf(llvm::ArrayRef<PyObject*> items) {
  Ref<> tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(items[i]));
  return tuple;
}

// By which the guard knows its object; null for one that does not know it so.
const ObjectParts* partsKnownBy(const GuardProgram& program, size_t guard) {
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    if (program.instructions[i].operation != Operation::CheckParts) continue;
    if (program.guardOrder[static_cast<size_t>(program.origins[i].guard)] == guard)
      return program.instructions[i].parts;
  }
  return nullptr;
}

// Instructions that can fail because of what they have read, not because there was nothing.
std::string explainActual(const Instruction& instruction, const GuardProgramState& state) {
  PyObject* input = state.registers[instruction.input + failedPart(instruction, state)].object;
  switch (instruction.operation) {
    case Operation::CheckTensor:
      return explainTensor(instruction, input);
    case Operation::CheckGlobalState:
      return instruction.globalState->library->explainGlobalState(instruction.globalState->state);
    case Operation::CheckLength:
    case Operation::CheckEmpty:
    case Operation::CheckNoEntries:
      return std::to_string(static_cast<long long>(lengthOf(input)));
    case Operation::CheckSame:
      return instruction.negated ? "the same object" : "different objects";
    case Operation::EnterInstance:
    case Operation::CheckType:
      return describe(reinterpret_cast<PyObject*>(Py_TYPE(input)));
    case Operation::EnterDict:
    case Operation::EnterType:
      return describe(input);
    default:
      return instruction.operation < Operation::CheckIdentity ? "missing" : describe(input);
  }
}

bool isConstantList(BorrowedRef<> keys) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.get()); ++i)
    if (!isConstant(PyList_GET_ITEM(keys.get(), i))) return false;
  return true;
}

// Can the object be found once more, without calling a descriptor or knowing objects that were
// given up? The class of what a key refers to may have been given a __hash__ since.
bool canReload(const Source* source) {
  for (; source; source = source->base()) {
    if (source->kind() == SourceKind::Descriptor || source->kind() == SourceKind::Constant) {
      return false;
    }
    if (source->kind() == SourceKind::Slot && !source->object()) return false;
    bool isItem = source->kind() == SourceKind::DictItem;
    if (isItem && (!source->object() || !hashWithoutCode(source->object()))) return false;
  }
  return true;
}

// Visits the guards with the objects of their sources; not those that find none in this call. All
// at once, where it can be: the paths of a linked list are each as long as all before together.
void forEachLoaded(llvm::ArrayRef<const Guard*> guards, const FrameLocalsMapping& locals,
                   llvm::function_ref<void(const Guard&, PyObject*)> visit) {
  if (guards.empty()) return;
  std::vector<Guard> none;
  std::vector<const Source*> sources;
  for (const Guard* guard : guards) sources.push_back(guard->source);
  std::unique_ptr<GuardProgram> load = compile(none, sources);
  GuardProgramState state = load->freshState();
  if (load->run(locals, state) == GuardProgram::passed) {
    for (size_t i = 0; i < guards.size(); ++i)
      visit(*guards[i], state.registers[load->captures[i]].object);
  } else if (guards.size() > 1) {
    size_t half = guards.size() / 2;
    forEachLoaded(guards.take_front(half), locals, visit);
    forEachLoaded(guards.drop_front(half), locals, visit);
  }
}

bool isWeakKey(BorrowedRef<> key) {
  return isKeyByIdentity(Py_TYPE(key.get())) || isTupleOfObjects(key);
}

// Must an operand be this very object? Then the program watches it, and nobody else may hold it.
bool isIdentity(const Guard& guard) {
  switch (guard.type) {
    case GuardType::TYPE_MATCH:
    case GuardType::ID_MATCH:
    case GuardType::FUNCTION_MATCH:
    case GuardType::CLASS_MATCH:
    case GuardType::MODULE_MATCH:
    case GuardType::BUILTIN_MATCH:
    case GuardType::TENSOR_MATCH:
    case GuardType::SUBCLASS_MATCH:
      return true;
    case GuardType::CLOSURE_MATCH:
    case GuardType::EQUALS_MATCH:
    case GuardType::CONSTANT_MATCH:
      return !isConstant(guard.operand);
    case GuardType::DICT_CONTAINS:
    case GuardType::DICT_NOT_CONTAINS:
    case GuardType::SET_CONTAINS:
    case GuardType::SET_NOT_CONTAINS:
    case GuardType::SET_HOLDS:
      return isWeakKey(guard.operand);
    case GuardType::SLOT_IS_SET:
      return true;
    default:
      return false;
  }
}

}  // namespace

CheckFunctionManager::CheckFunctionManager(std::shared_ptr<SourceTable> sources,
                                           std::vector<Guard> guards,
                                           std::vector<const Source*> captures,
                                           const FrameLocalsMapping& example)
    : sources_(std::move(sources)), guards_(std::move(guards)), captures_(std::move(captures)) {
  faultSite();
  addTensorTypes(example);
  faultSite();
  program_ = compile(guards_, captures_);
  faultSite();
  giveUpIdentities();
  state_ = std::make_unique<GuardProgramState>(program_->freshState());
  FrameLocalsMapping traced = example;
  traced.isTraced = true;
  GuardFailure failure;
  if (!checkVerbose(traced, failure))
    throw FalseGuard("the traced call fails its own guard " + failure.text + ": found " +
                     failure.actual);
}

CheckFunctionManager::~CheckFunctionManager() = default;

void CheckFunctionManager::giveUpIdentities() {
  identities_.resize(guards_.size());
  for (size_t i = 0; i < guards_.size(); ++i) {
    Guard& guard = guards_[i];
    guard.after = nullptr;
    // The program knows the keys.
    bool isOrder =
        guard.type == GuardType::DICT_KEYS_MATCH || guard.type == GuardType::SET_ITEMS_MATCH;
    if (isOrder && !isConstantList(guard.operand)) guard.operand = nullptr;
    if (!isIdentity(guard)) continue;
    PyObject* copy = program_->copies.copyOf(guard.operand);
    bool isHeld = !program_->identities.isKnownByParts(guard.operand);
    identities_[i] = copy || !isHeld ? copy : guard.operand.get();
    guard.operand = nullptr;
  }
  sources_->releaseConstants(isWeakKey);
}

std::string CheckFunctionManager::textOf(size_t guard) const {
  BorrowedRef<> operand = guards_[guard].operand;
  if (!operand && valid()) operand = identities_[guard];
  const ObjectParts* parts = operand || !valid() ? nullptr : partsKnownBy(*program_, guard);
  if (!parts) return guardText(guards_[guard], operand);
  if (parts->type == &PyTuple_Type) return guardText(guards_[guard], tupleOf(parts->parts));
  return guards_[guard].source->name() + " is <" + typeName(parts->type) + " object>";
}

// A TENSOR_MATCH means the example's exact type too, if it does not name another.
void CheckFunctionManager::addTensorTypes(const FrameLocalsMapping& example) {
  auto isUntyped = [](const Guard& guard) {
    return guard.type == GuardType::TENSOR_MATCH && !guard.operand;
  };
  if (llvm::none_of(guards_, isUntyped)) return;
  llvm::DenseMap<const Source*, PyObject*> types;
  for (const Guard& guard : guards_)
    if (guard.type == GuardType::TYPE_MATCH) types[guard.source] = guard.operand.get();
  std::vector<const Source*> untyped;
  for (Guard& guard : guards_) {
    if (!isUntyped(guard)) continue;
    if (PyObject* type = types.lookup(guard.source))
      guard.operand = Ref<>::create(type);
    else
      untyped.push_back(guard.source);
  }
  if (untyped.empty()) return;
  std::vector<Guard> none;
  std::unique_ptr<GuardProgram> loads = compile(none, untyped);
  GuardProgramState state = loads->freshState();
  size_t failed = loads->run(example, state);
  if (failed != GuardProgram::passed)
    throw FalseGuard("the traced call has no " + loads->origins[failed].source->name());
  size_t next = 0;
  for (Guard& guard : guards_)
    if (isUntyped(guard)) {
      PyObject* array = state.registers[loads->captures[next++]].object;
      guard.operand = Ref<>::create(reinterpret_cast<PyObject*>(Py_TYPE(array)));
    }
}

bool CheckFunctionManager::check(const FrameLocalsMapping& locals, PyObject** captures) {
  if (!pins_.empty()) releaseCaptures();
  if (!program_->identities.valid()) return false;
  // Foreign code that a descriptor runs may call the same compiled function; the registers of the
  // suspended run are then left alone.
  if (running_) {
    GuardProgramState nested = program_->freshState();
    return runIn(nested, locals, captures);
  }
  running_ = true;
  bool passed = runIn(*state_, locals, captures);
  running_ = false;
  return passed;
}

bool CheckFunctionManager::runIn(GuardProgramState& state, const FrameLocalsMapping& locals,
                                 PyObject** captures) {
  bool passed = program_->run(locals, state) == GuardProgram::passed;
  if (passed) {
    const std::vector<uint32_t>& wanted = program_->captures;
    for (size_t i = 0; i < wanted.size(); ++i) captures[i] = state.registers[wanted[i]].object;
  }
  if (state.pins.empty()) return passed;
  // On success they serve the captures until the next call; else they go at once, which may run
  // code, but nothing here is needed any more.
  if (passed) {
    std::move(state.pins.begin(), state.pins.end(), std::back_inserter(pins_));
    state.pins.clear();
  } else {
    std::exchange(state.pins, {}).clear();
  }
  return passed;
}

void CheckFunctionManager::takePins(PyObject* const* captures, Pins& taken) {
  if (pins_.empty()) return;
  llvm::ArrayRef<PyObject*> captured(captures, captureCount());
  // One by one: of an object that was captured twice, the last reference stays. None ends here.
  auto take = [&taken](Pins& owned) {
    for (Ref<>& capture : owned) {
      if (Py_REFCNT(capture.get()) == 1)
        taken.push_back(std::move(capture));
      else
        capture = nullptr;
    }
    owned.clear();
  };
  auto isCapture = [&](const Ref<>& pin) { return llvm::is_contained(captured, pin.get()); };
  if (llvm::all_of(pins_, isCapture)) return take(pins_);
  Pins owned;  // rare: a capture lives by what is none
  for (PyObject* capture : captured) owned.push_back(Ref<>::create(capture));
  releaseCaptures();
  take(owned);
}

void CheckFunctionManager::releaseCaptures() {
  Pins released = std::exchange(pins_, {});
  released.clear();
}

bool CheckFunctionManager::checkVerbose(const FrameLocalsMapping& locals, GuardFailure& failure) {
  if (!program_->identities.valid()) {
    failure = {"every object that the guards know by identity lives", "one has died"};
    return false;
  }
  GuardProgramState state = program_->freshState();
  size_t failed = program_->run(locals, state);
  if (failed == GuardProgram::passed) return true;
  const Instruction& instruction = program_->instructions[failed];
  const GuardProgram::Origin& origin = program_->origins[failed];
  failure.text = origin.guard >= 0 ? textOf(program_->guardOrder[static_cast<size_t>(origin.guard) +
                                                                 failedPart(instruction, state)])
                                   : origin.source->name() + " exists";
  failure.actual = explainActual(instruction, state);
  if (instruction.operation == Operation::CheckDistinct) {
    auto [first, second] = GuardProgram::firstMeeting(*instruction.distinct, state);
    bool inMemory = instruction.distinct->inMemory;
    const char* relation = inMemory ? " shares no memory with " : " is not ";
    failure.text = second ? first->name() + relation + second->name() : first->name() + " exists";
    failure.actual = !second ? "missing" : inMemory ? "they share some" : "the same object";
  }
  return false;
}

std::vector<const Source*> CheckFunctionManager::variedValues(
    const FrameLocalsMapping& locals) const {
  std::vector<const Source*> varied;
  if (!valid()) return varied;
  auto mayVary = [](PyObject* object) {
    return PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyUnicode_CheckExact(object);
  };
  auto note = [&](const Guard& guard, PyObject* found) {
    if (guard.type != GuardType::EQUALS_MATCH) {
      Py_ssize_t expected = guard.type == GuardType::SEQUENCE_LENGTH
                                ? guard.number
                                : PyList_GET_SIZE(guard.operand.get());
      Ref<> length = lengthComputation(Py_TYPE(found));
      Ref<> count = length ? compute(length, found) : nullptr;
      if (count && PyLong_AsSsize_t(count.get()) != expected)
        varied.push_back(sources_->computed(guard.source, std::move(length)));
    } else if (Py_TYPE(found) == Py_TYPE(guard.operand.get()) &&
               !sameConstant(found, guard.operand)) {
      varied.push_back(guard.source);
    }
  };
  auto isOfInterest = [&](const Guard& guard) {
    return guard.type == GuardType::SEQUENCE_LENGTH ||
           (guard.type == GuardType::DICT_KEYS_MATCH && guard.operand) ||
           (guard.type == GuardType::EQUALS_MATCH && guard.operand && mayVary(guard.operand.get()));
  };
  std::vector<const Guard*> loadable;
  for (const Guard& guard : guards_)
    if (isOfInterest(guard) && canReload(guard.source)) loadable.push_back(&guard);
  forEachLoaded(loadable, locals, note);
  // Of what cannot be loaded again, the guard that fails shows one value at a time.
  GuardProgramState state = program_->freshState();
  size_t failed = program_->run(locals, state);
  if (failed == GuardProgram::passed || program_->origins[failed].guard < 0) return varied;
  const Instruction& instruction = program_->instructions[failed];
  auto place = static_cast<size_t>(program_->origins[failed].guard);
  const Guard& guard = guards_[program_->guardOrder[place + failedPart(instruction, state)]];
  if (isOfInterest(guard) && !llvm::is_contained(varied, guard.source))
    note(guard, state.registers[instruction.input].object);
  return varied;
}

int CheckFunctionManager::traverse(visitproc visit, void* arg) const {
  for (const Guard& guard : guards_) {
    Py_VISIT(guard.operand.get());
    Py_VISIT(guard.after.get());
  }
  for (const Ref<>& pin : pins_) Py_VISIT(pin.get());
  return program_->traverse(visit, arg);
}

bool CheckFunctionManager::valid() const { return program_->identities.valid(); }

std::string CheckFunctionManager::toString() const {
  std::string text;
  for (uint32_t guard : program_->guardOrder)
    text += std::string(guardTypeName(guards_[guard].type)) + ": " + textOf(guard) + "\n";
  return text;
}

std::string CheckFunctionManager::programText() const { return program_->text(); }

}  // namespace armature
