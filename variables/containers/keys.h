// What dicts need of keys besides findKey() and realizeKey() (variables/containers/dict.h).
#pragma once

#include "core/ref.h"
#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// The object that a real dict has to be asked for: a constant, an existing object that is a key by
// its identity, or a tuple of such; null for a key that holds something new, which no existing dict
// can have. The key is realized, and known to hash as data or by identity.
Ref<> realKey(const Value& key);

// The answer for a key that goes by identity holds as long as its source leads to that object.
void guardIdentity(Translator& translator, const Value& key);

// What makes a key of each of its objects that hash by methods of the program's: their hashes, as
// the methods give them now. Where one had another hash as a key before, what holds it no longer
// finds it: that is Python's. False with an exception pending.
bool askHashes(Translator& translator, const Value& key);

}  // namespace armature
