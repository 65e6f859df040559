/** Reads the prompt files that agents name. A prompt file must lie inside the project after links are resolved. */
import { isAbsolute } from "node:path";
import { containedPath, isErrno } from "../../lib/files.ts";
import { errorText } from "../../lib/log.ts";
import { type Finding, isRecord, readPath } from "./combine.ts";
import { decodeText } from "./decode.ts";
import type { ConfigFiles } from "./files.ts";

export type Prompts = {
  /** Agent name → text. */
  texts: Map<string, string>;
  /** The real paths of the files that were read. */
  files: string[];
  findings: Finding[];
};

export async function readPrompts(root: string, config: unknown, read: ConfigFiles["read"]): Promise<Prompts> {
  const prompts: Prompts = { texts: new Map(), files: [], findings: [] };
  const agents = readPath(config, ["agents"]);
  if (!isRecord(agents)) return prompts;
  await Promise.all(
    Object.entries(agents).map(async ([slug, entry]) => {
      const named = isRecord(entry) ? entry.prompt : undefined;
      if (typeof named !== "string" || named === "") return;
      const result = await readPrompt(root, named, read);
      if ("text" in result) {
        prompts.texts.set(slug, result.text);
        prompts.files.push(result.path);
      } else prompts.findings.push({ path: ["agents", slug, "prompt"], at: "value", message: result.message });
    }),
  );
  return prompts;
}

async function readPrompt(
  root: string,
  named: string,
  read: ConfigFiles["read"],
): Promise<{ path: string; text: string } | { message: string }> {
  const inside = "expected a file inside the project";
  const path = isAbsolute(named) || named.includes("\0") ? null : await containedPath(root, named);
  if (path === null) return { message: `${inside}, found "${named}", which is outside` };
  try {
    const decoded = decodeText(await read(path));
    return "text" in decoded
      ? { path, text: decoded.text }
      : { message: `"${named}" (line ${decoded.at.line}): ${decoded.message}` };
  } catch (error) {
    if (isErrno(error, "ENOENT")) return { message: `${inside}, found no file "${named}"` };
    return { message: `"${named}" cannot be read: ${errorText(error)}` };
  }
}
