/** A project for tests of the web app: agents that need no model and do what a page can show. */
import type { Client } from "@aegis/client/client.ts";
import { obedient } from "@aegis/test/helpers/project.ts";

export const webProject = {
  ".aegis.yaml": [
    "default_agent: dev",
    "agents:",
    "  dev: { harness: scripted, playbook: playbook.yaml, permission: write, description: Does the work }",
    "  reviewer: { harness: scripted, playbook: playbook.yaml, permission: read, description: Reviews changes }",
    "queues:",
    "  docs: { agent: reviewer, max_parallel: 1 }",
    "schedules:",
    '  nightly: { queue: docs, payload: "echo nightly", cron: "0 2 * * *", timezone: UTC }',
    "",
  ].join("\n"),
  "playbook.yaml": obedient["playbook.yaml"].replace(
    "  - name: anything else",
    `  - name: repeat exactly
    when: '/^echo ([\\s\\S]+)/'
    steps: [{ say: "{1}" }]
  - name: think, then answer
    when: '/^consider (.+)/'
    steps: [{ think: "What about {1}?" }, { tool: list_files, save: files }, { say: "Considered {1}." }]
  - name: fail
    when: '/^fail (.+)/'
    steps: [{ fail: "{1}" }]
  - name: anything else`,
  ),
};

/** A link that gives one browser access. */
export async function webLink(client: Client): Promise<string> {
  return (await client.call("createWebCode")).url;
}
