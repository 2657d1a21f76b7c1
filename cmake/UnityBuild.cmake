# With CMAKE_UNITY_BUILD, which the presets of the sanitizers set because most of the time of such a build goes into
# headers, several sources are compiled as one. These hold a name that a neighbour has, too, and stay alone.

# compiled_alone(TARGET FILE...): FILE as seen from the project's folder.
function(compiled_alone target)
  if(TARGET ${target})
    list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/")
    set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

compiled_alone(parabench_datasets datasets/cifar.cpp datasets/idx.cpp)
compiled_alone(parabench_comm parallelism/comm/mailbox.cpp)
compiled_alone(parabench_plan parallelism/plan/partition/planner_chain.cpp)
compiled_alone(analytic_test tests/analytic/costs/calibrated_costs_test.cpp)
compiled_alone(base_test tests/base/optimizer_test.cpp)
compiled_alone(model_spec_test tests/models/spec/nets/nets_test.cpp)
compiled_alone(plan_test tests/parallelism/plan/partition/replicated_stage_test.cpp
               tests/parallelism/plan/rules/validate_test.cpp)
compiled_alone(protocol_test tests/suite/protocol/offer_test.cpp)
compiled_alone(report_test tests/results/report/report_test.cpp)
compiled_alone(results_test tests/results/compare_files_test.cpp tests/results/export_test.cpp
               tests/results/record_test.cpp)
set_target_properties(parabench_results comm_conformance datasets_test PROPERTIES UNITY_BUILD OFF)
