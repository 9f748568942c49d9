/* Requests: waiting for them, testing them, and starting persistent ones. */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

uint32_t watched = 0;

void put_wait(uint32_t age, uint32_t count)
{
    begin_record(WAIT, count > 1 ? SEVERAL : 0);
    put(age);
    if (count > 1)
        put(count);
}

void put_met(uint32_t age, const MPI_Status *status)
{
    begin_record(WAIT, MET);
    put(age);
    put((uint64_t)status->MPI_SOURCE);
    put((uint64_t)status->MPI_TAG);
}

void put_ended(uint64_t handle, const MPI_Status *status)
{
    struct entry *entry = find_entry(handle);
    int is_cancelled = 0;
    if (entry == NULL || !entry->is_active)
        return;
    watched -= (uint32_t)(entry->is_wild + entry->is_cancelled);
    if (entry->is_cancelled)
        PMPI_Test_cancelled(status, &is_cancelled);
    if (!is_cancelled && entry->is_wild) {
        put_met(requests_made - entry->number, status);
    } else if (!is_cancelled && entry->count > 0) {
        put_wait(requests_made - entry->number, entry->count);
    }
    entry->is_active = entry->is_cancelled = entry->is_wild = 0;
    if (!entry->is_persistent)
        remove_entry(handle);
}

/* What a call about several requests needs beside its arguments: the handles, which the call replaces, and statuses. */
struct several {
    uint64_t few[32], *handles;
    MPI_Status *statuses, *own;
};

static void begin_several(struct several *all, int count, const MPI_Request *requests, MPI_Status *statuses, int is_needed)
{
    all->handles = count > 32 ? malloc((size_t)count * sizeof *all->handles) : all->few;
    all->own = NULL;
    if (all->handles == NULL)
        abort();
    for (int place = 0; place < count; place++)
        all->handles[place] = HANDLE(requests[place]);
    all->statuses = statuses;
    if (statuses == MPI_STATUSES_IGNORE && is_needed && count > 0) {
        all->statuses = all->own = malloc((size_t)count * sizeof *all->own);
        if (all->own == NULL)
            abort();
    }
}

static void end_several(struct several *all)
{
    if (all->handles != all->few)
        free(all->handles);
    free(all->own);
}

/* The status of one of the requests; of none where none is needed. */
static const MPI_Status *status_at(const struct several *all, int place)
{
    return all->statuses == MPI_STATUSES_IGNORE ? NULL : &all->statuses[place];
}

/* Records that all of so many requests have ended. */
static void put_all(const struct several *all, int count)
{
    lock_records();
    for (int place = 0; place < count; place++)
        put_ended(all->handles[place], status_at(all, place));
    unlock_records();
}

/* Records that some have ended, or that a test has found none. */
static void put_some(const struct several *all, int count, const int *places)
{
    lock_records();
    for (int number = 0; number < count; number++)
        put_ended(all->handles[places[number]], status_at(all, number));
    if (count == 0)
        put_poll();
    unlock_records();
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    MPI_Status own;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    uint64_t handle = HANDLE(*request);
    int is_recorded = enter(), result = PMPI_Wait(request, status);
    if (is_recorded && result == MPI_SUCCESS) {
        lock_records();
        put_ended(handle, status);
        unlock_records();
    }
    leave();
    return result;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    MPI_Status own;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    uint64_t handle = HANDLE(*request);
    int is_recorded = enter(), result = PMPI_Test(request, flag, status);
    if (is_recorded && result == MPI_SUCCESS) {
        lock_records();
        if (*flag)
            put_ended(handle, status);
        else
            put_poll();
        unlock_records();
    }
    leave();
    return result;
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
    struct several all;
    int is_recorded = enter();
    begin_several(&all, count, requests, statuses, is_recorded && watched > 0);
    int result = PMPI_Waitall(count, requests, all.statuses);
    if (is_recorded && result == MPI_SUCCESS)
        put_all(&all, count);
    end_several(&all);
    leave();
    return result;
}

int MPI_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses)
{
    struct several all;
    int is_recorded = enter();
    begin_several(&all, count, requests, statuses, is_recorded && watched > 0);
    int result = PMPI_Testall(count, requests, flag, all.statuses);
    if (is_recorded && result == MPI_SUCCESS && *flag)
        put_all(&all, count);
    else if (is_recorded && result == MPI_SUCCESS)
        put_some(&all, 0, NULL);
    end_several(&all);
    leave();
    return result;
}

int MPI_Waitany(int count, MPI_Request *requests, int *place, MPI_Status *status)
{
    struct several all;
    MPI_Status own;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int is_recorded = enter();
    begin_several(&all, count, requests, MPI_STATUSES_IGNORE, 0);
    int result = PMPI_Waitany(count, requests, place, status);
    if (is_recorded && result == MPI_SUCCESS && *place != MPI_UNDEFINED) {
        lock_records();
        put_ended(all.handles[*place], status);
        unlock_records();
    }
    end_several(&all);
    leave();
    return result;
}

int MPI_Testany(int count, MPI_Request *requests, int *place, int *flag, MPI_Status *status)
{
    struct several all;
    MPI_Status own;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int is_recorded = enter();
    begin_several(&all, count, requests, MPI_STATUSES_IGNORE, 0);
    int result = PMPI_Testany(count, requests, place, flag, status);
    if (is_recorded && result == MPI_SUCCESS) {
        lock_records();
        if (*flag && *place != MPI_UNDEFINED)
            put_ended(all.handles[*place], status);
        else if (!*flag)
            put_poll();
        unlock_records();
    }
    end_several(&all);
    leave();
    return result;
}

/* Waits for some requests, or tests which have ended. */
#define ENDS_SOME(name)                                                                                                          \
    int name(int count, MPI_Request *requests, int *ended, int *places, MPI_Status *statuses)                                    \
    {                                                                                                                            \
        struct several all;                                                                                                      \
        int is_recorded = enter();                                                                                               \
        begin_several(&all, count, requests, statuses, is_recorded && watched > 0);                                              \
        int result = P##name(count, requests, ended, places, all.statuses);                                                      \
        if (is_recorded && result == MPI_SUCCESS && *ended != MPI_UNDEFINED)                                                     \
            put_some(&all, *ended, places);                                                                                      \
        end_several(&all);                                                                                                       \
        leave();                                                                                                                 \
        return result;                                                                                                           \
    }

ENDS_SOME(MPI_Waitsome)
ENDS_SOME(MPI_Testsome)

int MPI_Cancel(MPI_Request *request)
{
    if (enter()) {
        lock_records();
        struct entry *entry = find_entry(HANDLE(*request));
        if (entry != NULL && entry->is_active && !entry->is_cancelled) {
            entry->is_cancelled = 1;
            watched++;
        }
        unlock_records();
    }
    int result = PMPI_Cancel(request);
    leave();
    return result;
}

int MPI_Request_free(MPI_Request *request)
{
    if (enter()) {
        lock_records();
        struct entry *entry = find_entry(HANDLE(*request));
        if (entry != NULL && entry->is_active)
            watched -= (uint32_t)(entry->is_wild + entry->is_cancelled);
        if (entry != NULL)
            free(entry->record);
        remove_entry(HANDLE(*request));
        unlock_records();
    }
    int result = PMPI_Request_free(request);
    leave();
    return result;
}

void keep_persistent(MPI_Request request, const struct message *message)
{
    lock_records();
    uint32_t comm = number_of(message->comm);
    struct entry *entry = add_entry(HANDLE(request));
    entry->is_persistent = 1;
    entry->is_send = (uint8_t)message->is_send;
    entry->comm = comm;
    entry->peer = message->peer;
    entry->tag = message->tag;
    entry->bytes = message->bytes;
    unlock_records();
}

static void put_starts(int count, const MPI_Request *requests)
{
    lock_records();
    for (int place = 0; place < count; place++) {
        struct entry *entry = find_entry(HANDLE(requests[place]));
        if (entry != NULL)
            put_started(entry);
    }
    unlock_records();
}

int MPI_Start(MPI_Request *request)
{
    int is_recorded = enter(), result = PMPI_Start(request);
    if (is_recorded && result == MPI_SUCCESS)
        put_starts(1, request);
    leave();
    return result;
}

int MPI_Startall(int count, MPI_Request *requests)
{
    int is_recorded = enter(), result = PMPI_Startall(count, requests);
    if (is_recorded && result == MPI_SUCCESS)
        put_starts(count, requests);
    leave();
    return result;
}
