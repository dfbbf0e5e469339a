// Is every fact that a translation rests on guarded? A call that its guards let through is traced
// once more, and what comes of that compared. And could the call be gone on with wherever an
// operation of its graph may fail? It is traced up to each.
//
// What is reported need not be an error: the same may be done in two ways (arrays that meet and are
// only read have one name or two; caches have an answer by now). Of a translation that breaks the
// graph alone is compared.
#include <llvm/ADT/STLExtras.h>

#include <bit>
#include <exception>

#include "core/checked.h"
#include "core/constant.h"
#include "core/fault_injection.h"
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"
#include "runtime/code_cache.h"
#include "runtime/failure.h"
#include "runtime/thread_state.h"

namespace armature {

namespace {

// What codegen makes for each translation: functions that resume, and the like.
bool isMadeForTranslation(PyObject* object) {
  return std::string_view(Py_TYPE(object)->tp_name).starts_with("armature.") ||
         PyCode_Check(object) || PyFunction_Check(object) || PyCFunction_Check(object);
}

// Objects that a trace makes to load them, or to call them: of the types of C alone.
bool isEqual(PyObject* a, PyObject* b) {
  static PyTypeObject* const partial = reinterpret_cast<PyTypeObject*>(
      checked(PyObject_GetAttrString(checked(cpython::importModule("functools")).get(), "partial"))
          .release());
  if (Py_IS_TYPE(a, partial)) {
    return isEqual(checked(PyObject_GetAttrString(a, "func")).get(),
                   checked(PyObject_GetAttrString(b, "func")).get()) &&
           isEqual(checked(PyObject_GetAttrString(a, "args")).get(),
                   checked(PyObject_GetAttrString(b, "args")).get());
  }
  return checked(PyObject_RichCompareBool(a, b, Py_EQ)) > 0;
}

bool isSameObject(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (isConstant(a) && isConstant(b)) return sameConstant(a, b);
  if (PyTuple_CheckExact(a) && PyTuple_GET_SIZE(a) == PyTuple_GET_SIZE(b)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i) {
      if (!isSameObject(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
    }
    return true;
  }
  return isMadeForTranslation(a) || (cpython::isImmutable(Py_TYPE(a)) && isEqual(a, b));
}

std::string differenceOf(const Code& found, const Code& again) {
  size_t count = std::max(found.instructions.size(), again.instructions.size());
  for (size_t i = 0; i < count; ++i) {
    bool isThere = i < found.instructions.size() && i < again.instructions.size();
    const Instruction *left = isThere ? &found.instructions[i] : nullptr,
                      *right = isThere ? &again.instructions[i] : nullptr;
    bool isSame = isThere && left->opcode == right->opcode;
    if (isSame && argumentKind(left->opcode) == ArgumentKind::Const) {
      isSame = isSameObject(found.constants[left->argument].get(),
                            again.constants[right->argument].get());
    } else if (isSame && argumentKind(left->opcode) == ArgumentKind::Name) {
      isSame = isSameObject(found.names[left->argument].get(), again.names[right->argument].get());
    } else if (isSame) {
      isSame = left->argument == right->argument;
    }
    if (isSame) continue;
    auto text = [&](const Code& code) {
      return i < code.instructions.size() ? toString(code, i) : "the end";
    };
    return "instruction " + std::to_string(i) + " of the generated code: " + text(found) +
           ", and now " + text(again);
  }
  return "";
}

// Without what is known of the arrays, which may differ where nobody has looked.
std::string linesOf(const Graph& graph) {
  std::string text = toString(graph), result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, ": \"") == 0) {
      size_t end = text.find('"', i + 3);
      if (end != std::string::npos && end - i < 200) {
        i = end;
        continue;
      }
    }
    result += text[i];
  }
  return result;
}

std::string differenceOf(const CacheEntry& found, const CacheEntry& again) {
  // What Python does is right, whatever it was left to Python for.
  bool isSameBreak = found.reason && again.reason && found.reason->kind == again.reason->kind &&
                     found.reason->line == again.reason->line;
  if (found.reason && !isSameBreak) return "";
  if (!again.function) return "it is left to Python now";
  if (again.reason && !found.reason) return "it breaks now: " + again.reason->explanation;
  std::string graph = found.graph ? linesOf(*found.graph) : "";
  std::string graphNow = again.graph ? linesOf(*again.graph) : "";
  if (graph != graphNow) return "the graph was\n" + graph + "\nand is now\n" + graphNow;
  // Which inputs that nobody reads are held to the end of a broken call depends on what they are.
  bool isWhole = !found.reason && found.generated && again.generated;
  return isWhole ? differenceOf(*found.generated, *again.generated) : "";
}

}  // namespace

void CodeCache::verify(CacheEntry& entry, const FrameLocalsMapping& inputs) {
  // Of calls that are made very often, fewer and fewer.
  constexpr uint64_t kAlways = 8;
  uint64_t call = ++entry.callsFound;
  if (call > kAlways && !std::has_single_bit(call)) return;
  // What a backend makes of a graph is its own.
  if (settings_->backend || fault_injection::armed) return;
  Walk walk(*this);
  CompilingScope scope;
  auto errors = internalErrors_;
  std::string difference;
  try {
    SkippedFunctions skipped = entry.skipped;
    size_t count = skipped.codes.size();
    std::unique_ptr<CacheEntry> again = makeEntry(inputs, skipped, &entry);
    difference = again && skipped.codes.size() == count
                     ? differenceOf(entry, *again)
                     : "another of the functions that it calls is left to Python";
    if (difference.empty() && call == 1) difference = whyNotGoneOn(inputs, entry);
  } catch (...) {
    std::string message;
    if (isForUser(message)) message = "an exception that is set";
    difference = "it cannot be translated now: " + message;
    clearException();
  }
  internalErrors_ = std::move(errors);
  if (difference.empty()) return;
  reportFailure(hooks(), *entry_.code,
                "a translation that is found for a call is not its own: " + difference,
                FailureKind::Error);
}

}  // namespace armature
