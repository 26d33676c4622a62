#pragma once
// Marks functions that kernels and host code (packers, references, tests) share, and loops that a GPU must
// have unrolled since their registers are indexed; empty without nvcc.
#ifdef __CUDACC__
#define PARETOKEN_HOST_DEVICE __host__ __device__
#else
#define PARETOKEN_HOST_DEVICE
#endif

#if defined(__CUDA_ARCH__)
#define PARETOKEN_PRAGMA(text) _Pragma(#text)
#define PARETOKEN_UNROLL PARETOKEN_PRAGMA(unroll)
#define PARETOKEN_UNROLL_BY(count) PARETOKEN_PRAGMA(unroll count)
#else
#define PARETOKEN_UNROLL
#define PARETOKEN_UNROLL_BY(count)
#endif
