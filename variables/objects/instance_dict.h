// The __dict__ of an object that existed before the trace.
#pragma once

#include "variables/containers/dict.h"

namespace armature {

// One variable for one real dict, whatever else leads to it: an argument, another object that
// shares it, the object itself where `self.__dict__ = self`. The dict is made if the object has
// none yet; null if its type gives it none. Breaks where it is of a type that is not traced.
DictVariable* existingInstanceDict(Translator& translator, VariableTracker* object);

// The __dict__ of any object, which `kept`, a field of its variable, remembers. Of one that existed
// before, to look for attributes makes no dict: of some types it shows whether there is one.
DictVariable* instanceDictOf(Translator& translator, VariableTracker* object, DictVariable*& kept);

}  // namespace armature
