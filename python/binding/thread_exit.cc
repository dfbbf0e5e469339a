#include <unwind.h>

// A daemon thread that asks for the GIL after the interpreter has begun to finalize is ended by
// CPython with pthread_exit (Python/ceval_gil.h, take_gil), which unwinds its stack by force. Our
// frames in it own references, and their destructors would release them without the GIL, beside
// the finalization; a destructor or another noexcept function on the way would call
// std::terminate. So the frames of this library are left as they are: the linker sends every
// personality routine of the extension here (--wrap), and forced unwinding passes over them. What
// they own is leaked, by a thread that ends with the process. C++ exceptions are not affected.
extern "C" {

_Unwind_Reason_Code __real___gxx_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class exceptionClass,
                                                _Unwind_Exception* exception,
                                                _Unwind_Context* context);

_Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class exceptionClass,
                                                _Unwind_Exception* exception,
                                                _Unwind_Context* context) {
  if (actions & _UA_FORCE_UNWIND) return _URC_CONTINUE_UNWIND;
  return __real___gxx_personality_v0(version, actions, exceptionClass, exception, context);
}
}
