/** A chat in a terminal. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type AegisProject, aegisProject, cliPath } from "../aegis.ts";
import { openPty, type Pty } from "../pty.ts";

/** The answer to "story" goes on when its gate opens. */
export const story = {
  start:
    "Once there was an agent without a model. It could not think, so it read its playbook, line by line, and did so",
  end: "exactly as it was written there. Nobody ever had to wonder why it did what it did. The end.",
};
export const files = {
  ".aegis.yaml": "agents:\n  dev: { harness: scripted, playbook: book.yaml }\n",
  "book.yaml": JSON.stringify({
    rules: [
      {
        name: "story",
        when: "/story/",
        steps: [
          { stream: story.start, chunk: 4, delay: 20 },
          { say: "It pauses." },
          { wait: { gate: "gate" } },
          { stream: story.end, chunk: 4 },
        ],
      },
      {
        name: "ask",
        when: "/^may you (.+)/",
        steps: [{ ask: "May I {1}?", tool: "{1}", save: "decision" }, { say: "{decision}: {1}" }],
      },
      { name: "anything else", when: "always", steps: [{ say: "you said: {text}" }] },
    ],
  }),
};
export const modes = { paste: "?2004", cursor: "?25", wrap: "?7" };

export async function chat(env: Record<string, string> = {}) {
  const project = await aegisProject(files);
  await project.aegis("spawn", "dev", "--handle", "calm-galois");
  return { project, pty: await openChat(project, env), open: () => writeFile(join(project.root, "gate"), "") };
}

export async function openChat(project: AegisProject, env: Record<string, string> = {}): Promise<Pty> {
  const options = { cwd: project.root, env: { ...project.env, ...env } };
  const pty = openPty(process.execPath, [cliPath, "chat", "calm-galois"], options);
  await pty.shows("calm-galois (offline) ready ›");
  return pty;
}

export async function said(project: AegisProject): Promise<string[]> {
  const { events } = await project.json<{ events: { type: string; data: { message: { body: string } } }[] }>(
    ...["history", "calm-galois"],
  );
  return events.filter(({ type }) => type === "message.admitted").map(({ data }) => data.message.body);
}

/** What the modes of the terminal are by the last bytes that set them. */
export function modeOf(pty: Pty, mode: string): "on" | "off" | "untouched" {
  const on = pty.bytes.lastIndexOf(`\u001b[${mode}h`);
  const off = pty.bytes.lastIndexOf(`\u001b[${mode}l`);
  return on === off ? "untouched" : on > off ? "on" : "off";
}

export const count = (text: string, part: string) => text.split(part).length - 1;
