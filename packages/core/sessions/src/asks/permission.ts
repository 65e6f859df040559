/** Converts between permission requests of the driver port and asks. */

import { lstat, readFile } from "node:fs/promises";
import { type Ask, type AskChange, permissionChoices } from "@aegis/contract/ask.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { FileChange, PermissionAnswer, PermissionRequest } from "@aegis/drivers/driver.ts";
import { containedPath, isErrno } from "@aegis/lib/files.ts";
import type { AskRequest } from "./action.ts";

export async function permissionQuestion(
  session: SessionId,
  request: PermissionRequest,
  { cwd, timeoutMs }: { cwd: string | null; timeoutMs: number | null },
): Promise<AskRequest> {
  const { withinMs = Number.POSITIVE_INFINITY } = request;
  const wait = Math.min(timeoutMs ?? Number.POSITIVE_INFINITY, withinMs);
  return {
    session,
    kind: "permission",
    question: request.title,
    reason: request.reason ?? null,
    gate: request.gate ?? false,
    tool: request.tool,
    detail: request.input,
    changes: await askChanges(request.changes ?? [], cwd),
    cwd: request.cwd ?? cwd,
    options: permissionChoices.filter((choice) => request.once !== true || choice !== "always"),
    timeoutMs: Number.isFinite(wait) ? wait : null,
  };
}

/**
 * Only Aegis remembers an "allow for session" answer to a gate's question: a harness that knew it would bypass the
 * gate.
 */
export function permissionFrom({ status, answer }: Pick<Ask, "status" | "answer">, gate: boolean): PermissionAnswer {
  if (status === "expired") return { decision: "deny", reason: "no person answered in time" };
  if (status === "withdrawn" || !answer)
    return { decision: "deny", reason: "the turn was interrupted before a person answered" };
  if (answer.choice === "allow") return { decision: "allow", scope: "once" };
  if (answer.choice === "always") return { decision: "allow", scope: gate ? "once" : "session" };
  return { decision: "deny", reason: answer.text === "" ? "denied by a person" : answer.text };
}

const largestFile = 128 * 1024;

/** Completes a file change for the person who approves it: adds the text that a full rewrite would replace. */
export function askChanges(changes: readonly FileChange[], root: string | null): Promise<AskChange[]> {
  return Promise.all(changes.map((change) => askChange(change, root)));
}

async function askChange(change: FileChange, root: string | null): Promise<AskChange> {
  const { path } = change;
  if ("patch" in change) return { path, before: null, after: null, patch: change.patch, note: null };
  const { before, after } = change;
  if (before !== undefined) return { path, before, after, patch: null, note: null };
  return { path, after, patch: null, ...(await presentText(path, root)) };
}

/** The agent chose the path, so only small, regular text files inside the project are read. */
async function presentText(path: string, root: string | null): Promise<Pick<AskChange, "before" | "note">> {
  const unknown = (why: string) => ({ before: null, note: `the current text is not shown: ${why}` });
  if (root === null) return unknown("the project's folder is not known");
  try {
    const place = await containedPath(root, path);
    if (place === null) return unknown("the file is outside the project");
    const info = await lstat(place);
    if (!info.isFile()) return unknown("it is not a regular file");
    if (info.size > largestFile) return unknown(`it has ${info.size} bytes`);
    const content = await readFile(place);
    return content.includes(0) ? unknown("it is a binary file") : { before: content.toString("utf8"), note: null };
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return { before: null, note: "a new file" };
    return unknown("it cannot be read");
  }
}
