# The script finds its checkout from any folder and through symbolic links, and leaves standard output to the program.
. "$(dirname "$0")/fixture.sh"

cd "$sandbox"
mkdir links other
ln -s ../checkout/parabench links/first
ln -s links/first second
arguments="run
a case/with spaces
--filter=*"
for start in checkout/parabench ./second links/first "$sandbox/second"; do
  run "$start" run "a case/with spaces" "--filter=*"
  expect "$start runs the program" [ "$status" = 0 ]
  expect "$start hands on the arguments and prints nothing of its own" [ "$output" = "$arguments" ]
done
expect "built beside the script, not where it was called" [ -d checkout/build/default ]

cd other
run env PARABENCH_BUILD=here PARABENCH_DEPS=wheels PARABENCH_PRESET=pure ../second list
expect "relative folders belong to the folder of the call" [ -x here/pure/bin/parabench ]
expect "CMake gets absolute folders" called "-DPARABENCH_DEPS=$sandbox/other/wheels"

run sh ../checkout/parabench list
expect "works when started by sh" [ "$output" = list ]

cd "$sandbox"
printf '#!/bin/sh\necho "$PARABENCH_CALLED"\n' > checkout/build/default/bin/parabench
for start in checkout/parabench ./second "$sandbox/second"; do
  run "$start" list
  expect "$start tells the program how it was called" [ "$output" = "$start" ]
done
