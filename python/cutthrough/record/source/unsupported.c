/* Calls that are counted and not recorded: one-sided communication, files, neighbourhoods, and processes that are started. */
#include "recorder.h"

#define EACH(...) __VA_ARGS__
#define DEFINE_COUNTED(name, called, shown, parameters, arguments)                                                               \
    int name(EACH parameters)                                                                                                    \
    {                                                                                                                            \
        if (enter())                                                                                                             \
            unsupported(shown);                                                                                                  \
        int result = called(EACH arguments);                                                                                     \
        leave();                                                                                                                 \
        return result;                                                                                                           \
    }
#define COUNTED(name, parameters, arguments) DEFINE_COUNTED(name, P##name, #name, parameters, arguments)
/* Those with counts of elements or bytes, large or not. */
#define SIZED_COUNTED(name, parameters, arguments) DEFINE_COUNTED(SIZED(name), P_SIZED(name), #name, parameters, arguments)

/* Windows. */
SIZED_COUNTED(MPI_Put, (const void *a, count_t b, MPI_Datatype c, int d, MPI_Aint e, count_t f, MPI_Datatype g, MPI_Win h), (a, b, c, d, e, f, g, h))
SIZED_COUNTED(MPI_Get, (void *a, count_t b, MPI_Datatype c, int d, MPI_Aint e, count_t f, MPI_Datatype g, MPI_Win h), (a, b, c, d, e, f, g, h))
SIZED_COUNTED(MPI_Accumulate, (const void *a, count_t b, MPI_Datatype c, int d, MPI_Aint e, count_t f, MPI_Datatype g, MPI_Op h, MPI_Win i),
        (a, b, c, d, e, f, g, h, i))
SIZED_COUNTED(MPI_Get_accumulate,
        (const void *a, count_t b, MPI_Datatype c, void *d, count_t e, MPI_Datatype f, int g, MPI_Aint h, count_t i, MPI_Datatype j, MPI_Op k,
         MPI_Win l),
        (a, b, c, d, e, f, g, h, i, j, k, l))
SIZED_COUNTED(MPI_Rput, (const void *a, count_t b, MPI_Datatype c, int d, MPI_Aint e, count_t f, MPI_Datatype g, MPI_Win h, MPI_Request *i),
        (a, b, c, d, e, f, g, h, i))
SIZED_COUNTED(MPI_Rget, (void *a, count_t b, MPI_Datatype c, int d, MPI_Aint e, count_t f, MPI_Datatype g, MPI_Win h, MPI_Request *i),
        (a, b, c, d, e, f, g, h, i))
SIZED_COUNTED(MPI_Raccumulate,
        (const void *a, count_t b, MPI_Datatype c, int d, MPI_Aint e, count_t f, MPI_Datatype g, MPI_Op h, MPI_Win i, MPI_Request *j),
        (a, b, c, d, e, f, g, h, i, j))
SIZED_COUNTED(MPI_Rget_accumulate,
        (const void *a, count_t b, MPI_Datatype c, void *d, count_t e, MPI_Datatype f, int g, MPI_Aint h, count_t i, MPI_Datatype j, MPI_Op k,
         MPI_Win l, MPI_Request *m),
        (a, b, c, d, e, f, g, h, i, j, k, l, m))
SIZED_COUNTED(MPI_Win_create, (void *a, MPI_Aint b, place_t c, MPI_Info d, MPI_Comm e, MPI_Win *f), (a, b, c, d, e, f))
SIZED_COUNTED(MPI_Win_allocate, (MPI_Aint a, place_t b, MPI_Info c, MPI_Comm d, void *e, MPI_Win *f), (a, b, c, d, e, f))
SIZED_COUNTED(MPI_Win_allocate_shared, (MPI_Aint a, place_t b, MPI_Info c, MPI_Comm d, void *e, MPI_Win *f), (a, b, c, d, e, f))

/* Files. What a library for files sends within these calls is its own. */
#define READS(name) SIZED_COUNTED(name, (MPI_File a, void *b, count_t c, MPI_Datatype d, MPI_Status *e), (a, b, c, d, e))
#define WRITES(name) SIZED_COUNTED(name, (MPI_File a, const void *b, count_t c, MPI_Datatype d, MPI_Status *e), (a, b, c, d, e))
#define READS_AT(name)                                                                                                           \
    SIZED_COUNTED(name, (MPI_File a, MPI_Offset b, void *c, count_t d, MPI_Datatype e, MPI_Status *f), (a, b, c, d, e, f))
#define WRITES_AT(name)                                                                                                          \
    SIZED_COUNTED(name, (MPI_File a, MPI_Offset b, const void *c, count_t d, MPI_Datatype e, MPI_Status *f), (a, b, c, d, e, f))
READS(MPI_File_read)
READS(MPI_File_read_all)
READS(MPI_File_read_shared)
READS(MPI_File_read_ordered)
WRITES(MPI_File_write)
WRITES(MPI_File_write_all)
WRITES(MPI_File_write_shared)
WRITES(MPI_File_write_ordered)
READS_AT(MPI_File_read_at)
READS_AT(MPI_File_read_at_all)
WRITES_AT(MPI_File_write_at)
WRITES_AT(MPI_File_write_at_all)

/* Neighbourhoods of topologies. */
SIZED_COUNTED(MPI_Neighbor_allgather, (const void *a, count_t b, MPI_Datatype c, void *d, count_t e, MPI_Datatype f, MPI_Comm g), (a, b, c, d, e, f, g))
SIZED_COUNTED(MPI_Neighbor_alltoall, (const void *a, count_t b, MPI_Datatype c, void *d, count_t e, MPI_Datatype f, MPI_Comm g), (a, b, c, d, e, f, g))
SIZED_COUNTED(MPI_Ineighbor_allgather,
        (const void *a, count_t b, MPI_Datatype c, void *d, count_t e, MPI_Datatype f, MPI_Comm g, MPI_Request *h), (a, b, c, d, e, f, g, h))
SIZED_COUNTED(MPI_Ineighbor_alltoall,
        (const void *a, count_t b, MPI_Datatype c, void *d, count_t e, MPI_Datatype f, MPI_Comm g, MPI_Request *h), (a, b, c, d, e, f, g, h))
SIZED_COUNTED(MPI_Neighbor_allgatherv,
        (const void *a, count_t b, MPI_Datatype c, void *d, const count_t *e, const place_t *f, MPI_Datatype g, MPI_Comm h), (a, b, c, d, e, f, g, h))
SIZED_COUNTED(MPI_Neighbor_alltoallv,
        (const void *a, const count_t *b, const place_t *c, MPI_Datatype d, void *e, const count_t *f, const place_t *g, MPI_Datatype h, MPI_Comm i),
        (a, b, c, d, e, f, g, h, i))

#if MPI_VERSION >= 4
/* Both directions at once, without waiting. */
SIZED_COUNTED(MPI_Isendrecv,
              (const void *a, count_t b, MPI_Datatype c, int d, int e, void *f, count_t g, MPI_Datatype h, int i, int j,
               MPI_Comm k, MPI_Request *l),
              (a, b, c, d, e, f, g, h, i, j, k, l))
SIZED_COUNTED(MPI_Isendrecv_replace,
              (void *a, count_t b, MPI_Datatype c, int d, int e, int f, int g, MPI_Comm h, MPI_Request *i),
              (a, b, c, d, e, f, g, h, i))
#endif

#ifndef LARGE
/* Windows. */
COUNTED(MPI_Fetch_and_op, (const void *a, void *b, MPI_Datatype c, int d, MPI_Aint e, MPI_Op f, MPI_Win g), (a, b, c, d, e, f, g))
COUNTED(MPI_Compare_and_swap, (const void *a, const void *b, void *c, MPI_Datatype d, int e, MPI_Aint f, MPI_Win g),
        (a, b, c, d, e, f, g))
COUNTED(MPI_Win_create_dynamic, (MPI_Info a, MPI_Comm b, MPI_Win *c), (a, b, c))
COUNTED(MPI_Win_free, (MPI_Win * a), (a))
COUNTED(MPI_Win_fence, (int a, MPI_Win b), (a, b))
COUNTED(MPI_Win_lock, (int a, int b, int c, MPI_Win d), (a, b, c, d))
COUNTED(MPI_Win_unlock, (int a, MPI_Win b), (a, b))
COUNTED(MPI_Win_lock_all, (int a, MPI_Win b), (a, b))
COUNTED(MPI_Win_unlock_all, (MPI_Win a), (a))
COUNTED(MPI_Win_flush, (int a, MPI_Win b), (a, b))
COUNTED(MPI_Win_flush_all, (MPI_Win a), (a))
COUNTED(MPI_Win_post, (MPI_Group a, int b, MPI_Win c), (a, b, c))
COUNTED(MPI_Win_start, (MPI_Group a, int b, MPI_Win c), (a, b, c))
COUNTED(MPI_Win_complete, (MPI_Win a), (a))
COUNTED(MPI_Win_wait, (MPI_Win a), (a))

/* Files. */
COUNTED(MPI_File_open, (MPI_Comm a, const char *b, int c, MPI_Info d, MPI_File *e), (a, b, c, d, e))
COUNTED(MPI_File_close, (MPI_File * a), (a))
COUNTED(MPI_File_set_view, (MPI_File a, MPI_Offset b, MPI_Datatype c, MPI_Datatype d, const char *e, MPI_Info f), (a, b, c, d, e, f))
/* Processes and groups beyond those that have begun together. */
COUNTED(MPI_Comm_spawn, (const char *a, char *b[], int c, MPI_Info d, int e, MPI_Comm f, MPI_Comm *g, int h[]), (a, b, c, d, e, f, g, h))
COUNTED(MPI_Comm_accept, (const char *a, MPI_Info b, int c, MPI_Comm d, MPI_Comm *e), (a, b, c, d, e))
COUNTED(MPI_Comm_connect, (const char *a, MPI_Info b, int c, MPI_Comm d, MPI_Comm *e), (a, b, c, d, e))
COUNTED(MPI_Intercomm_create, (MPI_Comm a, int b, MPI_Comm c, int d, int e, MPI_Comm *f), (a, b, c, d, e, f))
COUNTED(MPI_Comm_idup, (MPI_Comm a, MPI_Comm *b, MPI_Request *c), (a, b, c))

/* Messages in parts, and communicators of sessions. */
#if MPI_VERSION >= 4
COUNTED(MPI_Psend_init,
        (const void *a, int b, MPI_Count c, MPI_Datatype d, int e, int f, MPI_Comm g, MPI_Info h, MPI_Request *i),
        (a, b, c, d, e, f, g, h, i))
COUNTED(MPI_Precv_init, (void *a, int b, MPI_Count c, MPI_Datatype d, int e, int f, MPI_Comm g, MPI_Info h, MPI_Request *i),
        (a, b, c, d, e, f, g, h, i))
COUNTED(MPI_Comm_create_from_group, (MPI_Group a, const char *b, MPI_Info c, MPI_Errhandler d, MPI_Comm *e), (a, b, c, d, e))
COUNTED(MPI_Comm_idup_with_info, (MPI_Comm a, MPI_Info b, MPI_Comm *c, MPI_Request *d), (a, b, c, d))
#endif
#endif
