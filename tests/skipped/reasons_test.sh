# A test that is skipped is named with its reason at the end of CTest's output, and only then. Arguments: CTest, and
# the file CTestCustom.cmake of this build.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
sed "s|\"[^\"]*/Temporary\"|\"$folder/Testing/Temporary\"|" "$2" > CTestCustom.cmake
cat > CTestTestfile.cmake << 'END'
add_test(a.gate sh -c "echo 'skipped: no such product' && exit 77")
set_tests_properties(a.gate PROPERTIES SKIP_RETURN_CODE 77)
add_test(sound true)
END

# expect CONTAINS|LACKS CTEST_OPTION...
expect() {
  how=$1 && shift
  output=$("$ctest" --output-on-failure "$@")
  case $how:$(echo "$output" | grep -c '^a.gate skipped: no such product$') in
    CONTAINS:1 | LACKS:0) ;;
    *) echo "ctest $*: expected that it $how the reason:"; echo "$output"; exit 1 ;;
  esac
}
ctest=$1
expect CONTAINS
expect CONTAINS -R gate
expect LACKS -R sound  # of the last run
expect LACKS -N
