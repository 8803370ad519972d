"""The environment of a server whose children are forked often: memory in large pages makes a fork three times as fast.

To fork a process with a hundred megabytes in small pages takes eight milliseconds, most of the time of a short command:
the kernel copies an entry for each page, and takes it away when the child ends. glibc asks for large pages if a tunable
says so, and Python lets glibc allocate. Elsewhere neither has an effect, and a fork is only slower.
"""

from __future__ import annotations

LARGE_PAGES = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
