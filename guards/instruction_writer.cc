#include "guards/instruction_writer.h"

#include <cstddef>
#include <stdexcept>
#include <utility>

#include <llvm/ADT/STLExtras.h>

#include "cpython/function_layout.h"
#include "cpython/member_descriptors.h"
#include "guards/object_access.h"

namespace armature {
namespace {

bool isEnter(Operation operation) {
  return operation == Operation::EnterDict || operation == Operation::EnterInstance ||
         operation == Operation::EnterType || operation == Operation::EnterUnlessDistinct;
}

Operation endOf(Operation enter) {
  switch (enter) {
    case Operation::EnterInstance:
      return Operation::CommitInstance;
    case Operation::EnterType:
      return Operation::CommitType;
    case Operation::EnterDict:
      return Operation::CommitDict;
    default:
      return Operation::Leave;
  }
}

int64_t indexOf(const Source& source) {
  if (source.index() < 0) throw std::invalid_argument("a negative index: " + source.name());
  return source.index();
}

}  // namespace

InstructionWriter::InstructionWriter(size_t instructions)
    : program_(std::make_unique<GuardProgram>()) {
  for (Code* code : {&main_, &sections_}) {
    code->instructions.reserve(instructions);
    code->origins.reserve(instructions);
  }
}

std::unique_ptr<GuardProgram> InstructionWriter::finish() {
  emit(Operation::Pass, nullptr);
  std::vector<Instruction>& all = program_->instructions;
  all = std::move(main_.instructions);
  program_->origins = std::move(main_.origins);
  auto offset = static_cast<uint32_t>(all.size());
  for (Instruction& instruction : all)
    if (isEnter(instruction.operation)) instruction.target += offset;
  llvm::append_range(all, sections_.instructions);
  llvm::append_range(program_->origins, sections_.origins);
  return std::move(program_);
}

Instruction& InstructionWriter::emit(Operation operation, const Source* source, int64_t guard) {
  code_->instructions.push_back({.operation = operation});
  code_->origins.push_back({source, guard});
  return code_->instructions.back();
}

void InstructionWriter::enter(Instruction enter, const GuardNode* node, int64_t guard) {
  if (node) {
    enter.input = node->loadedIn;
    enter.output = program_->registerCount++;
  }
  enter.target = static_cast<uint32_t>(sections_.instructions.size());
  emit(enter.operation, node ? node->source : nullptr, guard) = enter;

  leave_ = enter;
  leave_.operation = endOf(enter.operation);
  leave_.object = nullptr;
  leave_.target = static_cast<uint32_t>(main_.instructions.size() - 1);
  code_ = &sections_;
}

void InstructionWriter::leave() {
  emit(leave_.operation, nullptr) = leave_;
  code_ = &main_;
}

// Gives the node a register, and the instruction that fills it from its parent's.
Instruction& InstructionWriter::loadAs(GuardNode* node, Operation operation) {
  Instruction& instruction = emit(operation, node->source);
  instruction.input = node->parent ? node->parent->loadedIn : 0;
  instruction.output = node->loadedIn = program_->registerCount++;
  return instruction;
}

void InstructionWriter::loadWithKey(GuardNode* node, Operation operation) {
  Instruction& instruction = loadAs(node, operation);
  instruction.object = ownKey(node->source->object());
  instruction.number = hashOf(instruction.object);
}

void InstructionWriter::loadMember(GuardNode* node, BorrowedRef<> descriptor) {
  if (!cpython::isObjectMember(descriptor))
    throw std::invalid_argument("not a member that holds an object: " + node->source->name());
  loadAs(node, Operation::LoadMember).object = ownDescriptor(descriptor);
}

void InstructionWriter::loadFunctionField(GuardNode* node, cpython::FunctionField field) {
  loadAs(node, Operation::LoadFunctionField).number =
      static_cast<int64_t>(cpython::offsetOf(field));
}

void InstructionWriter::load(GuardNode* node) {
  const Source& source = *node->source;
  if (node->constantType) {
    loadAs(node, Operation::LoadConstant).object = reinterpret_cast<PyObject*>(node->constantType);
    program_->identities.watch(reinterpret_cast<PyObject*>(node->constantType));
    return;
  }
  switch (source.kind()) {
    case SourceKind::Local:
      loadAs(node, Operation::LoadLocal).number = source.index();
      break;
    case SourceKind::LocalCell:
      loadAs(node, Operation::LoadCell).number = source.index();
      break;
    case SourceKind::GlobalsDict:
    case SourceKind::BuiltinsDict:
    case SourceKind::ModulesDict:
      loadAs(node, Operation::LoadConstant).object = source.object();
      break;
    case SourceKind::HandledException:
      loadAs(node, Operation::LoadHandledException);
      break;
    case SourceKind::Constant:
      loadAs(node, Operation::LoadConstant).object = source.object();
      program_->identities.watch(source.object());
      break;
    case SourceKind::Type:
      loadAs(node, Operation::LoadType);
      break;
    case SourceKind::InstanceDict:
      loadAs(node, Operation::LoadInstanceDict);
      break;
    case SourceKind::DictItem:
      loadWithKey(node, Operation::LoadDictItem);
      break;
    case SourceKind::DictKey:
      loadAs(node, Operation::LoadDictKey).number = source.index();
      break;
    case SourceKind::ListItem:
      loadAs(node, Operation::LoadListItem).number = indexOf(source);
      break;
    case SourceKind::DequeItem:
      loadAs(node, Operation::LoadDequeItem).number = indexOf(source);
      break;
    case SourceKind::TupleItem:
      loadAs(node, Operation::LoadTupleItem).number = indexOf(source);
      break;
    case SourceKind::Slot:
      loadMember(node, source.object());
      break;
    case SourceKind::TypeAttribute:
      loadAs(node, Operation::LoadTypeAttribute).object = source.object();
      break;
    case SourceKind::SuperAttribute: {
      Instruction& instruction = loadAs(node, Operation::LoadSuperAttribute);
      instruction.object = source.object();
      instruction.number = reinterpret_cast<int64_t>(source.after().get());
      program_->identities.watch(source.after());
      break;
    }
    case SourceKind::TypeName:
    case SourceKind::TypeQualifiedName:
      loadAs(node, Operation::LoadTypeName).negated =
          source.kind() == SourceKind::TypeQualifiedName;
      break;
    case SourceKind::CellContents:
      loadAs(node, Operation::LoadCellContents);
      break;
    case SourceKind::FunctionCode:
      loadFunctionField(node, cpython::FunctionField::Code);
      break;
    case SourceKind::FunctionDefaults:
      loadFunctionField(node, cpython::FunctionField::Defaults);
      break;
    case SourceKind::FunctionKwDefaults:
      loadFunctionField(node, cpython::FunctionField::KeywordDefaults);
      break;
    case SourceKind::FunctionClosure:
      loadFunctionField(node, cpython::FunctionField::Closure);
      break;
    case SourceKind::FunctionGlobals:
      loadFunctionField(node, cpython::FunctionField::Globals);
      break;
    case SourceKind::FunctionBuiltins:
      loadFunctionField(node, cpython::FunctionField::Builtins);
      break;
    case SourceKind::FunctionName:
      loadFunctionField(node, cpython::FunctionField::Name);
      break;
    case SourceKind::FunctionQualifiedName:
      loadFunctionField(node, cpython::FunctionField::QualifiedName);
      break;
    case SourceKind::FunctionModule:
      loadFunctionField(node, cpython::FunctionField::Module);
      break;
    case SourceKind::FunctionDoc:
      loadFunctionField(node, cpython::FunctionField::Doc);
      break;
    case SourceKind::MethodFunction:
      loadAs(node, Operation::LoadMethodFunction);
      break;
    case SourceKind::MethodSelf:
      loadAs(node, Operation::LoadMethodSelf);
      break;
    case SourceKind::TypeMro:
      loadAs(node, Operation::LoadMro);
      break;
    case SourceKind::TypeDict:
      loadAs(node, Operation::LoadTypeDict);
      break;
    case SourceKind::ProxiedMapping:
      loadAs(node, Operation::LoadProxiedMapping);
      break;
    case SourceKind::WeakReferent:
      loadAs(node, Operation::LoadWeakReferent);
      break;
    case SourceKind::IteratorItem:
    case SourceKind::IteratorValue: {
      Instruction& instruction = loadAs(node, Operation::LoadIteratorItem);
      instruction.number = indexOf(source);
      instruction.negated = source.kind() == SourceKind::IteratorValue;
      break;
    }
    case SourceKind::IteratorField:
      loadAs(node, Operation::LoadIteratorField).number = indexOf(source);
      break;
    case SourceKind::GeneratorSlot:
      loadAs(node, Operation::LoadGeneratorSlot).number = indexOf(source);
      break;
    case SourceKind::Computed:
      loadAs(node, Operation::LoadComputed).object = source.object();
      break;
    case SourceKind::Descriptor:
      loadAs(node, Operation::LoadDescriptor).object = ownDescriptor(source.object());
      break;
  }
  if (pinning && code_ == &main_ && source.kind() != SourceKind::Descriptor) pin(node);
}

void InstructionWriter::pin(const GuardNode* node) {
  emit(Operation::Pin, node->source).input = node->loadedIn;
}

PyObject* InstructionWriter::own(BorrowedRef<> object) {
  program_->objects.push_back(Ref<>::create(object.get()));
  return object;
}

PyObject* InstructionWriter::ownDescriptor(BorrowedRef<> descriptor) {
  PyTypeObject* type = Py_TYPE(descriptor.get());
  bool isRead = type == &PyMemberDescr_Type || type == &PyGetSetDescr_Type;
  if (!isRead || !cpython::belongsToClass(descriptor)) return own(descriptor);
  return program_->copies.copyOfDescriptor(descriptor, program_->identities);
}

PyObject* InstructionWriter::ownKey(BorrowedRef<> key) {
  if (isTupleOfObjects(key)) return program_->copies.copy(key, program_->identities);
  if (!isKeyByIdentity(Py_TYPE(key.get()))) return own(key);
  program_->identities.watch(key);
  return key;
}

int64_t InstructionWriter::hashOf(BorrowedRef<> key) {
  std::optional<Py_hash_t> hash = hashWithoutCode(key);
  if (!hash)
    throw std::invalid_argument("a key whose hash is computed by the program: " +
                                std::string(Py_TYPE(key.get())->tp_name));
  return *hash;
}

}  // namespace armature
