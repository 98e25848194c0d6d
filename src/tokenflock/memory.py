"""How much memory this machine has: an upper bound for every count that a caller gives."""

from __future__ import annotations

import ctypes
import os
from typing import Any

UNKNOWN = 1 << 62  # bytes: above the memory of any machine


def machine_bytes() -> int:
    """The memory of this machine; a number above any, where the system does not say."""
    names = ("SC_PAGE_SIZE", "SC_PHYS_PAGES")
    if hasattr(os, "sysconf") and all(name in os.sysconf_names for name in names):
        return os.sysconf(names[0]) * os.sysconf(names[1])
    return _windows_bytes() or UNKNOWN


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX of Windows: its length, the load in percent, the memory of the machine, and six more numbers."""

    _fields_ = (("length", ctypes.c_uint32), ("load", ctypes.c_uint32), ("bytes", ctypes.c_uint64 * 7))


def _windows_bytes() -> int:
    """The memory of a machine with Windows; 0 on any other."""
    windows: Any = getattr(ctypes, "windll", None)
    told = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
    known = windows is not None and windows.kernel32.GlobalMemoryStatusEx(ctypes.byref(told))
    return int(told.bytes[0]) if known else 0
