#pragma once
// PARETOKEN_HOST_DEVICE marks functions that kernels and host code (packers, references, tests) share; it is
// empty without nvcc. PARETOKEN_UNROLL marks loops that must be unrolled in device code, because they index
// arrays that are held in registers; PARETOKEN_UNROLL_BY(n) unrolls n iterations. Both are empty in host
// code.
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
