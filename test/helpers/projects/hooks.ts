/** A project whose plugin does with hooks what the messages say, and keeps a journal of what it is told. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { HookObserver } from "@aegis/contract/hook.ts";

const manifest = '[plugin]\nname = "house"\nversion = "1.0.0"\ndescription = "Rules of the house"\n';

const rules = `
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { hook } from "aegis";

const note = (event, { projectRoot }, context) =>
  appendFileSync(join(projectRoot, "journal.jsonl"), JSON.stringify({ event, ...context }) + "\\n");

export const received = hook("message_received", ({ content }, plugin) => {
  note("message_received", plugin, { content });
  return content.startsWith("whisper ") ? content.slice(8).toLowerCase() : null;
});

export const before = hook("pre_turn", (context) => {
  const { userMessage, turnIndex, history } = context;
  if (/forbidden$/.test(userMessage)) return { block: "the house forbids it" };
  if (userMessage.startsWith("count")) return { prependSystem: \`(turn \${turnIndex}, \${history.length} said before)\` };
  if (userMessage.startsWith("break")) throw new Error("not strict, so nothing happens");
  return null;
});

export const gate = hook("pre_tool_use", { timeout: 1 }, async ({ tool, input }) => {
  const text = JSON.stringify(input);
  if (text.includes("deny-me")) return { decision: "deny", reason: \`no \${tool} here\` };
  if (text.includes("ask-me")) return { decision: "ask", reason: "is that wise?" };
  if (text.includes("change-me")) return { decision: "allow", input: { glob: "playbook.yaml" } };
  if (text.includes("hang")) await new Promise(() => {});
  if (text.includes("spin")) for (;;);
});

export const after = hook("after_tool_call", ({ result }) => (result.includes("playbook.yaml") ? result + " (seen)" : null));

export const sending = hook("message_sending", ({ content }) =>
  content.includes("swallow") ? { cancel: true } : content.replaceAll("damn", "d***"));

const observers = ["post_turn", "session_start", "session_end", "on_startup", "on_shutdown", "on_error", "on_interrupt",
  "on_handoff", "on_enqueue", "subagent_spawned", "subagent_ended"];
export function register(api) {
  for (const event of observers)
    api.registerHook(event, (context, plugin) => note(event, plugin, context), { name: \`note_\${event}\` });
}
`;

const playbook = `
rules:
  - name: use a tool
    when: '/^list (\\S+)/'
    steps: [{ tool: list_files, input: { glob: "{1}" }, save: files }, { say: "{files}" }]
  - name: use the plane
    when: '/^find (\\S+)/'
    steps: [{ tool: search_skills, input: { query: "{1}" }, save: found }, { say: "{found}" }]
  - name: hold until a gate opens
    when: '/^hold (\\S+)/'
    steps: [{ say: "holding {1}" }, { wait: { gate: "gates/{1}" } }, { say: "released {1}" }]
  - name: hand over
    when: '/^hand (\\S+) to (\\S+)/'
    steps: [{ tool: aegis_handoff, input: { target_handle: "{2}", context: "{1}" }, save: receipt }, { say: "{receipt}" }]
  - name: fail
    when: '/^fail (.+)/'
    steps: [{ fail: "{1}" }]
  - name: stream
    when: '/^stream (.+)/s'
    steps: [{ stream: "{1}", chunk: 4, delay: 1 }]
  - name: anything else
    when: always
    steps: [{ say: "you said: {text}" }]
`;

export const housed = {
  ".aegis.yaml":
    "default_agent: dev\nagents:\n  dev: { harness: scripted, playbook: playbook.yaml, permission: write }\n",
  "playbook.yaml": playbook,
  ".aegis/plugins/house/plugin.toml": manifest,
  ".aegis/plugins/house/rules.js": rules,
};

export type Noted = { event: HookObserver | "message_received" } & Record<string, unknown>;

/** What the plugin has noted of these events, in order. */
export async function journal(dir: string, ...events: Noted["event"][]): Promise<Noted[]> {
  const text = await readFile(join(dir, "journal.jsonl"), "utf8").catch(() => "");
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Noted).filter(({ event }) => events.includes(event));
}
