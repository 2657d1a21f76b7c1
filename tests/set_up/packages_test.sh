# Debian packages: root installs what is missing, others get the one command to type.
. "$(dirname "$0")/fixture.sh"

tool dpkg-query '
shift 3
for package; do
  case $package in g++ | ninja-build) ;; *) printf "%s:installed " "$package" ;; esac
done
exit 1'
run "$checkout/parabench" list
expect "root: installs what is missing, no more" called "apt-get .*install .* g++ ninja-build$"
expect "root: goes on" [ "$status" = 0 ]

rm -r "$checkout/build"
: > "$calls"
tool id 'echo 1000'
run "$checkout/parabench" list
expect "others: exit code 4" [ "$status" = 4 ]
expect "others: the command to type" contains "$errors" "sudo apt-get update && sudo apt-get install -y g++ ninja-build"
expect "others: nothing is installed or built" not_called "^apt-get\|^cmake"

run env CMAKE_PREFIX_PATH=/opt/private "$checkout/parabench" list
expect "others with packages of their own: goes on" [ "$status" = 0 ]
expect "others with packages of their own: what must be there" contains "$errors" "CMAKE_PREFIX_PATH: g++ ninja-build"
expect "others with packages of their own: CMake looks for them" called "^cmake .*--preset default"
expect "others with packages of their own: nothing is installed" not_called "^apt-get"
rm -r "$checkout/build"

tool id 'echo 0'
tool apt-get 'echo "no network"; exit 100'
run "$checkout/parabench" list
expect "failed installation: exit code 4" [ "$status" = 4 ]
expect "failed installation: apt's message" contains "$errors" "no network"
expect "failed installation: the command to type" contains "$errors" "apt-get install -y g++ ninja-build"

# What only tests need: before the tests of continuous integration.
tool apt-get
tool dpkg-query 'exit 1'
for words in "list" "test"; do
  for ci in true ""; do
    rm -rf "$checkout/build"
    : > "$calls"
    run env CI="$ci" "$checkout/parabench" $words
    case $words.$ci in
      test.true) expect "CI: the tests' packages are installed" called "apt-get .*install .* slurm-wlm" ;;
      *) expect "$words, CI='$ci': no package of the tests alone" not_called slurm-wlm ;;
    esac
    expect "$words, CI='$ci': the others are installed" called "apt-get .*install .* ninja-build"
  done
done

# What figures need: with the command that draws them, and no reason to fail.
if [ ! -d /usr/lib/python3/dist-packages/matplotlib ]; then
  tool dpkg-query 'shift 3; printf "%s:installed " "$@"'
  tool apt-get 'exit 100'
  run "$checkout/parabench" report out.json
  expect "report: tries to install what draws" called "apt-get .*install .*python3-matplotlib"
  expect "report: runs without" [ "$status" = 0 ]
fi
