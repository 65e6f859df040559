/** Reads a playbook. Reports every problem with its file and line before anything runs. */

import { readFile } from "node:fs/promises";
import { plainMessage } from "@aegis/lib/issue-words.ts";
import { errorText } from "@aegis/lib/log.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from "yaml";
import type { z } from "zod";
import {
  type PlaybookStep,
  playbookSchema,
  ruleSchema,
  type SenderKind,
  stepSchemas,
  type Verb,
  verbs,
} from "./schema.ts";
import { compilePattern, type Pattern, placesIn, viewNames } from "./texts.ts";

export type Playbook = {
  /** The first text of every conversation. */
  opening: string | null;
  rules: readonly Rule[];
};

export type Rule = {
  name: string;
  from: readonly SenderKind[] | null;
  when: readonly Pattern[];
  steps: readonly PlaybookStep[];
};

export class PlaybookError extends Error {
  override readonly name = "PlaybookError";
}

const openingPlaces = ["handle", "turn_number", "history", "system"];
/** The placeholders of every rule's texts, besides captures and saved results. */
const rulePlaces = [...openingPlaces, "text", "sender"];
const knownKeys = [...Object.keys(playbookSchema.shape), ...Object.keys(ruleSchema.shape)];

type Path = readonly (string | number)[];
type Fail = (path: Path, message: string, key?: string) => never;

export type PlaybookShelf = {
  load(file: string): Promise<Playbook>;
  /** The same for content that is already read; `file` is its origin. */
  parse(file: string, bytes: Uint8Array): Playbook;
};

/** Reads a file each time but parses it only if it changed: agents that share a playbook share one copy. */
export function createPlaybookShelf(): PlaybookShelf {
  const parsed = new Map<string, { text: string; playbook: Playbook }>();
  const parse = (file: string, text: string): Playbook => {
    const known = parsed.get(file);
    if (known?.text === text) return known.playbook;
    const playbook = parsePlaybook(text, file);
    parsed.set(file, { text, playbook });
    return playbook;
  };
  return {
    load: async (file) => parse(file, await readPlaybook(file)),
    parse: (file, bytes) => parse(file, Buffer.from(bytes).toString("utf8")),
  };
}

async function readPlaybook(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new PlaybookError(`cannot read the playbook: ${errorText(error)}`, { cause: error });
  }
}

export function parsePlaybook(text: string, file: string): Playbook {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false });
  const at = (offset: number, message: string): never => {
    throw new PlaybookError(`${file}:${lineCounter.linePos(offset).line}: ${message}`);
  };
  const [broken] = document.errors;
  if (broken) at(broken.pos[0], broken.message);
  const fail: Fail = (path, message, key) => at(offsetOf(document, path, key), message);

  const parsed = playbookSchema.safeParse(document.toJS());
  if (!parsed.success) return failOn(parsed.error, [], knownKeys, fail);
  const { opening } = parsed.data;
  if (opening !== undefined) checkText(opening, new Set(openingPlaces), ["opening"], fail);
  return {
    opening: opening ?? null,
    rules: parsed.data.rules.map((rule, index) => {
      const path = ["rules", index];
      return {
        name: rule.name,
        from: rule.from ?? null,
        when: rule.when.map((source) => pattern(source, [...path, "when"], fail)),
        steps: checkPlaces(
          rule.steps.map((step, number) => parseStep(step, [...path, "steps", number], fail)),
          [...path, "steps"],
          fail,
        ),
      };
    }),
  };
}

function pattern(source: string, path: Path, fail: Fail): Pattern {
  try {
    return compilePattern(source);
  } catch (error) {
    return fail(path, errorText(error));
  }
}

function parseStep(step: Record<string, unknown>, path: Path, fail: Fail): PlaybookStep {
  const keys = Object.keys(step);
  // `tool` is also an option of `ask`.
  const verb = "ask" in step ? "ask" : verbs.find((candidate) => candidate in step);
  if (verb === undefined) {
    const key = keys[0] ?? "";
    return fail(path, `unknown step "${key}"${didYouMean(key, verbs)}; expected one of ${verbs.join(", ")}`, key);
  }
  const parsed = stepSchemas[verb].safeParse(step);
  return parsed.success ? parsed.data : failOn(parsed.error, path, optionsOf(verb), fail);
}

function optionsOf(verb: Verb): string[] {
  return Object.keys(stepSchemas[verb].shape);
}

function failOn(error: z.ZodError, base: Path, known: readonly string[], fail: Fail): never {
  const [issue] = error.issues;
  if (issue === undefined) return fail(base, "not a playbook");
  const path = [...base, ...issue.path.map((part) => (typeof part === "symbol" ? String(part) : part))];
  if (issue.code === "unrecognized_keys") {
    const key = issue.keys[0] ?? "";
    return fail(path, `unknown key "${key}"${didYouMean(key, known)}`, key);
  }
  return fail(
    path,
    `${path.filter((part) => typeof part === "string").join(".") || "playbook"}: ${plainMessage(issue.message)}`,
  );
}

function checkPlaces(steps: readonly PlaybookStep[], path: Path, fail: Fail): readonly PlaybookStep[] {
  const known = new Set(rulePlaces);
  for (const [index, step] of steps.entries()) {
    for (const text of stringsIn(step)) checkText(text, known, [...path, index], fail);
    if ("save" in step && step.save !== undefined) known.add(step.save);
  }
  return steps;
}

/** A placeholder that nothing fills would be silently empty, so it is an error. */
function checkText(text: string, known: ReadonlySet<string>, path: Path, fail: Fail): void {
  for (const { name, view } of placesIn(text)) {
    if (!/^\d+$/.test(name) && !known.has(name)) fail(path, `nothing fills {${name}}${didYouMean(name, known)}`);
    if (view !== null && !viewNames.includes(view)) {
      fail(path, `no view ".${view}" in {${name}.${view}}; expected one of ${viewNames.join(", ")}`);
    }
  }
}

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(stringsIn);
}

/** The position of the value at `path`, of its key `key`, or of the nearest enclosing node. */
function offsetOf(document: Document, path: Path, key?: string): number {
  for (let length = path.length; length >= 0; length--) {
    const node: unknown = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (!isNode(node) || !node.range) continue;
    const pair = isMap(node) ? node.items.find((item) => isScalar(item.key) && item.key.value === key) : undefined;
    return isScalar(pair?.key) ? (pair.key.range?.[0] ?? node.range[0]) : node.range[0];
  }
  return 0;
}
