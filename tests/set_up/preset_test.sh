# PARABENCH_PRESET takes the presets of CMakePresets.json and nothing else.
. "$(dirname "$0")/fixture.sh"

for preset in unknown base "default pure" .; do
  run env PARABENCH_PRESET="$preset" "$checkout/parabench" list
  expect "'$preset' is a usage error" [ "$status" = 2 ]
  expect "'$preset': message with value and expectation" contains "$errors" "got '$preset', expected one of: asan cuda default"
  expect "'$preset': no tool is called" [ ! -s "$calls" ]
done

for preset in default asan; do
  run env PARABENCH_PRESET=$preset PARABENCH_DEPS="$sandbox/wheels-$preset" "$checkout/parabench" list
  expect "$preset runs" [ "$status" = 0 ]
  expect "$preset installs LibTorch" [ -d "$sandbox/wheels-$preset/site/torch" ]
done
: > "$calls"
for preset in pure tsan; do
  run env PARABENCH_PRESET=$preset "$checkout/parabench" list
  expect "$preset runs" [ "$status" = 0 ]
  expect "$preset configures itself" called "--preset $preset"
done
expect "pure presets download nothing" not_called "pip install"
expect "pure presets need no MPI" not_called "dpkg-query .*openmpi"
