/* What handles stand for: a hash table of chains, so that entries of one handle stay in their order. */
#include "recorder.h"

#include <stdlib.h>

#define NONE UINT32_MAX

/* The entries of a bucket, from the oldest to the last. */
struct chain {
    uint32_t first, last;
};

static struct entry *entries;
static struct chain *chains;
/* There are as many buckets as there is room, a power of two. */
static uint32_t room, used, freed = NONE;

static struct chain *chain_of(uint64_t handle)
{
    return &chains[(uint32_t)((handle * 0x9e3779b97f4a7c15ull) >> 40) & (room - 1)];
}

static void append(uint32_t place)
{
    struct chain *chain = chain_of(entries[place].handle);
    entries[place].next = NONE;
    if (chain->first == NONE)
        chain->first = place;
    else
        entries[chain->last].next = place;
    chain->last = place;
}

/* Doubles the room. */
static void grow(void)
{
    uint32_t buckets = room;
    struct chain *old = chains;
    room = room == 0 ? 1024 : 2 * room;
    entries = realloc(entries, room * sizeof *entries);
    chains = malloc(room * sizeof *chains);
    if (entries == NULL || chains == NULL)
        abort();
    for (uint32_t bucket = 0; bucket < room; bucket++)
        chains[bucket] = (struct chain){NONE, NONE};
    for (uint32_t bucket = 0; bucket < buckets; bucket++) {
        for (uint32_t place = old[bucket].first; place != NONE;) {
            uint32_t next = entries[place].next;
            append(place);
            place = next;
        }
    }
    free(old);
}

struct entry *find_entry(uint64_t handle)
{
    uint32_t place = room == 0 ? NONE : chain_of(handle)->first;
    while (place != NONE && entries[place].handle != handle)
        place = entries[place].next;
    return place == NONE ? NULL : &entries[place];
}

struct entry *add_entry(uint64_t handle)
{
    uint32_t place = freed;
    if (place != NONE) {
        freed = entries[place].next;
    } else {
        if (used == room)
            grow();
        place = used++;
    }
    entries[place] = (struct entry){.handle = handle};
    append(place);
    return &entries[place];
}

void remove_entry(uint64_t handle)
{
    if (room == 0)
        return;
    struct chain *chain = chain_of(handle);
    uint32_t before = NONE, place = chain->first;
    while (place != NONE && entries[place].handle != handle) {
        before = place;
        place = entries[place].next;
    }
    if (place == NONE)
        return;
    uint32_t next = entries[place].next;
    if (before == NONE)
        chain->first = next;
    else
        entries[before].next = next;
    if (chain->last == place)
        chain->last = before;
    entries[place].next = freed;
    freed = place;
}
