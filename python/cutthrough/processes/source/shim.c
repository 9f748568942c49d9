/* Functions of MPI that a run in several processes needs, without types or constants of one MPI library in their
 * interface. Compiled by the machine's mpicc, and loaded by crates/processes.
 *
 * One thread at a time calls. Functions return 0 or more, or an error of MPI as a negative number. Nothing waits, except
 * cutthrough_open and cutthrough_close: the caller asks again until something has ended. */

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct cutthrough {
    MPI_Comm comm;
    int must_finalize;
    /* Operations under way, and the room for them. */
    int count, room;
    MPI_Request *requests;
    MPI_Message found;
};

/* Writes the name and the version of the MPI library. May be called before cutthrough_open. */
void cutthrough_library(char *text, int length)
{
    char own[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int ignored;
    MPI_Get_library_version(own, &ignored);
    strncpy(text, own, (size_t)length - 1);
    text[length - 1] = 0;
}

/* Writes the text of an error. */
void cutthrough_error(int error, char *text, int length)
{
    char own[MPI_MAX_ERROR_STRING] = "";
    int ignored;
    MPI_Error_string(-error, own, &ignored);
    strncpy(text, own, (size_t)length - 1);
    text[length - 1] = 0;
}

/* Initializes MPI unless it is, and makes a communicator of all processes. Collective. Returns 1 if the library does
 * not allow calls of several threads in turn, and 2 without memory. */
int cutthrough_open(struct cutthrough **made)
{
    int initialized, provided, error;
    struct cutthrough *own = calloc(1, sizeof *own);
    if (own == NULL)
        return 2;
    error = MPI_Initialized(&initialized);
    if (error == MPI_SUCCESS && !initialized)
        error = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    else if (error == MPI_SUCCESS)
        error = MPI_Query_thread(&provided);
    own->must_finalize = !initialized;
    if (error == MPI_SUCCESS && provided < MPI_THREAD_SERIALIZED) {
        free(own);
        return 1;
    }
    if (error == MPI_SUCCESS)
        error = MPI_Comm_dup(MPI_COMM_WORLD, &own->comm);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_set_errhandler(own->comm, MPI_ERRORS_RETURN);
    if (error != MPI_SUCCESS) {
        free(own);
        return -error;
    }
    *made = own;
    return 0;
}

/* Frees the communicator, and finalizes MPI if cutthrough_open has initialized it. Collective. */
int cutthrough_close(struct cutthrough *own)
{
    int error = MPI_Comm_free(&own->comm);
    if (error == MPI_SUCCESS && own->must_finalize)
        error = MPI_Finalize();
    free(own->requests);
    free(own);
    return -error;
}

/* Ends all processes. */
void cutthrough_abort(struct cutthrough *own, int status)
{
    MPI_Abort(own->comm, status);
}

int cutthrough_rank(struct cutthrough *own)
{
    int rank, error = MPI_Comm_rank(own->comm, &rank);
    return error == MPI_SUCCESS ? rank : -error;
}

int cutthrough_size(struct cutthrough *own)
{
    int size, error = MPI_Comm_size(own->comm, &size);
    return error == MPI_SUCCESS ? size : -error;
}

/* Returns the number of processes on this node. Collective. */
int cutthrough_local_size(struct cutthrough *own)
{
    MPI_Comm node;
    int size, error = MPI_Comm_split_type(own->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_size(node, &size);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_free(&node);
    return error == MPI_SUCCESS ? size : -error;
}

double cutthrough_seconds(void)
{
    return MPI_Wtime();
}

/* Counts an operation that has begun. */
static int begun(struct cutthrough *own, int error)
{
    if (error != MPI_SUCCESS)
        return -error;
    own->count++;
    return 0;
}

/* Returns the request of the next operation, or NULL without memory. */
static MPI_Request *next(struct cutthrough *own)
{
    if (own->count == own->room) {
        int room = own->room > 0 ? 2 * own->room : 64;
        MPI_Request *more = realloc(own->requests, (size_t)room * sizeof *more);
        if (more == NULL)
            return NULL;
        own->requests = more;
        own->room = room;
    }
    return &own->requests[own->count];
}

/* Begins to send a message, which must stay as it is until cutthrough_done. */
int cutthrough_send(struct cutthrough *own, int to, int tag, const void *data, int bytes)
{
    MPI_Request *request = next(own);
    return begun(own, request == NULL ? MPI_ERR_NO_MEM : MPI_Isend(data, bytes, MPI_BYTE, to, tag, own->comm, request));
}

/* Returns 1 and the length of a message if one has come. cutthrough_receive must follow. */
int cutthrough_probe(struct cutthrough *own, int from, int tag, int *bytes)
{
    int flag = 0, error;
    MPI_Status status;
    error = MPI_Improbe(from, tag, own->comm, &flag, &own->found, &status);
    if (error == MPI_SUCCESS && flag)
        error = MPI_Get_count(&status, MPI_BYTE, bytes);
    return error == MPI_SUCCESS ? flag : -error;
}

/* Receives the message that cutthrough_probe has found. */
int cutthrough_receive(struct cutthrough *own, void *data, int bytes)
{
    return -MPI_Mrecv(data, bytes, MPI_BYTE, &own->found, MPI_STATUS_IGNORE);
}

/* Begins to replace numbers by their sums (maximum = 0) or maxima (1) over all processes. Collective. */
int cutthrough_reduce(struct cutthrough *own, uint64_t *values, int count, int maximum)
{
    MPI_Op op = maximum ? MPI_MAX : MPI_SUM;
    MPI_Request *request = next(own);
    if (request == NULL)
        return -MPI_ERR_NO_MEM;
    return begun(own, MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_UINT64_T, op, own->comm, request));
}

/* Begins to replace data by those of process 0. Collective. */
int cutthrough_broadcast(struct cutthrough *own, void *data, int bytes)
{
    MPI_Request *request = next(own);
    return begun(own, request == NULL ? MPI_ERR_NO_MEM : MPI_Ibcast(data, bytes, MPI_BYTE, 0, own->comm, request));
}

/* Returns 1 if all operations that have begun have ended. */
int cutthrough_done(struct cutthrough *own)
{
    int flag = 0, error = MPI_Testall(own->count, own->requests, &flag, MPI_STATUSES_IGNORE);
    if (error != MPI_SUCCESS)
        return -error;
    if (flag)
        own->count = 0;
    return flag;
}
