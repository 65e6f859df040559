/** Writes agent files as text: creates a new one, or changes fields and keeps comments, order and prompt. */
import { updateFrontmatter, writeFrontmatter } from "@aegis/lib/frontmatter.ts";
import { synonyms } from "./parse.ts";

export type AgentFields = {
  name: string;
  description: string;
  harness?: string | undefined;
  model?: string | undefined;
  temperature?: number | undefined;
  reasoning_effort?: string | undefined;
  permission?: string | undefined;
  tools?: string[] | "none" | undefined;
  deny_tools?: string[] | undefined;
  skills?: string[] | undefined;
};

export function newAgentText(fields: AgentFields, prompt: string, now: Date): string {
  const at = now.toISOString();
  return writeFrontmatter({ ...fields, created_at: at, updated_at: at }, prompt);
}

/**
 * Null removes a field; synonyms of a changed field are removed too. Throws if the fields of the text cannot be parsed.
 */
export function changeAgentText(
  text: string,
  changes: { [Key in keyof AgentFields]?: AgentFields[Key] | null | undefined },
  prompt: string | undefined,
  now: Date,
): string {
  const given = Object.entries(changes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [key, value ?? undefined]);
  const elsewhere = given.flatMap(([key]) => synonyms.find((names) => names.includes(String(key))) ?? []);
  const renamed = elsewhere.map((name) => [name, undefined]);
  const fields = { ...Object.fromEntries(renamed), ...Object.fromEntries(given), updated_at: now.toISOString() };
  return updateFrontmatter(text, fields, prompt);
}
