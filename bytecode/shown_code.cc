#include "bytecode/shown_code.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "bytecode/location_table.h"
#include "bytecode/native.h"
#include "core/pending_python_exception.h"

namespace armature {

namespace {

struct Shown {
  Ref<PyCodeObject> code;
  // Those that were asked for: programs raise from few places.
  llvm::SmallVector<std::pair<int32_t, int32_t>, 2> offsets;
};

native::CodeExtra shownCodes([](void* shown) { delete static_cast<Shown*>(shown); });

Shown* find(BorrowedRef<PyCodeObject> made) {
  void* extra = nullptr;
  if (shownCodes.get(made, &extra)) return static_cast<Shown*>(extra);
  clearException();
  return nullptr;
}

constexpr int32_t kUnitBytes = 2;

// One for each unit; none where the table cannot be read.
std::vector<Position> positionsOf(BorrowedRef<PyCodeObject> code) {
  std::string_view table(PyBytes_AS_STRING(code->co_linetable),
                         static_cast<size_t>(PyBytes_GET_SIZE(code->co_linetable)));
  return parseLocationTable(table, code->co_firstlineno, native::unitCount(code))
      .value_or(std::vector<Position>());
}

int32_t findOffset(BorrowedRef<PyCodeObject> made, BorrowedRef<PyCodeObject> shown,
                   int32_t offset) {
  std::vector<Position> own = positionsOf(made), others = positionsOf(shown);
  auto unit = static_cast<size_t>(offset / kUnitBytes);
  if (offset < 0 || unit >= own.size()) return 0;
  auto found = llvm::find(others, own[unit]);
  return found == others.end() ? 0 : static_cast<int32_t>(found - others.begin()) * kUnitBytes;
}

}  // namespace

bool setShown(BorrowedRef<PyCodeObject> made, BorrowedRef<PyCodeObject> original) {
  auto shown = std::make_unique<Shown>();
  shown->code = Ref<PyCodeObject>::create(original);
  if (!shownCodes.set(made, shown.get())) return false;
  shown.release();
  native::reserveSlots(made, original);
  return true;
}

BorrowedRef<PyCodeObject> shownCode(BorrowedRef<PyCodeObject> made) {
  Shown* shown = find(made);
  return shown ? shown->code.get() : nullptr;
}

int32_t shownOffset(BorrowedRef<PyCodeObject> made, int32_t offset) {
  Shown* shown = find(made);
  if (!shown) return 0;
  for (const auto& [asked, found] : shown->offsets) {
    if (asked == offset) return found;
  }
  shown->offsets.emplace_back(offset, findOffset(made, shown->code, offset));
  return shown->offsets.back().second;
}

}  // namespace armature
