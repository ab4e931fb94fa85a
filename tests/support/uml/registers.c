/* Makes a user-mode Linux run on processors with more registers than it was built for (Intel's AMX): its buffer holds the first
 * part of them, and the host's kernel refuses to set a part. What is missing is filled up with what is set already, which is
 * right, as nobody inside uses the others. Preloaded before the C library. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* NT_X86_XSTATE of <elf.h>. */
#define XSTATE 0x202

static long asked(long request, long pid, void *addr, void *data) {
    return syscall(SYS_ptrace, request, pid, addr, data);
}

long ptrace(enum __ptrace_request request, ...) {
    va_list list;
    va_start(list, request);
    long pid = va_arg(list, pid_t);
    void *addr = va_arg(list, void *);
    void *data = va_arg(list, void *);
    va_end(list);
    if (request == PTRACE_SETREGSET && (long)addr == XSTATE) {
        struct iovec *given = data;
        /* A thread inside has a small stack, and there is one at a time. */
        static char bytes[1 << 15];
        struct iovec whole = { bytes, sizeof bytes };
        if (asked(PTRACE_GETREGSET, pid, addr, &whole) < 0) return -1;
        if (given->iov_len < whole.iov_len) {
            memcpy(bytes, given->iov_base, given->iov_len);
            return asked(PTRACE_SETREGSET, pid, addr, &whole);
        }
    }
    /* The C library stores the word where the kernel returns it. */
    if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER) {
        long word;
        long status = asked(request, pid, addr, &word);
        return status < 0 ? status : word;
    }
    return asked(request, pid, addr, data);
}
