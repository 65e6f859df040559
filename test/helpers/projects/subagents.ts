/** A project whose offline agents start subagents as the messages say. */
import type { Client } from "@aegis/client/client.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { SubagentView } from "@aegis/contract/subagent.ts";
import { messages } from "../talk.ts";
import { waitUntil } from "../wait-until.ts";

export const delegating = {
  ".aegis.yaml": [
    "default_agent: dev",
    "agents:",
    "  dev: { harness: scripted, playbook: playbook.yaml }",
    "  helper: { harness: scripted, playbook: playbook.yaml }",
    "subagents: { max_spawn_depth: 2 }",
    "",
  ].join("\n"),
  "playbook.yaml": `
rules:
  - name: start one and stay
    when: '/^spawn (\\S+) then hold (\\S+) with (.+)/s'
    steps:
      - tool: sessions_spawn
        input: { task: "{3}", label: "{1}" }
        save: run
      - say: "holding {2}"
      - wait: { gate: "gates/{2}" }
      - say: "{run}"
  - name: start one
    when: '/^spawn (\\S+) with (.+)/s'
    steps:
      - tool: sessions_spawn
        input: { task: "{2}", label: "{1}" }
        save: run
      - say: "{run}"
  - name: kill
    when: '/^kill (\\S+)/'
    steps: [{ tool: sessions_kill, input: { run_id: "{1}" }, save: outcome }, { say: "{outcome}" }]
  - name: use the pool
    when: '/^use (\\S+) for (.+)/s'
    steps: [{ tool: agent, input: { agent_name: "{1}", task_prompt: "{2}" }, save: outcome }, { say: "{outcome}" }]
  - name: a pooled hold
    when: '/^Execute this task: hold (\\S+)/'
    steps: [{ say: "holding {1}" }, { wait: { gate: "gates/{1}" } }, { say: "released {1}" }]
  - name: a result that is read slowly
    from: substrate
    when: '/^\\[Subagent Complete\\] "(\\S+)" \\((\\w+)[^)]*\\)\\. Result: released slowly/'
    steps: [{ say: "reading {1}" }, { wait: { gate: "gates/reading" } }, { say: "read {1}" }]
  - name: a result
    from: substrate
    when: '/^\\[Subagent Complete\\] "(\\S+)" \\((\\w+)[^)]*\\)\\. Result: (.*)/s'
    steps: [{ say: "{1} is {2}: {3}" }]
  - name: hold until a gate opens
    when: '/^hold (\\S+)/'
    steps: [{ say: "holding {1}" }, { wait: { gate: "gates/{1}" } }, { say: "released {1}" }]
  - name: anything else
    when: always
    steps: [{ say: "you said: {text}" }]
`,
};

export async function subagents(client: Client): Promise<SubagentView[]> {
  return (await client.call("listSubagents", { query: { archived: "true" } })).subagents;
}

export async function subagent(client: Client, label: string): Promise<SubagentView> {
  let found: SubagentView | undefined;
  await waitUntil(`the subagent ${label} is there`, async () => {
    found = (await subagents(client)).find((one) => one.label === label);
    return found !== undefined;
  });
  if (found === undefined) throw new Error("unreachable: the wait ends with it");
  return found;
}

export async function announcements(client: Client, session: SessionId): Promise<string[]> {
  const all = await messages(client, session);
  return all.filter((one) => one.body.startsWith("[Subagent Complete]")).map((one) => one.body);
}

/** Waits until the session has nothing to do. */
export async function idle(client: Client, session: SessionId): Promise<void> {
  await waitUntil(`${session} is idle`, async () => {
    const { session: view } = await client.call("getSession", { path: { session } });
    return view.state === "ready" && view.pending === 0;
  });
}
