/* The calls with large counts: those of transfers.c, collectives.c and unsupported.c once more, with other names and types. */
#define LARGE
#include "recorder.h"

#if MPI_VERSION >= 4
#include "collectives.c"
#include "transfers.c"
#undef EACH
#include "unsupported.c"
#endif
