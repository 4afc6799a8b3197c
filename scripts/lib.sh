# SPDX-License-Identifier: Apache-2.0
# What the scripts share: where things are, a step that is quiet when it works and shows the end of its log when it does not,
# and the settings of the compiler cache. Sourced, never run.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${FATTN_BUILD_DIR:-$root/build}
logs=$build/logs
jobs=${FATTN_JOBS:-$(nproc)}
cd "$root"
mkdir -p "$logs"

# A precompiled header defeats the compiler cache unless it may ignore the header's time stamps and macros. It has 750 MB: without the
# cache of files' hashes each compilation would read it once more to hash it.
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime CCACHE_BASEDIR=$root CCACHE_INODECACHE=true

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\e[1m' red=$'\e[31m' green=$'\e[32m' dim=$'\e[2m' plain=$'\e[0m'
else
  bold='' red='' green='' dim='' plain=''
fi

die() { printf '%s%s%s\n' "$red" "$*" "$plain" >&2; exit 1; }

# step TITLE LOGNAME COMMAND...: runs the command with its output in a log; prints one line, and the log's end if it failed. On a
# terminal the line shows how far the command is, where its log says so in the manner of ninja and ctest.
step() {
  local title=$1 log=$logs/$2.log start=$SECONDS status=0
  shift 2
  printf '%-58s' "$title ..."
  "$@" >"$log" 2>&1 </dev/null &
  watch_step $! "$title" "$log"
  wait $! || status=$?
  if [ "$status" -eq 0 ]; then
    printf ' %sok%s %s(%ds)%s\n' "$green" "$plain" "$dim" $((SECONDS - start)) "$plain"
    return 0
  fi
  printf ' %sfailed%s (exit status %d)\n' "$red" "$plain" "$status"
  printf '%sThe last lines of %s:%s\n' "$dim" "${log#"$root"/}" "$plain"
  tail -n "${FATTN_LOG_TAIL:-40}" "$log" | sed 's/^/    /'
  return "$status"
}

watch_step() {
  [ -t 1 ] || return 0
  local progress
  while kill -0 "$1" 2>/dev/null; do
    progress=$(tail -n 1 "$3" 2>/dev/null | grep -oE '^ *\[?[0-9]+/[0-9]+\]?' || true)
    printf '\r%-58s %s%-12s%s' "$2 ..." "$dim" "$progress" "$plain"
    sleep 0.5
  done
  printf '\r%-58s%13s\r%-58s' '' '' "$2 ..."
}

# configure DIRECTORY [cmake arguments...]: where nothing is configured yet, the build compiles a dozen sources of a target as one, which
# takes a third of the time for all of them. A directory that was configured by hand to compile them one by one keeps that.
configure() {
  local dir=$1 together=()
  shift
  [ -f "$dir/CMakeCache.txt" ] || together=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12)
  cmake -G Ninja -S "$root" -B "$dir" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
    "${together[@]}" "$@"
}

# repo_files [PATTERN...]: the tracked files and the new ones that git does not ignore, also in a checkout owned by somebody else;
# outside of a checkout, what is there.
repo_files() {
  local file pattern
  { git -c safe.directory='*' ls-files --cached --others --exclude-standard 2>/dev/null || find . -path './build*' -prune -o -type f -printf '%P\n'; } |
    while read -r file; do
      [ -f "$file" ] || continue
      [ $# -gt 0 ] || echo "$file"
      for pattern in "$@"; do
        # shellcheck disable=SC2053
        [[ $file != $pattern ]] || { echo "$file"; break; }
      done
    done
}

# Debian's LLVM and MLIR are not instrumented: their allocators do not know of the poison that their own inline functions, compiled
# into us, would put on memory, and their vectors not of the annotations. Without AVX-512 the sanitizer's stack for signals is smaller
# than the one LLVM wants: LLVM replaces it, and the sanitizer would end the program when it frees LLVM's as its own.
sanitizer_environment() {
  export ASAN_OPTIONS=use_sigaltstack=0:allow_user_poisoning=0:detect_container_overflow=0:detect_odr_violation=0:strict_string_checks=1
  export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
  export LSAN_OPTIONS=suppressions=$root/scripts/lsan.supp:print_suppressions=0
}
