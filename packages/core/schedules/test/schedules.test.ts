import { isId, newId, type SessionId } from "@aegis/contract/ids.ts";
import type { ScheduleSettings } from "@aegis/contract/schedule.ts";
import { workflow } from "@aegis/plugin-api/workflow.ts";
import { eventsOfType, gated } from "@aegis/test/helpers/runtime.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";
import { brief, firings, type Kit, kit, over, settings, wallClock } from "./kit.ts";

const minute = 60_000;
const hour = 60 * minute;
/** Half past midnight: the first slot of an hourly schedule comes at one. */
const start = Date.UTC(2026, 0, 5, 0, 30);

async function one(
  change: Partial<ScheduleSettings> = {},
  options: Partial<Parameters<typeof kit>[2]> = {},
): Promise<Kit> {
  return kit(await tempDir(), { s: settings(change) }, { clock: wallClock(start), ...options });
}

/** Lets an hour go by, and what came of it end. */
async function hours(at: Kit, count: number): Promise<void> {
  for (let passed = 0; passed < count; passed++) {
    await at.clock.advance(hour);
    await waitUntil("no firing is open", async () => (await at.store.read.firings.unfinished()).length === 0);
  }
}

async function count(at: Kit, wanted: number): Promise<void> {
  await waitUntil(`${wanted} firings`, async () => (await firings(at)).length >= wanted);
}

it("shows when a schedule fires before its row is stored", async () => {
  const at = await one();
  at.declared.late = settings({ cron: "15 * * * *" });
  expect(await at.store.read.schedules.get("late")).toBe(null);
  const slots = [start + 45 * minute, start + 105 * minute];
  expect(await at.schedules.view("late")).toMatchObject({ state: "on", next_at: slots[0], fires: 0 });
  expect((await at.schedules.next("late", 2)).times).toEqual(slots);
  await at.stop();
});

describe("agreement that was taken back", () => {
  it("skips the slots that come meanwhile, with the reason, and fires again once it is given", async () => {
    let refusal: string | null = "schedule s of .aegis.yaml changed since you trusted it";
    const at = await one({}, { refusal: () => refusal });
    await hours(at, 2);
    await count(at, 2);
    expect(await firings(at)).toMatchObject([
      { status: "skipped", error: refusal, effect: null },
      { status: "skipped", error: refusal, effect: null },
    ]);
    await expect(at.schedules.run("s")).rejects.toThrow(/does not fire: .*changed since you trusted it/);
    expect(at.runtime.driver.turns).toEqual([]);
    refusal = null;
    await hours(at, 1);
    await count(at, 3);
    expect((await firings(at)).map((firing) => firing.status).sort()).toEqual(["ok", "skipped", "skipped"]);
  });

  it("does not start what was claimed before", async () => {
    let asked = 0;
    const at = await one({}, { refusal: () => (asked++ === 0 ? null : "nobody agreed") });
    await hours(at, 1);
    expect(await firings(at)).toMatchObject([{ status: "error", error: "could not start: nobody agreed" }]);
    expect(at.runtime.driver.turns).toEqual([]);
  });
});

describe("what a firing starts", () => {
  it("is a fresh session with the prompt as first message, closed when its turn is over", async () => {
    const at = await one();
    await hours(at, 2);
    const [first, second] = await firings(at);
    expect(first).toMatchObject({ status: "ok", slot: start + hour / 2, result: "did: do it", error: null });
    expect(first?.effect).not.toBe(second?.effect);
    const prompt = at.runtime.driver.turns[0]?.prompt.text ?? "";
    expect(prompt).toMatch(/^> from schedule:s · 2026-01-05T01:00:\d\dZ\ndo it$/);
    expect(await at.runtime.sessions.view(first?.effect as SessionId, "x")).toMatchObject({
      state: "closed",
      title: "do it",
    });
  });

  it("is a run, whose result it keeps", async () => {
    const at = await one({ action: { kind: "workflow", workflow: "echo", args: {} } });
    await hours(at, 1);
    const [firing] = await firings(at);
    expect(firing).toMatchObject({ status: "ok", result: "done" });
    expect(isId("run", firing?.effect ?? "")).toBe(true);
    expect(await at.runtime.workflows.runs.list({ limit: 9 })).toMatchObject([{ id: firing?.effect, status: "ok" }]);
  });

  it("is a task, whose result it keeps", async () => {
    const at = await one({ action: { kind: "queue", queue: "work", payload: "clean up" } });
    const queue = {
      agent: "offline",
      max_parallel: 1,
      retries: 0,
      timeout: null,
      on_crash: "retry",
      budgets: [],
    } as const;
    await at.runtime.queues.add("work", { ...queue, budgets: [] });
    await hours(at, 1);
    expect(await firings(at)).toMatchObject([{ status: "ok", result: "did: clean up" }]);
    expect(await at.runtime.queues.tasks({ limit: 9 })).toMatchObject([{ status: "completed", producer: null }]);
  });

  it.each([
    [{ kind: "workflow", workflow: "ehco", args: {} }, /no workflow "ehco" \(did you mean "echo"\?\)/],
    [{ kind: "workflow", workflow: "echo", args: { more: 1 } }, /unknown argument "more"/],
    [{ kind: "queue", queue: "none", payload: "x" }, /no queue "none"/],
    [{ kind: "agent", agent: "nobody", prompt: "x" }, /nobody/],
  ] as const)("that cannot be started is an error that says why: %j", async (action, words) => {
    const at = await one({ action: { ...action } });
    expect((await at.schedules.view("s")).problem).toMatch(words);
    await hours(at, 1);
    expect(await firings(at)).toMatchObject([{ status: "error", error: words, effect: null }]);
  });

  it("may fail, and the schedule goes on", async () => {
    let failed = false;
    const at = await one({ action: { kind: "workflow", workflow: "moody", args: {} } });
    const moody = workflow("moody", {}, async (_engine) => {
      if (!failed) throw new Error("not today");
      return "fine";
    });
    at.runtime.workflows.add(moody, "a test");
    await hours(at, 1);
    failed = true;
    await hours(at, 1);
    expect((await firings(at)).map(({ status, error }) => [status, error])).toEqual([
      ["error", expect.stringContaining("not today")],
      ["ok", null],
    ]);
  });
});

describe("while an earlier firing is in progress", () => {
  it("skip passes over the slot and says whose fault it is", async () => {
    const { reply, open } = gated();
    const at = await one({}, { reply });
    await at.clock.advance(hour);
    await at.clock.advance(hour);
    await count(at, 2);
    const [first, second] = await firings(at);
    expect(second).toMatchObject({ status: "skipped", error: expect.stringContaining(first?.id ?? "") });
    open(0);
    if (first) expect((await over(at, first.id)).status).toBe("ok");
  });

  it("queue keeps the order, and starts each when the one before is over", async () => {
    const { reply, open } = gated();
    const at = await one({ on_overlap: "queue" }, { reply });
    for (let n = 0; n < 3; n++) await at.clock.advance(hour);
    await count(at, 3);
    await waitUntil("the first runs", async () => (await firings(at))[0]?.status === "running");
    expect(brief(await firings(at))).toEqual(["01:00 running", "02:00 waiting", "03:00 waiting"]);
    expect(await at.schedules.view("s")).toMatchObject({ waiting: 2, running: { slot: start + hour / 2 } });
    for (const n of [0, 1, 2]) {
      open(n);
      await waitUntil("one more is over", async () => (await firings(at))[n]?.status === "ok");
    }
    const started = (await eventsOfType(at.store, "schedule.started")).map((event) => event.data.firing);
    expect(started).toEqual((await firings(at)).map((firing) => firing.id));
  });

  it("kill cancels the earlier one, waits for its end, then starts", async () => {
    const { reply, open } = gated();
    const at = await one({ on_overlap: "kill" }, { reply });
    await at.clock.advance(hour);
    await waitUntil("the first runs", async () => at.runtime.driver.turns.length === 1);
    await at.clock.advance(hour);
    await waitUntil("the second runs", async () => at.runtime.driver.turns.length === 2);
    const [first, second] = await firings(at);
    expect(first).toMatchObject({ status: "error", error: "killed: replaced by the firing of 2026-01-05T02:00:00Z" });
    expect((second?.started_at ?? 0) >= (first?.ended_at ?? Number.POSITIVE_INFINITY)).toBe(true);
    open(1);
    if (second) expect((await over(at, second.id)).status).toBe("ok");
  });

  it.each(["kill", "timeout"] as const)(
    "%s stops a run, with its sessions, and a task, with its worker",
    async (how) => {
      const { reply } = gated();
      const change = how === "kill" ? { on_overlap: "kill" as const } : { timeout: 60 };
      const declared = {
        run: settings({ ...change, action: { kind: "workflow", workflow: "asks", args: {} } }),
        task: settings({ ...change, action: { kind: "queue", queue: "work", payload: "x" } }),
      };
      const at = await kit(await tempDir(), declared, { clock: wallClock(start), reply });
      const asks = workflow("asks", {}, async (engine) => engine.send(await engine.spawn("offline"), "hello"));
      at.runtime.workflows.add(asks, "a test");
      const limits = { agent: "offline", max_parallel: 2, retries: 0, timeout: null, on_crash: "retry" as const };
      await at.runtime.queues.add("work", { ...limits, budgets: [] });
      await at.clock.advance(hour / 2);
      await waitUntil("both have a turn", () => at.runtime.driver.turns.length === 2);
      await at.clock.advance(how === "kill" ? hour : 2 * minute);
      const first = async () => (await firings(at)).filter((firing) => firing.slot === start + hour / 2);
      await waitUntil("both are over", async () => (await first()).every((firing) => firing.ended_at !== null));
      const words = how === "kill" ? /^killed: / : /^timeout: /;
      expect(await first()).toMatchObject([
        { status: "error", error: words },
        { status: "error", error: words },
      ]);
      const turns = at.runtime.driver.turns.slice(0, 2);
      await waitUntil("both turns are cut", () => turns.every((turn) => turn.signal.aborted));
    },
  );

  it("a firing that takes too long is stopped, and says so", async () => {
    const { reply } = gated();
    const at = await one({ timeout: 90 }, { reply });
    await at.clock.advance(hour / 2);
    await waitUntil("it runs", async () => (await firings(at))[0]?.status === "running");
    await at.clock.sleepers(1);
    await at.clock.advance(89_000);
    expect((await firings(at))[0]?.status).toBe("running");
    await at.clock.advance(2_000);
    await waitUntil("it is over", async () => (await firings(at))[0]?.status === "error");
    expect(await firings(at)).toMatchObject([{ error: "timeout: it did not finish within 90 s" }]);
  });
});

describe("by hand", () => {
  it("fires at once and once per id, also when disabled, and does not count", async () => {
    const at = await one({ enabled: false, lifecycle: "once" });
    const id = newId("fir", start);
    const first = await at.schedules.run("s", { id });
    const again = await at.schedules.run("s", { id });
    expect(again.id).toBe(first.id);
    expect(await over(at, id)).toMatchObject({ manual: true, status: "ok" });
    expect(at.runtime.driver.turns).toHaveLength(1);
    expect((await at.schedules.view("s")).fires).toBe(0);
    await hours(at, 3);
    expect(await firings(at)).toHaveLength(1);
  });

  it("is refused while an earlier firing is in progress and overlaps are skipped", async () => {
    const { reply } = gated();
    const at = await one({}, { reply });
    await at.schedules.run("s");
    await expect(at.schedules.run("s")).rejects.toMatchObject({ code: "conflict", message: /still running/ });
    await expect(at.schedules.run("t")).rejects.toMatchObject({
      code: "not_found",
      message: /did you mean "s"|no schedule "t"/,
    });
  });
});

describe("a changed configuration", () => {
  it("brings the first schedule, other times, and takes one away", async () => {
    const at = await kit(await tempDir(), {}, { clock: wallClock(start) });
    await hours(at, 1);
    at.declared.s = settings({ cron: "15 * * * *" });
    await at.schedules.settingsChanged();
    await hours(at, 1);
    at.declared.s = settings({ cron: "45 * * * *" });
    await at.schedules.settingsChanged();
    await hours(at, 1);
    delete at.declared.s;
    await at.schedules.settingsChanged();
    await hours(at, 2);
    expect(brief(await firings(at))).toEqual(["02:15 ok", "02:45 ok"]);
    expect(await at.store.read.schedules.list()).toEqual([]);
    const types = (await at.store.read.events.list({ schedule: "s", limit: 99 })).map((event) => event.type);
    expect(types.filter((type) => !/fired|started|ended/.test(type))).toEqual([
      "schedule.added",
      "schedule.changed",
      "schedule.removed",
    ]);
  });

  it("that switches one off lets nothing pass later that came meanwhile", async () => {
    const at = await one({ missed: "all" });
    at.declared.s = settings({ missed: "all", enabled: false });
    await at.schedules.settingsChanged();
    expect(await at.schedules.view("s")).toMatchObject({ state: "off", next_at: null });
    await hours(at, 3);
    at.declared.s = settings({ missed: "all" });
    await at.schedules.settingsChanged();
    await hours(at, 1);
    expect(brief(await firings(at))).toEqual(["04:00 ok"]);
  });

  it("skips what waits when the schedule goes, and lets what runs end", async () => {
    const { reply, open } = gated();
    const at = await one({ on_overlap: "queue" }, { reply });
    await at.clock.advance(hour);
    await at.clock.advance(hour);
    await count(at, 2);
    await waitUntil("the first runs", async () => at.runtime.driver.turns.length === 1);
    delete at.declared.s;
    await at.schedules.settingsChanged();
    open(0);
    await waitUntil("all are over", async () => (await at.store.read.firings.unfinished()).length === 0);
    expect(await firings(at)).toMatchObject([
      { status: "ok" },
      { status: "skipped", error: "the schedule was removed" },
    ]);
  });
});

it("does a thousand that are due at the same second, each once, in a few seconds", {
  tags: "slow",
  timeout: scaled(60_000),
}, async () => {
  const action = { kind: "workflow", workflow: "echo", args: {} } as const;
  const declared = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`s${at}`, settings({ action })]));
  const at = await kit(await tempDir(), declared, { clock: wallClock(start) });
  await at.clock.advance(hour);
  await waitUntil(
    "all are over",
    async () => (await firings(at)).filter((firing) => firing.status === "ok").length === 1_000,
    40_000,
  );
  const done = await firings(at);
  expect(done).toHaveLength(1_000);
  expect(new Set(done.map((firing) => firing.effect)).size).toBe(1_000);
  expect((await at.schedules.list()).every((view) => view.problem === null && view.fires === 1)).toBe(true);
  await at.stop();
});
