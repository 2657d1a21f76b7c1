# How every file is compiled: language, instruction set, sanitizers, compiler cache, parallel jobs.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# A named instruction level instead of -march=native: binaries move between the nodes of a cluster, and no class layout
# in LibTorch's headers depends on it. Our own hot loops (optimizer, in-place reduction) become AVX2.
include(CheckCXXSourceRuns)
check_cxx_source_runs(
  [[int main() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 0 : 1; }]]
  PARABENCH_CPU_HAS_AVX2)
if(PARABENCH_CPU_HAS_AVX2)
  set(march_default x86-64-v3)
endif()
set(PARABENCH_MARCH "${march_default}" CACHE STRING "Instruction set for -march; empty: the compiler's default")
set(PARABENCH_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize, comma separated")

# Without contraction the same numbers come out with and without fused multiply-add.
set(parabench_flags -ffp-contract=off)
if(PARABENCH_MARCH)
  list(APPEND parabench_flags -march=${PARABENCH_MARCH})
endif()
if(PARABENCH_SANITIZE)
  list(APPEND parabench_flags -fsanitize=${PARABENCH_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PARABENCH_SANITIZE})
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${parabench_flags}>")

# Precompiled headers are cacheable only with these settings (ccache's manual); relative paths let clones share.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}"
      ${CCACHE_PROGRAM})
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()

# A file that includes LibTorch takes up to 2 GB to compile: no more of them at once than memory holds.
cmake_host_system_information(RESULT memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
math(EXPR torch_jobs "${memory_mib} / 2500 + 1")
set_property(GLOBAL PROPERTY JOB_POOLS torch=${torch_jobs})
