# `parabench test` builds everything, then hands its options to CTest and CTest's exit code to the caller.
. "$(dirname "$0")/fixture.sh"

run "$checkout/parabench" test -R "a name" -j 1
expect "CTest's last line is the last line" [ "$output" = "100% tests passed" ]
expect "builds all targets" called "--target all"
expect "CTest gets the build folder and the options" called "ctest --test-dir $checkout/build/default .*-R a name -j 1"

: > "$calls"
run "$checkout/parabench" list
expect "a program alone does not need the tests" called "--target programs"

tool ctest 'exit 8'
run "$checkout/parabench" test
expect "CTest's exit code is the script's" [ "$status" = 8 ]
