/* A wall clock that a test steps and stops, under a program that does not know: preloaded before the C library, it
 * answers gettimeofday, time and clock_gettime(CLOCK_REALTIME). Every other clock, the monotonic ones above all, is the
 * kernel's. It must not be linked into the product.
 *
 * The file named by DLOCK_TEST_CLOCK holds eight slots of two 64-bit numbers after a block of 16 bytes whose first byte
 * says which slot is valid: microseconds to add, and an instant to stand still at (0: it runs). One byte is written
 * last, so that no half of a number is ever used. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct slot {
    int64_t add;
    int64_t stand;
};

static const volatile unsigned char *which;
static const volatile struct slot *slots;

__attribute__((constructor)) static void open_clock(void) {
    const char *path = getenv("DLOCK_TEST_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *at = mmap(NULL, 16 * 9, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (at == MAP_FAILED)
        return;
    slots = (const volatile struct slot *)((const char *)at + 16);
    which = at;
}

static int64_t stepped(int64_t micros) {
    if (!which)
        return micros;
    const volatile struct slot *slot = &slots[*which & 7];
    return slot->stand ? slot->stand : micros + slot->add;
}

static int64_t wall(int64_t *nanos) {
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
    *nanos = t.tv_nsec % 1000;
    return stepped((int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000);
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
    int64_t nanos, micros = wall(&nanos);
    (void)zone;
    tv->tv_sec = micros / 1000000;
    tv->tv_usec = micros % 1000000;
    return 0;
}

time_t time(time_t *out) {
    int64_t nanos, seconds = wall(&nanos) / 1000000;
    if (out)
        *out = seconds;
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
        return (int)syscall(SYS_clock_gettime, clock, t);
    int64_t nanos, micros = wall(&nanos);
    t->tv_sec = micros / 1000000;
    t->tv_nsec = micros % 1000000 * 1000 + nanos;
    return 0;
}
