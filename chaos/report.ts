/** Prints what a chaos run found. */
import type { Finding } from "./check.ts";

const mostShown = 50;

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

export function report(what: string, findings: readonly Finding[]): void {
  const count = (kind: Finding["kind"]) => findings.filter((finding) => finding.kind === kind).length;
  for (const finding of findings.slice(0, mostShown)) say(`  ${finding.kind}: ${finding.what}`);
  say(
    `${what}: ${count("lost")} lost, ${count("doubled")} doubled, ${count("unanswered")} unanswered, ` +
      `${count("disorder")} out of order, ${count("different")} different`,
  );
}
