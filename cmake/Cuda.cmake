# The CUDA backend of microbench: paretoken_cuda(microbench) adds every .cu below microbench/gpu/ to the target, and
# defines PARETOKEN_HAS_CUDA. Without nvcc (or with -DPARETOKEN_CUDA=OFF) the same program is built without it.
#   -DPARETOKEN_CUDA=AUTO|ON|OFF             AUTO: when nvcc is found
#   -DPARETOKEN_CUDA_ARCHITECTURES=90        one architecture builds quickly; the default runs on everything since sm_80
#   -DPARETOKEN_NVCC=/path/to/nvcc           otherwise from CUDACXX, PATH, CUDA_HOME or /usr/local/cuda

set(PARETOKEN_CUDA AUTO CACHE STRING "Build the CUDA backend: AUTO, ON or OFF")
set_property(CACHE PARETOKEN_CUDA PROPERTY STRINGS AUTO ON OFF)
set(PARETOKEN_CUDA_ARCHITECTURES "80;89;90;100;120" CACHE STRING "Compute capabilities to compile kernels for")
set(PARETOKEN_HAS_CUDA OFF)

if(PARETOKEN_SANITIZE AND PARETOKEN_CUDA STREQUAL "AUTO")
    message(STATUS "Sanitizers: the CUDA backend is left out, as its runtime does not stand them")
elseif(PARETOKEN_CUDA)
    find_program(PARETOKEN_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin
                 DOC "CUDA compiler")
    if(PARETOKEN_NVCC)
        set(PARETOKEN_HAS_CUDA ON)
    elseif(PARETOKEN_CUDA STREQUAL "ON")
        message(FATAL_ERROR "PARETOKEN_CUDA=ON, but no nvcc was found: put it on PATH or set PARETOKEN_NVCC")
    else()
        message(STATUS "No nvcc: paretoken-microbench is built without its CUDA backend")
    endif()
endif()

if(PARETOKEN_HAS_CUDA)
    # CMake 3.25 wants the architectures before the language is enabled ("native" fails without a GPU), and does not
    # know nvcc's option for C++20, which it takes only afterwards.
    set(CMAKE_CUDA_COMPILER ${PARETOKEN_NVCC})
    set(CMAKE_CUDA_ARCHITECTURES ${PARETOKEN_CUDA_ARCHITECTURES})
    if(CMAKE_CXX_COMPILER_LAUNCHER AND NOT DEFINED CMAKE_CUDA_COMPILER_LAUNCHER)
        set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
    endif()
    enable_language(CUDA)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_EXTENSIONS OFF)
endif()

function(paretoken_cuda target)
    if(NOT PARETOKEN_HAS_CUDA)
        return()
    endif()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/microbench/gpu/*.cu)
    target_sources(${target} PRIVATE ${sources})
    target_compile_definitions(${target} PUBLIC PARETOKEN_HAS_CUDA)
    # nvcc's own host code makes -Wpedantic useless. Kernel names and lines stay for profilers.
    target_compile_options(${target} PRIVATE
        "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers;-lineinfo;--expt-relaxed-constexpr>")
    if(PARETOKEN_WERROR)
        target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
    endif()
    # fmt takes nvcc for a compiler without constexpr, and then contradicts itself.
    target_compile_definitions(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:FMT_USE_CONSTEXPR=1>)
    target_link_libraries(${target} PUBLIC ${CMAKE_DL_LIBS})
endfunction()

# What ptxas makes of the kernels, held against a committed budget; reported as skipped where there is no nvcc.
function(paretoken_cuda_tests)
    find_package(Python3 COMPONENTS Interpreter REQUIRED)
    set(budget ${CMAKE_SOURCE_DIR}/tests/microbench/gpu/budget_test.py)
    add_test(NAME microbench/gpu_budget COMMAND Python3::Interpreter ${budget})
    set_tests_properties(microbench/gpu_budget PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 LABELS unit)
endfunction()
