# paretoken_cuda(microbench) adds the CUDA backend to microbench: every .cu below microbench/gpu/. It defines
# PARETOKEN_HAS_CUDA. Without the backend, the program has its CPU kernels only. One line of CMake's output begins with
# "CUDA backend:" and says whether the backend is built and why.
#   -DPARETOKEN_CUDA=AUTO|ON|OFF             AUTO builds it if nvcc and a GPU are found, for that GPU; ON if nvcc is found
#   -DPARETOKEN_CUDA_ARCHITECTURES=90        compiles for this architecture instead of the GPU's; without a GPU and without
#                                            this option, the kernels are compiled for every architecture since sm_80
#   -DPARETOKEN_NVCC=/path/to/nvcc           the default is found by CUDACXX, PATH, CUDA_HOME or in /usr/local/cuda

set(PARETOKEN_CUDA AUTO CACHE STRING "Build the CUDA backend: AUTO (where a GPU is found), ON or OFF")
set_property(CACHE PARETOKEN_CUDA PROPERTY STRINGS AUTO ON OFF)
set(PARETOKEN_CUDA_ARCHITECTURES "" CACHE STRING "Compute capabilities to compile kernels for; empty: the GPU's")
set(paretoken_all_architectures 80 89 90 100 120)
set(PARETOKEN_HAS_CUDA OFF)

# Sets `found` to whether this machine has a GPU, and `capabilities` to the compute capabilities of its GPUs as numbers,
# e.g. 90. `capabilities` is empty if the driver does not report them.
function(paretoken_find_gpu found capabilities)
    set(has_gpu FALSE)
    set(numbers)
    find_program(nvidia_smi nvidia-smi NO_CACHE)
    if(nvidia_smi)
        execute_process(COMMAND ${nvidia_smi} -L OUTPUT_VARIABLE list ERROR_QUIET TIMEOUT 30)
        if(list MATCHES "GPU [0-9]+:")
            set(has_gpu TRUE)
            execute_process(COMMAND ${nvidia_smi} --query-gpu=compute_cap --format=csv,noheader
                            OUTPUT_VARIABLE lines ERROR_QUIET TIMEOUT 30)
            string(REGEX MATCHALL "[0-9]+\\.[0-9]" numbers "${lines}")
            list(TRANSFORM numbers REPLACE "\\." "")
            list(REMOVE_DUPLICATES numbers)
        endif()
    endif()
    if(EXISTS /dev/nvidiactl)
        set(has_gpu TRUE)
    endif()
    set(${found} ${has_gpu} PARENT_SCOPE)
    set(${capabilities} "${numbers}" PARENT_SCOPE)
endfunction()

# Turns compute capabilities into architectures that nvcc compiles for. Capabilities below 80, which the kernels need, are left
# out. For a GPU that is newer than this nvcc, the newest architecture that nvcc knows is used; the driver translates its PTX.
function(paretoken_known_architectures list)
    execute_process(COMMAND ${PARETOKEN_NVCC} --list-gpu-arch OUTPUT_VARIABLE lines ERROR_QUIET)
    string(REGEX MATCHALL "[0-9]+" known "${lines}")
    set(result)
    foreach(capability IN LISTS ${list})
        set(best)
        foreach(architecture IN LISTS known)
            if(architecture GREATER_EQUAL 80 AND NOT architecture GREATER capability
               AND (NOT best OR architecture GREATER best))
                set(best ${architecture})
            endif()
        endforeach()
        list(APPEND result ${best})
    endforeach()
    list(REMOVE_DUPLICATES result)
    set(${list} ${result} PARENT_SCOPE)
endfunction()

# Decides whether the backend is built (PARETOKEN_HAS_CUDA) and for which architectures, and prints the decision.
macro(paretoken_choose_cuda)
    find_program(PARETOKEN_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin
                 DOC "CUDA compiler")
    paretoken_find_gpu(paretoken_gpu paretoken_capabilities)
    set(paretoken_gpu_is_old FALSE)
    if(PARETOKEN_NVCC AND paretoken_capabilities)
        paretoken_known_architectures(paretoken_capabilities)
        if(NOT paretoken_capabilities)
            set(paretoken_gpu_is_old TRUE)
        endif()
    endif()
    set(paretoken_architectures ${PARETOKEN_CUDA_ARCHITECTURES})
    set(paretoken_chosen_by "as PARETOKEN_CUDA_ARCHITECTURES says")
    if(NOT paretoken_architectures AND paretoken_capabilities)
        set(paretoken_architectures ${paretoken_capabilities})
        set(paretoken_chosen_by "the GPU of this machine")
    elseif(NOT paretoken_architectures)
        set(paretoken_architectures ${paretoken_all_architectures})
        set(paretoken_chosen_by "as the compute capability of a GPU is not known here")
    endif()
    list(JOIN paretoken_architectures ", sm_" paretoken_text)
    if(PARETOKEN_CUDA STREQUAL "AUTO" AND PARETOKEN_SANITIZE)
        message(STATUS "CUDA backend: not built, because its runtime does not work under sanitizers")
    elseif(NOT PARETOKEN_NVCC AND PARETOKEN_CUDA STREQUAL "AUTO")
        message(STATUS "CUDA backend: not built, because there is no nvcc")
    elseif(NOT PARETOKEN_NVCC)
        message(FATAL_ERROR "PARETOKEN_CUDA=ON, but no nvcc was found: put it on PATH or set PARETOKEN_NVCC")
    elseif(PARETOKEN_CUDA STREQUAL "AUTO" AND NOT paretoken_gpu)
        message(STATUS "CUDA backend: not built, because no GPU was found here (-DPARETOKEN_CUDA=ON builds it regardless)")
    elseif(PARETOKEN_CUDA STREQUAL "AUTO" AND paretoken_gpu_is_old)
        message(STATUS "CUDA backend: not built, because this machine's GPU is older than the kernels need (sm_80)")
    else()
        set(PARETOKEN_HAS_CUDA ON)
        message(STATUS "CUDA backend: built for sm_${paretoken_text} (${paretoken_chosen_by})")
    endif()
endmacro()

if(PARETOKEN_CUDA)
    paretoken_choose_cuda()
else()
    message(STATUS "CUDA backend: not built, because PARETOKEN_CUDA is OFF")
endif()

if(PARETOKEN_HAS_CUDA)
    # CMake 3.25 needs the architectures before the language is enabled, because "native" fails without a GPU. It does not
    # know nvcc's option for C++20, which is therefore set after the language is enabled.
    set(CMAKE_CUDA_COMPILER ${PARETOKEN_NVCC})
    set(CMAKE_CUDA_ARCHITECTURES ${paretoken_architectures})
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
    # fmt assumes that nvcc is a compiler without constexpr, and then does not compile.
    target_compile_definitions(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:FMT_USE_CONSTEXPR=1>)
    target_link_libraries(${target} PUBLIC ${CMAKE_DL_LIBS})
endfunction()
