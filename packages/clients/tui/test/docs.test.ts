import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { keyName } from "../src/keymap.ts";
import { createKeymap } from "../src/main.ts";

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../../../../${path}`, import.meta.url)), "utf8");

function pictures(page: string): { name: string; text: string }[] {
  const found = read(page).matchAll(/<!-- screen: (\S+) -->\n````text\n([\s\S]*?)\n````/g);
  return [...found].map(([, name = "", text = ""]) => ({ name, text }));
}

it("docs/terminal.md shows the golden screens", () => {
  const shown = pictures("docs/terminal.md");
  expect(shown.length).toBeGreaterThan(0);
  for (const { name, text } of shown)
    expect([name, `${text}\n`]).toEqual([name, read(`packages/clients/tui/test/golden/${name}.txt`)]);
});

it("docs/terminal.md lists every action with its keys", () => {
  const rows = read("docs/terminal.md").split("\n");
  const numbered = /^(?:session\.go|ask\.option)\./;
  const missing = createKeymap({}).actions.filter(({ id, keys, title }) => {
    const start = `| ${keys.map((key) => `\`${keyName(key)}\``).join(", ")} | ${title} | `;
    return !numbered.test(id) && !rows.some((row) => row.startsWith(start) && row.endsWith(`| \`${id}\` |`));
  });
  expect(missing.map(({ id }) => id)).toEqual([]);
});
