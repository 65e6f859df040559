/**
 * Prevents Gemini CLI from losing a conversation that it loads. It names the file of a conversation after the minute
 * and the first eight characters of the id, so loading within the minute of the last start empties the file. Every load
 * also leaves an empty copy that a later load could mistake for the conversation.
 */
import { open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isErrno } from "../../../lib/files.ts";
import { readJsonl } from "../../../lib/jsonl.ts";
import { textAt } from "../../cli-harness/fields.ts";

/** An hour in which no start can happen. */
const safeHour = "session-2000-01-01T00-";

/** Moves the file, so that loading does not overwrite it. */
export async function protectHistory(home: string, conversation: string): Promise<void> {
  await removeEmptyCopies(home, conversation);
  const files = (await filesOf(home, conversation)).map((path) => ({
    path,
    folder: dirname(path),
    name: basename(path),
  }));
  const [newest] = files;
  if (newest === undefined || newest.name.startsWith(safeHour)) return;
  const taken = new Set(files.map((file) => file.name));
  const free = Array.from({ length: 60 }, (_, minute) => safeName(minute, conversation)).find(
    (name) => !taken.has(name),
  );
  if (free !== undefined) await rename(newest.path, join(newest.folder, free));
}

async function removeEmptyCopies(home: string, conversation: string): Promise<void> {
  const files = await filesOf(home, conversation);
  if (files.length < 2) return;
  for (const file of files) if (!(await hasMessages(file))) await rm(file, { force: true });
}

/** The conversation's files, most recently written first. */
async function filesOf(home: string, conversation: string): Promise<string[]> {
  const projects = join(home, ".gemini", "tmp");
  const found: { path: string; written: number }[] = [];
  for (const project of await list(projects)) {
    const chats = join(projects, project, "chats");
    for (const name of await list(chats)) {
      if (!name.startsWith("session-") || !name.endsWith(`-${shortId(conversation)}.jsonl`)) continue;
      const path = join(chats, name);
      if ((await conversationOf(path)) === conversation) found.push({ path, written: (await stat(path)).mtimeMs });
    }
  }
  return found.toSorted((a, b) => b.written - a.written).map((file) => file.path);
}

async function list(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}

async function conversationOf(path: string): Promise<string | null> {
  const file = await open(path, "r");
  try {
    for await (const line of file.readLines()) return textAt(JSON.parse(line), "sessionId");
    return null;
  } catch {
    return null;
  } finally {
    await file.close();
  }
}

async function hasMessages(path: string): Promise<boolean> {
  const records = await readJsonl(path).catch(() => null);
  // Keep a file that cannot be read.
  return records?.some((record) => ["user", "gemini"].includes(textAt(record, "type") ?? "")) ?? true;
}

function safeName(minute: number, conversation: string): string {
  return `${safeHour}${String(minute).padStart(2, "0")}-${shortId(conversation)}.jsonl`;
}

function shortId(conversation: string): string {
  return conversation.slice(0, 8);
}
