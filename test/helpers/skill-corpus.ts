/** Labelled skills to measure the scan with. Every third one is held out: rules are tuned on the others only. */
import { readFile } from "node:fs/promises";

export type CorpusSkill = { name: string; heldOut: boolean; files: Record<string, string> };

export type CorpusName = "malicious" | "harmless" | "security";

const corpus = new URL("../fixtures/skill-corpus/", import.meta.url);

/** Skills begin with `=== name`, their files with `--- path`. */
export async function readCorpus(name: CorpusName): Promise<CorpusSkill[]> {
  const text = await readFile(new URL(`${name}.txt`, corpus), "utf8");
  return text
    .split(/^=== /m)
    .slice(1)
    .map((block, index) => {
      const [head = "", ...rest] = block.split(/^--- (?=\S+$)/m);
      const files = rest.map((file): [string, string] => {
        const end = file.indexOf("\n");
        return [file.slice(0, end), file.slice(end + 1)];
      });
      return { name: head.trim(), heldOut: index % 3 === 2, files: withHeader(head.trim(), Object.fromEntries(files)) };
    });
}

function withHeader(name: string, { "SKILL.md": page = "", ...files }: Record<string, string>): Record<string, string> {
  const header = page.startsWith("---") ? "" : `---\nname: ${name}\ndescription: About ${name}.\n---\n`;
  return { "SKILL.md": `${header}${page}`, ...files };
}
