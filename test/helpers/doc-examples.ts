/** The `console` blocks of a Markdown page, commands after `$ ` and what they are said to print, and its files. */

export type Example = { line: number; command: string; expected: string[] };

export function examplesOf(markdown: string): Example[] {
  const examples: Example[] = [];
  let inBlock = false;
  for (const [index, line] of markdown.split("\n").entries()) {
    if (line.startsWith("```")) inBlock = line === "```console";
    else if (inBlock && line.startsWith("$ ")) examples.push({ line: index + 1, command: line.slice(2), expected: [] });
    else if (inBlock) examples.at(-1)?.expected.push(line);
  }
  return examples;
}

/** The blocks that are files: ```` ```ts file=path ````. */
export function filesOf(markdown: string): { path: string; text: string }[] {
  const found = markdown.matchAll(/^```\w+ file=(\S+)\n([\s\S]*?)^```$/gm);
  return [...found].map(([, path = "", text = ""]) => ({ path, text }));
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf(markdown: string): string[] {
  const prose = markdown.replace(/^(`{3,})[^`\n]*\n[\s\S]*?^\1$/gm, "");
  return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** `…` stands for anything, over several lines too. Nothing expected means that anything may be printed. */
export function matches(output: string, expected: readonly string[]): boolean {
  if (expected.length === 0) return true;
  const pattern = expected.map((line) => line.split("…").map(escapePattern).join("[\\s\\S]*")).join("\\n");
  return new RegExp(`^${pattern}$`).test(output.trimEnd());
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
