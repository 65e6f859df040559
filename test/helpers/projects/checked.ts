/** A project whose agents are wrong first, and correct what a failed check tells them. */
import type { Client } from "@aegis/client/client.ts";
import type { ApiBody } from "@aegis/contract/api.ts";
import type { TaskId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { ReceiptView } from "@aegis/contract/receipt.ts";
import type { TaskView } from "@aegis/contract/task.ts";
import { waitUntil } from "../wait-until.ts";

/** Writes a wrong file, and a right one when a check fails. Delegates what messages say, with a check. */
const playbook = `
rules:
  - name: a failed check
    when: '/You said that you are done.*make (\\S+) say (\\S+)/s'
    steps: [{ tool: write_report, input: { path: "{1}", text: "{2}\\n" } }, { say: "corrected {1}" }]
  - name: a hopeless task
    when: '/^stubborn/'
    steps: [{ say: "done" }]
  - name: write wrongly first
    when: '/^wrong (\\S+)/'
    steps: [{ tool: write_report, input: { path: "{1}", text: "wrong\\n" } }, { say: "done with {1}" }]
  - name: write
    when: '/^write (\\S+) (\\S+)/'
    steps: [{ tool: write_report, input: { path: "{1}", text: "{2}\\n" } }, { say: "done with {1}" }]
  - name: enqueue with a check
    when: '/^enqueue (\\S+) "(.+)" check "(.+)"/'
    steps: [{ tool: aegis_enqueue, input: { queue: "{1}", payload: "{2}", check: "{3}" }, save: given }, { say: "{given}" }]
  - name: enqueue
    when: '/^enqueue (\\S+) "(.+)"/'
    steps: [{ tool: aegis_enqueue, input: { queue: "{1}", payload: "{2}" }, save: given }, { say: "{given}" }]
  - name: status
    when: '/^status (\\S+)/'
    steps: [{ tool: aegis_task_status, input: { task_id: "{1}" }, save: given }, { say: "{given}" }]
  - name: status of a run
    when: '/^flow-status (\\S+)/'
    steps: [{ tool: aegis_workflow_status, input: { workflow_id: "{1}" }, save: given }, { say: "{given}" }]
  - name: spawn with a check
    when: '/^spawn "(.+)" check "(.+)"/'
    steps:
      - tool: sessions_spawn
        input: { task: "{1}", label: sub, check: { command: "{2}", max_retries: 1 }, agent_id: dev }
        save: given
      - say: "{given}"
  - { name: anything else, when: always, steps: [{ say: "you said: {text}" }] }
`;

/** Prints counts that a test tool would print, and what the agent must do. */
export const rightFile = (file: string) =>
  `if grep -q right ${file}; then echo '1..1'; echo 'ok 1'; else echo 'not ok'; echo make ${file} say right; exit 3; fi`;

export const checkedProject = {
  ".aegis.yaml": `
default_agent: dev
agents:
  dev: { harness: scripted, permission: write, playbook: playbook.yaml }
  boss: { harness: scripted, permission: full, playbook: playbook.yaml }
  reader: { harness: scripted, permission: read, playbook: playbook.yaml }
queues:
  free: { agent: dev, max_parallel: 2 }
  fixes: { agent: dev, isolation: worktree, check: ${JSON.stringify(rightFile("fix.txt"))} }
  hard: { agent: dev, isolation: worktree, check: { command: "echo broken; exit 7", max_retries: 1 } }
`,
  "playbook.yaml": playbook,
  ".gitignore": "gates/\n.aegis/\n",
};

export async function enqueued(client: Client, queue: string, body: ApiBody<"enqueueTask">): Promise<TaskId> {
  return (await client.call("enqueueTask", { path: { queue }, body })).task.id;
}

export async function over(client: Client, task: TaskId): Promise<TaskView> {
  const read = async () => (await client.call("getTask", { path: { task } })).task;
  await waitUntil(`${task} is over`, async () => !["pending", "dispatched"].includes((await read()).status));
  return read();
}

export async function receiptsOf(client: Client, of: string): Promise<ReceiptView[]> {
  return (await client.call("listReceipts", { query: { of, limit: 100 } })).receipts;
}

export async function messagesOf(client: Client, session: string): Promise<Message[]> {
  return (await client.call("listMessages", { path: { session }, query: {} })).messages;
}

/** A workflow that has its own work checked, and gives a checked task away. */
export const checkedFlows = `
import { PredicateFailed, workflow, z } from "aegis";

export const mend = workflow("mend", { input: z.object({ text: z.string(), check: z.string() }) },
  async (engine, { text, check }) => {
    const dev = await engine.spawn("dev");
    return engine.send(dev, text, { check: { command: check, max_retries: 1 } });
  });
export const give = workflow("give", { input: z.object({ payload: z.string(), check: z.string() }) },
  async (engine, { payload, check }) => {
    try { return await engine.delegate("free", payload, { check: { command: check, max_retries: 0 } }); }
    catch (error) { return "failed: " + error.message + " " + (error instanceof PredicateFailed); }
  });
`;

/** Succeeds once the gate is open, and notes that it ran. */
export const gated = (gate: string) =>
  `echo run >> gates/${gate}-runs; until [ -e gates/${gate} ]; do sleep 0.05; done; echo fine`;
