#include "guards/guard_program.h"

#include <unordered_map>

#include "core/builtin_part.h"
#include "core/constant.h"
#include "core/describe.h"
#include "core/pending_python_exception.h"
#include "cpython/abstract_classes.h"
#include "cpython/deque_layout.h"
#include "cpython/dict_layout.h"
#include "cpython/generator_frames.h"
#include "cpython/instance_attributes.h"
#include "cpython/integers.h"
#include "cpython/iterator_state.h"
#include "cpython/iterators.h"
#include "cpython/mapping_proxy.h"
#include "cpython/member_descriptors.h"
#include "cpython/ordered_dict.h"
#include "cpython/set_entries.h"
#include "cpython/type_lookup.h"
#include "cpython/version_tags.h"
#include "guards/object_access.h"
#include "guards/silent_end.h"
#include "shapes/value_comparison.h"
#include "sources/computation.h"

namespace armature {
namespace {

template <class T>
T* as(PyObject* object) {
  return reinterpret_cast<T*>(object);
}

// PyDict_Check, which looks into the type, for the types that most dicts have.
bool isDict(PyObject* object) { return Py_TYPE(object) == &PyDict_Type || PyDict_Check(object); }

inline PyDictObject* instanceDict(PyObject* object, int64_t offset) {
  PyObject** place = offset ? reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset)
                            : cpython::instanceDictPlace(object);
  return place && *place && isDict(*place) ? as<PyDictObject>(*place) : nullptr;
}

// The version by which a section on a dict is known; 0 if it depends on the order of an
// OrderedDict, which changes without the dict.
inline uint64_t sectionVersion(PyObject* dict, const Instruction& instruction) {
  if (instruction.ordered && cpython::isOrderedDict(dict)) return 0;
  return cpython::contentVersion(as<PyDictObject>(dict));
}

PyObject* orNone(PyObject* object) { return object ? object : Py_None; }

PyObject* methodSelf(PyObject* object) {
  if (PyMethod_Check(object)) return PyMethod_GET_SELF(object);
  return PyCFunction_Check(object) ? orNone(PyCFunction_GET_SELF(object)) : nullptr;
}

PyObject* callDescriptor(PyObject* descriptor, PyObject* object) {
  if (!PyObject_TypeCheck(object, PyDescr_TYPE(descriptor))) return nullptr;
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  PyObject* value = Py_TYPE(descriptor)->tp_descr_get(descriptor, object, type);
  if (!value) clearException();
  return value;
}

// What was made for the run belongs to it.
PyObject* kept(cpython::Loaded found, GuardProgramState& state) {
  if (found.isNew && found.object) state.pins.push_back(Ref<>::steal(found.object));
  return found.object;
}

bool endsAfter(PyObject* iterator, int64_t items) {
  using cpython::IteratorField, cpython::Step;
  if (items < 0) {
    return cpython::stepAhead(iterator, 0) == Step::End &&
           !cpython::iteratorField(iterator, IteratorField::Container).object;
  }
  return cpython::stepAhead(iterator, items) == Step::End;
}

bool isEmpty(PyObject* object) {
  return PyDict_Check(object) ? cpython::usedCount(as<PyDictObject>(object)) == 0
                              : lengthOf(object) == 0;
}

bool areEmpty(const GuardProgramState::Register* registers, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (!isEmpty(registers[i].object)) return false;
  return true;
}

bool haveNoEntries(const GuardProgramState::Register* registers, int64_t count) {
  Py_ssize_t entries = 0;
  for (int64_t i = 0; i < count; ++i)
    entries |= cpython::usedCount(as<PyDictObject>(registers[i].object));
  return entries == 0;
}

// What stands for the member's identity; null if its object can have no dict. A dict that does not
// exist yet is its object's alone: the place where it would be, inside the object, stands for it.
const void* identityOf(const DistinctRegisters::Member& member,
                       const GuardProgramState::Register* registers) {
  PyObject* object = registers[member.index].object;
  if (!member.instanceDict) return object;
  PyObject** place = cpython::instanceDictPlace(object);
  return place && *place ? static_cast<const void*>(*place) : place;
}

bool areDistinct(DistinctRegisters& distinct, const GuardProgramState::Register* registers) {
  if (distinct.inMemory) {
    llvm::SmallVector<PyObject*, 32> arrays;
    for (const auto& member : distinct.written) arrays.push_back(registers[member.index].object);
    return areApartInMemory(arrays);
  }
  distinct.seen.clear();
  for (const DistinctRegisters::Member& member : distinct.written) {
    const void* identity = identityOf(member, registers);
    if (!identity || !distinct.seen.insert(identity)) return false;
  }
  for (const DistinctRegisters::Member& member : distinct.read) {
    const void* identity = identityOf(member, registers);
    if (!identity || distinct.seen.contains(identity)) return false;
  }
  return true;
}

std::string textOf(const DistinctRegisters& distinct) {
  auto list = [](const std::vector<DistinctRegisters::Member>& members) {
    std::string text;
    for (const DistinctRegisters::Member& member : members)
      text += " r" + std::to_string(member.index) + (member.instanceDict ? ".__dict__" : "");
    return text;
  };
  if (distinct.inMemory) return "apart in memory" + list(distinct.written);
  return "written" + list(distinct.written) +
         (distinct.read.empty() ? "" : ", read" + list(distinct.read));
}

}  // namespace

const char* operationName(Operation operation) {
  switch (operation) {
#define OPERATION(name) \
  case Operation::name: \
    return #name;
#include "guards/operations.def"
  }
  return "?";
}

size_t GuardProgram::run(const FrameLocalsMapping& locals, GuardProgramState& state) const {
  GuardProgramState::Register* registers = state.registers.data();
  const Instruction* begin = instructions.data();
  Ends ends;

  for (const Instruction* at = begin;; ++at) {
    const Instruction& instruction = *at;
    PyObject* input = registers[instruction.input].object;
    PyObject* loaded;
    uint64_t version;
    bool holds;

    switch (instruction.operation) {
      case Operation::LoadLocal:
        loaded = locals.get(static_cast<size_t>(instruction.number));
        goto load;
      case Operation::LoadCell:
        loaded = locals.cell(static_cast<size_t>(instruction.number));
        goto load;
      case Operation::LoadConstant:
        loaded = instruction.object;
        goto load;
      case Operation::LoadHandledException: {
        // The caller's frames hold it for as long as the call lasts.
        PyObject* handled = PyErr_GetHandledException();
        Py_XDECREF(handled);
        loaded = handled ? handled : Py_None;
        goto load;
      }
      case Operation::LoadType:
        loaded = reinterpret_cast<PyObject*>(Py_TYPE(input));
        goto load;
      case Operation::LoadInstanceDict:
        // Where a guard looks at the dict itself, it must exist.
        loaded = cpython::materializedInstanceDict(input);
        goto load;
      case Operation::LoadInstanceItem:
        loaded = instanceAttribute(input, instruction.object, instruction.number);
        goto load;
      case Operation::LoadDictItem:
        loaded = lookUp(as<PyDictObject>(input), instruction.object, instruction.number).value;
        goto load;
      case Operation::LoadDictKey:
        loaded = keyAt(as<PyDictObject>(input), instruction.number);
        goto load;
      case Operation::LoadListItem:
        loaded = PyList_Check(input) && instruction.number < PyList_GET_SIZE(input)
                     ? PyList_GET_ITEM(input, instruction.number)
                     : nullptr;
        goto load;
      case Operation::LoadDequeItem:
        loaded = cpython::isDeque(input) && instruction.number < cpython::dequeLength(input)
                     ? cpython::dequeItem(input, instruction.number)
                     : nullptr;
        goto load;
      case Operation::LoadTupleItem:
        loaded = PyTuple_Check(input) && instruction.number < PyTuple_GET_SIZE(input)
                     ? PyTuple_GET_ITEM(input, instruction.number)
                     : nullptr;
        goto load;
      case Operation::LoadMember:
        loaded = cpython::memberValue(input, instruction.object);
        goto load;
      case Operation::LoadTypeAttribute:
        loaded = cpython::lookup(as<PyTypeObject>(input), instruction.object);
        goto load;
      case Operation::LoadSuperAttribute:
        loaded = cpython::lookupAfter(as<PyTypeObject>(input),
                                      reinterpret_cast<PyTypeObject*>(instruction.number),
                                      instruction.object)
                     .object;
        goto load;
      case Operation::LoadTypeName: {
        auto* type = as<PyTypeObject>(input);
        bool isHeap = PyType_Check(input) && cpython::isHeapType(type);
        loaded = !isHeap               ? nullptr
                 : instruction.negated ? cpython::qualifiedName(type)
                                       : cpython::shortName(type);
        goto load;
      }
      case Operation::LoadMro:
        loaded = PyType_Check(input) ? cpython::mro(as<PyTypeObject>(input)) : nullptr;
        goto load;
      case Operation::LoadTypeDict:
        loaded = PyType_Check(input) ? cpython::dict(as<PyTypeObject>(input)) : nullptr;
        goto load;
      case Operation::LoadProxiedMapping:
        loaded = cpython::isMappingProxy(input) ? cpython::proxiedMapping(input) : nullptr;
        goto load;
      case Operation::LoadWeakReferent:
        loaded = PyWeakref_CheckRef(input) ? PyWeakref_GET_OBJECT(input) : nullptr;
        goto load;
      case Operation::LoadCellContents:
        loaded = PyCell_Check(input) ? PyCell_GET(input) : nullptr;
        goto load;
      case Operation::LoadFunctionField:
        loaded = PyFunction_Check(input)
                     ? orNone(*reinterpret_cast<PyObject**>(as<char>(input) + instruction.number))
                     : nullptr;
        goto load;
      case Operation::LoadMethodFunction:
        loaded = PyMethod_Check(input) ? PyMethod_GET_FUNCTION(input) : nullptr;
        goto load;
      case Operation::LoadMethodSelf:
        loaded = methodSelf(input);
        goto load;
      case Operation::LoadIteratorItem: {
        auto part = instruction.negated ? cpython::Part::Value : cpython::Part::Item;
        loaded = kept(cpython::itemAhead(input, instruction.number, part), state);
        goto load;
      }
      case Operation::LoadIteratorField: {
        auto field = static_cast<cpython::IteratorField>(instruction.number);
        loaded = kept(cpython::iteratorField(input, field), state);
        goto load;
      }
      case Operation::LoadGeneratorSlot:
        loaded = PyGen_CheckExact(input)
                     ? cpython::generatorSlot(input, static_cast<size_t>(instruction.number))
                     : nullptr;
        goto load;
      case Operation::LoadComputed: {
        Ref<> result = compute(instruction.object, input);
        loaded = result.get();
        if (loaded) state.pins.push_back(std::move(result));
        goto load;
      }
      case Operation::LoadDescriptor:
        loaded = callDescriptor(instruction.object, input);
        if (loaded) state.pins.push_back(Ref<>::steal(loaded));
        goto load;
      case Operation::Pin:
        state.pins.push_back(Ref<>::create(input));
        continue;

      load:
        if (!loaded) return static_cast<size_t>(at - begin);
        registers[instruction.output].object = loaded;
        continue;

      // A section whose version is unknown (0) always runs. Until its Commit nothing in its
      // registers may be trusted: it could fail half-way.
      case Operation::EnterInstance: {
        if (instruction.object && Py_TYPE(input) != as<PyTypeObject>(instruction.object))
          return static_cast<size_t>(at - begin);
        PyDictObject* dict = instanceDict(input, instruction.number);
        version = dict ? cpython::contentVersion(dict) : 0;
        goto enter;
      }
      case Operation::EnterDict:
        if (!isDict(input)) return static_cast<size_t>(at - begin);
        version = sectionVersion(input, instruction);
        goto enter;
      case Operation::EnterType:
        if (!PyType_Check(input)) return static_cast<size_t>(at - begin);
        version = cpython::contentVersion(as<PyTypeObject>(input));
        goto enter;
      enter:
        if (version && registers[instruction.output].version == version) continue;
        if (state.recall(instruction.output, input, version)) continue;
        if (registers[instruction.output].version) remember(instruction, state);
        registers[instruction.output].version = 0;
        at = begin + instruction.target - 1;
        continue;

      case Operation::CommitInstance: {
        PyDictObject* dict = instanceDict(input, instruction.number);
        version = dict ? cpython::contentVersion(dict) : 0;
        goto commit;
      }
      case Operation::CommitDict:
        version = sectionVersion(input, instruction);
        goto commit;
      case Operation::CommitType:
        version = cpython::contentVersion(as<PyTypeObject>(input));
        goto commit;

      commit:
        registers[instruction.output].version = version;
        state.record(instruction.output, input, version);
        at = begin + instruction.target;  // the Enter; on behind it
        continue;

      case Operation::EnterUnlessDistinct:
        if (!areDistinct(*instruction.distinct, registers)) at = begin + instruction.target - 1;
        continue;
      case Operation::Leave:
        at = begin + instruction.target;
        continue;

      case Operation::CheckIdentity:
        holds = input == instruction.object;
        break;
      case Operation::CheckNotIdentity:
        holds = input != instruction.object;
        break;
      case Operation::CheckParts:
        holds = instruction.parts->areOf(input);
        break;
      case Operation::CheckType:
        holds = Py_TYPE(input) == as<PyTypeObject>(instruction.object);
        break;
      case Operation::CheckConstant:
        holds = input == instruction.object || sameConstant(input, instruction.object);
        break;
      case Operation::CheckBuiltinPart:
        holds = hasBuiltinPart(input, instruction.object);
        break;
      case Operation::CheckBoundBy:
        holds = isBoundBy(input, instruction.object);
        break;
      case Operation::CheckSmallInteger:
        holds = PyLong_CheckExact(input) && cpython::isBelow60Bits(input);
        break;
      case Operation::CheckComparison:
        holds = PyLong_CheckExact(input) && cpython::isBelow60Bits(input) &&
                instruction.comparison->holds(PyLong_AsLongLong(input));
        break;
      case Operation::CheckValues: {
        PyObject* other =
            instruction.object ? instruction.object : registers[instruction.output].object;
        holds = compareValues(input, static_cast<int>(instruction.number / 2), other) ==
                static_cast<int>(instruction.number % 2);
        break;
      }
      case Operation::CheckFunctionCode:
        holds =
            PyFunction_Check(input) && sameConstant(PyFunction_GET_CODE(input), instruction.object);
        break;
      case Operation::CheckLength:
        holds = lengthOf(input) == instruction.number;
        break;
      case Operation::CheckEmpty:
        holds = areEmpty(&registers[instruction.input], instruction.number);
        break;
      case Operation::CheckDict:
        holds = PyDict_Check(input);
        break;
      case Operation::CheckNoEntries:
        holds = haveNoEntries(&registers[instruction.input], instruction.number);
        break;
      case Operation::CheckInstanceContains:
        holds = containsAttribute(input, instruction.object, instruction.number) ==
                (instruction.negated ? Presence::Absent : Presence::Present);
        break;
      case Operation::CheckDictContains:
        holds = PyDict_Check(input) &&
                lookUp(as<PyDictObject>(input), instruction.object, instruction.number).presence ==
                    (instruction.negated ? Presence::Absent : Presence::Present);
        break;
      case Operation::CheckSetContains:
        holds = PyAnySet_Check(input) &&
                contains(as<PySetObject>(input), instruction.object, instruction.number) ==
                    (instruction.negated ? Presence::Absent : Presence::Present);
        break;
      case Operation::CheckSetHolds:
        holds = PyAnySet_Check(input) &&
                holdsItem(as<PySetObject>(input), instruction.object, instruction.number);
        break;
      case Operation::CheckSetTable:
        holds = PyAnySet_Check(input) &&
                cpython::haveSameTable(input, instruction.object, sameConstant);
        break;
      case Operation::CheckDictKeys:
        holds = PyDict_Check(input) && hasKeys(as<PyDictObject>(input), *instruction.keys, copies);
        break;
      case Operation::CheckSetItems:
        holds =
            PyAnySet_Check(input) && hasItems(as<PySetObject>(input), *instruction.keys, copies);
        break;
      case Operation::CheckAttribute:
        holds = hasAttribute(input, instruction.object) != instruction.negated;
        break;
      case Operation::CheckSlot:
        holds = PyObject_TypeCheck(input, PyDescr_TYPE(instruction.object)) &&
                !cpython::memberValue(input, instruction.object) == instruction.negated;
        break;
      case Operation::CheckCell:
        holds = PyCell_Check(input) && !PyCell_GET(input) == instruction.negated;
        break;
      case Operation::CheckTypeAttribute:
        holds = (cpython::lookup(as<PyTypeObject>(input), instruction.object) != nullptr) !=
                instruction.negated;
        break;
      case Operation::CheckSuperAttribute:
        holds = (cpython::lookupAfter(as<PyTypeObject>(input),
                                      reinterpret_cast<PyTypeObject*>(instruction.number),
                                      instruction.object)
                     .object != nullptr) != instruction.negated;
        break;
      case Operation::CheckSubclass:
        holds = static_cast<bool>(PyType_IsSubtype(as<PyTypeObject>(input),
                                                   as<PyTypeObject>(instruction.object))) !=
                instruction.negated;
        break;
      case Operation::CheckAbstract:
        holds = ((as<PyTypeObject>(input)->tp_flags & Py_TPFLAGS_IS_ABSTRACT) != 0) !=
                instruction.negated;
        break;
      case Operation::CheckBuiltinNew:
        holds = cpython::hasBuiltinNew(as<PyTypeObject>(input)) != instruction.negated;
        break;
      case Operation::CheckAbcToken:
        holds = cpython::abcCacheToken() == instruction.number;
        break;
      case Operation::CheckSilentEnd:
        if (locals.isTraced) {
          holds = true;
          break;
        }
        holds = endHolds(input, instruction.number, instruction.object, locals, state.pins, ends);
        break;
      case Operation::CheckIteratorItem:
        holds = cpython::stepAhead(input, instruction.number) == cpython::Step::Item;
        break;
      case Operation::CheckIteratorEnd:
        holds = endsAfter(input, instruction.number);
        break;
      case Operation::CheckIteratorState:
        holds = cpython::iteratorState(input) == instruction.number;
        break;
      case Operation::CheckGenerator:
        holds = cpython::standsAs(input, instruction.object);
        break;
      case Operation::CheckTensor: {
        const TensorExpectation& tensor = *instruction.tensor;
        holds = Py_TYPE(input) == tensor.type &&
                tensor.library->matches(input, tensor.metadata,
                                        static_cast<uint32_t>(instruction.number)) &&
                !(instruction.number & ObservedNoAttributes && hasInstanceAttributes(input));
        break;
      }
      case Operation::CheckSame:
        holds = (input == registers[instruction.output].object) != instruction.negated;
        break;
      case Operation::CheckDistinct:
        holds = areDistinct(*instruction.distinct, registers);
        break;
      case Operation::CheckGlobalState:
        holds =
            instruction.globalState->library->globalStateMatches(instruction.globalState->state);
        break;
      case Operation::Pass:
        return passed;
      default:
        __builtin_unreachable();
    }
    if (!holds) return static_cast<size_t>(at - begin);
  }
}

GuardProgram::Meeting GuardProgram::firstMeeting(const DistinctRegisters& distinct,
                                                 const GuardProgramState& state) {
  for (size_t i = 0; distinct.inMemory && i < distinct.written.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      PyObject* pair[] = {state.registers[distinct.written[k].index].object,
                          state.registers[distinct.written[i].index].object};
      if (!areApartInMemory(pair)) return {distinct.written[k].source, distinct.written[i].source};
    }
  }
  std::unordered_map<const void*, const Source*> seen;
  for (const DistinctRegisters::Member& member : distinct.written) {
    const void* identity = identityOf(member, state.registers.data());
    auto [first, isNew] = seen.try_emplace(identity, member.source);
    if (!identity || !isNew) return {first->second, identity ? member.source : nullptr};
  }
  for (const DistinctRegisters::Member& member : distinct.read) {
    const void* identity = identityOf(member, state.registers.data());
    if (!identity) return {member.source, nullptr};
    auto first = seen.find(identity);
    if (first != seen.end()) return {first->second, member.source};
  }
  return {};
}

std::string GuardProgram::text() const {
  std::string result;
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& instruction = instructions[i];
    Operation operation = instruction.operation;
    auto reg = [](uint32_t index) { return "r" + std::to_string(index); };
    result += std::to_string(i) + ": " + operationName(operation) + " " + reg(instruction.input);
    bool isRelation = operation == Operation::CheckSame ||
                      (operation == Operation::CheckValues && !instruction.object);
    if (operation < Operation::CheckIdentity || isRelation)
      result += ", " + reg(instruction.output);
    bool isDistinct =
        operation == Operation::EnterUnlessDistinct || operation == Operation::CheckDistinct;
    bool isComparison = operation == Operation::CheckComparison;
    bool hasKeys = operation == Operation::CheckDictKeys || operation == Operation::CheckSetItems;
    bool hasObject = operation != Operation::CheckTensor && !hasKeys &&
                     operation != Operation::CheckParts &&
                     operation != Operation::CheckGlobalState && !isDistinct && !isComparison;
    if (hasKeys && identities.valid()) {
      result += ", [";
      for (PyObject* key : *instruction.keys)
        result += (key == instruction.keys->front() ? "" : ", ") + describe(key);
      result += "]";
    }
    if (isComparison) result += ", " + instruction.comparison->text(reg(instruction.input));
    if (isDistinct) result += ", " + textOf(*instruction.distinct);
    // Once an object that is tested by identity has died, none is looked at.
    if (hasObject && instruction.object)
      result += ", " + (identities.valid() ? describe(instruction.object) : "<object>");
    // A key's hash and a class's address vary from run to run.
    bool isHash =
        operation == Operation::LoadDictItem || operation == Operation::LoadInstanceItem ||
        operation == Operation::CheckDictContains || operation == Operation::CheckSetContains ||
        operation == Operation::CheckSetHolds || operation == Operation::LoadSuperAttribute ||
        operation == Operation::CheckSuperAttribute ||
        operation == Operation::CheckInstanceContains;
    if (instruction.number && !isHash) result += ", " + std::to_string(instruction.number);
    if (instruction.negated) result += ", not";
    if (instruction.ordered) result += ", ordered";
    if (instruction.target) result += ", to " + std::to_string(instruction.target);
    if (origins[i].source) result += "  # " + origins[i].source->name();
    result += "\n";
  }
  return result;
}

int GuardProgram::traverse(visitproc visit, void* arg) const {
  for (const Ref<>& object : objects) Py_VISIT(object.get());
  return identities.traverse(visit, arg);
}

}  // namespace armature
