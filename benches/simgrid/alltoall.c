/* An alltoall of 1 KiB that is repeated, for smpirun. Prints its simulated seconds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static char from[1 << 22], to[1 << 22];

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double begin = MPI_Wtime();
  for (int i = 0; i < atoi(argv[1]); i++)
    MPI_Alltoall(from, 1024, MPI_CHAR, to, 1024, MPI_CHAR, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%.9f\n", MPI_Wtime() - begin);
  MPI_Finalize();
  return 0;
}
