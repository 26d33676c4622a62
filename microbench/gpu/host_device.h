#pragma once
// Marks functions that kernels and host code (packers, references, tests) share; empty without nvcc.
#ifdef __CUDACC__
#define PARETOKEN_HOST_DEVICE __host__ __device__
#else
#define PARETOKEN_HOST_DEVICE
#endif
