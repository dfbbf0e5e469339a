#include "bytecode/assembler.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>

#include <cassert>

#include "bytecode/held_constant.h"
#include "core/checked.h"
#include "core/fault_injection.h"
#include "core/text.h"

namespace armature {
namespace {

Ref<> internedString(const char* text) { return checked(PyUnicode_InternFromString(text)); }

bool sameString(BorrowedRef<> a, BorrowedRef<> b) {
  return a.get() == b.get() || PyUnicode_Compare(a.get(), b.get()) == 0;
}

}  // namespace

Assembler::Assembler(BorrowedRef<> name, BorrowedRef<> filename, int32_t firstLine) {
  code_.name = code_.qualifiedName = Ref<>::create(name);
  code_.filename = Ref<>::create(filename);
  code_.firstLine = firstLine;
  code_.flags = CO_OPTIMIZED | CO_NEWLOCALS;
}

int32_t Assembler::addParameter(BorrowedRef<> name) {
  ++code_.argumentCount;
  parameters_.push_back(addLocal(name));
  return parameters_.back();
}

int32_t Assembler::addLocal(BorrowedRef<> name) {
  faultSite();
  code_.locals.push_back({Ref<>::create(name), LocalKind::Local});
  return static_cast<int32_t>(code_.locals.size() - 1);
}

std::string Assembler::freshName(const char* name) {
  for (; namedLocals_ < code_.locals.size(); ++namedLocals_) {
    localNames_.try_emplace(printable(code_.locals[namedLocals_].name), 1);
  }
  std::string candidate = name;
  while (localNames_.count(candidate)) {
    candidate = std::string(name) + "_" + std::to_string(localNames_[name]++);
  }
  localNames_.try_emplace(candidate, 1);
  return candidate;
}

int32_t Assembler::addFreshLocal(const char* name) {
  return addLocal(internedString(freshName(name).c_str()));
}

void Assembler::show(int32_t local, const LocalVariable& variable) {
  auto isIt = [&](const ShownLocal& one) { return one.variable.name.get() == variable.name.get(); };
  if (auto found = llvm::find_if(shown_, isIt); found != shown_.end()) {
    found->local = local;
  } else {
    shown_.push_back({variable, local});
  }
}

int32_t Assembler::addShownLocal(const LocalVariable& variable) {
  show(addLocal(variable.name), variable);
  return static_cast<int32_t>(code_.locals.size() - 1);
}

void Assembler::showFrameOf(llvm::ArrayRef<LocalVariable> variables) {
  isFrame_ = true;
  setLocals_ = static_cast<int32_t>(code_.locals.size());
  llvm::DenseSet<PyObject*> taken;
  for (const LocalVariable& local : code_.locals) taken.insert(local.name.get());
  for (const ShownLocal& one : shown_) taken.insert(one.variable.name.get());
  for (const LocalVariable& variable : variables) {
    if (taken.insert(variable.name.get()).second) addLocal(variable.name);
  }
}

// frame.f_locals asks the locals in their order, the cells last, and of several with one name the
// last one decides, whether it is set or not (PyFrame_FastToLocalsWithError).
void Assembler::nameLocals() {
  if (!isFrame_) return;
  llvm::DenseMap<PyObject*, const ShownLocal*> shownAs;
  for (const ShownLocal& one : shown_) {
    code_.locals[one.local].name = one.variable.name;
    shownAs[one.variable.name.get()] = &one;
  }
  auto count = static_cast<int32_t>(code_.locals.size());
  llvm::DenseSet<PyObject*> hidden;
  for (int32_t i = 0; i < count; ++i) {
    PyObject* name = code_.locals[i].name.get();
    const ShownLocal* shown = shownAs.lookup(name);
    if (shown && shown->local == i) {
      if (shown->variable.kind != LocalKind::Local) code_.locals[i].kind = LocalKind::Cell;
      continue;
    }
    // No other local may have the name of a cell (see lower()).
    if (shown && (i > shown->local || shown->variable.kind != LocalKind::Local)) {
      code_.locals[i].name = internedString(freshName(printable(name).c_str()).c_str());
      shown = nullptr;
    }
    if (!shown && i < setLocals_) hidden.insert(code_.locals[i].name.get());
  }
  for (int32_t i = 0; i < count; ++i) {
    if (hidden.erase(code_.locals[i].name.get())) addLocal(code_.locals[i].name);
  }
}

// A local shows what its cell holds where an instruction that makes a cell of it stands before the
// one that runs (_PyFrame_OpAlreadyRan). Those here never run.
void Assembler::markCells() {
  std::vector<Instruction> marks;
  for (size_t i = 0; i < code_.locals.size(); ++i) {
    if (code_.locals[i].kind != LocalKind::Cell) continue;
    marks.push_back({Opcode::MAKE_CELL, static_cast<int32_t>(i)});
  }
  if (marks.empty()) return;
  const auto count = static_cast<int32_t>(marks.size()) + 1;
  marks.insert(marks.begin(), {Opcode::JUMP, count});
  for (Instruction& instruction : code_.instructions) {
    if (isJump(instruction.opcode) && instruction.argument >= 0) instruction.argument += count;
  }
  for (ExceptionRegion& region : code_.regions) {
    region.start += count;
    region.end += count;
    if (region.target >= 0) region.target += count;
  }
  code_.instructions.insert(code_.instructions.begin(), marks.begin(), marks.end());
  code_.positions.insert(code_.positions.begin(), count, code_.positions.front());
}

void Assembler::dropLast() {
  code_.instructions.pop_back();
  code_.positions.pop_back();
}

void Assembler::putParametersFirst() {
  std::vector<int32_t> newIndex(code_.locals.size(), -1);
  int32_t next = 0;
  for (int32_t parameter : parameters_) newIndex[parameter] = next++;
  for (int32_t& index : newIndex) {
    if (index < 0) index = next++;
  }
  std::vector<LocalVariable> locals(code_.locals.size());
  for (size_t i = 0; i < newIndex.size(); ++i) locals[newIndex[i]] = std::move(code_.locals[i]);
  code_.locals = std::move(locals);
  for (ShownLocal& one : shown_) one.local = newIndex[one.local];
  for (Instruction& instruction : code_.instructions) {
    if (argumentKind(instruction.opcode) == ArgumentKind::Local) {
      instruction.argument = newIndex[instruction.argument];
    }
  }
}

void Assembler::emit(Opcode opcode, int32_t argument) {
  assert(!isJump(opcode));
  code_.instructions.push_back({opcode, argument});
  code_.positions.push_back(position_);
}

void Assembler::emitLoadConst(BorrowedRef<> constant) {
  if (constants_.count(constant.get()) || mayBeConstantOfCode(constant)) {
    emit(Opcode::LOAD_CONST, addConstant(constant));
    return;
  }
  Ref<>& holder = holders_[constant.get()];
  if (!holder) holder = holdConstant(constant);
  if (!holder) throw PendingPythonException();
  emit(Opcode::LOAD_CONST, addConstant(holder));
  emit(Opcode::UNARY_INVERT);
}

void Assembler::emitName(Opcode opcode, BorrowedRef<> name) { emit(opcode, addName(name)); }

void Assembler::emitName(Opcode opcode, const char* name) {
  emit(opcode, addName(internedString(name)));
}

void Assembler::emitCall(int32_t arguments, BorrowedRef<> keywordNames) {
  emit(Opcode::CALL, arguments);
  if (keywordNames) code_.instructions.back().names = addConstant(keywordNames);
}

void Assembler::emitJump(Opcode opcode, Label target) {
  assert(isJump(opcode));
  code_.instructions.push_back({opcode, target.id});
  code_.positions.push_back(position_);
}

Assembler::Label Assembler::newLabel() {
  labels_.push_back(-1);
  return {static_cast<int32_t>(labels_.size() - 1)};
}

void Assembler::bind(Label label) {
  assert(labels_[label.id] == -1);
  labels_[label.id] = static_cast<int32_t>(size());
}

void Assembler::beginRegion(Label target, int32_t depth, bool pushLasti) {
  interruptRegion();
  openRegions_.push_back({static_cast<int32_t>(size()), target, depth, pushLasti});
}

void Assembler::endRegion() {
  interruptRegion();
  openRegions_.pop_back();
  if (!openRegions_.empty()) openRegions_.back().start = static_cast<int32_t>(size());
}

void Assembler::interruptRegion() {
  if (openRegions_.empty()) return;
  const OpenRegion& open = openRegions_.back();
  const auto end = static_cast<int32_t>(size());
  if (open.start == end) return;
  code_.regions.push_back({open.start, end, open.target.id, open.depth, open.pushLasti});
}

int32_t Assembler::addConstant(BorrowedRef<> constant) {
  const auto index = static_cast<int32_t>(code_.constants.size());
  auto [found, isNew] = constants_.try_emplace(constant.get(), index);
  if (isNew) code_.constants.push_back(Ref<>::create(constant));
  return found->second;
}

int32_t Assembler::addName(BorrowedRef<> name) {
  const auto hash = static_cast<size_t>(PyObject_Hash(name.get()));
  for (auto [found, end] = names_.equal_range(hash); found != end; ++found) {
    if (sameString(code_.names[found->second], name)) return found->second;
  }
  const auto index = static_cast<int32_t>(code_.names.size());
  code_.names.push_back(Ref<>::create(name));
  names_.emplace(hash, index);
  return index;
}

CodePtr Assembler::finish() {
  faultSite();
  assert(openRegions_.empty());
  const auto resolve = [&](int32_t& label) {
    const bool known = label >= 0 && static_cast<size_t>(label) < labels_.size();
    label = known ? labels_[label] : -1;
  };
  for (Instruction& instruction : code_.instructions) {
    if (isJump(instruction.opcode)) resolve(instruction.argument);
  }
  for (ExceptionRegion& region : code_.regions) resolve(region.target);
  putParametersFirst();
  nameLocals();
  markCells();
  code_.indexRegions();
  auto result = std::make_shared<const Code>(std::move(code_));
  *this = Assembler(nullptr, nullptr, 0);
  return result;
}

}  // namespace armature
