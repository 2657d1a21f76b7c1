# A driver and a CUDA 13 toolkit choose the preset cuda; its wheels join those that are there.
. "$(dirname "$0")/fixture.sh"
unset PARABENCH_PRESET

driver='printf "\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/libcuda.so.1\n"'
tool ldconfig "$driver"
tool nvcc 'echo "Cuda compilation tools, release 12.4, V12.4.131"'
run "$checkout/parabench" quick
expect "an older toolkit: processor alone" [ -d "$checkout/build/default" ]
expect "an older toolkit: no CUDA wheels" not_called "pip install .*nvidia"

tool nvcc 'echo "Cuda compilation tools, release 13.0, V13.0.88"'
run env PARABENCH_PRESET=default "$checkout/parabench" quick
expect "PARABENCH_PRESET overrides" [ ! -e "$checkout/build/cuda" ]

if [ ! -e /proc/driver/nvidia/version ]; then  # a machine with a GPU cannot hide it
  tool ldconfig 'printf "\tlibcudart.so.13 (libc6,x86-64) => /usr/lib/libcudart.so.13\n"'
  run "$checkout/parabench" quick
  expect "no driver: processor alone" [ ! -e "$checkout/build/cuda" ]
  tool ldconfig "$driver"
fi

# A file of an earlier wheel in the folder that the CUDA wheels share.
mkdir -p "$checkout/.deps/site/nvidia/cu13/lib"
touch "$checkout/.deps/site/nvidia/cu13/lib/earlier"
tool cmake 'exit 1'
run "$checkout/parabench" quick
expect "configuration fails: exit code 4" [ "$status" = 4 ]
expect "configuration fails: how to do without" contains "$errors" "PARABENCH_PRESET=default"
tool cmake "$working_cmake"
: > "$calls"
run "$checkout/parabench" quick
expect "driver and toolkit: preset cuda" called "--preset cuda"
expect "driver and toolkit: says why" contains "$errors" "an NVIDIA driver and a CUDA 13 toolkit are here"
expect "wheels are there already" not_called "pip install"
run "$checkout/parabench" quick
expect "no second build" [ "$(grep -c 'cmake --build' "$calls")" = 1 ]
expect "says so once" [ -z "$errors" ]

for wheel in $CUDA_WHEELS; do
  expect "$wheel is in place" [ -f "$checkout/.deps/site/nvidia/cu13/lib/${wheel%%==*}" ]
done
expect "what was there stays" [ -f "$checkout/.deps/site/nvidia/cu13/lib/earlier" ]
expect "LibTorch stays" [ -d "$checkout/.deps/site/torch-$LIBTORCH_VERSION.dist-info" ]

: > "$calls"
rm -r "$checkout/.deps/site"/nvidia_cufile-*
run "$checkout/parabench" quick
expect "a merge that was interrupted is done again" called "pip install .*nvidia-cufile"
expect "a merge done again succeeds" [ "$status" = 0 ]
expect "LibTorch is not downloaded again" not_called "torch=="
