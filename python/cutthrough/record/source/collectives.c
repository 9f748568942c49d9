/* Collective operations. Those whose members have parts of different sizes are recorded as exchanges: what the rank sends each other
   one and what it receives. */
#include "recorder.h"

#include <stdlib.h>

#define LOCAL_RANK(comm, rank)                                                                                                   \
    int rank = 0;                                                                                                                \
    PMPI_Comm_rank(comm, &rank)
#define SIZE(comm, size)                                                                                                         \
    int size = 0;                                                                                                                \
    PMPI_Comm_size(comm, &size)

/* Has a request stand for so many requests from a number on; those of no members end at once, and nobody waits for them. */
static void keep_request(const MPI_Request *request, uint32_t first)
{
    struct entry *entry = add_entry(HANDLE(*request));
    entry->number = first;
    entry->count = requests_made - first;
    entry->is_active = 1;
}

/* Whether operations of a communicator are recorded. */
static int is_known(MPI_Comm comm, uint32_t *number)
{
    *number = number_of(comm);
    if (*number == INTER)
        unsupported("collective operations of communicators between two groups");
    return *number != INTER;
}

/* Records an operation; `request` is NULL if the call has blocked until its end, and `root` negative if there is none. */
static void put_collective(enum operation operation, MPI_Comm comm, uint64_t bytes, int root, const MPI_Request *request)
{
    uint32_t number;
    lock_records();
    if (is_known(comm, &number)) {
        begin_record(COLLECTIVE, request == NULL ? BLOCKING : 0);
        put(operation);
        put(number);
        put(bytes);
        if (root >= 0)
            put((uint64_t)root);
        requests_made++;
        if (request != NULL)
            keep_request(request, requests_made - 1);
    }
    unlock_records();
}

/* Parts of a buffer by member: counts and one type, or, with an array of types, one for each; or the same count for all. */
struct parts {
    const count_t *counts;
    count_t count;
    MPI_Datatype type;
    const MPI_Datatype *types;
};

static uint64_t part(const struct parts *parts, int member)
{
    count_t count = parts->counts != NULL ? parts->counts[member] : parts->count;
    return bytes_of(count, parts->types != NULL ? parts->types[member] : parts->type);
}

/* Puts the members, from one to before another, that have a part which is not empty. */
static void put_parts(const struct parts *parts, int from, int to, int own)
{
    uint64_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass > 0)
            put(count);
        for (int member = from; parts != NULL && member < to; member++) {
            uint64_t bytes = member == own ? 0 : part(parts, member);
            if (pass == 0)
                count += bytes > 0;
            if (pass > 0 && bytes > 0) {
                put((uint64_t)member);
                put(bytes);
            }
        }
    }
    requests_made += (uint32_t)count;
}

/* Which members take part in an exchange. */
struct range {
    int from, to;
};

/* Records what the rank receives from some members and sends to some. */
static void put_exchange(MPI_Comm comm, const struct parts *in, struct range in_range, const struct parts *out,
                         struct range out_range, const MPI_Request *request)
{
    uint32_t number;
    LOCAL_RANK(comm, own);
    lock_records();
    if (is_known(comm, &number)) {
        uint32_t first = requests_made;
        begin_record(EXCHANGE, request == NULL ? BLOCKING : 0);
        put(number);
        put_parts(in, in_range.from, in_range.to, own);
        put_parts(out, out_range.from, out_range.to, own);
        if (request != NULL)
            keep_request(request, first);
    }
    unlock_records();
}

static void put_gatherv(count_t sent, MPI_Datatype sent_type, const struct parts *received, int root, MPI_Comm comm,
                        const MPI_Request *request)
{
    LOCAL_RANK(comm, rank);
    SIZE(comm, size);
    struct parts own = {.count = sent, .type = sent_type};
    if (rank == root)
        put_exchange(comm, received, (struct range){0, size}, NULL, (struct range){0, 0}, request);
    else
        put_exchange(comm, NULL, (struct range){0, 0}, &own, (struct range){root, root + 1}, request);
}

static void put_scatterv(const struct parts *sent, count_t received, MPI_Datatype received_type, int root, MPI_Comm comm,
                         const MPI_Request *request)
{
    LOCAL_RANK(comm, rank);
    SIZE(comm, size);
    struct parts own = {.count = received, .type = received_type};
    if (rank == root)
        put_exchange(comm, NULL, (struct range){0, 0}, sent, (struct range){0, size}, request);
    else
        put_exchange(comm, &own, (struct range){root, root + 1}, NULL, (struct range){0, 0}, request);
}

static int are_even(const count_t *counts, int size)
{
    for (int member = 1; member < size; member++) {
        if (counts[member] != counts[0])
            return 0;
    }
    return 1;
}

static void put_allgatherv(const count_t *counts, MPI_Datatype type, MPI_Comm comm, const MPI_Request *request)
{
    LOCAL_RANK(comm, rank);
    SIZE(comm, size);
    if (are_even(counts, size)) {
        put_collective(ALLGATHER, comm, bytes_of(counts[0], type), -1, request);
        return;
    }
    struct parts received = {.counts = counts, .type = type}, own = {.count = counts[rank], .type = type};
    put_exchange(comm, &received, (struct range){0, size}, &own, (struct range){0, size}, request);
}

static void put_reduce_scatter(const count_t *counts, MPI_Datatype type, MPI_Comm comm, const MPI_Request *request)
{
    LOCAL_RANK(comm, rank);
    SIZE(comm, size);
    if (are_even(counts, size)) {
        put_collective(REDUCE_SCATTER, comm, (uint64_t)size * bytes_of(counts[0], type), -1, request);
        return;
    }
    struct parts sent = {.counts = counts, .type = type}, own = {.count = counts[rank], .type = type};
    put_exchange(comm, &own, (struct range){0, size}, &sent, (struct range){0, size}, request);
}

static void put_alltoallv(const struct parts *sent, const struct parts *received, MPI_Comm comm, const MPI_Request *request)
{
    SIZE(comm, size);
    put_exchange(comm, received, (struct range){0, size}, sent, (struct range){0, size}, request);
}

/* Bytes of a member's part where the root, or everybody, may have given MPI_IN_PLACE instead of what it sends. */
static uint64_t gathered(int is_root, count_t sent, MPI_Datatype sent_type, count_t received, MPI_Datatype received_type)
{
    return is_root ? bytes_of(received, received_type) : bytes_of(sent, sent_type);
}

static int is_root(int root, MPI_Comm comm)
{
    LOCAL_RANK(comm, rank);
    return rank == root;
}

/* A call, the same without blocking, and the same prepared to be started again and again: parameters and arguments but for the request,
   and how it is recorded, where `request` is its request or NULL. */
#define OPERATION(name, started, parameters, arguments, ...)                                                                     \
    int SIZED(name)(EACH parameters)                                                                                             \
    {                                                                                                                            \
        const MPI_Request *request = NULL;                                                                                       \
        int is_recorded = enter(), result = P_SIZED(name)(EACH arguments);                                                       \
        if (is_recorded && result == MPI_SUCCESS) {                                                                              \
            __VA_ARGS__;                                                                                                         \
        }                                                                                                                        \
        leave();                                                                                                                 \
        return result;                                                                                                           \
    }                                                                                                                            \
    int SIZED(started)(EACH parameters, MPI_Request * request)                                                                   \
    {                                                                                                                            \
        int is_recorded = enter(), result = P_SIZED(started)(EACH arguments, request);                                           \
        if (is_recorded && result == MPI_SUCCESS) {                                                                              \
            __VA_ARGS__;                                                                                                         \
        }                                                                                                                        \
        leave();                                                                                                                 \
        return result;                                                                                                           \
    }                                                                                                                            \
    PREPARED(name, parameters, arguments, __VA_ARGS__)

#ifdef HAS_PERSISTENT
#define PREPARED(name, parameters, arguments, ...)                                                                               \
    int SIZED_INIT(name)(EACH parameters, MPI_Info info, MPI_Request * request)                                                  \
    {                                                                                                                            \
        int is_recorded = enter(), result = P_SIZED_INIT(name)(EACH arguments, info, request);                                   \
        if (is_recorded && result == MPI_SUCCESS) {                                                                              \
            uint32_t made = begin_prepared(comm);                                                                                \
            __VA_ARGS__;                                                                                                         \
            end_prepared(*request, made);                                                                                        \
        }                                                                                                                        \
        leave();                                                                                                                 \
        return result;                                                                                                           \
    }

/* Between these, what is recorded is what each start of the request will record. */
static uint32_t begin_prepared(MPI_Comm comm)
{
    lock_records();
    number_of(comm); /* The communicator is defined now, not at each start. */
    begin_kept();
    return requests_made;
}

static void end_prepared(MPI_Request request, uint32_t made)
{
    size_t bytes;
    unsigned char *record = end_kept(&bytes);
    struct entry *entry = bytes > 0 ? find_entry(HANDLE(request)) : NULL;
    requests_made = made;
    if (entry != NULL) {
        entry->is_active = 0;
        entry->is_persistent = 1;
        entry->record = record;
        entry->record_bytes = bytes;
    } else {
        free(record);
    }
    unlock_records();
}
#else
#define PREPARED(name, parameters, arguments, ...)
#endif

#define EACH(...) __VA_ARGS__

#ifndef LARGE
OPERATION(MPI_Barrier, MPI_Ibarrier, (MPI_Comm comm), (comm), put_collective(BARRIER, comm, 0, -1, request))
#endif

OPERATION(MPI_Bcast, MPI_Ibcast, (void *buffer, count_t count, MPI_Datatype type, int root, MPI_Comm comm),
          (buffer, count, type, root, comm), put_collective(BROADCAST, comm, bytes_of(count, type), root, request))

OPERATION(MPI_Reduce, MPI_Ireduce,
          (const void *sent, void *received, count_t count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
          (sent, received, count, type, op, root, comm), put_collective(REDUCE, comm, bytes_of(count, type), root, request))

#define REDUCTION(name, started, operation)                                                                                      \
    OPERATION(name, started, (const void *sent, void *received, count_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
              (sent, received, count, type, op, comm), put_collective(operation, comm, bytes_of(count, type), -1, request))

REDUCTION(MPI_Allreduce, MPI_Iallreduce, ALLREDUCE)
REDUCTION(MPI_Scan, MPI_Iscan, SCAN)
REDUCTION(MPI_Exscan, MPI_Iexscan, EXSCAN)

OPERATION(MPI_Gather, MPI_Igather,
          (const void *sent, count_t out, MPI_Datatype out_type, void *received, count_t in, MPI_Datatype in_type, int root,
           MPI_Comm comm),
          (sent, out, out_type, received, in, in_type, root, comm),
          put_collective(GATHER, comm, gathered(is_root(root, comm), out, out_type, in, in_type), root, request))

OPERATION(MPI_Scatter, MPI_Iscatter,
          (const void *sent, count_t out, MPI_Datatype out_type, void *received, count_t in, MPI_Datatype in_type, int root,
           MPI_Comm comm),
          (sent, out, out_type, received, in, in_type, root, comm),
          put_collective(SCATTER, comm, gathered(!is_root(root, comm), out, out_type, in, in_type), root, request))

#define TO_ALL(name, started, operation)                                                                                         \
    OPERATION(name, started,                                                                                                     \
              (const void *sent, count_t out, MPI_Datatype out_type, void *received, count_t in, MPI_Datatype in_type, MPI_Comm comm),   \
              (sent, out, out_type, received, in, in_type, comm),                                                                \
              put_collective(operation, comm, bytes_of(in, in_type), -1, request))

TO_ALL(MPI_Allgather, MPI_Iallgather, ALLGATHER)
TO_ALL(MPI_Alltoall, MPI_Ialltoall, ALLTOALL)

OPERATION(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block,
          (const void *sent, void *received, count_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
          (sent, received, count, type, op, comm), SIZE(comm, size);
          put_collective(REDUCE_SCATTER, comm, (uint64_t)size *bytes_of(count, type), -1, request))

OPERATION(MPI_Reduce_scatter, MPI_Ireduce_scatter,
          (const void *sent, void *received, const count_t *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
          (sent, received, counts, type, op, comm), put_reduce_scatter(counts, type, comm, request))

OPERATION(MPI_Gatherv, MPI_Igatherv,
          (const void *sent, count_t out, MPI_Datatype out_type, void *received, const count_t *counts, const place_t *places,
           MPI_Datatype in_type, int root, MPI_Comm comm),
          (sent, out, out_type, received, counts, places, in_type, root, comm),
          put_gatherv(out, out_type, &(struct parts){.counts = counts, .type = in_type}, root, comm, request))

OPERATION(MPI_Scatterv, MPI_Iscatterv,
          (const void *sent, const count_t *counts, const place_t *places, MPI_Datatype out_type, void *received, count_t in,
           MPI_Datatype in_type, int root, MPI_Comm comm),
          (sent, counts, places, out_type, received, in, in_type, root, comm),
          put_scatterv(&(struct parts){.counts = counts, .type = out_type}, in, in_type, root, comm, request))

OPERATION(MPI_Allgatherv, MPI_Iallgatherv,
          (const void *sent, count_t out, MPI_Datatype out_type, void *received, const count_t *counts, const place_t *places,
           MPI_Datatype in_type, MPI_Comm comm),
          (sent, out, out_type, received, counts, places, in_type, comm), put_allgatherv(counts, in_type, comm, request))

OPERATION(MPI_Alltoallv, MPI_Ialltoallv,
          (const void *sent, const count_t *out, const place_t *out_places, MPI_Datatype out_type, void *received, const count_t *in,
           const place_t *in_places, MPI_Datatype in_type, MPI_Comm comm),
          (sent, out, out_places, out_type, received, in, in_places, in_type, comm),
          int in_place = sent == MPI_IN_PLACE;
          put_alltoallv(&(struct parts){.counts = in_place ? in : out, .type = in_place ? in_type : out_type},
                        &(struct parts){.counts = in, .type = in_type}, comm, request))

OPERATION(MPI_Alltoallw, MPI_Ialltoallw,
          (const void *sent, const count_t *out, const place_t *out_places, const MPI_Datatype *out_types, void *received,
           const count_t *in, const place_t *in_places, const MPI_Datatype *in_types, MPI_Comm comm),
          (sent, out, out_places, out_types, received, in, in_places, in_types, comm),
          int in_place = sent == MPI_IN_PLACE;
          put_alltoallv(&(struct parts){.counts = in_place ? in : out, .types = in_place ? in_types : out_types},
                        &(struct parts){.counts = in, .types = in_types}, comm, request))
