// heapq: the functions of _heapqmodule.c.
#include <string>

#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/translator.h"

namespace armature {

namespace {

// 1 or 0, or -1 with an exception pending.
int isLess(Translator& translator, const Value& left, const Value& right) {
  Value answer = richCompare(translator, left, right, Py_LT);
  return answer ? isTrue(translator, answer) : -1;
}

// --- heapq.

enum class Order { Least, Greatest };

// A list that is kept as a heap, whose first item is the least or the greatest.
template <Order order>
class HeapQueue {
 public:
  HeapQueue(Translator& translator, MutableSequenceVariable* list)
      : translator_(translator), list_(list) {}

  // False with an exception pending.
  bool siftDown(size_t start, size_t place) {
    while (place > start) {
      size_t parent = (place - 1) >> 1;
      int answer = comesBefore(place, parent);
      if (answer < 0) return false;
      if (!answer) break;
      exchange(parent, place);
      place = parent;
    }
    return true;
  }

  bool siftUp(size_t place) {
    size_t start = place, size = list_->size();
    while (place < size >> 1) {
      size_t child = 2 * place + 1;
      if (child + 1 < size) {
        int answer = comesBefore(child, child + 1);
        if (answer < 0) return false;
        child += !answer;
      }
      exchange(place, child);
      place = child;
    }
    return siftDown(start, place);
  }

  // Puts an item in the place of the first, which it gives.
  Value replaceFirst(Value item) {
    Value first = list_->item(0);
    list_->setItem(translator_, 0, std::move(item));
    return siftUp(0) ? first : Value();
  }

  int comesBefore(const Value& left, const Value& right) {
    return order == Order::Least ? isLess(translator_, left, right)
                                 : isLess(translator_, right, left);
  }

 private:
  int comesBefore(size_t left, size_t right) {
    size_t size = list_->size();
    int answer = comesBefore(list_->item(left), list_->item(right));
    if (answer < 0 || list_->size() == size) return answer;
    translator_.raise(PyExc_RuntimeError, "list changed size during iteration");
    return -1;
  }
  void exchange(size_t one, size_t other) {
    Value first = list_->item(one), second = list_->item(other);
    list_->setItem(translator_, one, std::move(second));
    list_->setItem(translator_, other, std::move(first));
  }

  Translator& translator_;
  MutableSequenceVariable* list_;
};

// The heap that a function is given; null with an exception pending.
ListVariable* readHeap(Translator& translator, const char* function, size_t count,
                       const CallArguments& arguments) {
  // METH_O names the module.
  std::string counted = count == 1 ? std::string("_heapq.") + function : function;
  if (!checkArgumentCount(translator, counted.c_str(), arguments, count, count)) return nullptr;
  Value value = translator.realized(arguments.values[0]);
  if (auto* list = partOf<ListVariable>(value)) return list;
  if (PyType_IsSubtype(typeOf(value), &PyList_Type)) {
    throw GraphBreak(GraphBreakKind::MethodOfContainerSubclass, describe(value));
  }
  bool isOnly = count == 1;
  translator.raise(PyExc_TypeError, "%s() argument%s must be list, not %s", function,
                   isOnly ? "" : " 1", value.is(Py_None) ? "None" : nameOf(translator, value));
  return nullptr;
}

Value raiseEmpty(Translator& translator) {
  return translator.raise(PyExc_IndexError, "index out of range");
}

template <Order order>
Value heapify(Translator& translator, const Value& self, CallArguments& arguments) {
  // Longer ones are walked over in another order, which comparisons can tell.
  constexpr size_t kLongest = 2500;
  ListVariable* list =
      readHeap(translator, order == Order::Least ? "heapify" : "_heapify_max", 1, arguments);
  if (!list) return Value();
  if (list->size() > kLongest) throw GraphBreak(GraphBreakKind::UnknownCFunction, describe(self));
  HeapQueue<order> heap(translator, list);
  for (size_t i = list->size() >> 1; i-- > 0;) {
    if (!heap.siftUp(i)) return Value();
  }
  return Value::none();
}

Value push(Translator& translator, const Value&, CallArguments& arguments) {
  ListVariable* list = readHeap(translator, "heappush", 2, arguments);
  if (!list) return Value();
  list->append(translator, arguments.values[1]);
  bool ok = HeapQueue<Order::Least>(translator, list).siftDown(0, list->size() - 1);
  return ok ? Value::none() : Value();
}

template <Order order>
Value pop(Translator& translator, const Value&, CallArguments& arguments) {
  ListVariable* list =
      readHeap(translator, order == Order::Least ? "heappop" : "_heappop_max", 1, arguments);
  if (!list) return Value();
  if (list->size() == 0) return raiseEmpty(translator);
  Value last = list->pop(translator, list->size() - 1);
  if (list->size() == 0) return last;
  return HeapQueue<order>(translator, list).replaceFirst(std::move(last));
}

template <Order order>
Value replace(Translator& translator, const Value&, CallArguments& arguments) {
  ListVariable* list = readHeap(
      translator, order == Order::Least ? "heapreplace" : "_heapreplace_max", 2, arguments);
  if (!list) return Value();
  if (list->size() == 0) return raiseEmpty(translator);
  return HeapQueue<order>(translator, list).replaceFirst(arguments.values[1]);
}

Value pushPop(Translator& translator, const Value&, CallArguments& arguments) {
  ListVariable* list = readHeap(translator, "heappushpop", 2, arguments);
  if (!list) return Value();
  if (list->size() == 0) return arguments.values[1];
  int answer = isLess(translator, list->item(0), arguments.values[1]);
  if (answer <= 0) return answer ? Value() : arguments.values[1];
  if (list->size() == 0) return raiseEmpty(translator);
  return HeapQueue<Order::Least>(translator, list).replaceFirst(arguments.values[1]);
}

void registerHeapQueues() {
  registerFunctionHandler("_heapq", "heapify", heapify<Order::Least>);
  registerFunctionHandler("_heapq", "_heapify_max", heapify<Order::Greatest>);
  registerFunctionHandler("_heapq", "heappush", push);
  registerFunctionHandler("_heapq", "heappop", pop<Order::Least>);
  registerFunctionHandler("_heapq", "_heappop_max", pop<Order::Greatest>);
  registerFunctionHandler("_heapq", "heapreplace", replace<Order::Least>);
  registerFunctionHandler("_heapq", "_heapreplace_max", replace<Order::Greatest>);
  registerFunctionHandler("_heapq", "heappushpop", pushPop);
}
ARMATURE_REGISTER_HANDLERS(registerHeapQueues);

}  // namespace

}  // namespace armature
