#include <algorithm>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLExtras.h>

#include "bytecode/code.h"
#include "bytecode/code_units.h"
#include "bytecode/exception_table.h"
#include "bytecode/location_table.h"
#include "bytecode/native.h"
#include "bytecode/validate.h"
#include "core/fault_injection.h"

namespace armature {
namespace {

std::string_view bytesOf(BorrowedRef<> bytes) {
  return {PyBytes_AS_STRING(bytes.get()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.get()))};
}

bool fail(const char* message) {
  PyErr_SetString(PyExc_ValueError, message);
  return false;
}

class Lifter {
 public:
  Lifter(BorrowedRef<PyCodeObject> from, Code& code) : from_(from), code_(code) {}

  bool run() {
    return liftInstructions() && liftRegions() && liftLocals() && liftNames() && checkCode();
  }

 private:
  bool liftInstructions() {
    const auto bytes = Ref<>::steal(PyCode_GetCode(from_));  // specialization undone
    if (!bytes || !native::decodeUnits(bytesOf(bytes), decoded_)) return false;
    const auto byUnit = parseLocationTable(bytesOf(from_->co_linetable), from_->co_firstlineno,
                                           decoded_.byUnit.size());
    if (!byUnit) return fail("malformed location table");
    std::vector<Position> positions;
    positions.reserve(decoded_.opcodeUnit.size());
    for (int32_t unit : decoded_.opcodeUnit) positions.push_back((*byUnit)[unit]);
    if (!native::toCanonical(decoded_.instructions, positions, decoded_.isTarget,
                             code_.instructions, origin_)) {
      return false;
    }
    code_.positions.reserve(origin_.size());
    for (int32_t native : origin_) code_.positions.push_back(positions[native]);
    for (int32_t i = 0; i < size(); ++i) {
      if (code_.instructions[i].opcode != Opcode::YIELD_VALUE) continue;
      code_.yields.push_back({i, decoded_.opcodeUnit[origin_[i]]});
    }
    return liftLabels();
  }

  bool liftLabels() {
    // A native instruction that left nothing behind stands for the next one that did.
    std::vector<int32_t> firstOf(decoded_.instructions.size());
    int32_t canonical = 0;
    for (size_t native = 0; native < firstOf.size(); ++native) {
      while (canonical < size() && origin_[canonical] < static_cast<int32_t>(native)) ++canonical;
      firstOf[native] = canonical;
    }
    for (Instruction& instruction : code_.instructions) {
      if (!isJump(instruction.opcode)) continue;
      instruction.argument = firstOf[instruction.argument];
      if (instruction.argument == size()) return fail("a jump to no instruction");
    }
    return true;
  }

  // The first canonical instruction whose opcode is at the unit or after it.
  int32_t atUnit(int32_t unit) const {
    const auto found = std::partition_point(origin_.begin(), origin_.end(), [&](int32_t native) {
      return decoded_.opcodeUnit[native] < unit;
    });
    return static_cast<int32_t>(found - origin_.begin());
  }

  bool liftRegions() {
    const auto rows = parseExceptionTable(bytesOf(from_->co_exceptiontable));
    if (!rows) return fail("malformed exception table");
    const auto units = static_cast<int32_t>(decoded_.byUnit.size());
    int32_t end = 0;
    for (const ExceptionRegion& row : *rows) {
      if (row.start < end || row.end > units || row.target >= units) {
        return fail("malformed exception table: a row overlaps another or leaves the code");
      }
      end = row.end;
      const ExceptionRegion region{atUnit(row.start), atUnit(row.end), atUnit(row.target),
                                   row.depth, row.pushLasti};
      if (region.target == size()) return fail("malformed exception table: no such handler");
      if (region.start < region.end) code_.regions.push_back(region);
    }
    code_.indexRegions();
    return true;
  }

  bool liftLocals() {
    const BorrowedRef<> names = from_->co_localsplusnames;
    const std::string_view kinds = bytesOf(from_->co_localspluskinds);
    constexpr uint8_t cellBit = 0x40, freeBit = 0x80;
    code_.locals.reserve(kinds.size());
    for (size_t i = 0; i < kinds.size(); ++i) {
      const auto bits = static_cast<uint8_t>(kinds[i]);
      const LocalKind kind = (bits & freeBit) != 0   ? LocalKind::Free
                             : (bits & cellBit) != 0 ? LocalKind::Cell
                                                     : LocalKind::Local;
      code_.locals.push_back(
          {Ref<>::create(PyTuple_GET_ITEM(names.get(), static_cast<Py_ssize_t>(i))), kind});
    }
    return true;
  }

  bool liftNames() {
    copy(from_->co_consts, code_.constants);
    copy(from_->co_names, code_.names);
    code_.argumentCount = from_->co_argcount;
    code_.positionalOnlyCount = from_->co_posonlyargcount;
    code_.keywordOnlyCount = from_->co_kwonlyargcount;
    code_.flags = from_->co_flags;
    code_.firstLine = from_->co_firstlineno;
    code_.name = Ref<>::create(from_->co_name);
    code_.qualifiedName = Ref<>::create(from_->co_qualname);
    code_.filename = Ref<>::create(from_->co_filename);
    code_.original = from_;
    return true;
  }

  static void copy(BorrowedRef<> tuple, std::vector<Ref<>>& items) {
    items.reserve(static_cast<size_t>(PyTuple_GET_SIZE(tuple.get())));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.get()); ++i) {
      items.push_back(Ref<>::create(PyTuple_GET_ITEM(tuple.get(), i)));
    }
  }

  // The interpreter indexes without looking: every index must be good.
  bool checkCode() {
    const std::string problem = validate(code_);
    return problem.empty() || fail(("malformed code: " + problem).c_str());
  }

  int32_t size() const { return static_cast<int32_t>(code_.instructions.size()); }

  BorrowedRef<PyCodeObject> from_;
  Code& code_;
  native::DecodedUnits decoded_;
  std::vector<int32_t> origin_;  // for each canonical instruction, its native one
};

// Code objects own their lifted form.
native::CodeExtra lifted([](void* code) { delete static_cast<Code*>(code); });

}  // namespace

namespace {

bool isOneOf(BorrowedRef<> name, llvm::ArrayRef<const char*> others) {
  return llvm::any_of(others, [&](const char* other) {
    return PyUnicode_CompareWithASCIIString(name, other) == 0;
  });
}

// By its names: what they stand for is known only when it runs.
bool callsReaderOfFrame(const Code& code) {
  constexpr const char* kReaders[] = {"locals", "vars", "dir", "eval", "exec"};
  // Of modules (sys, inspect, pdb), or imported from them. The references to an object that are
  // counted are those of the frame, too; and who is to watch from here on watches this frame.
  constexpr const char* kGivers[] = {"_getframe", "currentframe", "getrefcount", "breakpoint",
                                     "set_trace", "settrace",     "setprofile"};
  // Its error is that the function has no positional parameter; code that resumes has.
  bool superIsAnError = code.argumentCount == 0 && code.classCell() >= 0;
  return llvm::any_of(code.instructions, [&](const Instruction& instruction) {
    switch (instruction.opcode) {
      case Opcode::LOAD_GLOBAL:
        return isOneOf(code.names[instruction.argument], kReaders) ||
               isOneOf(code.names[instruction.argument], kGivers) ||
               (superIsAnError && isOneOf(code.names[instruction.argument], {"super"}));
      case Opcode::LOAD_ATTR:
      case Opcode::LOAD_METHOD:
        return isOneOf(code.names[instruction.argument], kGivers);
      default:
        return false;
    }
  });
}

}  // namespace

CodePtr lift(BorrowedRef<PyCodeObject> from) {
  faultSite();
  void* extra = nullptr;
  if (!lifted.get(from, &extra)) return nullptr;
  if (extra == nullptr) {
    auto code = std::make_unique<Code>();
    if (!Lifter(from, *code).run()) return nullptr;
    code->readsOwnFrame = callsReaderOfFrame(*code);
    if (!lifted.set(from, code.get())) return nullptr;
    extra = code.release();
  }
  // The code object owns the Code, and whoever holds the Code holds the code object.
  const auto owner = std::make_shared<Ref<PyCodeObject>>(Ref<PyCodeObject>::create(from));
  return CodePtr(owner, static_cast<const Code*>(extra));
}

}  // namespace armature
