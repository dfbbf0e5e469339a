// What the models of the iterators of itertools have in common. They go on as those of
// Modules/itertoolsmodule.c do.
#pragma once

#include "variables/containers/itertools.h"
#include "variables/functions/builtin_handlers.h"

namespace armature {

Value makeItertools(Translator& translator, const ItertoolsModel& model, ValueVector state);

// A step of the iterator that is a part of the state.
Value step(Translator& translator, const ItertoolsVariable& self, size_t part);

// What its function says of the item: a bool. Null with the exception pending.
Value verdictOn(Translator& translator, const ItertoolsVariable& self, const Value& item);

// What all of the state makes again, by a call.
IteratorRecipe callWithState(Translator&, const ItertoolsVariable& self);
// The same of a function and an iterator.
IteratorRecipe callWithFunction(Translator&, const ItertoolsVariable& self);

// The arguments of a class that takes one, which counts them as functions of several do.
bool checkIterable(Translator& translator, const char* type, const CallArguments& arguments);

int64_t numberOf(const Value& value);
Value emptyTuple();

// The handler is that of a call of the class.
void registerModel(ItertoolsModel& model, BuiltinHandler handler);

}  // namespace armature
