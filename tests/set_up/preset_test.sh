# PARABENCH_PRESET takes the presets of CMakePresets.json and nothing else.
. "$(dirname "$0")/fixture.sh"

for preset in unknown base "default pure" . cuda-; do
  run env PARABENCH_PRESET="$preset" "$checkout/parabench" list
  expect "'$preset' is a usage error" [ "$status" = 2 ]
  expect "'$preset': message with value and expectation" contains "$errors" "got '$preset', expected one of: asan cuda cuda-local default"
  expect "'$preset': no tool is called" [ ! -s "$calls" ]
done

for preset in default asan cuda-local; do
  run env PARABENCH_PRESET=$preset PARABENCH_DEPS="$sandbox/wheels-$preset" "$checkout/parabench" list
  expect "$preset runs" [ "$status" = 0 ]
  expect "$preset configures itself" called "--preset $preset "
  expect "$preset installs LibTorch" [ -d "$sandbox/wheels-$preset/site/torch" ]
done
: > "$calls"
rm -r "$checkout/build"
run env PARABENCH_PRESET=cuda-local "$checkout/parabench" test
expect "cuda-local tests" called "ctest --test-dir $checkout/build/cuda-local"
expect "cuda-local: the packages of LibTorch" called "dpkg-query .*libgoogle-perftools-dev"
expect "cuda-local: no MPI" not_called "dpkg-query .*openmpi"
for wheel in $CUDA_WHEELS; do
  expect "cuda-local: $wheel" [ -f "$checkout/.deps/site/nvidia/cu13/lib/${wheel%%==*}" ]
done
run env PARABENCH_PRESET=cuda "$checkout/parabench" list
expect "cuda: MPI" called "dpkg-query .*openmpi"
: > "$calls"
for preset in pure tsan; do
  run env PARABENCH_PRESET=$preset "$checkout/parabench" list
  expect "$preset runs" [ "$status" = 0 ]
  expect "$preset configures itself" called "--preset $preset"
done
expect "pure presets download nothing" not_called "pip install"
expect "pure presets need no MPI" not_called "dpkg-query .*openmpi"

# Left to itself, a command that starts no ranks builds no more than it needs, but takes what is there.
rm -r "$checkout/build" "$checkout/.deps"
: > "$calls"
tool ldconfig
unset PARABENCH_PRESET
for command in list plan predict compare report export validate doctor "" --help "run --help" "run CASE --dry-run" \
               "quick --dry-run --steps 3" "sweep status X" "sweep collect X"; do
  run "$checkout/parabench" $command
  expect "'$command' runs" [ "$status" = 0 ]
done
if [ ! -e /proc/driver/nvidia/version ]; then
  expect "commands without ranks: pure alone" [ "$(cd "$checkout/build" && echo */)" = pure/ ]
  expect "commands without ranks: no LibTorch" [ ! -e "$checkout/.deps" ]
  run "$checkout/parabench" run CASE
  expect "run: default" [ -d "$checkout/build/default" ]
  rm -r "$checkout/build/default"
  run "$checkout/parabench" sweep grid.toml --out night
  expect "sweep, whose scripts run ranks: default" [ -d "$checkout/build/default" ]
  : > "$calls"
  run "$checkout/parabench" list
  run "$checkout/parabench" doctor
  run "$checkout/parabench" run CASE --dry-run
  expect "they take the build that is there" not_called "cmake"
  rm "$checkout/build/default/.programs-built"
  run "$checkout/parabench" list
  expect "they do not go on with a build that was begun" not_called "cmake --build $checkout/build/default"
fi
