// @module-tag slow
/** Stops a run that works with groups after every single commit: members are asked once, answer once and are gone in the end. */

import { newId, type RunId } from "@aegis/contract/ids.ts";
import { type Workflow, workflow } from "@aegis/plugin-api/workflow.ts";
import type { Store } from "@aegis/store/store.ts";
import { completed, said, type TestReply } from "@aegis/test/helpers/runtime.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { boot, live } from "./mortal-runtime.ts";

/** Two groups side by side, one asked twice, replies made one by two reducers, a checkpoint in between. */
const team = workflow("team", async (engine) => {
  const votes = await engine.parallel(
    ["left", "right"].map((name) => async () => {
      const members = await engine.spawnGroup(name, ["offline", "offline"]);
      await engine.broadcast(name, { objective: `vote ${name}`, outputFormat: "one word" });
      const { combined, by_member } = await engine.waitAll(name, { reducer: "majority_vote", timeout: 60 });
      engine.log(`${members.length} of ${name} voted`);
      return { combined, replies: Object.values(by_member).map((reply) => reply.text) };
    }),
  );
  await engine.checkpoint("voted", votes.length);
  await engine.broadcast("left", "again");
  const first = await engine.waitAny("left", { timeout: 60 });
  return { votes, first: first.combined, late: first.timeouts };
});

/** Goes back to its checkpoints by itself, and asks for its group anew each time. */
const rounds = workflow("rounds", async (engine) => {
  const done = (await engine.resumeState<number[]>()) ?? [];
  await engine.spawnGroup("panel", ["offline", "offline"]);
  while (done.length < 3) {
    await engine.broadcast("panel", `round ${done.length}`);
    const { by_member } = await engine.waitAll("panel", { timeout: 60 });
    done.push(Object.values(by_member).length);
    await engine.checkpoint(`round ${done.length}`, done);
  }
  return done;
});

const heard: TestReply = async function* ({ prompt }) {
  yield said(`heard ${/^objective: (.*)$/m.exec(prompt.text)?.[1]}`);
  yield completed;
};

async function liveWith(lives: number, then: "goes on" | "is cancelled", body: Workflow = team) {
  const dir = await memoryDir();
  const request = { id: newId("run", 1), workflow: body.name };
  return live({
    dir,
    request,
    lives,
    async boot(sqlite, most) {
      const alive = await boot(dir, sqlite, most, heard);
      alive.runtime.workflows.add(body, "a test");
      return alive;
    },
    async afterwards({ runtime }) {
      if (then === "is cancelled") await runtime.workflows.cancel(request.id, "a test");
    },
    look: (sqlite) => effectsOf(sqlite, request.id),
  });
}

async function effectsOf({ read }: Store, id: RunId): Promise<Record<string, unknown>> {
  const run = await read.runs.get(id);
  const sessions = await read.sessions.list();
  const messages = (await Promise.all(sessions.map((session) => read.messages.list(session.id)))).flat();
  const events = await read.events.list({ types: ["group.created", "group.broadcast", "run.log"], limit: 1000 });
  const asked = messages.map(({ body }) => /^objective: (.*)$/m.exec(body)?.[1]);
  return {
    status: run?.status,
    result: run?.result,
    sessions: sessions.length,
    asked: asked.sort(),
    events: events.map((event) => (event.type === "run.log" ? event.data.text : event.type)).sort(),
  };
}

it("survives a stop after every commit", { timeout: scaled(240_000) }, async () => {
  const whole = await liveWith(Number.POSITIVE_INFINITY, "goes on");
  const replies = (name: string) => [`heard vote ${name}`, `heard vote ${name}`];
  expect(whole.effects).toEqual({
    status: "ok",
    result: {
      votes: ["left", "right"].map((name) => ({ combined: `heard vote ${name}`, replies: replies(name) })),
      first: "heard again",
      late: [],
    },
    sessions: 4,
    asked: ["again", "again", "vote left", "vote left", "vote right", "vote right"],
    events: [
      ...["2 of left voted", "2 of right voted"],
      ...["group.broadcast", "group.broadcast", "group.broadcast", "group.created", "group.created"],
    ],
  });
  for (let lives = 1; lives < whole.commits; lives++) {
    const cut = await liveWith(lives, "goes on");
    expect(cut.effects, `after a stop at commit ${lives} of ${whole.commits}`).toEqual(whole.effects);
  }
});

it("gives a body that went back to a checkpoint the members it had, and none beside them", {
  timeout: scaled(240_000),
}, async () => {
  const whole = await liveWith(Number.POSITIVE_INFINITY, "goes on", rounds);
  const asked = [0, 1, 2].flatMap((round) => [`round ${round}`, `round ${round}`]);
  expect(whole.effects).toMatchObject({ status: "ok", result: [2, 2, 2], sessions: 2, asked });
  for (let lives = 1; lives < whole.commits; lives++) {
    const cut = await liveWith(lives, "goes on", rounds);
    expect(cut.effects, `after a stop at commit ${lives} of ${whole.commits}`).toEqual(whole.effects);
  }
});

it("leaves no member behind when it is cancelled after a stop", { timeout: scaled(240_000) }, async () => {
  const { commits } = await liveWith(Number.POSITIVE_INFINITY, "goes on");
  for (let lives = 1; lives < commits; lives++) {
    const { effects } = await liveWith(lives, "is cancelled");
    expect(["cancelled", "ok"], `after a stop at commit ${lives} of ${commits}`).toContain(effects.status);
  }
});
