"""How much memory this process uses, for tests that watch it grow.

Under AddressSanitizer what is freed stays resident for a while (its quarantine, hundreds of MB), so
there it is the sanitizer that is asked.
"""

import ctypes
import os


def memory_in_use():
    """Bytes: allocated ones under AddressSanitizer, resident ones otherwise."""
    try:
        allocated = ctypes.CDLL(None).__sanitizer_get_current_allocated_bytes
    except AttributeError:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    allocated.restype = ctypes.c_size_t
    return allocated()
