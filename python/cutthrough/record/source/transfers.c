/* Calls that send and receive so many elements. */
#include "recorder.h"

/* A send that blocks until it has ended. */
#define SENDS(name)                                                                                                              \
    int SIZED(name)(const void *buffer, count_t count, MPI_Datatype type, int to, int tag, MPI_Comm comm)                                   \
    {                                                                                                                            \
        int is_recorded = enter(), result = P_SIZED(name)(buffer, count, type, to, tag, comm);                                         \
        if (is_recorded && result == MPI_SUCCESS) {                                                                              \
            lock_records();                                                                                                      \
            put_message(&(struct message){1, to, tag, bytes_of(count, type), comm}, NULL, NULL);                                 \
            unlock_records();                                                                                                    \
        }                                                                                                                        \
        leave();                                                                                                                 \
        return result;                                                                                                           \
    }

SENDS(MPI_Send)
SENDS(MPI_Ssend)
SENDS(MPI_Bsend)
SENDS(MPI_Rsend)

/* A send that goes on at once. */
#define STARTS_SEND(name)                                                                                                        \
    int SIZED(name)(const void *buffer, count_t count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)             \
    {                                                                                                                            \
        int is_recorded = enter(), result = P_SIZED(name)(buffer, count, type, to, tag, comm, request);                                \
        if (is_recorded && result == MPI_SUCCESS) {                                                                              \
            lock_records();                                                                                                      \
            put_message(&(struct message){1, to, tag, bytes_of(count, type), comm}, request, NULL);                              \
            unlock_records();                                                                                                    \
        }                                                                                                                        \
        leave();                                                                                                                 \
        return result;                                                                                                           \
    }

STARTS_SEND(MPI_Isend)
STARTS_SEND(MPI_Issend)
STARTS_SEND(MPI_Ibsend)
STARTS_SEND(MPI_Irsend)

int SIZED(MPI_Recv)(void *buffer, count_t count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int is_recorded = enter(), result = P_SIZED(MPI_Recv)(buffer, count, type, from, tag, comm, status);
    if (is_recorded && result == MPI_SUCCESS) {
        lock_records();
        put_message(&(struct message){0, from, tag, bytes_of(count, type), comm}, NULL, status);
        unlock_records();
    }
    leave();
    return result;
}

int SIZED(MPI_Irecv)(void *buffer, count_t count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    int is_recorded = enter(), result = P_SIZED(MPI_Irecv)(buffer, count, type, from, tag, comm, request);
    if (is_recorded && result == MPI_SUCCESS) {
        lock_records();
        put_message(&(struct message){0, from, tag, bytes_of(count, type), comm}, request, NULL);
        unlock_records();
    }
    leave();
    return result;
}

int SIZED(MPI_Sendrecv)(const void *out, count_t out_count, MPI_Datatype out_type, int to, int out_tag, void *in, count_t in_count,
                 MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int is_recorded = enter();
    int result =
        P_SIZED(MPI_Sendrecv)(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag, comm, status);
    if (is_recorded && result == MPI_SUCCESS) {
        lock_records();
        put_both(&(struct message){1, to, out_tag, bytes_of(out_count, out_type), comm},
                 &(struct message){0, from, in_tag, bytes_of(in_count, in_type), comm}, status);
        unlock_records();
    }
    leave();
    return result;
}

int SIZED(MPI_Sendrecv_replace)(void *buffer, count_t count, MPI_Datatype type, int to, int out_tag, int from, int in_tag, MPI_Comm comm,
                         MPI_Status *status)
{
    MPI_Status own;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int is_recorded = enter();
    int result = P_SIZED(MPI_Sendrecv_replace)(buffer, count, type, to, out_tag, from, in_tag, comm, status);
    if (is_recorded && result == MPI_SUCCESS) {
        uint64_t bytes = bytes_of(count, type);
        lock_records();
        put_both(&(struct message){1, to, out_tag, bytes, comm}, &(struct message){0, from, in_tag, bytes, comm}, status);
        unlock_records();
    }
    leave();
    return result;
}

int SIZED(MPI_Mrecv)(void *buffer, count_t count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
    uint64_t handle = MESSAGE(*message);
    int is_recorded = enter(), result = P_SIZED(MPI_Mrecv)(buffer, count, type, message, status);
    if (is_recorded && result == MPI_SUCCESS) {
        lock_records();
        put_taken(handle, bytes_of(count, type), NULL);
        unlock_records();
    }
    leave();
    return result;
}

int SIZED(MPI_Imrecv)(void *buffer, count_t count, MPI_Datatype type, MPI_Message *message, MPI_Request *request)
{
    uint64_t handle = MESSAGE(*message);
    int is_recorded = enter(), result = P_SIZED(MPI_Imrecv)(buffer, count, type, message, request);
    if (is_recorded && result == MPI_SUCCESS) {
        lock_records();
        put_taken(handle, bytes_of(count, type), request);
        unlock_records();
    }
    leave();
    return result;
}

/* What a persistent request will do. */
#define PREPARES_SEND(name)                                                                                                      \
    int SIZED(name)(const void *buffer, count_t count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)             \
    {                                                                                                                            \
        int is_recorded = enter(), result = P_SIZED(name)(buffer, count, type, to, tag, comm, request);                                \
        if (is_recorded && result == MPI_SUCCESS)                                                                                \
            keep_persistent(*request, &(struct message){1, to, tag, bytes_of(count, type), comm});                                          \
        leave();                                                                                                                 \
        return result;                                                                                                           \
    }

PREPARES_SEND(MPI_Send_init)
PREPARES_SEND(MPI_Ssend_init)
PREPARES_SEND(MPI_Bsend_init)
PREPARES_SEND(MPI_Rsend_init)

int SIZED(MPI_Recv_init)(void *buffer, count_t count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    int is_recorded = enter(), result = P_SIZED(MPI_Recv_init)(buffer, count, type, from, tag, comm, request);
    if (is_recorded && result == MPI_SUCCESS)
        keep_persistent(*request, &(struct message){0, from, tag, bytes_of(count, type), comm});
    leave();
    return result;
}
