/** Daemons that ended by themselves: which of them Aegis documents, and what each said last. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Finding } from "../check.ts";

/** A node ends for these reasons, as docs/cluster.md says. Every other end is a defect. */
const documented: Readonly<Record<string, RegExp>> = {
  "the server has lost commits": /has lost commits/,
  "another node has its name": /a node ".*" is alive in this cluster/,
  "another daemon has its folder": /a daemon already runs for this project/,
};

const mostLines = 12;

export class Endings {
  readonly #counts = new Map<string, number>();
  readonly #findings: Finding[] = [];

  /** `how` is the exit code or the signal. */
  async add(node: { name: string; folder: string }, during: string, how: string): Promise<void> {
    const words = lastWords(await readFile(join(node.folder, "daemon.log"), "utf8"));
    const reason = Object.entries(documented).find(([, pattern]) => pattern.test(words))?.[0];
    if (reason === undefined) {
      const what = `node ${node.name} ended by itself (${how}) during ${during}: ${words}`;
      this.#findings.push({ kind: "different", what });
    } else {
      const name = `daemons that ended as documented, because ${reason}`;
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    }
  }

  check(): { findings: Finding[]; counts: Record<string, number> } {
    const ended = { "daemons that ended by themselves": this.#findings.length };
    return { findings: this.#findings, counts: { ...ended, ...Object.fromEntries(this.#counts) } };
  }
}

/** What follows the last line of the logger: a stack, or why the daemon ends. Without it, its last error. */
function lastWords(log: string): string {
  const lines = log.trimEnd().split("\n");
  const from = lines.findLastIndex((line) => line.startsWith('{"level"'));
  const after = lines.slice(from + 1);
  if (after.length > 0) return after.slice(0, mostLines).join("\n    ");
  return lines.findLast((line) => line.startsWith('{"level":"error"')) ?? "it said nothing";
}
