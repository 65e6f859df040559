// @module-tag slow
/** Stops runs of the catalog after every single commit: agents, people and files see what one whole run shows them. */
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newId, type RunId } from "@aegis/contract/ids.ts";
import type { Store } from "@aegis/store/store.ts";
import { gitRepo } from "@aegis/test/helpers/git-repo.ts";
import { completed, said, type TestReply } from "@aegis/test/helpers/runtime.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { boot, live } from "../../workflows/test/mortal-runtime.ts";

const config = "workflows:\n  tdd_cycle: { implementer: offline, reviewer: offline }\n";
const plan = "# Plan\n\n## Slice 1 — one\nfirst\n\n## Slice 2 — two\nsecond\n";

const agent = (dir: string): TestReply =>
  async function* ({ prompt }) {
    const text = prompt.text.split("\n").slice(1).join("\n");
    if (text.startsWith("Write a test")) await writeFile(join(dir, "test.txt"), "green");
    if (text.startsWith("The test still fails")) await writeFile(join(dir, "feature.txt"), "green");
    yield said(`did: ${text.split("\n")[0]}`);
    yield completed;
  };

/** Copied for each life, so that all of them see the same commits. */
async function repository(): Promise<string> {
  const repo = await gitRepo({ "plan.md": plan, ".aegis.yaml": config });
  await repo.git("checkout", "-qb", "feature");
  await repo.commit({ "new.txt": "new\n" });
  return repo.dir;
}

async function liveOf(from: string, workflow: string, args: Record<string, unknown>, lives: number) {
  const dir = await tempDir();
  await cp(from, dir, { recursive: true });
  const request = { id: newId("run", 1), workflow, args };
  return live({
    dir,
    request,
    lives,
    boot: (sqlite, most) => boot(dir, sqlite, most, agent(dir)),
    look: (sqlite) => effectsOf(sqlite, request.id, dir),
  });
}

async function effectsOf({ read }: Store, id: RunId, dir: string) {
  const run = await read.runs.get(id);
  const sessions = await read.sessions.list();
  const messages = (await Promise.all(sessions.map((session) => read.messages.list(session.id)))).flat();
  const checkpoints = await read.events.list({ types: ["run.checkpoint"], limit: 1_000 });
  const names = (await readdir(dir, { recursive: true })).filter((name) => /\.(md|txt)$|part-/.test(name)).sort();
  return {
    status: run?.status,
    result: run?.result,
    sessions: sessions.length,
    messages: messages.map((message) => `${message.body}: ${message.status}`).sort(),
    asks: (await read.asks.list({ limit: 100 })).map((ask) => `${ask.question} ${ask.status}`).sort(),
    checkpoints: checkpoints.map((event) => (event.type === "run.checkpoint" ? event.data.name : "")),
    files: await Promise.all(names.map(async (name) => `${name}: ${await readFile(join(dir, name), "utf8")}`)),
  };
}

/** Every fourth commit here; CI runs all of them. */
const stride = process.env.AEGIS_EVERY_INSTANT === "1" ? 1 : 4;

it.each([
  ["execute_plan", { plan_path: "plan.md", agent: "offline" }],
  ["brainstorm_to_spec", { topic: "A clock", spec_writer: "offline" }],
  ["review_branch", { base: "main", reviewers: ["offline", "offline"] }],
  ["tdd_cycle", { feature: "it is green", test_path: "test.txt", test_command: "grep -q green feature.txt" }],
])("%s survives a stop after every commit", { timeout: scaled(60_000 + 240_000 / stride) }, async (workflow, args) => {
  const from = await repository();
  const whole = await liveOf(from, workflow, args, Number.POSITIVE_INFINITY);
  expect(whole.effects).toMatchObject({ status: "ok" });
  expect(whole.effects.checkpoints.length).toBeGreaterThan(0);
  for (let lives = 1; lives < whole.commits; lives += stride) {
    const cut = await liveOf(from, workflow, args, lives);
    expect(cut.effects, `after a stop at commit ${lives} of ${whole.commits}`).toEqual(whole.effects);
  }
});
