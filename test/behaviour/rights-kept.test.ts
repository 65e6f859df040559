// @module-tag slow
/** Rights that go with a task stay as they were; names in lists of agents mean agents, not names. */
import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newId, type TaskId } from "@aegis/contract/ids.ts";
import { expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { testProject } from "../helpers/project.ts";
import { remoteAgent, seated, takeSeat } from "../helpers/projects/rights.ts";
import { untilPlugin } from "../helpers/projects/tool-user.ts";
import { createSession, openAsk, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const mark = `import { tool } from "aegis";\nexport const mark = tool({ description: "d", permission: "full" }, () => "m");\n`;

const config = (reader: string, queue: string) => `default_agent: strong
agents:
${remoteAgent("reader", reader)}${remoteAgent("strong", "permission: full")}queues:
  line: { agent: strong${queue} }
`;

it("a task keeps its producer's limits over a crash, an edit of the configuration and a retry by a person", async () => {
  const here = await testProject({
    ".aegis.yaml": config("permission: read, deny_tools: [aegis_task_status]", ""),
    ".aegis/plugins/marks.ts": mark,
  });
  const first = await here.start();
  const reader = await seated(here, first, "reader", "reader");
  await first.client.call("pauseQueue", { path: { queue: "line" } });
  const { text } = await reader.call("aegis_enqueue", { queue: "line", payload: "hold worker" });
  const { task_id: task } = JSON.parse(text) as { task_id: TaskId };
  await first.kill();

  // The producer may do everything from now on, and the queue would give its own rights away.
  await here.write(".aegis.yaml", config("permission: full", ", rights: own, producers: [reader]"));
  const second = await here.start();
  await untilPlugin(second.client, "marks", (plugin) => plugin.status === "loaded");
  await second.client.call("resumeQueue", { path: { queue: "line" } });
  const check = async (place: string) => {
    const tools = await (await takeSeat(here, second, place, newId("ses", 1))).tools();
    expect(tools).toContain("aegis_meta");
    expect(tools).not.toContain("mark");
    expect(tools).not.toContain("aegis_task_status");
  };
  await check("worker");

  await second.client.call("cancelTask", { path: { task } });
  await here.write("planes/worker.json", "");
  await second.client.call("retryTask", { path: { task } });
  await check("worker");
  const { task: now } = await second.client.call("getTask", { path: { task } });
  expect(now.starter).toMatchObject({ session: reader.session, own_rights: false, agent: { permission: "read" } });
});

it("an agent that must ask before each change cannot let another agent make it unasked", async () => {
  const here = await testProject({
    ".aegis.yaml": `default_agent: asker
agents:
  asker: { harness: scripted, playbook: playbook.yaml, permission: auto }
  writer: { harness: scripted, playbook: playbook.yaml, permission: write }
queues:
  line: { agent: writer }
`,
    "playbook.yaml": `
rules:
  - name: spawn
    when: '/^have (\\S+) written by a peer/'
    steps: [{ tool: aegis_spawn, input: { agent: writer, prompt: "write {1}" }, save: out }, { say: "{out}" }]
  - name: enqueue
    when: '/^have (\\S+) written by a worker/'
    steps: [{ tool: aegis_enqueue, input: { queue: line, payload: "write {1}" }, save: out }, { say: "{out}" }]
  - name: write
    when: '/^write (\\S+)/'
    steps: [{ tool: write_report, input: { path: "{1}", text: "mine" }, save: out }, { say: "{out}" }]
`,
  });
  const { client } = await here.start();
  const { id } = await createSession(client);
  for (const by of ["peer", "worker"]) {
    await talk(client, id, `have ${by}.md written by a ${by}`);
    const ask = await openAsk(client);
    expect(ask.question).toContain(`Write ${by}.md`);
    await expect(access(join(here.dir, `${by}.md`))).rejects.toThrow();
    await client.call("answerAsk", { path: { ask: ask.id }, body: { choice: "deny", text: "" } });
  }
  const own = await createSession(client, { agent: "writer" });
  expect(await talk(client, own.id, "write own.md")).toContain("wrote own.md");
});

it("allow_agents means agents: another plugin's agent of an allowed name does not pass", async () => {
  const plugin = (name: string) => ({
    [`.aegis/plugins/${name}/plugin.json`]: JSON.stringify({
      name,
      agents: ["helper", "explorer"].map((agent) => ({ name: agent, description: "d", system_prompt_file: "p.md" })),
    }),
    [`.aegis/plugins/${name}/p.md`]: "You help.\n",
  });
  const here = await testProject({
    ".aegis.yaml": `default_agent: chief
agents:
${remoteAgent("chief", 'subagents: { allow_agents: [helper, explorer, "good:helper"] }')}${remoteAgent("helper", "permission: read")}`,
    ...plugin("good"),
    ...plugin("evil"),
  });
  const daemon = await here.start();
  for (const name of ["good", "evil"]) await untilPlugin(daemon.client, name, ({ status }) => status === "loaded");
  const chief = await seated(here, daemon, "chief", "chief");
  const start = (agent: string) => chief.call("sessions_spawn", { agent_id: agent, task: "look" });
  expect(await start("helper")).toMatchObject({ isError: false });
  expect(await start("good:helper")).toMatchObject({ isError: false });
  const refused = await start("evil:helper");
  expect(refused).toMatchObject({ isError: true });
  expect(refused.text).toContain('you may not start the agent "evil:helper"');
  // A plugin stands in front of the built-in agent that was meant.
  expect((await start("explorer")).text).toContain('you may not start the agent "evil:explorer"');
  for (const [tool, input] of [
    ["aegis_spawn", { agent: "evil:helper", prompt: "x" }],
    ["aegis_group_spawn", { group: "crew", profiles: ["evil:helper"] }],
    ["agent", { agent_name: "explorer", task_prompt: "x" }],
  ] as const) {
    expect((await chief.call(tool, input)).text).toContain("you may not start the agent");
  }
});

it("a name in allow_agents or may_end that means no agent is told", async () => {
  const project = await aegisProject({
    ".aegis.yaml": `default_agent: dev
agents:
  dev: { harness: scripted, subagents: { allow_agents: ["no:body"] } }
`,
    ".aegis/agents/chief.md":
      "---\nname: chief\ndescription: d\nmay_end: [devv]\nsubagents: { allow_agents: [hepler] }\n---\nYou lead.\n",
  });
  const { stdout, stderr } = await project.aegis("agent", "list");
  expect(stdout + stderr).toContain('subagents.allow_agents: "no:body" means no agent');
  expect(stdout + stderr).toContain('subagents.allow_agents: "hepler" means no agent');
  expect(stdout + stderr).toContain('may_end: "devv" means no agent (did you mean "dev"?)');
});

it("a queue with rights: own that names no producers is refused, in the files and over HTTP", async () => {
  const project = await aegisProject({
    ".aegis.yaml": "agents:\n  dev: { harness: scripted }\nqueues:\n  line: { agent: dev, rights: own }\n",
  });
  const { stdout, stderr, code } = await project.aegis("up");
  expect(code).not.toBe(0);
  expect(stdout + stderr).toContain("expected the agents that may use a queue with rights: own, found nothing");

  const other = await aegisProject();
  const added = await other.aegis("queue", "add", "line", "dev", "--rights", "own");
  expect(added.code).not.toBe(0);
  expect(added.stderr).toContain("names no producers");
  expect((await other.aegis("queue", "add", "line", "dev", "--rights", "own", "--producers", "helper")).code).toBe(0);
  const { stdout: status } = await other.aegis("queue", "status", "line");
  expect(status).toContain("only for the agents helper");
  expect(status).toContain("its workers have the rights of the queue's agent");
});

it("a schedule that an agent writes into the project's files has no effect until a person agrees", async () => {
  const project = await aegisProject(undefined, { trusted: false });
  await project.aegis("up");
  await mkdir(join(project.root, ".aegis/schedules"), { recursive: true });
  const file = join(project.root, ".aegis/schedules/mine.yaml");
  await writeFile(file, 'agent: dev\nprompt: do it\ncron: "* * * * *"\n');
  type Listed = { schedules: { name: string }[]; held: { name: string }[] };
  let listed: Listed | null = null;
  await waitUntil("it is noticed", async () => {
    listed = await project.json<Listed>("schedule", "list");
    return listed.held.length > 0 || listed.schedules.length > 0;
  });
  expect(listed).toMatchObject({ schedules: [], held: [{ name: "mine" }] });
});

it("no session interrupts, cancels or dissolves the work of others, unless its agent may end it", async () => {
  const here = await testProject({
    ".aegis.yaml": `default_agent: plain
agents:
${remoteAgent("plain", "permission: full")}${remoteAgent("warden", "permission: full, may_end: [plain]")}queues:
  line: { agent: plain }
`,
  });
  const daemon = await here.start();
  const { client } = daemon;
  const plain = await seated(here, daemon, "plain", "plain");
  const victim = await createSession(client, { agent: "plain", handle: "busy-victim", prompt: "hold victim" });
  await takeSeat(here, daemon, "victim", victim.id);
  const group = await client.call("spawnGroup", { path: { group: "crew" }, body: { agents: ["plain"] } });
  expect(group.handles).toHaveLength(1);
  const { task } = await client.call("enqueueTask", { path: { queue: "line" }, body: { payload: "hold task" } });

  const cut = { target_handle: "busy-victim", context: "stop", interrupt: true };
  const mine = "neither you nor your tree started";
  expect((await plain.call("aegis_handoff", cut)).text).toMatch(
    new RegExp(`^handoff rejected: cannot interrupt 'busy-victim': ${mine}`),
  );
  expect((await plain.call("aegis_cancel", { task_id: task.id })).text).toContain(mine);
  expect((await plain.call("aegis_group_dissolve", { group: "crew" })).text).toContain(mine);
  expect((await plain.call("aegis_close", { handle: group.handles[0] })).text).toContain(mine);
  const brief = { objective: "x", output_format: "x", tool_guidance: "x", boundaries: "x" };
  await client.call("broadcastGroup", { path: { group: "crew" }, body: brief });
  expect((await plain.call("aegis_group_wait_any", { group: "crew", timeout: 0 })).text).toContain(mine);
  // To speak to anybody is no right of its own.
  expect((await plain.call("aegis_handoff", { ...cut, interrupt: false })).text).toContain("queued for busy-victim");

  const warden = await seated(here, daemon, "warden", "warden");
  expect((await warden.call("aegis_handoff", cut)).text).toContain("interrupted & landed at busy-victim");
  expect((await warden.call("aegis_cancel", { task_id: task.id })).text).toContain('"ok":true');
  await waitUntil("the members are idle", async () => {
    const { group: view } = await client.call("getGroup", { path: { group: "crew" } });
    return view.members.every((member) => member.state === "ready");
  });
  expect((await warden.call("aegis_group_dissolve", { group: "crew" })).text).toContain(group.handles[0]);
});
