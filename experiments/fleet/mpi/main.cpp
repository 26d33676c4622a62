// The plug-in paretoken-mpi.so: shares one text between the processes of an MPI job. paretoken loads it when
// a launcher of MPI started it, so that the program itself needs no MPI. Everything else that the processes
// tell each other goes through their own connections.
#include <mpi.h>

#include <type_traits>

#include "experiments/fleet/mpi_share.h"

/// Puts the text of rank 0 into `text` of every rank, whose size in bytes is `size`. Returns 0, or a code of
/// MPI. MPI is used once and ended, so that it takes no time during a load.
extern "C" int paretoken_mpi_share(char* text, int size) {
    static_assert(std::is_same_v<decltype(&paretoken_mpi_share), paretoken::experiments::MpiShare>);
    const int begun = MPI_Init(nullptr, nullptr);
    if (begun != MPI_SUCCESS) return begun;
    const int shared = MPI_Bcast(text, size, MPI_CHAR, 0, MPI_COMM_WORLD);
    const int ended = MPI_Finalize();
    return shared != MPI_SUCCESS ? shared : ended;
}
