#include "runtime/frame_hook/frame_counts.h"

#include "runtime/dict_builder.h"

namespace armature {

namespace {

Ref<> number(uint64_t value) { return Ref<>::steal(PyLong_FromUnsignedLongLong(value)); }

}  // namespace

void FrameCounts::count(const CodeCache& cache, const CacheEntry* entry) {
  if (entry && !entry->reason) {
    ++whole_;
    return;
  }
  ++broken_;
  std::string text = cache.whyNotCompiled();
  if (entry) {
    text = entry->reason->gbType;
    if (!entry->reason->context.empty()) text += ": " + entry->reason->context;
  }
  ++reasons_[text];
}

Ref<> FrameCounts::describe() const {
  DictBuilder excluded, reasons, counts;
  for (size_t i = 0; i < excluded_.size(); ++i) {
    const char* reason = reasonOf(static_cast<Exclusion>(i));
    if (*reason && excluded_[i]) excluded.set(reason, number(excluded_[i]));
  }
  for (const auto& [text, times] : reasons_) reasons.set(text.c_str(), number(times));
  counts.set("whole", number(whole_));
  counts.set("broken", number(broken_));
  counts.set("excluded", excluded.take());
  counts.set("break_reasons", reasons.take());
  return counts.take();
}

}  // namespace armature
