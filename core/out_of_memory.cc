#include "core/out_of_memory.h"

#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/MemAlloc.h>

#include <cstdint>
#include <exception>
#include <mutex>
#include <new>

#include "core/native_stack.h"

namespace armature {

std::atomic<size_t> out_of_memory::tablesInReserve = 0;

namespace {

// Touched by nobody before it is needed.
alignas(std::max_align_t) char reserve[16 << 20];
size_t reserveUsed = 0;
std::mutex reserveMutex;

bool isInReserve(const void* table) {
  auto address = reinterpret_cast<uintptr_t>(table);
  auto begin = reinterpret_cast<uintptr_t>(reserve);
  return address >= begin && address < begin + sizeof reserve;
}

// Null where it does not fit. What is freed before all is free, is not used again.
void* takeReserve(size_t size, size_t alignment) {
  std::lock_guard lock(reserveMutex);
  size_t start = (reserveUsed + alignment - 1) & ~(alignment - 1);
  if (alignment > alignof(std::max_align_t) || size > sizeof reserve - start) return nullptr;
  reserveUsed = start + size;
  ++out_of_memory::tablesInReserve;
  return reserve + start;
}

void giveBackToReserve() {
  std::lock_guard lock(reserveMutex);
  if (--out_of_memory::tablesInReserve == 0) reserveUsed = 0;
}

void throwBadAllocation(void*, const char*, bool) { throw std::bad_alloc(); }

}  // namespace

void prepareForOutOfMemory() {
  llvm::install_bad_alloc_error_handler(throwBadAllocation);
  // The C library aborts where it has no memory for what is thread_local in a library that was
  // loaded, which it allocates when it is first looked at: that of exceptions, and ours.
  static volatile int exceptions = std::uncaught_exceptions();
  static volatile bool isFull = NativeStack().isNearlyFull();
  (void)exceptions, (void)isFull;
}

}  // namespace armature

// These take the place of LLVM's own (lib/Support/MemAlloc.cpp).
void* llvm::allocate_buffer(size_t size, size_t alignment) {
  void* buffer = ::operator new(size, std::align_val_t(alignment), std::nothrow);
  if (!buffer) buffer = armature::takeReserve(size, alignment);
  if (!buffer) throw std::bad_alloc();
  return buffer;
}

void llvm::deallocate_buffer(void* buffer, size_t size, size_t alignment) {
  if (armature::isInReserve(buffer)) return armature::giveBackToReserve();
  ::operator delete(buffer, size, std::align_val_t(alignment));
}
