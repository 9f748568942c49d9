/* Calls that are counted and not recorded: one-sided communication, files, neighbourhoods, and processes that are started. */
#include "recorder.h"

#define EACH(...) __VA_ARGS__
#define COUNTED(name, parameters, arguments)                                                                                     \
    int name(EACH parameters)                                                                                                    \
    {                                                                                                                            \
        if (enter())                                                                                                             \
            unsupported(#name);                                                                                                  \
        int result = P##name(EACH arguments);                                                                                    \
        leave();                                                                                                                 \
        return result;                                                                                                           \
    }

/* Windows. */
COUNTED(MPI_Put, (const void *a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g, MPI_Win h), (a, b, c, d, e, f, g, h))
COUNTED(MPI_Get, (void *a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g, MPI_Win h), (a, b, c, d, e, f, g, h))
COUNTED(MPI_Accumulate, (const void *a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g, MPI_Op h, MPI_Win i),
        (a, b, c, d, e, f, g, h, i))
COUNTED(MPI_Get_accumulate,
        (const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f, int g, MPI_Aint h, int i, MPI_Datatype j, MPI_Op k,
         MPI_Win l),
        (a, b, c, d, e, f, g, h, i, j, k, l))
COUNTED(MPI_Fetch_and_op, (const void *a, void *b, MPI_Datatype c, int d, MPI_Aint e, MPI_Op f, MPI_Win g), (a, b, c, d, e, f, g))
COUNTED(MPI_Compare_and_swap, (const void *a, const void *b, void *c, MPI_Datatype d, int e, MPI_Aint f, MPI_Win g),
        (a, b, c, d, e, f, g))
COUNTED(MPI_Rput, (const void *a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g, MPI_Win h, MPI_Request *i),
        (a, b, c, d, e, f, g, h, i))
COUNTED(MPI_Rget, (void *a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g, MPI_Win h, MPI_Request *i),
        (a, b, c, d, e, f, g, h, i))
COUNTED(MPI_Raccumulate,
        (const void *a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g, MPI_Op h, MPI_Win i, MPI_Request *j),
        (a, b, c, d, e, f, g, h, i, j))
COUNTED(MPI_Rget_accumulate,
        (const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f, int g, MPI_Aint h, int i, MPI_Datatype j, MPI_Op k,
         MPI_Win l, MPI_Request *m),
        (a, b, c, d, e, f, g, h, i, j, k, l, m))
COUNTED(MPI_Win_create, (void *a, MPI_Aint b, int c, MPI_Info d, MPI_Comm e, MPI_Win *f), (a, b, c, d, e, f))
COUNTED(MPI_Win_allocate, (MPI_Aint a, int b, MPI_Info c, MPI_Comm d, void *e, MPI_Win *f), (a, b, c, d, e, f))
COUNTED(MPI_Win_allocate_shared, (MPI_Aint a, int b, MPI_Info c, MPI_Comm d, void *e, MPI_Win *f), (a, b, c, d, e, f))
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

/* Files. What a library for files sends within these calls is its own. */
COUNTED(MPI_File_open, (MPI_Comm a, const char *b, int c, MPI_Info d, MPI_File *e), (a, b, c, d, e))
COUNTED(MPI_File_close, (MPI_File * a), (a))
COUNTED(MPI_File_set_view, (MPI_File a, MPI_Offset b, MPI_Datatype c, MPI_Datatype d, const char *e, MPI_Info f), (a, b, c, d, e, f))
#define READS(name) COUNTED(name, (MPI_File a, void *b, int c, MPI_Datatype d, MPI_Status *e), (a, b, c, d, e))
#define WRITES(name) COUNTED(name, (MPI_File a, const void *b, int c, MPI_Datatype d, MPI_Status *e), (a, b, c, d, e))
#define READS_AT(name)                                                                                                           \
    COUNTED(name, (MPI_File a, MPI_Offset b, void *c, int d, MPI_Datatype e, MPI_Status *f), (a, b, c, d, e, f))
#define WRITES_AT(name)                                                                                                          \
    COUNTED(name, (MPI_File a, MPI_Offset b, const void *c, int d, MPI_Datatype e, MPI_Status *f), (a, b, c, d, e, f))
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
COUNTED(MPI_Neighbor_allgather, (const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f, MPI_Comm g), (a, b, c, d, e, f, g))
COUNTED(MPI_Neighbor_alltoall, (const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f, MPI_Comm g), (a, b, c, d, e, f, g))
COUNTED(MPI_Ineighbor_allgather,
        (const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f, MPI_Comm g, MPI_Request *h), (a, b, c, d, e, f, g, h))
COUNTED(MPI_Ineighbor_alltoall,
        (const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f, MPI_Comm g, MPI_Request *h), (a, b, c, d, e, f, g, h))
COUNTED(MPI_Neighbor_allgatherv,
        (const void *a, int b, MPI_Datatype c, void *d, const int *e, const int *f, MPI_Datatype g, MPI_Comm h), (a, b, c, d, e, f, g, h))
COUNTED(MPI_Neighbor_alltoallv,
        (const void *a, const int *b, const int *c, MPI_Datatype d, void *e, const int *f, const int *g, MPI_Datatype h, MPI_Comm i),
        (a, b, c, d, e, f, g, h, i))

/* Processes and groups beyond those that have begun together. */
COUNTED(MPI_Comm_spawn, (const char *a, char *b[], int c, MPI_Info d, int e, MPI_Comm f, MPI_Comm *g, int h[]), (a, b, c, d, e, f, g, h))
COUNTED(MPI_Comm_accept, (const char *a, MPI_Info b, int c, MPI_Comm d, MPI_Comm *e), (a, b, c, d, e))
COUNTED(MPI_Comm_connect, (const char *a, MPI_Info b, int c, MPI_Comm d, MPI_Comm *e), (a, b, c, d, e))
COUNTED(MPI_Intercomm_create, (MPI_Comm a, int b, MPI_Comm c, int d, int e, MPI_Comm *f), (a, b, c, d, e, f))
COUNTED(MPI_Comm_idup, (MPI_Comm a, MPI_Comm *b, MPI_Request *c), (a, b, c))
