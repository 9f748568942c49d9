/* What the files of the recorder share. Each rank writes one file of records; docs/concepts/traces.md describes them. */
#ifndef CUTTHROUGH_RECORDER_H
#define CUTTHROUGH_RECORDER_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Only MPI's names are seen by programs. */
#pragma GCC visibility push(hidden)

/* Files of calls with counts are compiled twice: with counts of int, and by large.c for the calls with large counts (MPI_Send_c), which
   MPI has from 4.0 on. */
#ifdef LARGE
typedef MPI_Count count_t;
typedef MPI_Aint place_t;
#define SIZED(name) name##_c
#define P_SIZED(name) P##name##_c
#define SIZED_INIT(name) name##_init_c
#define P_SIZED_INIT(name) P##name##_init_c
#else
typedef int count_t;
typedef int place_t;
#define SIZED(name) name
#define P_SIZED(name) P##name
#define SIZED_INIT(name) name##_init
#define P_SIZED_INIT(name) P##name##_init
#endif

/* Whether MPI has persistent collective operations; Open MPI has them before it has all of MPI 4.0. */
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define HAS_PERSISTENT 1
#endif

/* Kinds of records, the low four bits of their first byte. */
enum kind { SEND = 1, RECV, WAIT, POLL, PROBE, COLLECTIVE, EXCHANGE, COMMUNICATOR, END };

/* Flags of the first byte. CALC: the time that the rank has calculated before comes first. */
enum flag { CALC = 16, BLOCKING = 32, ANY_SOURCE = 64, ANY_TAG = 128, SEVERAL = 32, MET = 64 };

/* Collective operations, numbered as the simulator numbers them. */
enum operation { BROADCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, REDUCE_SCATTER, ALLTOALL, BARRIER, SCAN, EXSCAN };

/* A number of a communicator that stands for one between two groups, which is not recorded. */
#define INTER UINT32_MAX

/* Whether the call that has just begun is recorded: it is the program's own, between MPI_Init and MPI_Finalize. Every call begins with
   `enter` and ends with `leave`; the time in between is not the program's. */
int enter(void);
void leave(void);

/* Between these, one thread at a time writes records. */
void lock_records(void);
void unlock_records(void);

/* Begins a record, with the time calculated before; then come its fields. */
void begin_record(enum kind kind, int flags);
void put(uint64_t number);
/* A failed test: one record for as many as follow one another. */
void put_poll(void);

/* Requests that the rank has made so far, as the simulator counts them: messages and collective operations. */
extern uint32_t requests_made;

/* Counts a call that is not recorded, by its name (a constant). */
void unsupported(const char *name);

/* The number of a communicator as this rank counts them, which is defined by a record at its first use. */
uint32_t number_of(MPI_Comm comm);
void forget_communicator(MPI_Comm comm);
void define_world(void);

/* Bytes of some elements. */
uint64_t bytes_of(MPI_Count count, MPI_Datatype type);

/* Between these, a record is not written but kept; `end_kept` gives its bytes, which are the caller's to free. */
void begin_kept(void);
unsigned char *end_kept(size_t *bytes);
/* Writes a record that was kept. */
void put_kept(const unsigned char *record, size_t bytes);

/* What a handle stands for: an active request, a persistent one, or a message that a probe has taken out. */
struct entry {
    uint64_t handle;
    uint32_t next;         /* the next entry of the same bucket, or of the free ones */
    uint32_t number;       /* the first request, as `requests_made` counted it */
    uint32_t count;        /* how many requests it is of */
    uint32_t comm;
    int32_t peer, tag;     /* as the program has given them */
    uint64_t bytes;
    unsigned char *record; /* what a persistent collective operation records when it starts; NULL of messages */
    size_t record_bytes;
    uint8_t is_send, is_wild, is_persistent, is_active, is_cancelled;
};

/* The oldest entry of a handle; NULL if there is none. Entries of one handle are found in the order in which they were added: some
   libraries give all sends that end at once the same handle. */
struct entry *find_entry(uint64_t handle);
struct entry *add_entry(uint64_t handle);
/* Removes the oldest entry of a handle. */
void remove_entry(uint64_t handle);

/* Handles are numbers in some libraries and pointers in others. */
#define HANDLE(handle) ((uint64_t)(uintptr_t)(handle))

/* Active requests whose status has to be looked at when they end: wildcard receives and what has been cancelled. */
extern uint32_t watched;

/* Records a message; `request` is NULL if the call has blocked until its end, and `status` what it has then met. */
struct message {
    int is_send, peer, tag;
    uint64_t bytes;
    MPI_Comm comm;
};
void put_message(const struct message *message, const MPI_Request *request, const MPI_Status *status);
/* A send and a receive that begin together and are both waited for. */
void put_both(const struct message *out, const struct message *in, const MPI_Status *status);
/* The same of a persistent request that starts. */
void put_started(struct entry *entry);
/* Keeps what a persistent request does. */
void keep_persistent(MPI_Request request, const struct message *message);
/* Handles of messages that probes have taken out are apart from those of requests. */
#define MESSAGE(message) (HANDLE(message) ^ 0x9ddfea08eb382d69ull)
/* Records the receive of such a message. */
void put_taken(uint64_t handle, uint64_t bytes, const MPI_Request *request);
/* Records that the program waits for some of the last requests: the first `age` back, and so many from there on. */
void put_wait(uint32_t age, uint32_t count);
/* The same of a receive from any member or under any tag, so far back, and what it has met. */
void put_met(uint32_t age, const MPI_Status *status);
/* Records that a request has been waited for. */
void put_ended(uint64_t handle, const MPI_Status *status);

#pragma GCC visibility pop

#endif
