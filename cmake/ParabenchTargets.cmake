# One function per kind of target; warnings and sanitizers on a private interface target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Precompiled headers are cacheable only with these two (CMake and ccache manuals).
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_MAXSIZE=20G ${CCACHE_PROGRAM})
  add_compile_options(-fpch-preprocess)
endif()

add_library(parabench_options INTERFACE)
target_include_directories(parabench_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(
  parabench_options
  INTERFACE -Wall -Wextra -Wshadow -Wswitch-enum -Wnon-virtual-dtor -Woverloaded-virtual
            $<$<BOOL:${PROJECT_IS_TOP_LEVEL}>:-Werror>)
target_link_libraries(parabench_options INTERFACE Threads::Threads)
if(PARABENCH_SANITIZE)
  add_compile_options(-fsanitize=${PARABENCH_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PARABENCH_SANITIZE})
endif()

# parabench_library(NAME base SOURCES a.cpp ... [PUBLIC lib ...] [PRIVATE lib ...] [TORCH])
# Defines parabench_<NAME>. TORCH: uses the precompiled torch header.
function(parabench_library)
  cmake_parse_arguments(arg "TORCH" "NAME" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(parabench_${arg_NAME} STATIC ${arg_SOURCES})
  target_link_libraries(
    parabench_${arg_NAME}
    PUBLIC ${arg_PUBLIC} "$<BUILD_INTERFACE:parabench_options>"
    PRIVATE ${arg_PRIVATE})
  if(arg_TORCH)
    parabench_use_torch(parabench_${arg_NAME})
  endif()
endfunction()

# parabench_program(NAME parabench SOURCES main.cpp LIBRARIES lib ... [TORCH])
function(parabench_program)
  cmake_parse_arguments(arg "TORCH" "NAME" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBRARIES} parabench_options)
  set_target_properties(${arg_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  if(arg_TORCH)
    parabench_use_torch(${arg_NAME})
  endif()
endfunction()

# parabench_test(NAME base_test SOURCES ... LIBRARIES ... [RANKS n] [LABELS ...] [TIMEOUT s] [TORCH] [ARGS ...])
# One GoogleTest program; every TEST in it is one CTest test. With RANKS the program is one CTest test under mpirun.
function(parabench_test)
  cmake_parse_arguments(arg "TORCH" "NAME;RANKS;TIMEOUT" "SOURCES;LIBRARIES;LABELS;ARGS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBRARIES} parabench_options GTest::gmock)
  if(arg_TORCH)
    parabench_use_torch(${arg_NAME})
  endif()
  set_target_properties(${arg_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test-bin")
  if(arg_RANKS)
    target_link_libraries(${arg_NAME} PRIVATE GTest::gtest)
    foreach(ranks IN LISTS arg_RANKS)
      add_test(NAME ${arg_NAME}.${ranks}ranks
               COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} --bind-to none $<TARGET_FILE:${arg_NAME}> ${arg_ARGS})
      set_tests_properties(
        ${arg_NAME}.${ranks}ranks
        PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "mpi;${arg_LABELS}" PROCESSORS 2
                   ENVIRONMENT
                   "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;OMP_NUM_THREADS=1")
    endforeach()
  else()
    target_link_libraries(${arg_NAME} PRIVATE GTest::gtest_main)
    gtest_discover_tests(
      ${arg_NAME}
      EXTRA_ARGS ${arg_ARGS}
      DISCOVERY_TIMEOUT 60
      PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}"
      TEST_PREFIX ${arg_NAME}.)
  endif()
endfunction()

# Every torch target compiles against one precompiled header, built once.
function(parabench_use_torch target)
  target_link_libraries(${target} PRIVATE LibTorch::LibTorch)
  if(NOT TARGET parabench_torch_pch)
    file(WRITE "${PROJECT_BINARY_DIR}/torch_pch.cpp" "")
    add_library(parabench_torch_pch OBJECT "${PROJECT_BINARY_DIR}/torch_pch.cpp")
    target_link_libraries(parabench_torch_pch PRIVATE LibTorch::LibTorch parabench_options)
    target_precompile_headers(parabench_torch_pch PRIVATE <torch/torch.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM parabench_torch_pch)
endfunction()

include(GoogleTest)
