// @module-tag slow
/** The memory-system plugin dreams: after kill -9, by its schedule, and of nothing. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Run, RunView } from "@aegis/contract/run.ts";
import type { Firing, ScheduleView } from "@aegis/contract/schedule.ts";
import { expect, it } from "vitest";
import { installed, text } from "../helpers/projects/memory.ts";
import { waitUntil } from "../helpers/wait-until.ts";

it("dreams of each recent session, applies what fits, goes on after kill -9 and dreams nothing twice", async () => {
  const project = await installed();
  await project.aegis("run", "hello");
  await project.aegis("run", "good bye");
  const { run } = await project.json<{ run: Run }>("workflow", "run", "dream", "--detach");
  const view = async () => (await project.json<{ run: RunView }>("workflow", "status", run.id)).run;
  await waitUntil("both dreamers are at work", async () => (await view()).open.length === 2);
  const pid = await project.daemonPid();
  if (pid === null) throw new Error("no daemon");
  process.kill(pid, "SIGKILL");
  await waitUntil("the daemon is gone", async () => (await project.daemonPid()) === null);
  await project.aegis("--resume");
  await mkdir(join(project.root, "gates"));
  await writeFile(join(project.root, "gates/dream"), "");
  expect((await project.aegis("workflow", "watch", run.id)).code).toBe(0);
  const ended = await view();
  expect(ended).toMatchObject({ status: "ok", result: { sessions_read: 2, actions_applied: 3 } });
  const { tasks } = await project.json<{ tasks: unknown[] }>("task", "list", "--queue", "dreamer");
  expect(tasks).toHaveLength(4);
  const log = await text(project, (ended.result as { dream_log: string }).dream_log);
  expect(log).toContain("A long night.");
  expect(log).toContain("add fact_a-rumour (held for review)");
  const index = await text(project, ".aegis/memory/MEMORY.md");
  expect(index).toContain("- [likes tea](entries/user_likes-tea.md) — when drinks are offered");
  expect(index).toContain("## Held for review\n\n- [a rumour]");
});

it("dreams of nothing when nothing was said, and every night at three by its schedule", async () => {
  const project = await installed();
  const { run } = await project.json<{ run: RunView }>("workflow", "run", "dream");
  expect(run).toMatchObject({ status: "ok", result: { sessions_read: 0, dream_log: null } });
  const { schedules } = await project.json<{ schedules: ScheduleView[] }>("schedule", "list");
  expect(schedules).toMatchObject([{ name: "memory-dream", state: "on", problem: null }]);
  const next = ["schedule", "next", "memory-dream", "--count", "3"];
  const { times, timezone } = await project.json<{ times: number[]; timezone: string }>(...next);
  const hours = times.map((time) =>
    new Intl.DateTimeFormat("en-GB", { timeZone: timezone, timeStyle: "short" }).format(time),
  );
  expect(hours).toEqual(["03:00", "03:00", "03:00"]);
  const { firing } = await project.json<{ firing: Firing }>("schedule", "run", "memory-dream", "--wait");
  expect(firing).toMatchObject({ status: "ok", error: null });
  expect(JSON.parse(firing.result ?? "")).toMatchObject({ sessions_read: 0 });
});
