#!/usr/bin/env bash
# `npm run test:all`: everything that `npm test` leaves to this command, after `npm test` itself.
set -euo pipefail
cd "$(dirname "$0")/.."

logs=$(mktemp -d)
# Whatever still runs beside a step that failed ends with it.
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$logs"' EXIT

step() { printf '\n== %s\n' "$*"; "$@"; }

# Kills come at random moments, so a step may find a rare race. It runs once more, and a line that begins with "flaky:"
# names it: the race is still to be found, from the findings and the seed in the log.
again() { step "$@" || { printf '\nflaky: %s\n' "$*" && step "$@"; }; }

# Runs a suite and writes a report. At most five files that failed run once more, alone.
suite() {
  local report="$logs/$1.json" failed
  shift
  step "$@" --reporter=default --reporter=json --outputFile.json="$report" && return
  mapfile -t failed < <(node scripts/failed-tests.mjs "$report")
  if ((${#failed[@]} == 0 || ${#failed[@]} > 5)); then return 1; fi
  printf '\nflaky: %s\n' "${failed[@]}"
  step "$@" --maxWorkers=1 "${failed[@]}"
}

# The real CLIs are large; they arrive while the rest is tested.
npm run pretest:live >"$logs/install" 2>&1 &
install=$!
# Four minutes and six minutes of processor time: more of either fails.
AEGIS_TEST_BUDGET="240 360" step npm test
suite slow npm run test:slow --
step npm run test:package
wait "$install" || { cat "$logs/install"; exit 1; }

# Kills wait for daemons to start and live tests for the CLIs: side by side they take the time of one.
every_instant() { AEGIS_EVERY_INSTANT=1 npx vitest run test/behaviour/crash-instants.test.ts packages/core/builtin-workflows/test/crash.test.ts; }
chaos() { again npm run chaos -- "$@"; }
copies() { chaos --of claims --rounds 4 --edits 100 && chaos --of landings --rounds 4 --agents 6; }
kills() { chaos --rounds 100 && chaos --of commits --every 24 && copies && again every_instant; }
kills >"$logs/kills" 2>&1 &
killing=$!
live=0
suite live npm run --ignore-scripts test:live -- || live=$?
killed=0
wait "$killing" || killed=$?
cat "$logs/kills"
exit $((live != 0 || killed != 0))
