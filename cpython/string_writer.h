// Makes a str out of pieces, as fast as CPython does.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

class StringWriter {
 public:
  StringWriter() {
    _PyUnicodeWriter_Init(&writer_);
    // Else each piece would copy all before it.
    writer_.overallocate = 1;
  }
  ~StringWriter() { _PyUnicodeWriter_Dealloc(&writer_); }
  StringWriter(const StringWriter&) = delete;
  StringWriter& operator=(const StringWriter&) = delete;

  // False with MemoryError set.
  bool write(BorrowedRef<> text) { return _PyUnicodeWriter_WriteStr(&writer_, text) == 0; }
  bool writeAscii(const char* text) {
    return _PyUnicodeWriter_WriteASCIIString(&writer_, text, -1) == 0;
  }
  // What was written; null with MemoryError set. The writer is empty then.
  Ref<> finish() {
    Ref<> text = Ref<>::steal(_PyUnicodeWriter_Finish(&writer_));
    _PyUnicodeWriter_Init(&writer_);
    return text;
  }

 private:
  _PyUnicodeWriter writer_;
};

}  // namespace armature::cpython
