/**
 * The brief of a group, as written in a workflow: with the names of this API or with those of the `aegis_group_*`
 * tools.
 */
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { GroupBrief } from "./workflow-context.ts";

/** The parts of a brief; omitted parts are undefined. */
export type BriefParts = {
  objective: string;
  output_format: string | undefined;
  tool_guidance: string | undefined;
  boundaries: string | undefined;
};

/** Maps each key to its part. */
const keys = {
  objective: "objective",
  outputFormat: "output_format",
  output_format: "output_format",
  toolGuidance: "tool_guidance",
  tool_guidance: "tool_guidance",
  boundaries: "boundaries",
} as const satisfies Record<string, keyof BriefParts>;

/** Throws a `TypeError` that names a key that is unknown, duplicated or not text. */
export function readBrief(brief: string | GroupBrief): BriefParts {
  const given: unknown = typeof brief === "string" ? { objective: brief } : brief;
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new TypeError("broadcast: expected a text or an object with an objective");
  const parts: { [Key in keyof BriefParts]?: string } = {};
  for (const [key, value] of Object.entries(given)) {
    if (!isKey(key)) throw new TypeError(`broadcast: unknown key "${key}"${didYouMean(key, Object.keys(keys))}`);
    if (value === undefined) continue;
    const part = keys[key];
    if (typeof value !== "string" || value === "") throw new TypeError(`broadcast: ${key}: expected some text`);
    if (parts[part] !== undefined) throw new TypeError(`broadcast: ${key}: "${part}" is given twice`);
    parts[part] = value;
  }
  const { objective, output_format, tool_guidance, boundaries } = parts;
  if (objective === undefined) throw new TypeError("broadcast: objective: expected some text, found nothing");
  return { objective, output_format, tool_guidance, boundaries };
}

function isKey(key: string): key is keyof typeof keys {
  return Object.hasOwn(keys, key);
}
