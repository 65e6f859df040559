/**
 * The schema of a playbook: rules in order, each with steps. A step is named by its verb, with its options next to it.
 */

import { senderSchema } from "@aegis/contract/message.ts";
import { z } from "zod";

const text = z.string().min(1);
const milliseconds = z.number().int().min(0).max(3_600_000);
const variable = z.string().regex(/^[a-z][a-z_]*$/, "expected a lower-case word");

export const senderKinds = senderSchema.options.map((option) => option.shape.kind.value);
export type SenderKind = (typeof senderKinds)[number];

const oneOrMore = <T extends z.ZodType>(item: T) =>
  z.preprocess((value) => (Array.isArray(value) ? value : [value]), z.array(item).min(1));

export const stepSchemas = {
  say: z.strictObject({ say: text }),
  /** Writes the text in chunks of this many characters, with a pause after each. */
  stream: z.strictObject({ stream: text, chunk: z.number().int().min(1).default(16), delay: milliseconds.default(80) }),
  think: z.strictObject({ think: text }),
  tool: z.strictObject({
    tool: text,
    input: z.record(z.string(), z.unknown()).default({}),
    save: variable.optional(),
  }),
  /** Asks for permission; saves `allowed` or `denied`. */
  ask: z.strictObject({
    ask: text,
    tool: text.default("scripted"),
    input: z.record(z.string(), z.unknown()).default({}),
    save: variable.optional(),
  }),
  wait: z.strictObject({ wait: z.union([milliseconds, z.strictObject({ gate: text })]) }),
  fail: z.strictObject({ fail: text, code: text.default("model") }),
  refuse: z.strictObject({ refuse: text }),
  hang: z.strictObject({ hang: z.literal(true) }),
  die: z.strictObject({ die: text }),
};

export type Verb = keyof typeof stepSchemas;
export const verbs = Object.keys(stepSchemas) as Verb[];
export type Steps = { [V in Verb]: z.output<(typeof stepSchemas)[V]> };
export type PlaybookStep = Steps[Verb];

export const ruleSchema = z.strictObject({
  name: text,
  /** The required sender of the message; any sender if absent. */
  from: oneOrMore(z.enum(senderKinds)).optional(),
  when: oneOrMore(text),
  steps: z.array(z.record(z.string(), z.unknown())).min(1),
});

export const playbookSchema = z.strictObject({
  /** The first text of every conversation. */
  opening: text.optional(),
  rules: z.array(ruleSchema).min(1),
});
