// Prints the test files that failed or did not end in a JSON report of Vitest, one per line, relative to the current
// folder. The tests of a process that crashed are still pending in the report, or missing from their file.
import { readFileSync } from "node:fs";
import { relative } from "node:path";

const [report] = process.argv.slice(2);
if (report === undefined) throw new Error("usage: node scripts/failed-tests.mjs <report.json>");
const { testResults } = JSON.parse(readFileSync(report, "utf8"));
for (const { status, name, assertionResults } of testResults) {
  const didEnd = assertionResults.length > 0 && assertionResults.every((test) => test.status !== "pending");
  if (status === "failed" || !didEnd) process.stdout.write(`${relative(process.cwd(), name)}\n`);
}
