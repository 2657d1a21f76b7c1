# Kernels of our own (.cu), compiled by the toolkit's nvcc with the C++ compiler behind it.
if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  set(CMAKE_CUDA_COMPILER "${CUDAToolkit_NVCC_EXECUTABLE}")
endif()
# Two common generations as they are; every other GPU that CUDA 13 serves translates the oldest one's code when the
# program starts.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 75-virtual 80-real 90-real)
endif()
enable_language(CUDA)
set(CMAKE_CUDA_RUNTIME_LIBRARY None)  # targets link it themselves, as a shared library
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")  # nvcc can; CMake 3.25 does not know
# Else directories that every compiler looks into anyway are named to nvcc, which then finds them in the wrong order.
set(CMAKE_CUDA_IMPLICIT_INCLUDE_DIRECTORIES ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
