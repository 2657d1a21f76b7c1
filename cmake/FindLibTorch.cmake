# LibTorch from the pinned wheel: CPU libraries only (libtorch_cpu, libc10).
#
# Defines LibTorch::LibTorch. torch's own package file stops without a CUDA toolkit, although the CPU half of the
# wheel needs only two CUDA run-time libraries, which come from wheels of their own (see the root script).
find_path(LibTorch_ROOT_DIR NAMES include/torch/csrc/api/include/torch/torch.h
          PATHS "${PARABENCH_DEPS}/site/torch" NO_DEFAULT_PATH)
find_library(LibTorch_CPU_LIBRARY torch_cpu PATHS "${LibTorch_ROOT_DIR}/lib" NO_DEFAULT_PATH)
find_library(LibTorch_C10_LIBRARY c10 PATHS "${LibTorch_ROOT_DIR}/lib" NO_DEFAULT_PATH)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  LibTorch
  REQUIRED_VARS LibTorch_ROOT_DIR LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY
  REASON_FAILURE_MESSAGE "run ./parabench once, or: pip install --no-deps --target .deps/site torch==2.11.0")

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  target_include_directories(
    LibTorch::LibTorch SYSTEM
    INTERFACE "${LibTorch_ROOT_DIR}/include" "${LibTorch_ROOT_DIR}/include/torch/csrc/api/include")
  target_link_libraries(LibTorch::LibTorch INTERFACE "${LibTorch_CPU_LIBRARY}" "${LibTorch_C10_LIBRARY}")
  target_compile_definitions(LibTorch::LibTorch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
  # The CUDA run-time wheels lie beside torch where no toolkit is installed.
  file(GLOB _cuda_runtime "${PARABENCH_DEPS}/site/nvidia/*/lib")
  target_link_options(LibTorch::LibTorch INTERFACE "-Wl,--allow-shlib-undefined")
  foreach(dir "${LibTorch_ROOT_DIR}/lib" ${_cuda_runtime})
    target_link_options(LibTorch::LibTorch INTERFACE "-Wl,-rpath,${dir}")
  endforeach()
endif()
