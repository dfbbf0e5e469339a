// Random.getrandbits() and Random.random(): what an existing generator gives is read ahead of its
// state, as the items of iterators are. No call gets what another got, so the numbers are symbolic:
// what the program finds out about them is guarded.
#include <map>
#include <string>
#include <tuple>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "cpython/random_state.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/user_defined.h"

namespace armature {

namespace {

using cpython::Draw;

// Each outcome of a comparison needs a translation of its own: more draws hardly meet again.
constexpr int64_t kMostWords = 16;

struct DrawAhead {
  int64_t words;
  Draw draw;
  int64_t count;
  std::string name;
  PyGetSetDef definition;
  Ref<> field;
};

// The field of a generator that is what it gives after so many words. Lives as long as the process;
// there are few of them.
PyObject* fieldOf(int64_t words, Draw draw, int64_t count) {
  static auto& fields = *new std::map<std::tuple<int64_t, Draw, int64_t>, DrawAhead>();
  auto [place, isNew] = fields.try_emplace({words, draw, count});
  DrawAhead& ahead = place->second;
  if (isNew) {
    std::string call =
        draw == Draw::Unit ? "random()" : "getrandbits(" + std::to_string(count) + ")";
    ahead = {words, draw, count, call + " behind " + std::to_string(words) + " words", {}, {}};
    ahead.definition.name = ahead.name.c_str();
    ahead.definition.closure = &ahead;
    ahead.definition.get = [](PyObject* random, void* closure) {
      auto& drawn = *static_cast<DrawAhead*>(closure);
      return cpython::drawAhead(random, drawn.words, drawn.draw, drawn.count).release();
    };
    ahead.field = checked(PyDescr_NewGetSet(cpython::randomType(), &ahead.definition));
  }
  return ahead.field.get();
}

int64_t wordsDrawn(const SideEffects& effects, const VariableTracker* random) {
  int64_t words = 0;
  for (int32_t i = 0; i < effects.size(); ++i) {
    bool isDraw = effects[i].target == random && effects[i].kind == EffectKind::IteratorAdvance;
    if (isDraw) words += effects[i].index;
  }
  return words;
}

Value draw(Translator& translator, const Value& self, Draw kind, int64_t count, int64_t words) {
  auto* random = trackerOf<UserObjectVariable>(translator.realized(self));
  const char* name = kind == Draw::Unit ? "Random.random" : "Random.getrandbits";
  bool isInput = random && random->existing() && random->source();
  if (!isInput) throw GraphBreak(GraphBreakKind::UnknownCFunction, name);
  int64_t before = wordsDrawn(translator.effects, random);
  if (before + words > kMostWords || !translator.effects.concerns(random)) {
    throw GraphBreak(GraphBreakKind::UnknownCFunction, name);
  }
  Ref<> value = cpython::drawAhead(random->existing(), before, kind, count);
  if (!value) return translator.raiseFromPython();
  const Source* source = translator.sources->item(SourceKind::Descriptor, random->source(),
                                                  fieldOf(before, kind, count));
  for (int64_t i = 0; i < words; ++i) translator.effects.advance(random);
  return translator.make<SymNodeVariable>(translator.symNodes.input(source, value));
}

Value randomBits(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "getrandbits", arguments, 1, 1)) return Value();
  Value count = translator.realized(arguments.values[0]);
  PyObject* object = count.objectOrNull();
  int overflow = 0;
  bool isInteger = object && PyLong_CheckExact(object);
  int64_t bits = isInteger ? PyLong_AsLongLongAndOverflow(object, &overflow) : -1;
  if (bits < 0 || cpython::wordsOfBits(bits) > kMostWords) {
    throw GraphBreak(GraphBreakKind::UnknownCFunction, "Random.getrandbits");
  }
  return draw(translator, self, Draw::Bits, bits, cpython::wordsOfBits(bits));
}

Value randomUnit(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "random", arguments, 0, 0)) return Value();
  return draw(translator, self, Draw::Unit, 0, cpython::kWordsOfUnit);
}

void registerAll() {
  // Its import may be interrupted, and is then made again.
  Ref<> module = Ref<>::steal(cpython::importModule("_random"));
  clearUnlessInterrupted();
  PyTypeObject* type = module ? cpython::randomType() : nullptr;
  if (!type) return;
  registerMethodHandler(type, "getrandbits", randomBits);
  registerMethodHandler(type, "random", randomUnit);
}

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerAll);

}  // namespace armature
