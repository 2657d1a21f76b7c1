# The pack runs from a bare folder, in an empty environment, with nothing of this machine but glibc and a Python whose
# torch lies as the wheels lay it. Arguments: the checkout, the build, folder of the wheels, folders of CUDA libraries.
set -eu
. "$1/cmake/dependencies.env"
checkout=$1 build=$2 wheels=$3
shift 3
sandbox=$(mktemp -d)
trap 'rm -rf "$sandbox"' EXIT

expect() {  # DESCRIPTION COMMAND...
  description=$1 && shift
  "$@" && return
  echo "not so: $description (status: ${status-})"
  cat "$sandbox/output" "$sandbox/errors"
  exit 1
}
run() {  # PYTHONPATH COMMAND...
  status=0
  path=$1 && shift
  (cd / && env -i "PATH=$tools" "PYTHONPATH=$path" "XDG_CACHE_HOME=$sandbox/cache" "$@") \
    > "$sandbox/output" 2> "$sandbox/errors" || status=$?
}
says() { grep -q -e "$1" "$sandbox/output" "$sandbox/errors"; }
tools=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):/usr/bin:/bin

# As the wheels lie: torch/lib, and a folder lib for each part of nvidia. The toolkit's libraries stand for cu13's.
site=$sandbox/site
mkdir -p "$site/torch/lib" "$site/nvidia/cu13/lib"
ln -s "$wheels/torch/__init__.py" "$wheels/torch/version.py" "$site/torch"
ln -s "$wheels"/torch/lib/*.so* "$site/torch/lib"
for folder; do ln -sf "$folder"/libcu*.so* "$folder"/libnv*.so* "$folder"/libnccl.so* "$site/nvidia/cu13/lib"; done
for part in "$wheels"/nvidia/*/lib; do
  place=$site/nvidia/$(basename "$(dirname "$part")")/lib
  mkdir -p "$place" && ln -sf "$part"/*.so* "$place"
done

"$checkout/tests/gpu/pack" --build "$build" --out "$sandbox/pack" > "$sandbox/output" 2> "$sandbox/errors" ||
  expect "it packs" false
pack=$sandbox/pack

for program in "$pack"/programs/*; do
  readelf -d "$program" > "$sandbox/output"
  expect "$program has no run path of this machine" [ "$(grep -c 'RPATH\|RUNPATH' "$sandbox/output")" = 0 ]
  libraries=$(PYTHONPATH=$site python3 "$pack/libraries.py" "$LIBTORCH_VERSION")
  env -i "PATH=$tools" "LD_LIBRARY_PATH=$pack/lib:$pack/run-time:$libraries" ldd "$program" > "$sandbox/output"
  sed -n 's/.* => //p' "$sandbox/output" | grep -v -e "^$sandbox/" -e '/lib\(c\|m\|dl\|rt\|util\|pthread\)\.so\.' \
    > "$sandbox/errors" || true
  expect "$program takes nothing but glibc from this machine" [ ! -s "$sandbox/errors" ]
done

run "$site" "$pack/bin/parabench" doctor --launcher local
expect "doctor starts" [ "$status" = 0 ]
expect "doctor: cases run" says "cases on cpu: run here"
expect "doctor: the programs with CUDA" says "parabench-rank was built with CUDA 13"
expect "doctor: cuDNN of the wheels" says "^ok *cuDNN"
expect "doctor: NCCL of the wheels" says "NCCL  *2\\."

network="mlp[layers=4]/cifar10-synthetic"
run "$site" "$pack/bin/parabench" run "$network/sequential/np:1/batch:8" "$network/gpipe/np:2/batch:8/comm:threads" \
  --launcher local --steps 2 --json "$sandbox/results.json"
expect "cases run" [ "$status" = 0 ]
expect "cases are equivalent" [ "$(grep -c '"status": "pass"' "$sandbox/results.json")" = 2 ]

run "$site" "$pack/test-bin/gpu_runtime_test" --gtest_list_tests
expect "the tests of the real runtime start" [ "$status" = 0 ]
expect "the tests of the real runtime are told" says "^GpuMemory"

cp "$pack/bin/parabench" "$pack/bin/show"  # starts what tells where it would look for libraries
printf '#!/bin/sh\necho "$LD_LIBRARY_PATH"\n' > "$pack/programs/show"
chmod +x "$pack/programs/show"
mkdir -p "$sandbox/toolkit/lib64"
run "$site" "CUDA_HOME=$sandbox/toolkit" LD_LIBRARY_PATH=/given "$pack/bin/show"
expect "a toolkit beside the wheels is looked at last" says ":/given:$sandbox/toolkit/lib64\$"
run "$site" "CUDA_HOME=$sandbox/nowhere" LD_LIBRARY_PATH=/given "$pack/bin/show"
expect "a toolkit that is not there is left out" says ":/given\$"

mkdir -p "$sandbox/older/torch/lib"
touch "$sandbox/older/torch/__init__.py" "$sandbox/older/torch/lib/libtorch_cuda.so"
echo "__version__ = '2.10.0+cu130'" > "$sandbox/older/torch/version.py"
run "$sandbox/older" "$pack/bin/parabench" --version
expect "another torch is refused" [ "$status" = 4 ]
expect "another torch: value and expectation" says "got 2.10.0+cu130 .*expected torch $LIBTORCH_VERSION"

if [ ! -e /proc/driver/nvidia/version ]; then  # a machine with a GPU cannot hide it
  run "$site" "$pack/run-check" --out "$sandbox/check.json"
  expect "no driver: exit code 4" [ "$status" = 4 ]
  expect "no driver: says so" says "CUDA driver: none"
fi
