/** Reads the messages of recent sessions without the bulky events. */
import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";

export type Transcript = { file: string; handle: string; text: string; cut: number };

/** A dreamer reads one transcript; a longer one would not fit beside its task. */
const longestText = 24_000;
/** A log is read up to this size; messages are a small part of it. */
const longestFile = 8 * 1024 * 1024;

export async function recentFiles(root: string, since: number, most: number): Promise<string[]> {
  const dir = join(root, ".aegis", "state", "sessions");
  const names = (await readdir(dir).catch(() => [])).filter((name) => name.endsWith(".jsonl"));
  const dated = await Promise.all(names.map(async (name) => ({ name, at: (await stat(join(dir, name))).mtimeMs })));
  return dated
    .filter(({ at }) => at >= since)
    .sort((a, b) => b.at - a.at)
    .slice(0, most)
    .map(({ name }) => name);
}

/** Returns null if the session's agent is excluded, or if the session has no messages. */
export async function readTranscript(
  root: string,
  file: string,
  quietAgents: readonly string[],
): Promise<Transcript | null> {
  let handle = file;
  const lines: string[] = [];
  for (const line of await logLines(join(root, ".aegis", "state", "sessions", file))) {
    const event = parsed(line);
    if (event?.type === "session.created") {
      if (isQuiet(String(event.data.session?.agent), quietAgents)) return null;
      handle = String(event.data.session?.handle ?? file);
    }
    const said = event === null ? null : lineOf(event);
    if (said !== null) lines.push(said);
  }
  const text = lines.join("\n\n");
  if (text === "") return null;
  const cut = Math.max(0, text.length - longestText);
  // The start of a session shows its subject, the end its outcome.
  const half = longestText / 2;
  return cut === 0
    ? { file, handle, text, cut }
    : { file, handle, text: `${text.slice(0, half)}\n\n[${cut} characters left out]\n\n${text.slice(-half)}`, cut };
}

/** Matches the agent's own name or `plugin:name`. */
export function isQuiet(agent: string, quietAgents: readonly string[]): boolean {
  return quietAgents.includes(agent) || quietAgents.includes(agent.slice(agent.indexOf(":") + 1));
}

type LogEvent = {
  type: string;
  data: {
    session?: { agent?: string; handle?: string };
    message?: { body?: string; sender?: { kind?: string; handle?: string } };
    text?: string;
  };
};

function lineOf({ type, data }: LogEvent): string | null {
  if (type === "turn.text") return `assistant: ${data.text ?? ""}`;
  if (type !== "message.admitted") return null;
  const { kind = "human", handle } = data.message?.sender ?? {};
  const who = kind === "human" ? "user" : kind === "agent" ? `peer ${handle ?? ""}` : kind;
  return `${who}: ${data.message?.body ?? ""}`;
}

/** The last line may still be incomplete. */
function parsed(line: string): LogEvent | null {
  try {
    const value = JSON.parse(line) as LogEvent;
    return typeof value?.type === "string" && typeof value.data === "object" && value.data !== null ? value : null;
  } catch {
    return null;
  }
}

async function logLines(path: string): Promise<string[]> {
  await using file = await open(path);
  const { size } = await file.stat();
  const buffer = Buffer.alloc(Math.min(size, longestFile));
  const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
  return buffer.toString("utf8", 0, bytesRead).split("\n");
}
