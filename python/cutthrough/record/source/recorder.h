/* What the files of the recorder share. Each rank writes one file of records; docs/concepts/traces.md describes them. */
#ifndef CUTTHROUGH_RECORDER_H
#define CUTTHROUGH_RECORDER_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Only MPI's names are seen by programs. */
#pragma GCC visibility push(hidden)

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
uint64_t bytes_of(int count, MPI_Datatype type);

/* What a handle stands for: an active request, a persistent one, or a message that a probe has taken out. */
struct entry {
    uint64_t handle;
    uint32_t next;         /* the next entry of the same bucket, or of the free ones */
    uint32_t number;       /* the first request, as `requests_made` counted it */
    uint32_t count;        /* how many requests it is of */
    uint32_t comm;
    int32_t peer, tag;     /* as the program has given them */
    uint64_t bytes;
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
/* The same of a persistent request that starts. */
void put_started(struct entry *entry);
/* Records that the program waits for some of the last requests: the first `age` back, and so many from there on. */
void put_wait(uint32_t age, uint32_t count);
/* The same of a receive from any member or under any tag, so far back, and what it has met. */
void put_met(uint32_t age, const MPI_Status *status);
/* Records that a request has been waited for. */
void put_ended(uint64_t handle, const MPI_Status *status);

#pragma GCC visibility pop

#endif
