// Prints the test files that failed in a JSON report of Vitest, one per line, relative to the current folder.
import { readFileSync } from "node:fs";
import { relative } from "node:path";

const [report] = process.argv.slice(2);
if (report === undefined) throw new Error("usage: node scripts/failed-tests.mjs <report.json>");
const { testResults } = JSON.parse(readFileSync(report, "utf8"));
for (const { status, name } of testResults) {
  if (status === "failed") process.stdout.write(`${relative(process.cwd(), name)}\n`);
}
