# With CMAKE_UNITY_BUILD, which the presets of sanitizers set because most of the time of such a build goes into headers,
# several sources of a library are compiled as one. Tests and what includes LibTorch, whose header is precompiled, are
# left as they are (ParabenchTargets.cmake); so are these sources, which hold a name that a neighbour has, too.

# compiled_alone(TARGET FILE...): FILE as seen from the project's folder.
function(compiled_alone target)
  list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/")
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

compiled_alone(parabench_comm parallelism/comm/mailbox.cpp)
compiled_alone(parabench_datasets datasets/cifar.cpp datasets/idx.cpp)
compiled_alone(parabench_plan parallelism/plan/partition/planner_chain.cpp)
set_target_properties(parabench_results comm_conformance PROPERTIES UNITY_BUILD OFF)
