# LibTorch from the pinned wheel: its CPU half, libtorch_cpu and libc10, and as component Cuda the other one.
#
# Defines LibTorch::LibTorch, and LibTorch::Cuda, which needs CUDAToolkit. torch's own package file stops without a CUDA
# toolkit, although the CPU half needs only libcudart and libcupti. The wheel's libraries look for these beside
# themselves (site/nvidia/cu13/lib, where the root script puts them if need be), then where the system does; so this
# module has nothing to say about them.
set(LibTorch_ROOT_DIR "${PARABENCH_DEPS}/site/torch")
set(LibTorch_INCLUDE_DIRS "${LibTorch_ROOT_DIR}/include" "${LibTorch_ROOT_DIR}/include/torch/csrc/api/include")
if(EXISTS "${LibTorch_ROOT_DIR}/lib/libtorch_cpu.so")
  set(LibTorch_LIBRARY "${LibTorch_ROOT_DIR}/lib/libtorch_cpu.so")
  file(STRINGS "${LibTorch_ROOT_DIR}/version.py" LibTorch_VERSION REGEX "^__version__ = '[0-9.]+")
  string(REGEX REPLACE "[^']*'([0-9.]+).*" "\\1" LibTorch_VERSION "${LibTorch_VERSION}")
endif()

if(EXISTS "${LibTorch_ROOT_DIR}/lib/libtorch_cuda.so" AND EXISTS "${PARABENCH_DEPS}/site/nvidia/cusparselt")
  set(LibTorch_Cuda_FOUND TRUE)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  LibTorch
  REQUIRED_VARS LibTorch_LIBRARY
  VERSION_VAR LibTorch_VERSION
  HANDLE_COMPONENTS
  REASON_FAILURE_MESSAGE
    "no LibTorch under ${PARABENCH_DEPS}: run ./parabench once, it installs it, or choose the preset pure")

# A library of the wheel as target LibTorch::<name>.
function(libtorch_library name)
  add_library(LibTorch::${name} SHARED IMPORTED)
  set_target_properties(LibTorch::${name} PROPERTIES IMPORTED_LOCATION "${LibTorch_ROOT_DIR}/lib/lib${name}.so")
endfunction()

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  libtorch_library(c10)
  libtorch_library(torch_cpu)
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE ${LibTorch_INCLUDE_DIRS})
  target_compile_definitions(LibTorch::LibTorch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
  target_link_libraries(LibTorch::LibTorch INTERFACE LibTorch::torch_cpu LibTorch::c10)
endif()

if(LibTorch_Cuda_FOUND AND "Cuda" IN_LIST LibTorch_FIND_COMPONENTS AND NOT TARGET LibTorch::Cuda)
  libtorch_library(c10_cuda)
  libtorch_library(torch_cuda)
  add_library(LibTorch::Cuda INTERFACE IMPORTED)
  target_link_libraries(LibTorch::Cuda INTERFACE LibTorch::LibTorch LibTorch::torch_cuda LibTorch::c10_cuda)
  # The libraries that it needs in turn are found through ours (old tags: a path that is inherited) or beside it.
  target_link_options(
    LibTorch::Cuda INTERFACE -Wl,--disable-new-dtags -Wl,--allow-shlib-undefined
    "-Wl,-rpath,${CUDAToolkit_LIBRARY_DIR}")
endif()
