# Two calls at once: one sets up, the other waits and finds the work done.
. "$(dirname "$0")/fixture.sh"

tool cmake "mkdir $sandbox/busy || { echo two at once; exit 1; }
sleep 0.2
( $working_cmake
)
rmdir $sandbox/busy"
"$checkout/parabench" first > "$sandbox/first" 2> "$sandbox/first-errors" &
run "$checkout/parabench" second
wait $! || status="$status, first call $?"
expect "both run their program" [ "$(cat "$sandbox/first") $output" = "first second" ]
expect "both succeed" [ "$status" = 0 ]
expect "one build" [ "$(grep -c 'cmake --build' "$calls")" = 1 ]
