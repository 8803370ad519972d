/* The four calls of an append against the libgit2 that pygit2 uses: blob, tree, commit, ref.

   appending LIBGIT2 STORE REF PAYLOADS FSYNC     prints the seconds and the processor seconds of the appends, and the new tip

   PAYLOADS: the state tree's id in hex, a newline, then for each message "<blob bytes> <commit bytes>\n", the blob, the
   commit. The ids of tree and parent inside the commit are replaced by the ones made here. */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct { unsigned char id[20]; } git_oid;
enum { GIT_OPT_ENABLE_FSYNC_GITDIR = 19, COMMIT = 1, TREE = 2, BLOB = 3, TREE_AT = 5, PARENT_AT = 53 };

static int (*git_libgit2_init)(void);
static int (*git_libgit2_opts)(int, ...);
static int (*git_repository_open)(void **, const char *);
static int (*git_repository_set_ident)(void *, const char *, const char *);
static int (*git_repository_odb)(void **, void *);
static int (*git_odb_write)(git_oid *, void *, const void *, size_t, int);
static int (*git_reference_lookup)(void **, void *, const char *);
static int (*git_reference_set_target)(void **, void *, const git_oid *, const char *);
static const git_oid *(*git_reference_target)(const void *);
static void (*git_reference_free)(void *);
static int (*git_oid_fmt)(char *, const git_oid *);
static int (*git_oid_fromstr)(git_oid *, const char *);

static void check(int code, const char *what)
{
    if (code < 0) { fprintf(stderr, "%s: %d\n", what, code); exit(1); }
}

#define LOAD(name) do { *(void **)&name = dlsym(library, #name); check(name ? 0 : -1, #name); } while (0)

static double seconds(clockid_t clock)
{
    struct timespec now;
    check(clock_gettime(clock, &now), "clock");
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    check(file ? 0 : -1, path);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(*size + 1);
    check(fread(data, 1, *size, file) == *size ? 0 : -1, path);
    data[*size] = 0;
    fclose(file);
    return data;
}

static void load_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    check(library ? 0 : -1, path);
    LOAD(git_libgit2_init); LOAD(git_libgit2_opts); LOAD(git_repository_open); LOAD(git_repository_set_ident);
    LOAD(git_repository_odb); LOAD(git_odb_write); LOAD(git_reference_lookup); LOAD(git_reference_set_target);
    LOAD(git_reference_target); LOAD(git_reference_free); LOAD(git_oid_fmt); LOAD(git_oid_fromstr);
}

static size_t format_tree(char *tree, const git_oid *blob, const git_oid *state)
{
    static const char first[] = "100644 message.json", second[] = "40000 state";
    char *end = tree;
    memcpy(end, first, sizeof first); end += sizeof first;
    memcpy(end, blob->id, 20); end += 20;
    memcpy(end, second, sizeof second); end += sizeof second;
    memcpy(end, state->id, 20); end += 20;
    return (size_t)(end - tree);
}

int main(int count, char **words)
{
    void *repository, *odb;
    size_t size;
    git_oid state;
    if (count != 6) return 2;
    load_library(words[1]);
    check(git_libgit2_init(), "init");
    check(git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, atoi(words[5])), "fsync");
    check(git_repository_open(&repository, words[2]), "open");
    check(git_repository_set_ident(repository, "scopes", "scopes@systems.scopes"), "ident");
    check(git_repository_odb(&odb, repository), "odb");
    char *data = read_file(words[4], &size), *at = data, *stop = data + size, tip[41] = "";
    check(git_oid_fromstr(&state, at), "state");
    at += 41;
    double begin = seconds(CLOCK_MONOTONIC), begin_cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    while (at < stop) {
        git_oid blob, tree, commit;
        char entries[100];
        void *before, *after;
        size_t blob_bytes = strtoul(at, &at, 10), commit_bytes = strtoul(at, &at, 10);
        char *body = at + 1, *text = body + blob_bytes;
        check(git_odb_write(&blob, odb, body, blob_bytes, BLOB), "blob");
        check(git_odb_write(&tree, odb, entries, format_tree(entries, &blob, &state), TREE), "tree");
        check(git_reference_lookup(&before, repository, words[3]), "lookup");
        git_oid_fmt(text + TREE_AT, &tree);
        git_oid_fmt(text + PARENT_AT, git_reference_target(before));
        check(git_odb_write(&commit, odb, text, commit_bytes, COMMIT), "commit");
        check(git_reference_set_target(&after, before, &commit, "append: a message"), "set_target");
        git_reference_free(before);
        git_reference_free(after);
        git_oid_fmt(tip, &commit);
        at = text + commit_bytes;
    }
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu;
    printf("%.9f %.9f %s\n", seconds(CLOCK_MONOTONIC) - begin, cpu, tip);
    return 0;
}
