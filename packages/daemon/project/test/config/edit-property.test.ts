// @module-tag slow
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import fc from "fast-check";
import { expect, it } from "vitest";
import { setValue } from "../../src/config/changes.ts";
import { editConfig } from "../../src/config/edit.ts";
import { loadConfig } from "../../src/config/load.ts";
import { removePath } from "../../src/config/paths.ts";
import type { KeyPath } from "../../src/config/problem.ts";
import { createProject, harnesses } from "./project.ts";

type Line = { text: string; path: KeyPath };

/** A config file as lines, each with the path it belongs to; comments have random places and indentation. */
const file = fc
  .record({
    agents: fc.uniqueArray(fc.constantFrom("dev", "rev", "ops", "doc"), { minLength: 1 }),
    keys: fc.uniqueArray(fc.constantFrom("model", "description", "effort"), { minLength: 0 }),
    flow: fc.boolean(),
    queues: fc.boolean(),
    comments: fc.array(fc.record({ at: fc.nat(40), indent: fc.nat(3) }), { maxLength: 12 }),
    beside: fc.array(fc.nat(40), { maxLength: 5 }),
    blanks: fc.array(fc.nat(40), { maxLength: 5 }),
    step: fc.constantFrom(2, 4),
    crlf: fc.boolean(),
    lastEnd: fc.boolean(),
  })
  .map(({ agents, keys, flow, queues, comments, beside, blanks, step, crlf, lastEnd }) => {
    const pad = (level: number) => " ".repeat(level * step);
    const lines: Line[] = [{ text: "agents:", path: ["agents"] }];
    for (const agent of agents) {
      lines.push({ text: `${pad(1)}${agent}:`, path: ["agents", agent] });
      lines.push({ text: `${pad(2)}harness: codex`, path: ["agents", agent, "harness"] });
      for (const key of keys) {
        const value = key === "effort" ? "low" : key === "model" ? "'m:1'" : "plain words";
        lines.push({ text: `${pad(2)}${key}: ${value}`, path: ["agents", agent, key] });
      }
      if (flow) lines.push({ text: `${pad(2)}env: {A: "1", B: x}`, path: ["agents", agent, "env"] });
    }
    if (queues) {
      lines.push({ text: "queues:", path: ["queues"] });
      lines.push({ text: `${pad(1)}q: {agent: ${agents[0]}}`, path: ["queues", "q"] });
    }
    for (const [index, at] of beside.entries()) {
      const line = lines[at % lines.length];
      if (line !== undefined && !line.text.includes("#")) line.text += `  # beside ${index}`;
    }
    for (const at of blanks) lines.splice(at % (lines.length + 1), 0, { text: "", path: [] });
    for (const [index, { at, indent }] of comments.entries())
      lines.splice(at % (lines.length + 1), 0, { text: `${pad(indent)}# own ${index}`, path: [] });
    const end = crlf ? "\r\n" : "\n";
    return { text: lines.map((line) => line.text).join(end) + (lastEnd ? end : ""), lines, agents };
  });

const edit = fc.oneof(
  fc.record({
    kind: fc.constant("set" as const),
    agent: fc.nat(3),
    key: fc.constantFrom("model", "description"),
    value: fc.constantFrom("new", "a: b", "# no", "ü", "true", ""),
  }),
  fc.record({
    kind: fc.constant("set" as const),
    agent: fc.nat(3),
    key: fc.constantFrom("effort", "permission"),
    value: fc.constantFrom("low", "high", "read", "full"),
  }),
  fc.record({
    kind: fc.constant("set" as const),
    agent: fc.nat(3),
    key: fc.constant("env"),
    value: fc.constantFrom({ A: "2" }, { C: "multi\nline" }, {}),
  }),
  fc.record({
    kind: fc.constant("add" as const),
    agent: fc.nat(3),
    key: fc.constant(""),
    value: fc.constantFrom({ harness: "codex" }, { harness: "native", env: { X: "1" } }),
  }),
  fc.record({
    kind: fc.constant("remove" as const),
    agent: fc.nat(3),
    key: fc.constantFrom("model", "env", "description", ""),
    value: fc.constant(null),
  }),
);

it("keeps every comment outside the edited node, and always leaves a file that loads", {
  timeout: scaled(60_000),
}, async () => {
  const project = await createProject({});
  let landed = 0;
  await fc.assert(
    fc.asyncProperty(file, fc.array(edit, { minLength: 1, maxLength: 3 }), async (start, edits) => {
      await writeFile(join(project.root, ".aegis.yaml"), start.text);
      expect((await loadConfig({ cwd: project.root, harnesses })).problems).toEqual([]);
      const touched: KeyPath[] = [];
      for (const step of edits) {
        const before = await project.read();
        const agent = step.kind === "add" ? "fresh" : (start.agents[step.agent % start.agents.length] ?? "");
        const path = ["agents", agent, ...(step.key === "" ? [] : [step.key])];
        try {
          if (step.kind === "remove")
            await editConfig({ ...project, change: (document) => void removePath(document, path) });
          else await setValue(project, path, step.value);
          touched.push(path);
          landed++;
        } catch {
          expect(await project.read()).toBe(before);
        }
      }
      const after = await project.read();
      expect((await loadConfig({ cwd: project.root, harnesses })).problems).toEqual([]);
      for (const [comment, index] of commentsOf(start.lines))
        if (!touched.some((path, nth) => isInside(start.lines, index, path, hasGrown(touched.slice(0, nth), path))))
          expect(after.split(comment)).toHaveLength(2);
      expect(after.includes("\r\n")).toBe(start.text.includes("\r\n"));
    }),
    { numRuns: 100 },
  );
  expect(landed).toBeGreaterThan(100);
});

function commentsOf(lines: readonly Line[]): [string, number][] {
  return lines.flatMap((line, index): [string, number][] => {
    const comment = /# (own|beside) \d+/.exec(line.text)?.[0];
    return comment === undefined ? [] : [[comment, index]];
  });
}

/**
 * Whether a line lies between the first and the last line of what a path names. A new key is written behind the comments
 * that end its entry: in an entry that has grown, these stand between its keys.
 */
function isInside(lines: readonly Line[], index: number, path: KeyPath, grown: boolean): boolean {
  const own = lines.flatMap((line, at) => (path.every((segment, depth) => line.path[depth] === segment) ? [at] : []));
  if (own.length === 0) return false;
  let last = Math.max(...own);
  const ownComment = new RegExp(`^ {${path.length * 2},}#`);
  while (grown && ownComment.test(lines[last + 1]?.text ?? "")) last++;
  return index >= Math.min(...own) && index <= last;
}

function hasGrown(earlier: readonly KeyPath[], path: KeyPath): boolean {
  return earlier.some((one) => one.length > path.length && path.every((segment, depth) => one[depth] === segment));
}
