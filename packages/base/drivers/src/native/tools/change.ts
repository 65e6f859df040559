/** Replaces the content of a file, for the tools that change files. */
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { TurnItems } from "@aegis/contract/turn.ts";
import type { ProjectPath } from "./paths.ts";
import type { ToolContext } from "./tool.ts";

type Diff = NonNullable<TurnItems["tool_result"]["diff"]>;

/** Larger diffs would fill the event log with copies of files. */
const largestDiff = 100_000;

/** Keeps the file's mode. */
export async function replaceFile(path: ProjectPath, content: string, context: ToolContext): Promise<void> {
  context.signal.throwIfAborted();
  const mode = await stat(path.real).then(
    (info) => info.mode & 0o777,
    () => 0o644,
  );
  await mkdir(dirname(path.real), { recursive: true });
  await context.writeFile(path.real, content, { mode });
  context.seen.note(path.real, Buffer.from(content));
}

export function smallDiff(diff: Diff): Diff | null {
  return (diff.before?.length ?? 0) + diff.after.length <= largestDiff ? diff : null;
}
