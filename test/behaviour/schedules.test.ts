/** Schedules of a real daemon: files that come and go, kills, and what a person sees of it. */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@aegis/client/client.ts";
import { waitForFiring } from "@aegis/client/wait-work.ts";
import type { Firing } from "@aegis/contract/schedule.ts";
import { describe, expect, it } from "vitest";
import { type Project, testProject } from "../helpers/project.ts";
import { eventsOf, messages } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const base = {
  ".aegis.yaml": `
default_agent: dev
agents:
  dev: { harness: scripted, playbook: playbook.yaml }
queues:
  work: { agent: dev, retries: 1 }
`,
  "playbook.yaml": `
rules:
  - name: hold
    when: '/hold (\\S+)/'
    steps: [{ say: "holding {1}" }, { wait: { gate: "gates/{1}" } }, { say: "released {1}" }]
  - name: anything else
    when: always
    steps: [{ say: "did it" }]
`,
  "plan.md": "# Plan\n\n## Slice 1 — Greet\n\nSay hello.\n",
};

const past = "2020-01-01T00:00:00Z";
const future = "2099-01-01T00:00:00Z";

async function firings(client: Client, schedule?: string): Promise<Firing[]> {
  const query = { limit: 100, ...(schedule === undefined ? {} : { schedule }) };
  return (await client.call("listFirings", { query })).firings.reverse();
}

async function fired(client: Client, schedule: string): Promise<Firing> {
  // Its name may not be known yet.
  const ofIt = async () => (await firings(client)).filter((firing) => firing.schedule === schedule);
  await waitUntil(`${schedule} has fired`, async () => (await ofIt()).length > 0);
  const [first] = await ofIt();
  if (first === undefined) throw new Error("unreachable: it was there");
  return first;
}

async function names(client: Client): Promise<string[]> {
  return (await client.call("listSchedules")).schedules.map((schedule) => schedule.name);
}

const overlay = (name: string) => `.aegis/schedules/${name}.yaml`;
const entry = (action: string, more = "") => `${action}\nfire_at: ${past}\n${more}`;

describe("overlay files", () => {
  it("are applied while the daemon runs: the first, a changed one, one that is gone", async () => {
    const project = await testProject(base);
    const { client } = await project.start();
    expect(await names(client)).toEqual([]);
    await project.write(overlay("one"), entry("agent: dev\nprompt: go"));
    const firing = await waitForFiring(client, (await fired(client, "one")).id);
    expect(firing).toMatchObject({ status: "ok", result: "did it", late: true });

    await project.write(overlay("one"), entry("agent: dev\nprompt: go", "enabled: false\n"));
    const state = async () => (await client.call("getSchedule", { path: { schedule: "one" } })).schedule.enabled;
    await waitUntil("it is switched off", async () => !(await state()));
    await project.write(overlay("broken"), "agent: nobody\nprompt: x\ncron: '* * * * *'\n");
    await waitUntil("a bad file is refused", async () => (await eventsOf(client, "config.rejected")).length > 0);
    expect(await names(client)).toEqual(["one"]);
    await rm(join(project.dir, overlay("broken")));
    await rm(join(project.dir, overlay("one")));
    await waitUntil("it is gone", async () => (await names(client)).length === 0);
    expect(await firings(client, "one")).toHaveLength(1);

    const types = async () => {
      const text = await readFile(join(project.dir, ".aegis/state/schedules/one.jsonl"), "utf8");
      return text
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { type: string }).type);
    };
    // The file follows the store.
    await waitUntil("the end is mirrored", async () => (await types()).includes("schedule.removed"));
    expect(await types()).toEqual([
      "schedule.added",
      "schedule.fired",
      "schedule.started",
      "schedule.ended",
      "schedule.changed",
      "schedule.removed",
    ]);
  });

  it("start a workflow whose run is in the history, a task, and a session that is told who asks", async () => {
    const project = await testProject({
      ...base,
      [overlay("plan")]: entry("workflow: execute_plan\nargs: { plan_path: plan.md, agent: dev }"),
      [overlay("task")]: entry("queue: work\npayload: clean up"),
      [overlay("talk")]: entry("agent: dev\nprompt: good morning"),
    });
    const { client } = await project.start();
    const ends = await Promise.all(
      ["plan", "task", "talk"].map(async (name) => waitForFiring(client, (await fired(client, name)).id)),
    );
    expect(ends.map((firing) => [firing.schedule, firing.status])).toEqual([
      ["plan", "ok"],
      ["task", "ok"],
      ["talk", "ok"],
    ]);
    const [plan, task, talk] = ends.map((firing) => firing.effect ?? "");
    const { runs } = await client.call("listRuns");
    expect(runs).toMatchObject([{ id: plan, workflow: "execute_plan", status: "ok" }]);
    const { steps } = await client.call("listSteps", { path: { run: plan ?? "" } });
    expect(steps.length).toBeGreaterThan(0);
    expect((await client.call("listTasks")).tasks).toMatchObject([{ id: task, status: "completed" }]);
    expect(await messages(client, talk ?? "")).toMatchObject([
      { sender: { kind: "schedule", name: "talk" }, body: "good morning", status: "done" },
    ]);
  });
});

describe("after kill -9", () => {
  async function killedTwice(
    project: Project,
    name: string,
    gate: string,
  ): Promise<{ client: Client; firing: Firing }> {
    const first = await project.start();
    await waitUntil("it runs", async () => (await firings(first.client, name))[0]?.status === "running");
    await first.kill();
    const second = await project.start();
    await second.kill();
    await project.open(gate);
    const third = await project.start();
    const firing = await waitForFiring(third.client, (await fired(third.client, name)).id);
    return { client: third.client, firing };
  }

  it("a session that was in progress ends, once", { tags: "slow" }, async () => {
    const project = await testProject({ ...base, [overlay("s")]: entry("agent: dev\nprompt: hold a") });
    const { client, firing } = await killedTwice(project, "s", "a");
    expect(firing).toMatchObject({ status: "ok", result: "released a" });
    expect(await firings(client)).toHaveLength(1);
    const { sessions } = await client.call("listSessions", { query: { closed: true } });
    expect(sessions.filter((session) => session.title === "hold a")).toHaveLength(1);
  });

  it("a task that was in progress ends, once", { tags: "slow" }, async () => {
    const project = await testProject({ ...base, [overlay("s")]: entry("queue: work\npayload: hold a") });
    const { client } = await killedTwice(project, "s", "a");
    expect((await client.call("listTasks")).tasks).toHaveLength(1);
    expect(await firings(client)).toHaveLength(1);
  });

  it("a run that was in progress ends, once", { tags: "slow" }, async () => {
    const plan = "# Plan\n\n## Slice 1 — Greet\n\nhold a\n";
    const action = "workflow: execute_plan\nargs: { plan_path: plan.md, agent: dev }";
    const project = await testProject({ ...base, "plan.md": plan, [overlay("s")]: entry(action) });
    const { client, firing } = await killedTwice(project, "s", "a");
    expect(firing.status).toBe("ok");
    expect((await client.call("listRuns")).runs).toMatchObject([{ id: firing.effect, status: "ok" }]);
  });

  it("at any moment, ten schedules have ten effects", { tags: "slow" }, async () => {
    const files: Record<string, string> = { ...base };
    for (let n = 0; n < 10; n++) files[overlay(`s${n}`)] = entry("queue: work\npayload: clean up");
    const project = await testProject(files);
    for (const wanted of [1, 3, 6, 9]) {
      const daemon = await project.start();
      await waitUntil("some have fired", async () => (await firings(daemon.client)).length >= wanted);
      await daemon.kill();
    }
    const { client } = await project.start();
    for (let n = 0; n < 10; n++) await waitForFiring(client, (await fired(client, `s${n}`)).id);
    expect(await firings(client)).toHaveLength(10);
    expect((await client.call("listTasks")).tasks).toHaveLength(10);
  });
});

it("a timeout set before a restart still counts after it", { tags: "slow" }, async () => {
  const project = await testProject({ ...base, [overlay("s")]: entry("agent: dev\nprompt: hold a", "timeout: 1\n") });
  const first = await project.start();
  await waitUntil("it runs", async () => (await firings(first.client))[0]?.status === "running");
  await first.kill();
  const { client } = await project.start();
  const firing = await waitForFiring(client, (await fired(client, "s")).id);
  expect(firing).toMatchObject({ status: "error", error: "timeout: it did not finish within 1 s" });
});

it("the API adds, changes, runs and removes, and refuses what is wrong without a trace", async () => {
  const project = await testProject(base);
  const { client } = await project.start();
  const body = { name: "s", entry: { agent: "dev", prompt: "go", fire_at: future, timezone: "Europe/Berlin" } };
  const added = await client.call("addSchedule", { body });
  expect(added).toMatchObject({ file: overlay("s"), changed: true, schedule: { state: "on", fires: 0 } });
  await expect(client.call("addSchedule", { body })).rejects.toMatchObject({ code: "conflict" });
  const bad = { name: "t", entry: { agent: "dve", prompt: "go", cron: "* * * *" } };
  await expect(client.call("addSchedule", { body: bad })).rejects.toMatchObject({
    code: "invalid",
    message:
      /t\.yaml:\d+:\d+ schedules\.t\.agent: .*did you mean "dev".*\n.*schedules\.t\.cron: expected five cron fields/s,
  });
  expect(await names(client)).toEqual(["s"]);
  const path = { schedule: "s" };
  expect(await client.call("nextFirings", { path })).toEqual({
    schedule: "s",
    timezone: "Europe/Berlin",
    times: [Date.parse(future)],
  });
  const { firing } = await client.call("runSchedule", { path, body: {} });
  expect(await waitForFiring(client, firing.id)).toMatchObject({ manual: true, status: "ok" });
  const off = await client.call("updateSchedule", { path, body: { enabled: false } });
  expect(off).toMatchObject({ file: overlay("s"), schedule: { state: "off", next_at: null } });
  expect(await readFile(join(project.dir, overlay("s")), "utf8")).toContain("# added by aegis schedule add");
  expect(await client.call("removeSchedule", { path })).toMatchObject({ removed: true });
  await expect(client.call("getSchedule", { path })).rejects.toMatchObject({ code: "not_found" });
});
