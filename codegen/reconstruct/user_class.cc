// Classes that the trace makes: each call makes a new one, and then gives it what was set later.
#include "bytecode/private_function.h"
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"
#include "cpython/made_classes.h"
#include "variables/containers/dict.h"
#include "variables/objects/made_class.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// make_class(name, bases, namespace, metaclass)
template <bool tellsBases>
PyObject* makeClass(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  return cpython::makeClass(reinterpret_cast<PyTypeObject*>(arguments[3]), arguments[0],
                            arguments[1], arguments[2], tellsBases)
      .release();
}

template <bool tellsBases>
PyObject* makeClassFunction() {
  return privateFunction<makeClass<tellsBases>>("make_class");
}

const Value* givenFor(const MadeClass& made, const Value& name) {
  for (const auto& [key, value] : made.given) {
    if (PyUnicode_Compare(key.object(), name.object()) == 0) return &value;
  }
  return nullptr;
}

class UserClassReconstructor : public Reconstructor {
 public:
  Steps steps(VariableTracker*) const override { return Steps::Two; }
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    const MadeClass& made = madeClass(tracker);
    visit(made.metaclass);
    for (const Value& base : made.bases) visit(base);
    for (const auto& [key, value] : made.given) visit(value);
  }
  void holds(Translator& translator, VariableTracker* tracker, PartVisitor visit) const override {
    forEachLater(translator, madeClass(tracker), [&](const Value&, const Value& value) {
      if (value) visit(value);
    });
  }
  const char* localName() const override { return "cls"; }

  void allocate(PyCodegen& codegen, VariableTracker* tracker, int32_t local) const override {
    const MadeClass& made = madeClass(tracker);
    codegen.prepareCall(made.tellsBases ? makeClassFunction<true>() : makeClassFunction<false>());
    codegen.load(made.name);
    for (const Value& base : made.bases) codegen.load(base);
    codegen.assembler().emit(Opcode::BUILD_TUPLE, static_cast<int32_t>(made.bases.size()));
    for (const auto& [key, value] : made.given) {
      codegen.load(key);
      codegen.load(value);
    }
    codegen.assembler().emit(Opcode::BUILD_MAP, static_cast<int32_t>(made.given.size()));
    codegen.load(made.metaclass);
    codegen.call(4);
    codegen.assembler().emit(Opcode::STORE_FAST, local);
  }

  void fill(PyCodegen& codegen, VariableTracker* tracker) const override {
    forEachLater(codegen.translator(), madeClass(tracker),
                 [&](const Value& key, const Value& value) {
                   changeClassAttribute(
                       codegen, [&] { codegen.load(tracker); }, key, value);
                 });
  }

 private:
  static const MadeClass& madeClass(VariableTracker* tracker) {
    return *llvm::cast<UserClassVariable>(tracker)->made();
  }

  // What differs from what type.__new__ has made: names with their values, null for one that has to
  // go. What the program has set anew stands behind all that it has left in place.
  template <class Visit>
  static void forEachLater(Translator& translator, const MadeClass& made, Visit visit) {
    std::vector<OrderedValueMap::Entry> entries;
    made.attributes->forEach(
        translator, [&](const OrderedValueMap::Entry& entry) { entries.push_back(entry); });
    size_t kept = 0;
    for (const Value& name : made.madeNames) {
      bool isInPlace = kept < entries.size() && equalKeys(name, entries[kept].key);
      kept += isInPlace;
      if (!isInPlace) visit(name, Value());
    }
    for (size_t i = 0; i < entries.size(); ++i) {
      const OrderedValueMap::Entry& entry = entries[i];
      const Value* given = givenFor(made, entry.key);
      bool isAsMade = i < kept && (given ? given->sameAs(entry.value) : isOwn(entry.value));
      if (!isAsMade) visit(entry.key, entry.value);
    }
  }
  // What type.__new__ has put there itself.
  static bool isOwn(const Value& value) {
    return value.is(Py_None) || trackerOf<MadeDescriptorVariable>(value);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(UserClass)

}  // namespace armature
