/**
 * Reads Claude Code's record of a conversation: a JSONL file below its configuration folder, named after the
 * conversation.
 */
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { lines } from "@aegis/lib/jsonl.ts";
import { isObject, type JsonFields, listAt, objectAt, textAt } from "../cli-harness/fields.ts";
import type { DriverDeps } from "../driver.ts";

/** A larger file is not read; its content counts as unknown. */
const longestBytes = 256 * 1024 * 1024;

/** The user's messages in order, or null if the file is missing or cannot be read. */
export async function readTranscript(conversation: string, env: DriverDeps["env"]): Promise<string[] | null> {
  try {
    const file = await findTranscript(conversation, env);
    return file === null ? null : await userTexts(file);
  } catch {
    return null;
  }
}

/** The name of the folder in between depends on how the CLI encodes the project's path, so all of them are checked. */
async function findTranscript(conversation: string, env: DriverDeps["env"]): Promise<string | null> {
  const root = join(env.CLAUDE_CONFIG_DIR ?? join(env.HOME ?? "", ".claude"), "projects");
  for (const project of await readdir(root)) {
    const file = join(root, project, `${conversation}.jsonl`);
    const found = await stat(file).catch(() => null);
    if (found?.isFile() === true && found.size <= longestBytes) return file;
  }
  return null;
}

async function userTexts(file: string): Promise<string[]> {
  const texts: string[] = [];
  for await (const line of lines(createReadStream(file), { maxBytes: longestBytes })) {
    const entry = parsed(line);
    // Subagents of the CLI have their own prompts.
    if (entry.type === "user" && entry.isSidechain !== true) texts.push(...textsOf(objectAt(entry, "message")));
  }
  return texts;
}

function textsOf(message: JsonFields): string[] {
  const whole = textAt(message, "content");
  if (whole !== null) return [whole];
  return listAt(message, "content").flatMap((part) => textAt(part, "text") ?? []);
}

/** A killed process may leave a partial line. */
function parsed(line: string): JsonFields {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
