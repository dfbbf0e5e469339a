// What the methods of dict, its operators and its constructor share.
#pragma once

#include "variables/dict.h"
#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// dict.update(other): from a mapping (anything with .keys()) or an iterable of pairs. False with
// the exception pending.
bool updateDict(Translator& translator, DictVariable* dict, Value other);
// A new dict with the same items, of the same type.
DictVariable* copyDict(Translator& translator, DictVariable* dict);

}  // namespace armature
