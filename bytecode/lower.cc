#include <algorithm>
#include <unordered_set>

#include "bytecode/code.h"
#include "bytecode/code_units.h"
#include "bytecode/exception_table.h"
#include "bytecode/location_table.h"
#include "bytecode/native.h"
#include "bytecode/validate.h"
#include "core/fault_injection.h"
#include "core/pending_python_exception.h"
#include "core/text.h"

namespace armature {
namespace {

// CPython's order of the locals: arguments, plain locals, cells, free variables.
int rank(const Code& code, int32_t index) {
  if (index < code.boundCount()) return 0;
  return 1 + static_cast<int>(code.locals[index].kind);
}

// The order in which the locals must stand: position -> index; empty if they already do.
std::vector<int32_t> wantedOrder(const Code& code) {
  std::vector<int32_t> order(code.locals.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  const auto before = [&](int32_t a, int32_t b) { return rank(code, a) < rank(code, b); };
  if (std::is_sorted(order.begin(), order.end(), before)) return {};
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

Code withLocalsInOrder(const Code& code, const std::vector<int32_t>& order) {
  Code result = code;
  std::vector<int32_t> slot(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    slot[order[i]] = static_cast<int32_t>(i);
    result.locals[i] = code.locals[order[i]];
  }
  for (Instruction& instruction : result.instructions) {
    if (argumentKind(instruction.opcode) == ArgumentKind::Local) {
      instruction.argument = slot[instruction.argument];
    }
  }
  return result;
}

// CPython recognizes an argument that is a cell by its name, so no other name may be like it.
bool cellNamesAreUnique(const Code& code) {
  const bool anyCell = std::any_of(code.locals.begin(), code.locals.end(),
                                   [](const auto& local) { return local.kind == LocalKind::Cell; });
  if (!anyCell) return true;
  std::unordered_multiset<std::string> names;
  for (const LocalVariable& local : code.locals) {
    if (local.kind == LocalKind::Free) continue;
    names.insert(printable(local.name));
  }
  for (const LocalVariable& local : code.locals) {
    if (local.kind != LocalKind::Cell) continue;
    const std::string name = printable(local.name);
    if (names.count(name) == 1) continue;
    PyErr_Format(PyExc_ValueError, "cannot lower: the cell '%s' shares its name", name.c_str());
    return false;
  }
  return true;
}

bool fail(const std::string& message) {
  PyErr_Format(PyExc_ValueError, "cannot lower: %s", message.c_str());
  return false;
}

Ref<> bytes(const std::string& content) {
  return Ref<>::steal(
      PyBytes_FromStringAndSize(content.data(), static_cast<Py_ssize_t>(content.size())));
}

// Code objects that were made here have a mark.
native::CodeExtra marks([](void*) {});

bool mark(BorrowedRef<PyCodeObject> made) {
  static int anything;
  return marks.set(made, &anything);
}

class Lowerer {
 public:
  explicit Lowerer(const Code& code) : code_(code) {}

  Ref<PyCodeObject> run() {
    if (!computeStackSize() || !encodeInstructions()) return nullptr;
    encoding_.code = bytes(units_.bytes);
    encoding_.locationTable = bytes(locationTable());
    encoding_.exceptionTable = bytes(exceptionTable());
    if (!encoding_.code || !encoding_.locationTable || !encoding_.exceptionTable) return nullptr;
    Ref<PyCodeObject> made = native::makeCodeObject(code_, encoding_);
    return made && mark(made) ? made : nullptr;
  }

 private:
  bool computeStackSize() {
    std::string error;
    const std::vector<int32_t> depths = stackDepths(code_, &error);
    if (depths.empty()) return fail(error);
    encoding_.stackSize = std::max(0, *std::max_element(depths.begin(), depths.end()));
    return true;
  }

  bool encodeInstructions() {
    if (!native::toNative(code_, natives_, origin_)) return false;
    firstOf_.resize(code_.instructions.size() + 1);
    size_t native = 0;
    for (size_t canonical = 0; canonical < firstOf_.size(); ++canonical) {
      while (native < origin_.size() && origin_[native] < static_cast<int32_t>(canonical)) ++native;
      firstOf_[canonical] = static_cast<int32_t>(native);
    }
    for (native::NativeInstruction& instruction : natives_) {
      if (native::describe(instruction.opcode).jump != native::NativeOpcode::Jump::None) {
        instruction.argument = static_cast<uint32_t>(firstOf_[instruction.argument]);
      }
    }
    units_ = native::encodeUnits(natives_);
    return true;
  }

  std::string locationTable() const {
    LocationTableWriter writer(code_.firstLine);
    for (size_t i = 0; i < natives_.size(); ++i) {
      writer.add(code_.positions[origin_[i]],
                 static_cast<size_t>(units_.starts[i + 1] - units_.starts[i]));
    }
    return writer.table();
  }

  std::string exceptionTable() const {
    std::vector<ExceptionRegion> rows;
    rows.reserve(code_.regions.size());
    for (const ExceptionRegion& region : code_.regions) {
      rows.push_back({unit(region.start), unit(region.end), unit(region.target), region.depth,
                      region.pushLasti});
    }
    return writeExceptionTable(rows);
  }

  int32_t unit(int32_t canonical) const { return units_.starts[firstOf_[canonical]]; }

  const Code& code_;
  std::vector<native::NativeInstruction> natives_;
  std::vector<int32_t> origin_;   // for each native instruction, its canonical one
  std::vector<int32_t> firstOf_;  // for each canonical instruction, its first native one
  native::EncodedUnits units_;
  native::Encoding encoding_;
};

}  // namespace

bool isLowered(BorrowedRef<PyCodeObject> code) {
  void* found = nullptr;
  if (marks.get(code, &found)) return found != nullptr;
  clearException();
  return false;
}

Ref<PyCodeObject> lower(const Code& code) {
  faultSite();
  const std::string problem = validate(code);
  if (!problem.empty()) {
    fail(problem);
    return nullptr;
  }
  if (!cellNamesAreUnique(code)) return nullptr;
  const std::vector<int32_t> order = wantedOrder(code);
  if (order.empty()) return Lowerer(code).run();
  return Lowerer(withLocalsInOrder(code, order)).run();
}

}  // namespace armature
