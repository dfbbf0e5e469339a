#include "runtime/break_statistics.h"

#include <structmember.h>

#include <chrono>
#include <cstddef>

namespace armature {

namespace {

using Clock = std::chrono::steady_clock;

struct BreakStatistics {
  PyObject_HEAD unsigned long long hits;
  double seconds;
  int underWay;
  Clock::time_point start;  // of the first that is under way
};

BreakStatistics* statisticsOf(PyObject* object) {
  return reinterpret_cast<BreakStatistics*>(object);
}

void begin(BreakStatistics& statistics) {
  ++statistics.hits;
  if (statistics.underWay++ == 0) statistics.start = Clock::now();
}

void end(BreakStatistics& statistics) {
  if (--statistics.underWay > 0) return;
  statistics.seconds += std::chrono::duration<double>(Clock::now() - statistics.start).count();
}

PyObject* callBegin(PyObject* self, PyObject*) {
  begin(*statisticsOf(self));
  Py_RETURN_NONE;
}

PyObject* callEnd(PyObject* self, PyObject*) {
  end(*statisticsOf(self));
  Py_RETURN_NONE;
}

PyObject* represent(PyObject* self) {
  const BreakStatistics& statistics = *statisticsOf(self);
  Ref<> seconds = Ref<>::steal(PyFloat_FromDouble(statistics.seconds));
  return seconds ? PyUnicode_FromFormat("BreakStatistics(hits=%llu, seconds=%R)", statistics.hits,
                                        seconds.get())
                 : nullptr;
}

PyMemberDef members[] = {
    {"hits", T_ULONGLONG, offsetof(BreakStatistics, hits), READONLY, "How often it was hit."},
    {"seconds", T_DOUBLE, offsetof(BreakStatistics, seconds), READONLY,
     "How long Python took, in what it called, too."},
    {},
};

PyTypeObject BreakStatisticsType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "armature._C.BreakStatistics",
    .tp_basicsize = sizeof(BreakStatistics),
    .tp_dealloc = [](PyObject* self) { PyObject_Free(self); },
    .tp_repr = represent,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "How often a graph break was hit, and how long Python took because of it.",
    .tp_members = members,
};

}  // namespace

Ref<> makeBreakStatistics() {
  auto* made = PyObject_New(BreakStatistics, &BreakStatisticsType);
  if (!made) return nullptr;
  made->hits = 0;
  made->seconds = 0;
  made->underWay = 0;
  made->start = {};
  return Ref<>::steal(reinterpret_cast<PyObject*>(made));
}

BreakTimer timerOf(BorrowedRef<> statistics) {
  static PyMethodDef beginMethod = {"begin", callBegin, METH_NOARGS, nullptr};
  static PyMethodDef endMethod = {"end", callEnd, METH_NOARGS, nullptr};
  BreakTimer timer;
  timer.begin = Ref<>::steal(PyCFunction_New(&beginMethod, statistics.get()));
  if (timer.begin) timer.end = Ref<>::steal(PyCFunction_New(&endMethod, statistics.get()));
  return timer;
}

BreakScope::BreakScope(BorrowedRef<> statistics) : statistics_(Ref<>::create(statistics)) {
  if (statistics_) begin(*statisticsOf(statistics_.get()));
}

BreakScope::~BreakScope() {
  if (statistics_) end(*statisticsOf(statistics_.get()));
}

int readyBreakStatisticsType() { return PyType_Ready(&BreakStatisticsType); }

}  // namespace armature
