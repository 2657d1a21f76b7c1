# One function per kind of target: parabench_library, parabench_program, parabench_test.
include(GoogleTest)

add_library(parabench_options INTERFACE)
set(parabench_warnings -Wall -Wextra -Wshadow -Wswitch-enum -Wno-missing-field-initializers -Wnon-virtual-dtor
                       -Woverloaded-virtual)
# Newer compilers have newer warnings: errors are those of the compiler that the tests are run with.
if(PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  set(parabench_warnings_are_errors ON)
endif()
target_include_directories(parabench_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(
  parabench_options
  INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:${parabench_warnings}>"
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${parabench_warnings_are_errors}>>:-Werror>
    $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${PROJECT_IS_TOP_LEVEL}>>:-Werror=all-warnings>)
target_link_libraries(parabench_options INTERFACE Threads::Threads)

# For code that need not be fast: it compiles in two thirds of the time that CMake's -O3 takes, and less.
set(parabench_quick_to_compile $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)

add_custom_target(programs COMMENT "Programs are up to date")

# parabench_library(NAME base SOURCES a.cpp ... [PUBLIC lib ...] [PRIVATE lib ...] [TORCH])
# Defines the static library parabench_<NAME>. TORCH: compiles against LibTorch and its precompiled header.
function(parabench_library)
  cmake_parse_arguments(PARSE_ARGV 0 arg "TORCH" "NAME" "SOURCES;PUBLIC;PRIVATE")
  add_library(parabench_${arg_NAME} STATIC ${arg_SOURCES})
  target_link_libraries(
    parabench_${arg_NAME}
    PUBLIC ${arg_PUBLIC} parabench_options
    PRIVATE ${arg_PRIVATE})
  if(arg_TORCH)
    parabench_use_torch(parabench_${arg_NAME})
  endif()
endfunction()

# parabench_program(NAME parabench SOURCES main.cpp LIBRARIES lib ... [TORCH])
# A program users start: bin/<NAME> in the build folder.
function(parabench_program)
  cmake_parse_arguments(PARSE_ARGV 0 arg "TORCH" "NAME" "SOURCES;LIBRARIES")
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBRARIES} parabench_options)
  set_target_properties(${arg_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  add_dependencies(programs ${arg_NAME})
  if(arg_TORCH)
    parabench_use_torch(${arg_NAME})
  endif()
endfunction()

# What a test under mpirun needs on a machine with fewer cores than ranks, and in a container as root.
set(parabench_mpi_environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
                              OMPI_MCA_rmaps_base_oversubscribe=1 OMP_NUM_THREADS=1)
# Leaks inside LibTorch are not ours; leaks elsewhere fail the test. Open MPI unloads its components before a leak's
# place could be named, so under MPI leaks are not looked for.
set(parabench_mpi_sanitizer_environment "ASAN_OPTIONS=detect_leaks=0")
set(parabench_sanitizer_environment "LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_LIST_DIR}/leaks.supp:print_suppressions=0")

# parabench_test(NAME base_test SOURCES ... LIBRARIES ... [SHARDS n] [RANKS n ...] [LABELS ...] [TIMEOUT s] [TORCH]
#                [ARGS ...])
# One GoogleTest program; every TEST in it is one CTest test. With SHARDS its tests are spread over so many CTest tests:
# for programs that take longer to load LibTorch than for most of their tests, none of which may be skipped. With RANKS
# the program, which then has a main of its own, is one CTest test per number of ranks, under mpirun. TIMEOUT is of a
# CTest test, 60 s unless given. Labels: pure, torch or mpi, and those given.
function(parabench_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "TORCH" "NAME;SHARDS;TIMEOUT" "RANKS;SOURCES;LIBRARIES;LABELS;ARGS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(PARABENCH_SANITIZE)  # which makes programs several times slower
    math(EXPR arg_TIMEOUT "5 * ${arg_TIMEOUT}")
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBRARIES} parabench_options GTest::gmock)
  set_target_properties(${arg_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test-bin")
  if(arg_TORCH)
    parabench_use_torch(${arg_NAME})
    list(PREPEND arg_LABELS torch)
  endif()
  if(arg_RANKS)
    foreach(ranks IN LISTS arg_RANKS)
      set(test ${arg_NAME}.${ranks}ranks)
      add_test(NAME ${test} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} --bind-to none
                                    $<TARGET_FILE:${arg_NAME}> ${arg_ARGS})
      set_tests_properties(
        ${test} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "mpi;${arg_LABELS}" PROCESSORS ${ranks}
                           ENVIRONMENT "${parabench_mpi_environment};${parabench_mpi_sanitizer_environment}")
    endforeach()
  else()
    if(NOT arg_TORCH)
      list(PREPEND arg_LABELS pure)
    endif()
    target_link_libraries(${arg_NAME} PRIVATE GTest::gtest_main)
    if("mpi" IN_LIST arg_LABELS)
      set(parabench_sanitizer_environment "${parabench_mpi_sanitizer_environment}")
    endif()
  endif()
  if(arg_SHARDS)
    foreach(shard RANGE 1 ${arg_SHARDS})
      math(EXPR index "${shard} - 1")
      set(test ${arg_NAME}.${shard}of${arg_SHARDS})
      add_test(NAME ${test} COMMAND ${arg_NAME} ${arg_ARGS})
      set(environment "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${index};${parabench_sanitizer_environment}")
      set_tests_properties(${test} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}" ENVIRONMENT "${environment}")
    endforeach()
  elseif(NOT arg_RANKS)
    gtest_discover_tests(
      ${arg_NAME}
      EXTRA_ARGS ${arg_ARGS}
      TEST_PREFIX ${arg_NAME}. NO_PRETTY_VALUES
      DISCOVERY_TIMEOUT 60
      PROPERTIES TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${parabench_sanitizer_environment}")
    # gtest_discover_tests cannot pass a list on, but leaves the names of the tests to files like this one.
    set(labels "${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}_labels.cmake")
    file(CONFIGURE OUTPUT "${labels}" @ONLY CONTENT
         "if(@arg_NAME@_TESTS)\n  set_tests_properties(\${@arg_NAME@_TESTS} PROPERTIES LABELS \"@arg_LABELS@\")\nendif()\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${labels}")
  endif()
endfunction()

# Every torch target compiles against one precompiled header, built once. torch/torch.h would double its size and the
# time of every file that uses it (8.3 against 3.9 s): the C++ front end (nn, optim, data) is left out on purpose.
function(parabench_use_torch target)
  target_link_libraries(${target} PRIVATE LibTorch::LibTorch)
  if(NOT TARGET parabench_torch_pch)
    file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/torch_pch.cpp" CONTENT "")
    add_library(parabench_torch_pch OBJECT "${PROJECT_BINARY_DIR}/torch_pch.cpp")
    target_link_libraries(parabench_torch_pch PRIVATE LibTorch::LibTorch parabench_options)
    target_precompile_headers(parabench_torch_pch PRIVATE <torch/types.h> <torch/autograd.h>)
    set_target_properties(parabench_torch_pch PROPERTIES JOB_POOL_COMPILE torch)
  endif()
  target_precompile_headers(${target} REUSE_FROM parabench_torch_pch)
  set_target_properties(${target} PROPERTIES JOB_POOL_COMPILE torch)
endfunction()
