// threading.local: an object whose attributes each thread has for itself.
#pragma once

#include "variables/value.h"

namespace armature {

class DictVariable;
class Translator;

// The attributes that an existing threading.local has in this thread, read anew in each call; null
// for all other objects, and for instances of subclasses, whose __init__ runs once in each thread.
DictVariable* threadDict(Translator& translator, const Value& object);

// Attributes of an object with a threadDict(). They return as the slots do.
Value threadAttribute(Translator& translator, const Value& object, DictVariable* dict,
                      PyObject* name);
bool setThreadAttribute(Translator& translator, const Value& object, DictVariable* dict,
                        PyObject* name, const Value& value);

}  // namespace armature
