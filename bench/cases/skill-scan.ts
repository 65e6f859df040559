/** Looking through skills before they are installed: plain ones, and text made to be slow to look through. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { scanText, scanTree } from "@aegis/installer/scan/scan.ts";
import { listTree, treeHash } from "@aegis/lib/safe-tree.ts";
import type { Bench } from "../bench.ts";
import { compareRounds, figure, interleave, rate } from "../measure.ts";

const fileCount = 100;
const fileBytes = 50_000;
const slowBytes = 500_000;
/** Each begins a pattern at every turn and never ends one. */
const slowWords = ["curl x |", "nc -e ", "iex ", "env | ", "api.telegram.org/bot"];

export const skillScan: Bench = {
  name: "skill-scan",
  about: "megabytes of skills scanned per second",
  async run({ folder, quick, signal }) {
    const skill = join(folder, "skill");
    await writeSkill(skill);
    const rounds = quick ? 2 : 7;
    const megabytes = (fileCount * fileBytes) / 1e6;
    const plain = await interleave(
      {
        ours: () => rate(megabytes, () => scanTree(skill, signal)),
        read: () => rate(megabytes, () => readAll(skill)),
        hash: () => rate(megabytes, () => treeHash(skill)),
      },
      rounds,
      signal,
    );
    const slow = slowWords.map((word) => word.repeat(Math.ceil(slowBytes / word.length)));
    const slowMegabytes = (slowWords.length * slowBytes) / 1e6;
    const hard = await interleave(
      {
        ours: () => rate(slowMegabytes, () => scanAll(slow, signal)),
        plain: () => rate(megabytes, () => scanTree(skill, signal)),
      },
      rounds,
      signal,
    );
    return [
      figure({ name: "MB scanned", unit: "/s", against: "reading them" }, compareRounds(plain.ours, plain.read)),
      figure({ name: "MB hashed", unit: "/s", against: "reading them" }, compareRounds(plain.hash, plain.read)),
      figure(
        { name: "MB scanned of text made to be slow", unit: "/s", against: "plain text" },
        compareRounds(hard.ours, hard.plain),
        { ratioAtLeast: 0.01 },
      ),
    ];
  },
};

async function writeSkill(folder: string): Promise<void> {
  const line = "Read the file, then write what changed: `git log --oneline | head` shows the rest of it.\n";
  await mkdir(folder);
  for (let index = 0; index < fileCount; index++) {
    const text = `# Part ${index}\n${line.repeat(Math.ceil(fileBytes / line.length))}`;
    await writeFile(join(folder, `part-${index}.md`), text.slice(0, fileBytes));
  }
}

async function readAll(folder: string): Promise<void> {
  for (const path of await listTree(folder)) await readFile(join(folder, path), "utf8");
}

async function scanAll(texts: readonly string[], signal: AbortSignal): Promise<void> {
  for (const text of texts) await scanText("slow.md", text, signal);
}
