#pragma once
// Shares a text between the processes of an MPI job by the plug-in paretoken-mpi.so.
#include <string>

namespace paretoken::experiments {

/// The function paretoken_mpi_share of the plug-in (experiments/fleet/mpi/main.cpp).
using MpiShare = int (*)(char* text, int size);

/// Returns the text of rank 0 in every process; all processes of the job must call it once. Throws UsageError
/// if this installation has no plug-in, RuntimeError if it cannot be loaded or MPI fails.
std::string shared_by_mpi(const std::string& text);

}  // namespace paretoken::experiments
