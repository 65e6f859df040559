/** Merges the project's settings for a workflow over the author's defaults. */
import { AegisError } from "../../contract/errors.ts";
import { didYouMean } from "../../lib/nearest.ts";
import type { Workflow } from "../../plugin-api/workflow.ts";

type Values = Readonly<Record<string, unknown>>;

/** Throws `invalid` for an unknown key or a value of another type than the default. */
export function settingsOf({ name, config }: Pick<Workflow, "name" | "config">, project: Values): Values {
  for (const [key, value] of Object.entries(project)) {
    const where = `workflows.${name}.${key}`;
    if (!Object.hasOwn(config, key)) {
      const keys = Object.keys(config);
      throw new AegisError("invalid", `${where} is no setting of this workflow${didYouMean(key, keys)}`, {
        hint: keys.length === 0 ? "it has none" : `it has: ${keys.join(", ")}`,
      });
    }
    const expected = kindOf(config[key]);
    if (expected !== "nothing" && kindOf(value) !== expected) {
      throw new AegisError("invalid", `${where}: expected ${expected}, found ${kindOf(value)}`);
    }
  }
  return { ...config, ...project };
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a map";
  return { string: "text", number: "a number", boolean: "true or false" }[typeof value as string] ?? typeof value;
}
