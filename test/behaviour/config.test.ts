import { access, rename } from "node:fs/promises";
import { join } from "node:path";
import { daemonFilePath } from "@aegis/lib/daemon-file.ts";
import { describe, expect, it } from "vitest";
import { obedient, sharedDaemon, testProject } from "../helpers/project.ts";
import { raw } from "../helpers/raw.ts";
import { createSession, eventsOf, refusal, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const config = obedient[".aegis.yaml"];

describe("a broken configuration at the start", () => {
  it("every problem is told with its place, and nothing is left running", async () => {
    const project = await testProject({
      ...obedient,
      ".aegis.yaml": `${config}  other: { harness: scriptd }\nserver: { prot: 1 }\nmessages: { max_hops: many }\n`,
    });
    const exit = await project.launch().exited;
    expect(exit.code).toBe(2);
    for (const words of [/:4:.*scriptd.*scripted/, /:5:.*prot.*port/, /:6:.*max_hops/])
      expect(exit.stderr).toMatch(words);
    expect(exit.stderr).not.toContain("    at ");
    await expect(access(daemonFilePath(project.dir))).rejects.toThrow();
  });
});

it("answers under a name the configuration allows, and under no other", async () => {
  const project = await testProject({
    ...obedient,
    ".aegis.yaml": `${config}server: { allowed_hosts: [aegis.example] }\n`,
  });
  const daemon = await project.start();
  expect((await raw(daemon, "/v1/status", { headers: { host: "aegis.example" } })).status).toBe(200);
  expect((await raw(daemon, "/v1/status", { headers: { host: "other.example" } })).status).toBe(403);
});

describe("a configuration that changes while the daemon runs", () => {
  const shared = sharedDaemon();

  it("a new agent can be used without a restart", async () => {
    const { client } = shared.daemon;
    const before = await refusal(client.call("createSession", { body: { agent: "helper" } }));
    expect(before).toMatchObject({ code: "not_found" });
    await shared.project.write(".aegis/agents/helper.yaml", "{ harness: scripted, playbook: playbook.yaml }\n");
    await waitUntil("the agent is there", async () =>
      (await client.call("listAgents")).agents.some((agent) => agent.slug === "helper"),
    );
    const session = await createSession(client, { agent: "helper" });
    expect(await talk(client, session.id, "hi")).toBe("you said: hi");
    const reloaded = await eventsOf(client, "config.reloaded");
    expect(reloaded.at(-1)?.data).toEqual({
      agents: expect.arrayContaining(["dev", "helper", "offline", "reviewer"]),
      default_agent: "dev",
    });
  });

  it("a broken edit leaves the old settings in force and is told; its repair is taken over", async () => {
    const { project, daemon } = shared;
    const { client } = daemon;
    await project.write(".aegis.yaml", `${config}sever: { port: 1 }\n`);
    await waitUntil("the refusal is told", async () => (await eventsOf(client, "config.rejected")).length > 0);
    const { config_problems } = await client.call("status");
    expect(config_problems).toEqual([expect.stringMatching(/\.aegis\.yaml:4:.*"sever".*server/)]);
    expect((await client.call("config")).problems).toEqual(config_problems);
    expect((await eventsOf(client, "config.rejected")).at(-1)?.data.problems).toEqual(config_problems);
    const session = await createSession(client);
    expect(await talk(client, session.id, "still here")).toBe("you said: still here");

    await project.write(".aegis.yaml", config);
    await waitUntil("all is well", async () => (await client.call("status")).config_problems.length === 0);
  });

  it("`reload` answers with what it found", async () => {
    const { project, daemon } = shared;
    const { client } = daemon;
    await project.write(".aegis.yaml", "agents: [\n");
    const broken = await client.call("reloadConfig", { body: {} });
    expect(broken).toMatchObject({ ok: false });
    expect(broken.problems.join("\n")).toMatch(/\.aegis\.yaml:\d+:\d+ .*not valid YAML/);
    await project.write(".aegis.yaml", config);
    expect(await client.call("reloadConfig", { body: {} })).toEqual({ ok: true, problems: [] });
  });

  it("an agent that goes away leaves its sessions readable and says what is missing", async () => {
    const { project, daemon } = shared;
    const { client } = daemon;
    const session = await createSession(client, { agent: "helper" });
    await talk(client, session.id, "before");
    await rename(join(project.dir, ".aegis/agents/helper.yaml"), join(project.dir, "aside.yaml"));
    await client.call("reloadConfig", { body: {} });
    const gone = await refusal(client.call("createSession", { body: { agent: "helper" } }));
    expect(gone.code).toBe("not_found");
    const { receipt } = await client.call("sendMessage", { path: { session: session.id }, body: { text: "after" } });
    await waitUntil("the turn ended", async () => (await eventsOf(client, "turn.ended", session.id)).length === 2);
    const { message } = await client.call("getMessage", { path: { message: receipt.message } });
    expect(message.status).toBe("done");
    await rename(join(project.dir, "aside.yaml"), join(project.dir, ".aegis/agents/helper.yaml"));
    await client.call("reloadConfig", { body: {} });
    expect(await talk(client, session.id, "again")).toBe("you said: again");
  });
});
