# CTest names the tests that were skipped, but not why: this does, from their own line "skipped: REASON" in CTest's log.
# CTest runs it at its end (CTEST_CUSTOM_POST_TEST). The argument is the folder of the log, which is still being written
# under another name than that of the last run.
log=$(ls -t "$1"/LastTest.log* 2> /dev/null | head -n 1)
[ -n "$log" ] || exit 0
awk '/^[0-9]+\/[0-9]+ Testing: / { name = $0; sub(/^[^:]*: /, "", name) }
     /^skipped: / && !told[name]++ { print name " " $0 }' "$log"
