// Runs tests again and again, in another order each time, and lists every case that ever failed:
//   node scripts/flaky.mjs [--runs 10] [--hogs 0] [arguments of vitest]
// `--hogs 2` keeps two processors busy beside the tests. Without arguments of Vitest, it runs what `npm test` runs.
// Exits with 1 if a case failed or a run did not end well.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";

const { values, positionals, tokens } = parseArgs({
  options: { runs: { type: "string", default: "10" }, hogs: { type: "string", default: "0" } },
  allowPositionals: true,
  strict: false,
  tokens: true,
});
const own = new Set(["runs", "hogs"]);
const passed = tokens.flatMap((token) =>
  token.kind === "option" && !own.has(token.name)
    ? [`${token.rawName}${token.value === undefined ? "" : `=${token.value}`}`]
    : [],
);
const chosen = [...passed, ...positionals];
const runs = count("runs");
const folder = mkdtempSync(join(tmpdir(), "aegis-flaky-"));
const hogs = Array.from({ length: count("hogs") }, () =>
  spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }),
);
process.once("exit", stop);
for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => process.exit(1));

/** The runs in which a case failed, by its name. */
const failed = new Map();
let bad = 0;
for (let run = 1; run <= runs; run++) {
  const report = join(folder, `${run}.json`);
  const from = performance.now();
  const argv = ["vitest", "run", ...(chosen.length > 0 ? chosen : ["--tags-filter=!slow"])];
  argv.push("--sequence.shuffle.files", `--sequence.seed=${run}`, "--reporter=json", `--outputFile=${report}`);
  const { status } = spawnSync("npx", argv, { stdio: ["ignore", "ignore", "inherit"] });
  const seconds = ((performance.now() - from) / 1_000).toFixed(0);
  const cases = failures(report);
  for (const name of cases) failed.set(name, [...(failed.get(name) ?? []), run]);
  if (status !== 0) bad++;
  process.stdout.write(`run ${run} of ${runs}: exit ${status}, ${cases.length} failed, ${seconds} s\n`);
}
for (const [name, where] of failed)
  process.stdout.write(`${where.length} of ${runs}  ${name}  (run ${where.join(", ")})\n`);
process.stdout.write(`${failed.size} cases ever failed; ${bad} of ${runs} runs did not end well\n`);
process.exit(failed.size > 0 || bad > 0 ? 1 : 0);

function count(name) {
  const number = Number(values[name]);
  if (!Number.isInteger(number) || number < 0)
    throw new Error(`--${name}: expected a whole number, found ${values[name]}`);
  return number;
}

/** The cases of a report that failed; a file that did not load or end counts as a case. */
function failures(report) {
  try {
    return JSON.parse(readFileSync(report, "utf8")).testResults.flatMap(
      ({ name, status, message, assertionResults }) => {
        const file = relative(process.cwd(), name);
        const cases = assertionResults
          .filter((test) => test.status === "failed")
          .map((test) => `${file} > ${test.fullName}`);
        return status === "failed" && cases.length === 0 ? [`${file}: ${message.split("\n")[0]}`] : cases;
      },
    );
  } catch (error) {
    return [`no report: ${error.message}`];
  }
}

function stop() {
  for (const hog of hogs) hog.kill();
  rmSync(folder, { recursive: true, force: true });
}
