/* The records of messages, and probes. */
#include "recorder.h"

/* Begins the record of a message, from or to a member of a communicator. */
static void begin_message(enum kind kind, int flags, uint32_t comm, int peer, int tag)
{
    begin_record(kind, flags);
    put(comm);
    put((uint64_t)peer);
    put((uint64_t)tag);
}

static int wild_flags(int peer, int tag)
{
    return (peer == MPI_ANY_SOURCE ? ANY_SOURCE : 0) | (tag == MPI_ANY_TAG ? ANY_TAG : 0);
}

/* Records what an entry says, which has not ended. What a wildcard receive meets is not known yet, and 0 until then. */
static void put_open(struct entry *entry)
{
    int wild = entry->is_send ? 0 : wild_flags(entry->peer, entry->tag);
    int peer = wild & ANY_SOURCE ? 0 : entry->peer, tag = wild & ANY_TAG ? 0 : entry->tag;
    begin_message(entry->is_send ? SEND : RECV, wild, entry->comm, peer, tag);
    put(entry->bytes);
    entry->number = requests_made++;
    entry->count = 1;
    entry->is_active = 1;
    entry->is_wild = wild != 0;
    watched += entry->is_wild;
}

void put_message(const struct message *message, const MPI_Request *request, const MPI_Status *status)
{
    if (message->peer == MPI_PROC_NULL)
        return;
    uint32_t comm = number_of(message->comm);
    if (comm == INTER) {
        unsupported("messages of communicators between two groups");
        return;
    }
    if (request != NULL) {
        struct entry *entry = add_entry(HANDLE(*request));
        entry->is_send = (uint8_t)message->is_send;
        entry->comm = comm;
        entry->peer = message->peer;
        entry->tag = message->tag;
        entry->bytes = message->bytes;
        put_open(entry);
        return;
    }
    int wild = message->is_send ? 0 : wild_flags(message->peer, message->tag);
    int peer = wild & ANY_SOURCE ? status->MPI_SOURCE : message->peer;
    int tag = wild & ANY_TAG ? status->MPI_TAG : message->tag;
    begin_message(message->is_send ? SEND : RECV, BLOCKING | wild, comm, peer, tag);
    put(message->bytes);
    requests_made++;
}

void put_started(struct entry *entry)
{
    if (entry->record != NULL) {
        entry->number = requests_made;
        requests_made += entry->count;
        entry->is_active = 1;
        put_kept(entry->record, entry->record_bytes);
    } else if (entry->peer != MPI_PROC_NULL && entry->comm != INTER)
        put_open(entry);
}

void put_both(const struct message *out, const struct message *in, const MPI_Status *status)
{
    int has_in = in->peer != MPI_PROC_NULL, has_out = out->peer != MPI_PROC_NULL;
    uint32_t comm = number_of(in->comm);
    if (comm == INTER) {
        unsupported("messages of communicators between two groups");
        return;
    }
    int wild = has_in ? wild_flags(in->peer, in->tag) : 0;
    if (has_in) {
        begin_message(RECV, wild, comm, wild & ANY_SOURCE ? 0 : in->peer, wild & ANY_TAG ? 0 : in->tag);
        put(in->bytes);
        requests_made++;
    }
    if (has_out) {
        begin_message(SEND, 0, comm, out->peer, out->tag);
        put(out->bytes);
        requests_made++;
    }
    if (wild != 0)
        put_met((uint32_t)(1 + has_out), status);
    uint32_t others = (uint32_t)((has_in && wild == 0) + has_out);
    if (others > 0)
        put_wait(others, others);
}

/* Records a probe that has found a message, or has not. */
static void put_probe(int from, int tag, MPI_Comm comm, int has_found, const MPI_Status *status)
{
    uint32_t number = number_of(comm);
    if (number == INTER || from == MPI_PROC_NULL)
        return;
    if (has_found) {
        begin_message(PROBE, wild_flags(from, tag), number, status->MPI_SOURCE, status->MPI_TAG);
        return;
    }
    put_poll();
}

int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int is_recorded = enter(), result = PMPI_Probe(from, tag, comm, status);
    if (is_recorded && result == MPI_SUCCESS) {
        lock_records();
        put_probe(from, tag, comm, 1, status);
        unlock_records();
    }
    leave();
    return result;
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    MPI_Status own;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int is_recorded = enter(), result = PMPI_Iprobe(from, tag, comm, flag, status);
    if (is_recorded && result == MPI_SUCCESS) {
        lock_records();
        put_probe(from, tag, comm, *flag, status);
        unlock_records();
    }
    leave();
    return result;
}

/* Keeps what a probe has taken out, for the receive that will name it by its handle. */
static void keep_message(MPI_Message message, MPI_Comm comm, const MPI_Status *status)
{
    uint32_t number = number_of(comm);
    struct entry *entry = add_entry(MESSAGE(message));
    entry->comm = number;
    entry->peer = status->MPI_SOURCE;
    entry->tag = status->MPI_TAG;
}

int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    MPI_Status own;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int is_recorded = enter(), result = PMPI_Mprobe(from, tag, comm, message, status);
    if (is_recorded && result == MPI_SUCCESS && from != MPI_PROC_NULL) {
        lock_records();
        put_probe(from, tag, comm, 1, status);
        keep_message(*message, comm, status);
        unlock_records();
    }
    leave();
    return result;
}

int MPI_Improbe(int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    MPI_Status own;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int is_recorded = enter(), result = PMPI_Improbe(from, tag, comm, flag, message, status);
    if (is_recorded && result == MPI_SUCCESS && from != MPI_PROC_NULL) {
        lock_records();
        put_probe(from, tag, comm, *flag, status);
        if (*flag)
            keep_message(*message, comm, status);
        unlock_records();
    }
    leave();
    return result;
}

void put_taken(uint64_t handle, uint64_t bytes, const MPI_Request *request)
{
    struct entry *found = find_entry(handle);
    if (found == NULL || found->comm == INTER)
        return;
    struct entry taken = *found;
    remove_entry(handle);
    if (request != NULL) {
        struct entry *entry = add_entry(HANDLE(*request));
        entry->comm = taken.comm;
        entry->peer = taken.peer;
        entry->tag = taken.tag;
        entry->bytes = bytes;
        put_open(entry);
        return;
    }
    begin_message(RECV, BLOCKING, taken.comm, taken.peer, taken.tag);
    put(bytes);
    requests_made++;
}
