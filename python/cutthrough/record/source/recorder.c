/* The file of a rank: records are gathered in memory and written when there are many, or once a second of the rank's time. */
#define _GNU_SOURCE
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROOM (1 << 18)
/* More than a record can need, but for lists, whose numbers are put one by one. */
#define MARGIN 64
#define MOST_NAMES 96
#define SECOND 1000000000ull

static struct {
    int fd;
    pid_t process;          /* the one that records; a fork of it has a copy of the buffer */
    int is_on;              /* between MPI_Init and MPI_Finalize */
    int has_threads;        /* the program may call from several threads */
    int saw_threads;        /* it has */
    int last_was_poll;
    uint32_t overhead;      /* nanoseconds of reading the clock, which are not the program's */
    uint64_t pending;       /* nanoseconds calculated since the last record */
    uint64_t flushed;       /* when the buffer was written last */
    uint64_t wall;          /* when recording began */
    size_t used;
    const char *names[MOST_NAMES];
    uint64_t counts[MOST_NAMES];
} state = {.fd = -1};

static unsigned char buffer[ROOM];
/* Recursive: what counts a call that is not recorded may be in the midst of a record. */
static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_t main_thread;
/* Of each thread: how deep it is in calls, and the time at which it left the last one. */
static __thread int depth __attribute__((tls_model("initial-exec")));
static __thread uint64_t left __attribute__((tls_model("initial-exec")));

uint32_t requests_made = 0;

static uint64_t clock_of(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

/* Writes what has been gathered. A disk that is full ends the recording, not the program. */
static void flush(void)
{
    size_t used = state.used, done = 0;
    /* A signal handler that ends the process in the midst of this finds nothing to write again. */
    state.used = 0;
    while (state.fd >= 0 && done < used) {
        ssize_t written = write(state.fd, buffer + done, used - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            fprintf(stderr, "cutthrough record: the trace cannot be written: %s\n", strerror(errno));
            close(state.fd);
            state.fd = -1;
            state.is_on = 0;
        }
        done += written > 0 ? (size_t)written : 0;
    }
    state.flushed = left;
}

/* A record that is kept instead of written, while there is one. */
static struct {
    int is_on;
    unsigned char *bytes;
    size_t used, room;
} kept;

static void keep_byte(unsigned char byte)
{
    if (kept.used == kept.room) {
        kept.room = kept.room == 0 ? 64 : 2 * kept.room;
        kept.bytes = realloc(kept.bytes, kept.room);
        if (kept.bytes == NULL)
            abort();
    }
    kept.bytes[kept.used++] = byte;
}

void begin_kept(void)
{
    kept.is_on = 1;
    kept.bytes = NULL;
    kept.used = kept.room = 0;
}

unsigned char *end_kept(size_t *bytes)
{
    kept.is_on = 0;
    *bytes = kept.used;
    return kept.bytes;
}

void put_kept(const unsigned char *record, size_t bytes)
{
    begin_record((enum kind)(record[0] & 15), record[0] & ~15);
    for (size_t place = 1; place < bytes; place++) {
        if (state.used == ROOM)
            flush();
        buffer[state.used++] = record[place];
    }
}

void put(uint64_t number)
{
    while (kept.is_on && number >= 128) {
        keep_byte((unsigned char)(number | 128));
        number >>= 7;
    }
    if (kept.is_on) {
        keep_byte((unsigned char)number);
        return;
    }
    if (state.used > ROOM - 10)
        flush();
    while (number >= 128) {
        buffer[state.used++] = (unsigned char)(number | 128);
        number >>= 7;
    }
    buffer[state.used++] = (unsigned char)number;
}

void begin_record(enum kind kind, int flags)
{
    if (kept.is_on) {
        keep_byte((unsigned char)(kind | flags));
        return;
    }
    /* So that what a killed process has written mostly ends with a whole record. */
    if (state.used > ROOM - MARGIN || left - state.flushed > SECOND)
        flush();
    state.last_was_poll = kind == POLL;
    buffer[state.used++] = (unsigned char)(kind | flags | (state.pending > 0 ? CALC : 0));
    if (state.pending > 0)
        put(state.pending);
    state.pending = 0;
}

void put_poll(void)
{
    if (!state.last_was_poll)
        begin_record(POLL, 0);
}

void unsupported(const char *name)
{
    lock_records();
    for (int place = 0; place < MOST_NAMES; place++) {
        if (state.names[place] == NULL)
            state.names[place] = name;
        if (strcmp(state.names[place], name) == 0) {
            state.counts[place]++;
            break;
        }
    }
    unlock_records();
}

void lock_records(void)
{
    if (state.has_threads)
        pthread_mutex_lock(&mutex);
}

void unlock_records(void)
{
    if (state.has_threads)
        pthread_mutex_unlock(&mutex);
}

int enter(void)
{
    if (depth++ > 0 || !state.is_on)
        return 0;
    uint64_t now = clock_of(CLOCK_THREAD_CPUTIME_ID);
    /* A thread that calls for the first time has calculated since it began. */
    uint64_t spent = now > left + state.overhead ? now - left - state.overhead : 0;
    lock_records();
    state.pending += spent;
    if (state.has_threads && !pthread_equal(pthread_self(), main_thread))
        state.saw_threads = 1;
    unlock_records();
    return 1;
}

void leave(void)
{
    if (--depth == 0 && state.is_on)
        left = clock_of(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t bytes_of(MPI_Count count, MPI_Datatype type)
{
    int size = 0;
    if (count <= 0 || PMPI_Type_size(type, &size) != MPI_SUCCESS || size <= 0)
        return 0;
    return (uint64_t)count * (uint64_t)size;
}

/* The least time between two readings of the clock. */
static uint32_t measured_overhead(void)
{
    uint64_t least = SECOND;
    for (int round = 0; round < 200; round++) {
        uint64_t first = clock_of(CLOCK_THREAD_CPUTIME_ID), spent = clock_of(CLOCK_THREAD_CPUTIME_ID) - first;
        if (spent < least)
            least = spent;
    }
    return (uint32_t)least;
}

static void begin_file(void)
{
    const char *folder = getenv("CUTTHROUGH_RECORD");
    char path[4096];
    int rank, ranks, level = MPI_THREAD_SINGLE;
    if (folder == NULL || state.fd >= 0)
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    PMPI_Query_thread(&level);
    if (snprintf(path, sizeof path, "%s/rank-%d", folder, rank) >= (int)sizeof path)
        return;
    state.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (state.fd < 0) {
        fprintf(stderr, "cutthrough record: %s cannot be written: %s\n", path, strerror(errno));
        return;
    }
    state.process = getpid();
    state.has_threads = level == MPI_THREAD_MULTIPLE;
    main_thread = pthread_self();
    memcpy(buffer, "CTRANK\0\1", 8);
    state.used = 8;
    state.overhead = measured_overhead();
    put((uint64_t)rank);
    put((uint64_t)ranks);
    put(state.overhead);
    define_world();
    flush();
    state.wall = clock_of(CLOCK_MONOTONIC);
    state.flushed = left = clock_of(CLOCK_THREAD_CPUTIME_ID);
    state.is_on = state.fd >= 0;
}

/* What the whole rank was: the last record. */
static void end_file(void)
{
    uint32_t names = 0;
    if (!state.is_on)
        return;
    lock_records();
    begin_record(END, 0);
    put(clock_of(CLOCK_MONOTONIC) - state.wall);
    put((uint64_t)state.saw_threads);
    while (names < MOST_NAMES && state.names[names] != NULL)
        names++;
    put(names);
    for (uint32_t place = 0; place < names; place++) {
        size_t length = strlen(state.names[place]);
        put(length);
        for (size_t number = 0; number < length; number++)
            put((unsigned char)state.names[place][number]);
        put(state.counts[place]);
    }
    flush();
    state.is_on = 0;
    unlock_records();
    if (state.fd >= 0)
        close(state.fd);
    state.fd = -1;
}

int MPI_Init(int *argc, char ***argv)
{
    depth++;
    int result = PMPI_Init(argc, argv);
    if (result == MPI_SUCCESS)
        begin_file();
    depth--;
    return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    depth++;
    int result = PMPI_Init_thread(argc, argv, required, provided);
    if (result == MPI_SUCCESS)
        begin_file();
    depth--;
    return result;
}

#ifdef HAS_PERSISTENT
/* A program may do without MPI_Init; then no rank has a number by which it could be recorded. */
int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session)
{
    int is_recorded = enter(), is_initialized = 0;
    if (is_recorded)
        unsupported("MPI_Session_init");
    if (PMPI_Initialized(&is_initialized) == MPI_SUCCESS && !is_initialized && getenv("CUTTHROUGH_RECORD") != NULL)
        fprintf(stderr, "cutthrough record: what is called in a session before MPI_Init, or without it, is not recorded\n");
    int result = PMPI_Session_init(info, handler, session);
    leave();
    return result;
}
#endif

int MPI_Finalize(void)
{
    enter();
    end_file();
    int result = PMPI_Finalize();
    leave();
    return result;
}

int MPI_Abort(MPI_Comm comm, int code)
{
    enter();
    flush();
    return PMPI_Abort(comm, code);
}

/* A process that ends without MPI_Finalize keeps what it has recorded. Its forks have nothing to write. */
__attribute__((destructor)) static void at_end(void)
{
    if (state.fd >= 0 && getpid() == state.process)
        flush();
}

/* Destructors do not run in a process that ends by _exit. */
void _exit(int status)
{
    at_end();
    syscall(SYS_exit_group, status);
    __builtin_unreachable();
}

void _Exit(int status)
{
    _exit(status);
}
