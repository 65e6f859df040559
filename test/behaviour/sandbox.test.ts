/** What confined agents and checks reach, by the built program with bubblewrap. */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { sandboxRecord } from "@aegis/project/sandbox-record.ts";
import { expect, it } from "vitest";
import { reasonToSkip } from "../../packages/base/sandbox/test/here.ts";
import { aegisProject } from "../helpers/aegis.ts";
import { nativeConfig } from "../helpers/fake-models/config.ts";
import { openaiChatWire } from "../helpers/fake-models/openai-chat.ts";
import { type FakeRequest, fakeModels } from "../helpers/fake-models/server.ts";
import type { Reply } from "../helpers/fake-models/wire.ts";
import { initGit } from "../helpers/git-project.ts";
import { testProject } from "../helpers/project.ts";
import { checkedProject, enqueued, over } from "../helpers/projects/checked.ts";
import { createSession, endings, say, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const skip = reasonToSkip();

/** Runs the command of the message, then says what came of it. */
function shell({ transcript }: FakeRequest): Reply {
  const last = transcript.at(-1) ?? "";
  if (last.startsWith("result:")) return { text: last };
  const command = /run (.+)$/s.exec(last)?.[1];
  return command === undefined ? { text: "fine" } : { calls: [{ id: "call-1", name: "bash", input: { command } }] };
}

it.skipIf(skip !== null)(
  "confines the commands of an agent, at both levels, and of what it starts",
  { tags: "slow" },
  async () => {
    const models = await fakeModels(openaiChatWire, shell);
    const agents = [
      `agents:`,
      `  dev: { harness: native, model: fake/one, permission: full, sandbox: workspace }`,
      `  tight: { harness: native, model: fake/one, permission: full, sandbox: strict }`,
      `  free: { harness: native, model: fake/one, permission: full }`,
    ];
    const config = nativeConfig(models).replace(/^agents: .*$/m, agents.join("\n"));
    const project = await testProject({ ".aegis.yaml": config, "note.txt": "a note\n" });
    await initGit(project.dir);
    const { client } = await project.start();
    const home = join(dirname(project.dir), "home");
    const { port } = new URL(models.url);
    // In a file, because the gate asks about commands whose text it understands.
    const attack = `
cat note.txt; cat .aegis/state/daemon.json && echo READ-STATE
echo x > ${home}/made && echo WROTE-HOME; echo x > .aegis/made && echo WROTE-SETTINGS
(exec 3<>/dev/tcp/127.0.0.1/${port}) && echo CONNECTED; echo done > made.txt; echo $AEGIS_SANDBOX
`;
    await project.write("attack.sh", attack);
    const attackBy = async (agent: string) => {
      const { id } = await createSession(client, { agent });
      return talk(client, id, "run bash attack.sh");
    };
    for (const agent of ["dev", "tight"]) {
      const said = await attackBy(agent);
      expect(said).toContain("a note");
      expect(said).toContain(agent === "dev" ? "workspace" : "strict");
      expect(said).not.toMatch(/READ-STATE|WROTE-|CONNECTED/);
      expect(await readFile(join(project.dir, "made.txt"), "utf8")).toBe("done\n");
    }
    // The same commands succeed without a sandbox, so they are attacks.
    expect(await attackBy("free")).toMatch(/READ-STATE[\s\S]*WROTE-HOME[\s\S]*WROTE-SETTINGS[\s\S]*CONNECTED/);
    expect(
      (await readdir(join(project.dir, ".aegis/state/sandbox"))).filter((name) => name.startsWith("tmp-")),
    ).toEqual([]);
  },
);

it.skipIf(skip !== null)("confines a check as the agent whose work it is", { tags: "slow" }, async () => {
  const config = `${checkedProject[".aegis.yaml"]}
  guarded: { agent: dev, check: "cat .aegis/state/daemon.json && exit 1; test -n \\"$AEGIS_SANDBOX\\"" }
sandbox: workspace
`;
  const project = await testProject({ ...checkedProject, ".aegis.yaml": config });
  await initGit(project.dir);
  const { client } = await project.start();
  const id = await enqueued(client, "guarded", { payload: "write plain.txt text" });
  expect(await over(client, id)).toMatchObject({ status: "completed", verified: true });
});

it("starts nothing that must be confined and cannot be", async () => {
  const config = `
default_agent: dev
sandbox: workspace
agents:
  dev: { harness: scripted, playbook: playbook.yaml, permission: write }
  claude: { harness: claude-code }
queues:
  work: { agent: dev, check: "touch checked" }
`;
  const project = await testProject({ ...checkedProject, ".aegis.yaml": config });
  // A program that runs its arguments unconfined is no sandbox.
  const bin = join(dirname(project.dir), "bin");
  await mkdir(bin);
  const fake = '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n';
  await writeFile(join(bin, "bwrap"), fake, { mode: 0o755 });
  const { client } = await project.start({ env: { PATH: `${bin}:/usr/bin:/bin` } });
  const { id } = await createSession(client);
  await say(client, id, "write made.txt x");
  await waitUntil("the turn has ended", async () => (await endings(client, id)).some((how) => how !== "running"));
  const { turns } = await client.call("listTurns", { path: { session: id } });
  expect(turns[0]?.error).toMatchObject({ code: "sandbox_unavailable", fix: expect.any(String) });
  expect(existsSync(join(project.dir, "made.txt"))).toBe(false);
});

it.skipIf(skip !== null)(
  "runs nothing with less than it ran with, until a person accepts that",
  { tags: "slow" },
  async () => {
    const settings = (level: string) => `default_agent: dev\n${level}agents:\n  dev: { harness: scripted }\n`;
    const project = await testProject({ ".aegis.yaml": settings("sandbox: strict\n") });
    const first = await project.start();
    const { id } = await createSession(first.client);
    await talk(first.client, id, "hello");
    await first.kill();
    await project.write(".aegis.yaml", settings(""));
    const { client } = await project.start();
    await say(client, id, "hello again");
    await waitUntil(
      "the turn has ended",
      async () => (await endings(client, id)).filter((how) => how !== "running").length === 2,
    );
    const { turns } = await client.call("listTurns", { path: { session: id } });
    expect(turns[0]?.error?.message).toContain("ran with sandbox: strict before, and its settings now say off");
    expect(turns[0]?.error).toMatchObject({
      code: "sandbox_unavailable",
      fix: expect.stringContaining("sandbox accept"),
    });
    const record = await sandboxRecord({ root: project.dir, env: { HOME: join(dirname(project.dir), "home") } });
    expect(await record.read()).toEqual({ project: "strict" });
    await record.forget();
    await talk(client, id, "hello at last");
  },
);

it.skipIf(skip !== null)("accepts by a command what is confined less", { tags: "slow" }, async () => {
  const { aegis } = await aegisProject({
    ".aegis.yaml": "default_agent: dev\nsandbox: strict\nagents:\n  dev: { harness: scripted }\n",
  });
  expect((await aegis("sandbox", "accept", "--yes")).stdout).toContain("nothing to accept");
  expect((await aegis("run", "hello")).code).toBe(0);
  expect((await aegis("sandbox", "accept")).code).not.toBe(0);
  expect((await aegis("sandbox", "accept", "--yes")).stdout).toMatch(/project: ran at least at strict[\s\S]*Accepted/);
  expect((await aegis("sandbox", "accept", "--yes")).stdout).toContain("nothing to accept");
});
