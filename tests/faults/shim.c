/* A library for LD_PRELOAD that counts the calls that change files below a prefix, and breaks the n-th of them.
 *
 * What to do stands in a file that is mapped shared into every process of a run (its path is in FAULT_STATE), so that one
 * count covers the command and the git programs that it starts, and what was counted is known after a kill. Writes
 * through a mapping are not seen; neither scopes nor libgit2's object and ref code makes any.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum mode { COUNT, SIGNAL_GROUP, SIGNAL_ALONE, FAIL_ONCE, FAIL_FROM_THEN_ON, SHORT_WRITE };

/* The layout is tests/faults/injection.py's LAYOUT. */
struct state {
    int32_t armed, mode, number, unused; /* number: the signal or the errno */
    int64_t at, count, fired;
    char prefix[512], log[512];
};

static struct state *state;

__attribute__((constructor)) static void map_state(void)
{
    const char *path = getenv("FAULT_STATE");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *mapped = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED)
        state = mapped;
    close(fd);
}

static int armed(void) { return state && state->armed; }

/* Write the absolute path of what a call names; an empty text when that is unknown. */
static void resolve(char *out, size_t size, int dir, const char *path)
{
    out[0] = 0;
    if (path && path[0] == '/') {
        snprintf(out, size, "%s", path);
        return;
    }
    char link[64];
    ssize_t length = -1;
    if (dir == AT_FDCWD)
        length = getcwd(out, size) ? (ssize_t)strlen(out) : -1;
    else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        length = readlink(link, out, size - 1);
    }
    if (length < 0) {
        out[0] = 0;
        return;
    }
    out[length] = 0;
    if (path)
        snprintf(out + length, size - length, "/%s", path);
}

static void note(int64_t n, const char *call, const char *path, const char *target)
{
    char line[3 * 4096];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, state->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int length = snprintf(line, sizeof line, "%ld\t%s\t%s\t%s\n", (long)n, call, path, target);
    syscall(SYS_write, fd, line, length);
    close(fd);
}

/* Count a call; true when the caller is to fail it (errno is set), or for SHORT_WRITE to cut it. */
static int breaks(const char *call, int dir, const char *path, int target_dir, const char *target)
{
    char full[4096], full_target[4096] = "";
    size_t length = strlen(state->prefix);
    resolve(full, sizeof full, dir, path);
    if (target)
        resolve(full_target, sizeof full_target, target_dir, target);
    if (strncmp(full, state->prefix, length) && (!target || strncmp(full_target, state->prefix, length)))
        return 0;
    int64_t n = __atomic_add_fetch(&state->count, 1, __ATOMIC_SEQ_CST);
    if (state->log[0])
        note(n, call, full, full_target);
    int mode = state->mode;
    if (mode == COUNT || n < state->at || (n > state->at && mode != FAIL_FROM_THEN_ON))
        return 0;
    __atomic_add_fetch(&state->fired, 1, __ATOMIC_SEQ_CST);
    if (mode == SIGNAL_GROUP || mode == SIGNAL_ALONE) {
        kill(mode == SIGNAL_GROUP ? 0 : getpid(), state->number);
        return 0;
    }
    errno = state->number;
    return 1;
}

static int breaks_at(const char *call, int dir, const char *path) { return armed() && breaks(call, dir, path, 0, NULL); }
static int breaks_fd(const char *call, int fd) { return armed() && breaks(call, fd, NULL, 0, NULL); }

#define REAL(result, name, ...) \
    static result (*real)(__VA_ARGS__); \
    if (!real) \
        real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

#define WRITES(name, rest_declared, rest) \
    ssize_t name(int fd, const void *data, size_t size rest_declared) \
    { \
        REAL(ssize_t, #name, int, const void *, size_t rest_declared); \
        if (breaks_fd("write", fd)) { \
            if (state->mode != SHORT_WRITE) \
                return -1; \
            size = size > 1 ? size / 2 : size; \
        } \
        return real(fd, data, size rest); \
    }
#define COMMA ,
WRITES(write, , )
WRITES(pwrite, COMMA off_t at, COMMA at)
WRITES(pwrite64, COMMA off64_t at, COMMA at)

#define CALLS_FD(name, declared, ...) \
    int name declared \
    { \
        REAL(int, #name, __VA_ARGS__); \
        if (breaks_fd(#name, fd)) \
            return -1; \
        return real
CALLS_FD(fsync, (int fd), int)(fd); }
CALLS_FD(fdatasync, (int fd), int)(fd); }
CALLS_FD(syncfs, (int fd), int)(fd); }
CALLS_FD(ftruncate, (int fd, off_t size), int, off_t)(fd, size); }
CALLS_FD(ftruncate64, (int fd, off64_t size), int, off64_t)(fd, size); }
CALLS_FD(fchmod, (int fd, mode_t mode), int, mode_t)(fd, mode); }

#define CALLS_PATH(name, dir, declared, ...) \
    int name declared \
    { \
        REAL(int, #name, __VA_ARGS__); \
        if (breaks_at(#name, dir, path)) \
            return -1; \
        return real
CALLS_PATH(unlink, AT_FDCWD, (const char *path), const char *)(path); }
CALLS_PATH(rmdir, AT_FDCWD, (const char *path), const char *)(path); }
CALLS_PATH(mkdir, AT_FDCWD, (const char *path, mode_t mode), const char *, mode_t)(path, mode); }
CALLS_PATH(chmod, AT_FDCWD, (const char *path, mode_t mode), const char *, mode_t)(path, mode); }
CALLS_PATH(unlinkat, dir, (int dir, const char *path, int flags), int, const char *, int)(dir, path, flags); }
CALLS_PATH(mkdirat, dir, (int dir, const char *path, mode_t mode), int, const char *, mode_t)(dir, path, mode); }
CALLS_PATH(fchmodat, dir, (int dir, const char *path, mode_t m, int f), int, const char *, mode_t, int)(dir, path, m, f); }

#define CALLS_TWO(name, dir1, dir2, declared, ...) \
    int name declared \
    { \
        REAL(int, #name, __VA_ARGS__); \
        if (armed() && breaks(#name, dir1, from, dir2, to)) \
            return -1; \
        return real
CALLS_TWO(rename, AT_FDCWD, AT_FDCWD, (const char *from, const char *to), const char *, const char *)(from, to); }
CALLS_TWO(link, AT_FDCWD, AT_FDCWD, (const char *from, const char *to), const char *, const char *)(from, to); }
CALLS_TWO(symlink, AT_FDCWD, AT_FDCWD, (const char *from, const char *to), const char *, const char *)(from, to); }
CALLS_TWO(renameat, a, b, (int a, const char *from, int b, const char *to), int, const char *, int, const char *)(a, from, b, to); }
CALLS_TWO(linkat, a, b, (int a, const char *from, int b, const char *to, int f), int, const char *, int, const char *, int)(a, from, b, to, f); }

#define TAKES_MODE(flags) ((flags) & (O_CREAT | __O_TMPFILE))
#define OPENS(name, dir, declared, passed, ...) \
    int name(declared const char *path, int flags, ...) \
    { \
        REAL(int, #name, __VA_ARGS__, ...); \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = TAKES_MODE(flags) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        if ((TAKES_MODE(flags) || flags & O_TRUNC) && breaks_at("open", dir, path)) \
            return -1; \
        return real(passed path, flags, mode); \
    }
OPENS(open, AT_FDCWD, , , const char *, int)
OPENS(open64, AT_FDCWD, , , const char *, int)
OPENS(openat, dir, int dir COMMA, dir COMMA, int, const char *, int)
OPENS(openat64, dir, int dir COMMA, dir COMMA, int, const char *, int)

#define MAKES_TEMPORARY(name) \
    int name(char *path) \
    { \
        REAL(int, #name, char *); \
        if (breaks_at("open", AT_FDCWD, path)) \
            return -1; \
        return real(path); \
    }
MAKES_TEMPORARY(mkstemp)
MAKES_TEMPORARY(mkstemp64)

#define OPENS_STREAM(name) \
    FILE *name(const char *path, const char *mode) \
    { \
        REAL(FILE *, #name, const char *, const char *); \
        if (mode[0] != 'r' && breaks_at("open", AT_FDCWD, path)) \
            return NULL; \
        return real(path, mode); \
    }
OPENS_STREAM(fopen)
OPENS_STREAM(fopen64)

/* The standard library's own writes do not pass through `write` above; what a stream holds back is counted here. */
int fflush(FILE *stream)
{
    REAL(int, "fflush", FILE *);
    if (stream && __fpending(stream) && breaks_fd("write", fileno(stream)) && state->mode != SHORT_WRITE)
        return EOF;
    return real(stream);
}

int fclose(FILE *stream)
{
    REAL(int, "fclose", FILE *);
    int broken = __fpending(stream) && breaks_fd("write", fileno(stream)) && state->mode != SHORT_WRITE;
    int error = errno, result = real(stream);
    if (!broken)
        return result;
    errno = error;
    return EOF;
}
