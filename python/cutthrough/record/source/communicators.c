/* Communicators by the numbers that a rank gives them, in the order in which it has made them. Members of one make those with the same
   members in the same order, by which the numbers of ranks are recognised afterwards as those of one communicator: nothing is sent for it. */
#include "recorder.h"

#include <stdlib.h>

/* Numbers of communicators have handles apart from those of requests. */
#define KEY(comm) (HANDLE(comm) ^ 0x5bd1e9955bd1e995ull)

static uint32_t defined;
static MPI_Comm last_comm = MPI_COMM_NULL;
static uint32_t last_number;
static MPI_Group world_group;

/* The ranks of a communicator, as first, stride and count if they are equally far apart, and otherwise as a list. */
static void put_members(const int *ranks, int count)
{
    int is_even = 1, stride = count > 1 ? ranks[1] - ranks[0] : 1;
    for (int member = 1; member < count; member++)
        is_even &= ranks[member] - ranks[member - 1] == stride;
    is_even &= stride > 0;
    put((uint64_t)is_even);
    put((uint64_t)count);
    if (is_even) {
        put((uint64_t)ranks[0]);
        put((uint64_t)stride);
        return;
    }
    for (int member = 0; member < count; member++)
        put((uint64_t)ranks[member]);
}

/* Writes the definition of a communicator; returns whether it could. */
static int put_definition(MPI_Comm comm)
{
    MPI_Group group;
    int count;
    if (PMPI_Comm_group(comm, &group) != MPI_SUCCESS)
        return 0;
    PMPI_Group_size(group, &count);
    int *members = malloc(2 * (size_t)count * sizeof *members), *ranks = members + count;
    if (members == NULL)
        abort();
    for (int member = 0; member < count; member++)
        members[member] = member;
    PMPI_Group_translate_ranks(group, count, members, world_group, ranks);
    PMPI_Group_free(&group);
    int is_known = 1;
    for (int member = 0; member < count; member++)
        is_known &= ranks[member] >= 0;
    if (is_known) {
        begin_record(COMMUNICATOR, 0);
        put_members(ranks, count);
    }
    free(members);
    return is_known;
}

static uint32_t define(MPI_Comm comm)
{
    int is_inter = 0;
    PMPI_Comm_test_inter(comm, &is_inter);
    uint32_t number = !is_inter && put_definition(comm) ? defined++ : INTER;
    add_entry(KEY(comm))->number = number;
    return number;
}

void define_world(void)
{
    PMPI_Comm_group(MPI_COMM_WORLD, &world_group);
    define(MPI_COMM_WORLD);
}

uint32_t number_of(MPI_Comm comm)
{
    if (comm == last_comm)
        return last_number;
    struct entry *entry = find_entry(KEY(comm));
    last_number = entry != NULL ? entry->number : define(comm);
    last_comm = comm;
    return last_number;
}

void forget_communicator(MPI_Comm comm)
{
    remove_entry(KEY(comm));
    last_comm = MPI_COMM_NULL;
}

/* What makes a communicator defines it, so that all ranks have the same order, whichever they use first. */
#define MAKES(name, parameters, arguments)                                                                                       \
    int name parameters                                                                                                          \
    {                                                                                                                            \
        int is_recorded = enter(), result = P##name arguments;                                                                   \
        if (is_recorded && result == MPI_SUCCESS && *made != MPI_COMM_NULL) {                                                    \
            lock_records();                                                                                                      \
            number_of(*made);                                                                                                    \
            unlock_records();                                                                                                    \
        }                                                                                                                        \
        leave();                                                                                                                 \
        return result;                                                                                                           \
    }

MAKES(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
MAKES(MPI_Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *made), (comm, info, made))
MAKES(MPI_Comm_split, (MPI_Comm comm, int colour, int key, MPI_Comm *made), (comm, colour, key, made))
MAKES(MPI_Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made), (comm, type, key, info, made))
MAKES(MPI_Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made))
MAKES(MPI_Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made), (comm, group, tag, made))
MAKES(MPI_Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *made), (comm, high, made))
MAKES(MPI_Cart_create, (MPI_Comm comm, int dimensions, const int *extents, const int *periods, int reorder, MPI_Comm *made),
      (comm, dimensions, extents, periods, reorder, made))
MAKES(MPI_Cart_sub, (MPI_Comm comm, const int *remains, MPI_Comm *made), (comm, remains, made))
MAKES(MPI_Graph_create, (MPI_Comm comm, int nodes, const int *index, const int *edges, int reorder, MPI_Comm *made),
      (comm, nodes, index, edges, reorder, made))
MAKES(MPI_Dist_graph_create,
      (MPI_Comm comm, int count, const int *sources, const int *degrees, const int *targets, const int *weights, MPI_Info info,
       int reorder, MPI_Comm *made),
      (comm, count, sources, degrees, targets, weights, info, reorder, made))
MAKES(MPI_Dist_graph_create_adjacent,
      (MPI_Comm comm, int in, const int *sources, const int *in_weights, int out, const int *targets, const int *out_weights,
       MPI_Info info, int reorder, MPI_Comm *made),
      (comm, in, sources, in_weights, out, targets, out_weights, info, reorder, made))

/* A handle that has been freed may stand for another communicator later. */
#define FREES(name)                                                                                                              \
    int name(MPI_Comm *comm)                                                                                                     \
    {                                                                                                                            \
        if (enter()) {                                                                                                           \
            lock_records();                                                                                                      \
            forget_communicator(*comm);                                                                                          \
            unlock_records();                                                                                                    \
        }                                                                                                                        \
        int result = P##name(comm);                                                                                              \
        leave();                                                                                                                 \
        return result;                                                                                                           \
    }

FREES(MPI_Comm_free)
FREES(MPI_Comm_disconnect)
