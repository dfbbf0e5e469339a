// Whether a handler of the program may catch what an operation raises because of data.
#pragma once

#include "variables/translator.h"

namespace armature {

// Of a library's operation that may fail on data (Library::mayFailOnData): can what it raises then
// be of this class, one of the builtin exceptions? True where the library has not said so.
using MayRaiseOnData = bool (*)(const Node& node, PyObject* error);
void registerMayRaiseOnData(ArrayLibraryKind library, MayRaiseOnData function);
bool mayRaiseOnData(const Node& node, PyObject* error);

// Where errors are observed (Translator::errorsAreObserved): may a handler do anything with what
// the node raises because of data, but let it pass as an `except` clause of other exceptions does?
// The interpreter knows, which has the frames.
using DataErrorsAreObserved = bool (*)(Translator& translator, const Node& node);
void registerDataErrorsAreObserved(DataErrorsAreObserved function);
bool dataErrorsAreObserved(Translator& translator, const Node& node);

}  // namespace armature
